"""Planted bugs are found by the prover at their lines, and confirmed by the emulator."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from planted_bugs import BUGS, HARMLESS, Planted
from report_pages import Page

import cutecc
from cutecc.arguments.specs import Spec
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.traced import TraceRequest
from cutecc.harness.arguments import specs_of
from cutecc.kernel import Kernel
from cutecc.proving.modules import prove_apart
from cutecc.proving.proof import Proof
from cutecc.proving.witness import refute
from cutecc.support.isolation import Worker
from cutecc.timelines.causes import Ended

QUICK = ("copy/phase-stays", "ring/commits-only-what-it-fetches")
"""The first shows from three tiles on, the second only with the last ones."""
_OPTIONS = CompileOptions(line_info=True, artifacts=("ptx", "host-program"))


@pytest.fixture(scope="module")
def dsl() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("name", QUICK)
def test_is_refuted(name: str, dsl: Worker, tmp_path: Path) -> None:
    """By a run whose sizes are the user's, which finds it where the prover does."""
    proof = _refuted(BUGS[name], dsl, tmp_path)
    assert proof.witness is not None and proof.witness.sizes
    lines = {line for each in proof.problems for line in (each.location, each.other)}
    places = {place.location for each in proof.witness.findings for place in (each.place, each.other) if place}
    assert {each and each.line for each in lines} & {each and each.line for each in places}


def _by_night(names: list[str]) -> list[Any]:
    """Each takes seconds, of some kernels a minute: one of ten is refuted by day."""
    return [pytest.param(each, marks=pytest.mark.nightly if at % 10 else ()) for at, each in enumerate(names)]


@pytest.mark.slow
@pytest.mark.parametrize("name", _by_night([name for name in BUGS if name not in QUICK]))
def test_all_are_refuted(name: str, dsl: Worker, tmp_path: Path) -> None:
    _refuted(BUGS[name], dsl, tmp_path)


@pytest.mark.slow
def test_the_command_that_is_told_makes_the_timeline_of_the_page(cutecc: Run, tmp_path: Path) -> None:
    """Of a run that ends in a deadlock: the waits that never end are on it."""
    kernel = BUGS["copy/phase-stays"].write(tmp_path)
    told = cutecc("prove", kernel.name, "--json", status=1).stdout
    (proof,) = json.loads(told)
    (tmp_path / "proof.json").write_text(told)
    command, *words = shlex.split(proof["timeline"])
    assert command == "cutecc"
    cutecc(*words)
    cutecc("compile", kernel.name, "--dump-after=all", "--output=record")
    cutecc("report", "record", "--proof=proof.json", "--profile=tma_copy.profile.json", "--output=page.html")
    chunks = Page.at(tmp_path / "page.html").chunks
    assert chunks["proof"][0]["timelines"] == ["timeline:0"]
    (block,) = chunks["timeline:0"]["blocks"]
    assert all(lane["ended"][-1] == Ended.NEVER for lane in block["lanes"])


@pytest.mark.slow
@pytest.mark.parametrize("name", _by_night([*HARMLESS]))
def test_harmless_edits_are_none(name: str, dsl: Worker, tmp_path: Path) -> None:
    """Neither the prover nor the emulator complains of what looks like a bug and is none."""
    path = HARMLESS[name].write(tmp_path)
    proof, kernel, specs = _proof(path, read_header(path), dsl)
    assert proof.answer == "proved", proof.problems
    proof.sizes = {}
    refute(proof, kernel, specs, read_header(path).outputs, 20)
    assert proof.witness is None


def test_there_are_enough() -> None:
    """Of all kernels, and each can be planted."""
    assert len(BUGS) >= 100
    for each in (*BUGS.values(), *HARMLESS.values()):
        text = each.kernel.read_text()
        assert all(text.count(old) == 1 for old, _ in each.edits), each.name


def _refuted(planted: Planted, dsl: Worker, folder: Path) -> Proof:
    path = planted.write(folder)
    header = read_header(path)
    proof, kernel, specs = _proof(path, header, dsl)
    source = path.read_text().splitlines()
    told = [(each.kind, source[each.location.line - 1].strip()) for each in proof.problems if each.location]
    assert (planted.kind, planted.line) in told, told
    if not planted.unconfirmed:
        refute(proof, kernel, specs, header.outputs, 120)
        assert proof.answer == "refuted", proof.tried
    return proof


def _proof(path: Path, header: Header, dsl: Worker) -> tuple[Proof, Kernel, dict[str, Spec]]:
    """What the prover says, and the kernel as it is compiled for the emulator."""
    target = header.target or "sm_80"
    request = TraceRequest(
        str(path), None, header.entry, header.args, target=target, sources=header.arg_sources, locations=True
    )
    traced = dsl.call("cutecc.frontend.trace:trace_file", request)
    (proof,) = prove_apart(traced.bytecode, target, 60)
    kernel = cutecc.compile_module(traced.bytecode, target=target, signature=traced.signature, options=_OPTIONS)
    assert isinstance(kernel, Kernel) and kernel.signature is not None
    specs = {name: header.args.get(name, spec) for name, spec in specs_of(kernel.signature).items()}
    return proof, kernel, specs
