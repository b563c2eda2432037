"""Kernels with delays are as right, or as wrong, as without: compiled by both pipelines, on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutecc
from cutecc.compilation.request import Edit
from cutecc.emulator.checks.finding import Finding
from cutecc.frontend.companions import call_reference
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import compare_outputs

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[3]
PASS = "inject-random-delays"
FIRST = {"nvidia": "cute-remove-static-args", "open": "cse#1"}
FIRST_EXPERIMENTAL = "lir-circular-buffer-pipeline-to-pipeline"
RACE = TESTS / "bugs" / "races" / "missing_barrier_before_reuse.py"


def compiled(path: Path, pipeline: str, before: str, text: str = PASS, **args: str) -> cutecc.Kernel:
    options = cutecc.CompileOptions(
        pipeline=pipeline, edits=(Edit("insert-before", before, text),), artifacts=("ptx", "host-program")
    )
    (kernel,) = cutecc.compile_many([cutecc.Job(str(path), args=args, target="sm_90a", options=options)])
    assert isinstance(kernel, cutecc.Kernel), kernel
    return kernel


def run(kernel: cutecc.Kernel, path: Path, schedule: str) -> tuple[list[Finding], list[str]]:
    """What the emulator's checks find, and where results are not those of the reference."""
    assert kernel.signature is not None and kernel.compilation.workload is not None
    workload = kernel.compilation.workload
    arguments = make_arguments(specs_of(kernel.signature), workload.outputs)
    arguments.randomize(0)
    expected = call_reference(str(path), "reference", arguments.values(), [tensor.name for tensor in arguments.outputs])
    on_cpu = arguments.mapped(lambda tensor: tensor.codes)
    findings = kernel.emulate(**on_cpu, check="all", schedule=schedule, seed=1).findings
    compared = compare_outputs(arguments, expected, workload, {})
    return findings, [problem for each in compared for problem in each.problems()]


@pytest.mark.parametrize("pipeline", FIRST)
@pytest.mark.parametrize("name", ["block_scan", "cluster_reduce", "experimental_pipeline", "tma_multicast"])
def test_a_correct_kernel_computes_the_same(name: str, pipeline: str) -> None:
    path = TESTS / "kernels" / f"{name}.py"
    before = FIRST_EXPERIMENTAL if name.startswith("experimental") else FIRST[pipeline]
    kernel = compiled(path, pipeline, before)
    assert kernel.ptx is not None and kernel.ptx.count("nanosleep.u32") > 3
    for schedule in ("round-robin", "adversarial"):
        assert run(kernel, path, schedule) == ([], [])


@pytest.mark.parametrize("text", [PASS, f"{PASS}{{repeatable}}"])
def test_a_race_is_still_one(text: str) -> None:
    """Delays order nothing: the emulator finds the missing barrier, and its twin that has it is right."""
    racy, clean = (compiled(RACE, "nvidia", FIRST["nvidia"], text, bug=f"const({bug})") for bug in (True, False))
    assert racy.ptx is not None and ("%clock" in racy.ptx) == (text == PASS)
    assert {finding.kind for finding in run(racy, RACE, "round-robin")[0]} == {"race"}
    assert run(clean, RACE, "round-robin") == ([], [])
