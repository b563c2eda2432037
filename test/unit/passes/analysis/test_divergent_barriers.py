"""`check-divergent-barriers` on kernels: silent on those that are right, and at the lines of static planted bugs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TracedKernel

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.analysis.divergent_barriers import CheckDivergentBarriers
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import run_pass
from cutecc.record import Remark

BUGS = Path(__file__).parents[4] / "test" / "bugs"
SOURCES = [*sorted((BUGS / "deadlocks").glob("[a-z]*.py")), BUGS / "clusters" / "block_skips_barrier.py"]
FOUND = {
    "barrier_after_divergent_loop": ["between threads of a warp"],
    "barrier_counts_warp_that_left": ["barrier 1 waits for 96 threads, and at most 64 come"],
    "barrier_in_one_branch": ["64 of 128 threads reach it", "barrier 1 waits for 128 threads, and at most 64 come"],
    "barrier_of_too_many": ["barrier 1 waits for 96 threads, and at most 64 come"],
    "barrier_while_producer_waits": ["64 of 96 threads reach it"],
    "each_thread_decides": ["between threads of a warp"],
    "divergent_barrier": ["32 of 64 threads reach it"],
    "names_of_barriers_differ": ["barrier 1 waits for 64 threads, and at most 32 come"],
    "block_skips_barrier": ["between blocks of the cluster"],
}
TRACE = """
import sys
from pathlib import Path
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
for name in sys.argv[2:]:
    header = read_header(Path(name))
    for bug in (False, True):
        args = {**header.args, "bug": f"const({bug})"}
        request = TraceRequest(
            name, None, header.entry, args, target=header.target, sources=header.arg_sources, locations=True
        )
        (Path(sys.argv[1]) / f"{Path(name).stem}-{bug}.mlirbc").write_bytes(trace_file(request).bytecode)
"""


def found_in(bytecode: bytes) -> list[Remark]:
    remarks: list[Remark] = []
    with fresh_context():
        module = parse(bytecode, "-")
        with hearing_remarks(remarks.append, module.context):
            run_pass(CheckDivergentBarriers(), module)
    return remarks


@pytest.fixture(scope="module")
def traced_bugs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bugs")
    command = [sys.executable, "-c", TRACE, str(folder), *map(str, SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_planted_bugs_that_are_static(source: Path, traced_bugs: Path) -> None:
    expected = FOUND.get(source.stem, [])
    found = found_in((traced_bugs / f"{source.stem}-True.mlirbc").read_bytes())
    assert len(found) == len(expected), found
    lines = source.read_text().splitlines()
    for remark, part in zip(found, expected, strict=True):
        assert remark.severity == "warning"
        assert part in remark.message
        assert remark.location
        line = lines[int(remark.location.split(":")[1]) - 1]
        # The mark of the emulator's test stands where the threads wait; of a cluster, one line on from the arrival.
        assert "# bug: " in line or "# also: deadlock" in line or "cluster_arrive" in line


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_their_clean_twins_have_none(source: Path, traced_bugs: Path) -> None:
    assert found_in((traced_bugs / f"{source.stem}-False.mlirbc").read_bytes()) == []


@pytest.mark.slow
def test_no_kernel_of_ours_has_one(traced_kernels: dict[str, TracedKernel]) -> None:
    assert {name: found for name, kernel in traced_kernels.items() if (found := found_in(kernel.bytecode))} == {}
