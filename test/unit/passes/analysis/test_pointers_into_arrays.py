"""Addresses of elements of arrays in arrays, as the memory analyses compute them from `getelementptr`."""

from __future__ import annotations

import pytest
from analysed_text import messages_of

from cutecc.passes.analysis.coalescing import CheckCoalescing

KERNEL = """
gpu.module @kernels {{
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %v = arith.constant 1.0 : f32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %address = llvm.getelementptr %x[{indices}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
    llvm.store %v, %address {{alignment = 4 : i64}} : f32, !llvm.ptr<1>
    return
  }}
}}
"""


@pytest.mark.parametrize(
    ("indices", "type", "said"),
    [
        ("%thread, 0", "!llvm.array<2 x f32>", "8 sectors a request, 4 would do: threads are 8 bytes apart"),
        ("0, %thread", "!llvm.array<2 x f32>", "4 sectors a request, as few as possible"),
        ("0, %thread, 0", "!llvm.array<8 x array<4 x f32>>", "16 sectors a request, 4 would do: threads are 16 bytes"),
        ("0, 1, %thread", "!llvm.array<8 x array<1 x f32>>", "5 sectors a request, 4 would do: side by side, but 4"),
        ("0, %thread", "!llvm.array<4 x vector<2xf32>>", "8 sectors a request, 4 would do: threads are 8 bytes apart"),
        # Members of structs are not looked for.
        ("%thread, 1", "!llvm.struct<(f32, f32)>", None),
        ("0, %thread, 1", "!llvm.array<8 x struct<(f32, f32)>>", None),
    ],
)
def test_each_index_counts_in_what_it_steps_over(indices: str, type: str, said: str | None) -> None:
    *stores, known = messages_of(CheckCoalescing(all=True), KERNEL.format(indices=indices, type=type))
    assert known == f"the addresses of {int(said is not None)} of 1 accesses of global memory are known"
    assert len(stores) == int(said is not None)
    assert all(each.startswith(f"a store of 32 bits a thread takes {said}") for each in stores)
