"""Products of warpgroups: which bytes of shared memory they read."""

from __future__ import annotations

import pytest
from kernel_text import kinds, proof_of

ROWS = 32 * 1024
"""Where the matrix is, in shared memory that begins at 1024."""
MULTIPLY = """    llvm.inline_asm has_side_effects "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0}, $1, $2, p, 1, 1;", "r,l,l" %c1, %matrix, %matrix : (i32, i64, i64) -> ()
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
"""  # noqa: E501


def _descriptor(start: int, layout: int, *, stride: int) -> int:
    return start >> 4 | (stride >> 4) << 32 | layout << 62


@pytest.mark.parametrize(("layout", "width"), ((1, 128), (2, 64), (3, 32)))
def test_rows_begin_where_the_matrix_does(layout: int, width: int) -> None:
    """Not where the swizzle's pattern does: what lies between is nobody's, or another one's."""
    first = ROWS + width
    bits = _descriptor(first, layout, stride=8 * width)

    def said(at: int) -> set[str]:
        written = f"    %at = llvm.getelementptr %shared[{at - 1024}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
        store = "    scf.if %is_first { llvm.store %c1, %at : i32, !llvm.ptr<3> }\n"
        matrix = f"    %matrix = arith.constant {bits - (1 << 64 if bits >> 63 else 0)} : i64\n"
        return kinds(proof_of(written + store + matrix + MULTIPLY, warps=4))

    assert said(first - 4) == set()
    assert said(first) == {"race"}
    assert said(first + 8 * width - 4) == {"race"}
