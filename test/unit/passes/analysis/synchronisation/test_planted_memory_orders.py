"""Shared memory that another proxy or another block reads, with and without what orders it, as MLIR's text."""

from __future__ import annotations

import pytest
from judged_text import judged

KERNEL = """
gpu.module @kernels {{
  llvm.mlir.global external @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %desc: !llvm.ptr, %n: i32) attributes {{nvvm.reqntid = array<i32: 64, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %bytes = arith.constant 256 : i32
    %v = arith.constant 1.0 : f32
    %tile = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %behind = llvm.getelementptr %tile[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %own = llvm.getelementptr %tile[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %first = arith.cmpi eq, %thread, %c0 : i32
    %low = arith.cmpi slt, %thread, %c32 : i32
    {body}
    return
  }}
}}
"""
WRITE = "llvm.store %v, %own : f32, !llvm.ptr<3>\n"
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
SYNC = "nvvm.barrier\n"


def store(place: str = "%tile") -> str:
    """One thread has 256 bytes copied to global memory."""
    copy = f"nvvm.cp.async.bulk.global.shared.cta %x, {place}, %bytes : !llvm.ptr<1>, !llvm.ptr<3>"
    return f"scf.if %first {{\n{copy}\n}}\n"


def by_half(what: str) -> str:
    return f"scf.if %low {{\n{what}}}\n"


def read_as(descriptor: str) -> str:
    """The place of the tile in the descriptor of a matrix."""
    return f"""%address = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %four = arith.constant 4 : i32
    %units = arith.shrui %address, %four : i32
    %start = arith.extui %units : i32 to i64
    %high = arith.constant 4611686018427387904 : i64
    %whole = arith.ori %start, %high : i64
    {descriptor}
"""


WGMMA = read_as(
    "llvm.inline_asm has_side_effects asm_dialect = att "
    '"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}, $0, $1;", '
    '"l,l" %whole, %whole : (i64, i64) -> ()'
)


@pytest.mark.parametrize(
    "body",
    [
        WRITE + SYNC + store(),
        FENCE + WRITE + SYNC + store(),
        # The other warp's writes are behind nothing that the one with the fence has come to know of.
        WRITE + by_half(FENCE) + SYNC + store(),
        WRITE + FENCE + SYNC + WRITE + SYNC + store(),
        WRITE + SYNC + WGMMA,
    ],
)
def test_no_fence_between(body: str) -> None:
    messages, sums = judged(KERNEL.format(body=body), ["check-proxy-fences"])
    assert len(messages["check-proxy-fences"]) == 1
    assert "no fence for the asynchronous proxy" in messages["check-proxy-fences"][0]
    assert sums["check-proxy-fences"].wrong == 1


@pytest.mark.parametrize(
    "body",
    [
        WRITE + FENCE + SYNC + store(),
        # By one that knows of all writes.
        WRITE + SYNC + by_half(FENCE) + SYNC + store(),
        WRITE + SYNC + store("%behind"),
        store() + SYNC + WRITE,
        # Nothing orders it: a race, of which a run tells.
        by_half("") + WRITE + store("%behind"),
        WRITE + FENCE + SYNC + WGMMA,
    ],
)
def test_a_fence_between(body: str) -> None:
    messages, sums = judged(KERNEL.format(body=body), ["check-proxy-fences"])
    assert messages["check-proxy-fences"] == []
    assert sums["check-proxy-fences"].right == 1


def test_a_write_whose_place_is_the_launch_s_is_left_out() -> None:
    place = "%far = llvm.getelementptr %tile[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32\n"
    body = f"{place}llvm.store %v, %far : f32, !llvm.ptr<3>\n{SYNC}{store()}"
    messages, _ = judged(KERNEL.format(body=body), ["check-proxy-fences"])
    assert messages["check-proxy-fences"] == []
