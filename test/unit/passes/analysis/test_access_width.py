"""`check-access-width` against the PTX: the bits that it says an access moves are those of the instructions there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import TracedKernel

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.ptx.locations import FILE, LOC, LineTable
from cutecc.record import Compilation, Remark

ROOT = Path(__file__).parents[4]
OWN = Path(__file__).with_name("narrow_accesses.py")
SOURCES = [
    OWN,
    ROOT / "examples" / "elementwise_add.py",
    *(ROOT / "test" / "kernels" / f"{name}.py" for name in ("gemm_sm80", "histogram", "mma_tf32", "vector_copy")),
]
ACCESS = re.compile(
    r"\s*(?:@!?%\w+\s+)?(?:(ld|st)\.(?:[a-z_]+\.)*?(global|shared)\S*?(?:\.v(\d))?\.[a-z](\d+)|"
    r"(cp)\.async\.c[ag]\.(?:shared\.global)\S* \S+, \S+, (\d+))"
)
TRACE = ROOT / "test" / "unit" / "trace_kernels.py"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> TracedKernel:
    folder = tmp_path_factory.mktemp("traced")
    done = subprocess.run([sys.executable, TRACE, folder, OWN], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (module,) = folder.iterdir()
    return TracedKernel(OWN, module, module.stem.rpartition("-")[2])


@pytest.fixture(scope="module")
def records(own: TracedKernel, traced_kernels: dict[str, TracedKernel]) -> Callable[[str], Compilation]:
    """A kernel by its name, compiled with line information and checked."""

    @cache
    def record(name: str) -> Compilation:
        kernel = own if name == OWN.stem else traced_kernels[name]
        options = CompileOptions(analyses=("check-access-width",), artifacts=("ptx",), line_info=True)
        done = cutecc.compile_module(kernel.bytecode, target=kernel.target, name=name, options=options)
        return done.compilation

    return record


def ptx_bits(ptx: str) -> dict[int, dict[tuple[str, str], set[int]]]:
    """By line of Python, load or store and memory: how many bits the instructions there move."""
    lines = LineTable()
    place = None
    found: list[tuple[object, tuple[str, str], int]] = []
    for text in ptx.splitlines():
        if match := FILE.match(text):
            lines.add_file(match)
        elif match := LOC.match(text):
            place = lines.add_loc(match)
        elif match := ACCESS.match(text):
            if match[5]:
                found.append((place, ("copy", "global"), 8 * int(match[6])))
            else:
                found.append((place, (match[1], match[2]), int(match[3] or 1) * int(match[4])))
    by_line: dict[int, dict[tuple[str, str], set[int]]] = defaultdict(lambda: defaultdict(set))
    for where, access, bits in found:
        location = lines.location(where)  # pyright: ignore[reportArgumentType]
        if location and location.line:
            by_line[location.line][access].add(bits)
    return by_line


def remarks(record: Compilation) -> list[Remark]:
    (analysis,) = record.analyses
    assert (analysis.name, analysis.after, analysis.failure) == ("check-access-width", 0, None)
    return analysis.remarks


def line_of(remark: Remark) -> int:
    assert remark.location
    return int(remark.location.split(":")[1])


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_bits_are_those_of_the_ptx(source: Path, records: Callable[[str], Compilation]) -> None:
    record = records(source.stem)
    made = ptx_bits((record.artifact("ptx") or b"").decode())
    for remark in remarks(record):
        kinds = {"load": ["ld"], "store": ["st"], "copy": ["ld", "st", "copy"]}[remark.message.split()[0]]
        space = re.search(r"in (global|shared) memory", remark.message)
        assert space
        there = [bits for (kind, where), bits in made[line_of(remark)].items() if kind in kinds and where == space[1]]
        assert there, f"{remark.location}: no such access in the PTX"
        assert set().union(*there) == {remark.numbers["bits"]}, remark


def statements(path: Path, reason: str, record: Compilation) -> set[str]:
    """The lines of `path` that are narrow for this reason."""
    lines = path.read_text().splitlines()
    return {lines[line_of(each) - 1].strip() for each in remarks(record) if each.numbers["reason"] == reason}


def test_every_reason_is_found_where_it_is(records: Callable[[str], Compilation]) -> None:
    record = records(OWN.stem)
    expected = {
        "atom": {"cute.copy(pairs, values, y)", "cute.basic_copy(mine(a, 4), values)"},
        "stride": {"cute.basic_copy(values, cute.coalesce(column))"},
        "predicate": {
            "cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16), x, values, pred=inside)"
        },
        "alignment": {"cute.autovec_copy(x, values)", "x[i] = values[i] + 1"},
        "divisibility": {
            "cute.autovec_copy(values, y)",
            "cute.autovec_copy(mine(a, 4), cute.coalesce(cute.local_tile(tile, (1, 4), (thread, 0))))",
        },
        "order": {"y[i] = x[i] + 1"},
    }
    assert {reason: statements(OWN, reason, record) for reason in expected} == expected
    assert {each.numbers["reason"] for each in remarks(record)} == set(expected)


def test_the_example_with_a_predicate_of_each_element(records: Callable[[str], Compilation]) -> None:
    found = remarks(records("elementwise_add"))
    assert [(each.numbers["bits"], each.numbers["possible bits"], each.numbers["reason"]) for each in found] == [
        (32, 128, "predicate")
    ] * 3
    assert {each.severity for each in found} == {"remark"}


def test_wide_accesses_are_left_alone(records: Callable[[str], Compilation]) -> None:
    assert remarks(records("vector_copy")) == []
    made = ptx_bits((records("vector_copy").artifact("ptx") or b"").decode())
    assert {bits for accesses in made.values() for each in accesses.values() for bits in each} == {128}


def test_elements_in_branches_of_their_own(records: Callable[[str], Compilation]) -> None:
    (found,) = remarks(records("gemm_sm80"))
    assert found.numbers == {"bits": 32, "possible bits": 64, "reason": "predicate"}
