"""Sectors and wavefronts that the analyses work out, line by line those that the emulator counts of the same launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import memory_table
import pytest

from cutecc.ir import modules
from cutecc.ir.casters import plain_values
from cutecc.passes.analysis.bank_conflicts import CheckBankConflicts
from cutecc.passes.analysis.coalescing import CheckCoalescing
from cutecc.passes.analysis.reasons import pattern_of
from cutecc.passes.analysis.sample import Sample
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import run_pass
from cutecc.record import Remark
from cutecc.support.isolation import Worker

ROOT = Path(__file__).parents[4]
OWN = Path(__file__).with_name("kernels")
KERNELS = [
    *sorted(OWN.glob("*.py")),
    *(ROOT / "examples" / f"{name}.py" for name in ("naive_gemm_f64", "softmax")),
    *(
        ROOT / "test" / "kernels" / f"{name}.py"
        for name in (
            *("async_copy_pipeline", "block_scan", "fast_division", "gemm_sm80", "histogram", "mma_tf32"),
            *("predicated_copy", "stencil", "transpose", "vector_copy", "wgmma_registers"),
        )
    ),
]
MERGED = {"softmax": 2, "block_scan": 1}
"""Lines whose neighbouring accesses the code generator makes one wider access of."""
IN_MEMORY = {"histogram": 1}
"""Accesses whose addresses the kernel loads."""


@pytest.fixture(scope="module")
def tracer() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.slow
@pytest.mark.parametrize("file", KERNELS, ids=lambda file: file.stem)
def test_the_emulator_counts_the_same(file: Path, tracer: Worker) -> None:
    found = memory_table.compare(file, tracer)
    lines = {*found.analysed, *found.emulated}
    differ = {line for line in lines if found.analysed.get(line) != found.emulated.get(line)}
    assert lines and 0 not in lines
    assert len(differ) == MERGED.get(file.stem, 0) + IN_MEMORY.get(file.stem, 0), {
        line: (found.analysed.get(line), found.emulated.get(line)) for line in differ
    }
    known, present = found.understood
    assert present - known == IN_MEMORY.get(file.stem, 0)


def remarks_of(tracer: Worker, name: str) -> list[Remark]:
    """Of both analyses, for a kernel that no launch is known of."""
    from cutecc.frontend.header import read_header
    from cutecc.frontend.traced import TraceRequest

    header = read_header(OWN / f"{name}.py")
    request = TraceRequest(str(OWN / f"{name}.py"), None, header.entry, header.args, target="sm_80")
    module = memory_table.lowered(tracer, request)[1]
    found: list[Remark] = []
    with modules.fresh_context() as context, plain_values(), hearing_remarks(found.append, context):
        parsed = modules.parse(module)
        CheckCoalescing().run(parsed)
        CheckBankConflicts().run(parsed)
    return found


def test_remarks_have_the_line_and_the_numbers(tracer: Worker) -> None:
    (remark,) = remarks_of(tracer, "transpose_naive")
    assert remark.severity == "remark"
    assert remark.message == (
        "4 loads of 32 bits a thread take 32 wavefronts a request, 1 would do: threads are 128 bytes apart; "
        "1 with the swizzle S<5,0,5> of its elements of 32 bits"
    )
    assert remark.numbers == {
        "wavefronts a request": 32,
        "ideal wavefronts a request": 1,
        "most wavefronts of a request": 32,
        "bits a thread": 32,
        "accesses": 4,
        "swizzle": "S<5,0,5>",
        "bits of an element": 32,
        "wavefronts a request with it": 1,
    }
    assert remark.location is not None
    file, line, _ = remark.location.rsplit(":", 2)
    assert Path(file).read_text().splitlines()[int(line) - 1].strip() == "y[n, m] = tile[lane, row + i * ROWS]"


def test_a_swizzle_leaves_nothing_to_say(tracer: Worker) -> None:
    assert remarks_of(tracer, "transpose_swizzled") == []


def test_what_was_assumed_is_said(tracer: Worker) -> None:
    first, second = remarks_of(tracer, "strided_rows")
    assert first.numbers["assumed"] == second.numbers["assumed"] == "a dynamic stride of argument 0 = 8192"
    assert (first.numbers["bits a thread"], first.numbers["sectors a request"]) == (32, 32)
    assert (second.numbers["bits a thread"], second.numbers["ideal sectors a request"]) == (128, 16)


@pytest.mark.parametrize(
    ("addresses", "size", "explained"),
    [
        ([0] * 32, 4, "all threads access the same address"),
        (range(4, 132, 4), 4, "side by side, but 4 bytes into a sector"),
        (range(0, 32 * 64, 64), 4, "threads are 64 bytes apart"),
        (range(31 * 4, -1, -4), 4, "threads are -4 bytes apart"),
        ([i // 4 * 4096 + i % 4 * 8 for i in range(32)], 4, "runs of 4 threads 8 bytes apart, 4096 bytes from one run"),
        ([i // 8 * 512 + i % 8 * 16 for i in range(32)], 16, "runs of 8 threads side by side, 512 bytes from one run"),
        ([i // 2 * 64 for i in range(32)], 4, "runs of 2 threads at the same address, 64 bytes from one run"),
        ([i * i for i in range(32)], 1, "threads are at no fixed distance"),
        ([-1, -1, 100] + [-1] * 29, 4, "side by side, but 4 bytes into a sector"),
    ],
)
def test_patterns(addresses: list[int], size: int, explained: str) -> None:
    import numpy as np

    assert pattern_of(np.array(addresses), size).explained("global").startswith(explained)


def test_threads_of_a_block_that_fills_no_whole_warp() -> None:
    sample = Sample((20, 2, 1), (1, 1, 1), [(0, 0, 0)])
    assert sample.mask.sum(axis=1).tolist() == [32, 8]
    x, y = sample.thread(0), sample.thread(1)
    assert not isinstance(x, int) and not isinstance(y, int)
    assert (x[0, 19], y[0, 19], x[0, 20], y[0, 20], x[1, 7], y[1, 7]) == (19, 0, 0, 1, 19, 1)


def test_however_many_numbers_a_kernel_takes_only_those_that_decide_are_named() -> None:
    count = 80
    arguments = ", ".join(f"%n{number}: i32" for number in range(count))
    sums = "\n".join(f"%s{number + 1} = arith.addi %s{number}, %n{number} : i32" for number in range(count))
    text = f"""
    gpu.module @kernels {{
      cuda.kernel @kernel(%a: !llvm.ptr<1>, {arguments}) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
        %c2 = arith.constant 2 : i32
        %tid = nvvm.read.ptx.sreg.tid.x : i32
        %s0 = arith.muli %tid, %c2 : i32
        {sums}
        %address = llvm.getelementptr %a[%s{count}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
        llvm.store %tid, %address : i32, !llvm.ptr<1>
        return
      }}
    }}
    """
    found: list[Remark] = []
    with modules.fresh_context() as context, plain_values(), hearing_remarks(found.append, context):
        run_pass(CheckCoalescing(), modules.parse(text.encode()))
    (remark,) = found
    assert remark.message.endswith("takes 8 sectors a request, 4 would do: threads are 8 bytes apart")
