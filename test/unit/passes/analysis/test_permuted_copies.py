"""What is said of asynchronous copies past L1 that take more wavefronts than their bytes need."""

from __future__ import annotations

import pytest
from analysed_text import messages_of

from cutecc.passes.analysis.bank_conflicts import CheckBankConflicts
from cutecc.passes.analysis.coalescing import CheckCoalescing

KERNEL = """
gpu.module @kernels {{
  llvm.mlir.global external @memory() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %c8 = arith.constant 8 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.tid.x : i32
    %far = arith.muli %lane, %c8 : i32
    %source = llvm.getelementptr %x[{source}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    %target = llvm.getelementptr %shared[{target}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    nvvm.cp.async.shared.global %target, %source, 16, cache = {cache} : !llvm.ptr<3>, !llvm.ptr<1>
    return
  }}
}}
"""


PERMUTED = "lines of 128 bytes of shared memory are written from several of global memory, or are permuted"


@pytest.mark.parametrize(
    ("cache", "source", "target", "said"),
    [
        ("cg", "%lane", "%lane", []),
        ("cg", "%far", "%lane", [f"takes 32 wavefronts a request, 4 would do: {PERMUTED}"]),
        # Through L1, where threads write is all that counts.
        ("ca", "%lane", "%far", ["takes 32 wavefronts a request, 4 would do: threads are 128 bytes apart"]),
    ],
)
def test_why_copies_take_more_wavefronts(cache: str, source: str, target: str, said: list[str]) -> None:
    found = messages_of(CheckBankConflicts(), KERNEL.format(cache=cache, source=source, target=target))
    assert found == [f"an asynchronous copy of 128 bits a thread {each}" for each in said]


def test_why_they_take_more_sectors() -> None:
    (said,) = messages_of(CheckCoalescing(), KERNEL.format(cache="cg", source="%far", target="%lane"))
    assert said == (
        "an asynchronous copy of 128 bits a thread takes 32 sectors a request, 16 would do: threads are 128 bytes apart"
    )
