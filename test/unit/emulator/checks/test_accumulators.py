"""Registers of a `wgmma.mma_async` between its start and the wait for it."""

from __future__ import annotations

import checked_kernels as kernels
import pytest

PRODUCT = """
  st.shared.b32 [%r5], 0;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r8, %r3, 4;
  cvt.u64.u32 %rd5, %r8;
  setp.ne.u32 %p3, %r1, %r1;
  add.u32 %r10, %r1, 1;
  wgmma.fence.sync.aligned;
  BEFORE
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
    {%f0, %f1, %f2, %f3}, {%r10, %r10, %r10, %r10}, %rd5, %p3, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  AFTER
  wgmma.wait_group.sync.aligned 0;
  add.f32 %f5, %f0, %f1;
  add.u32 %r10, %r10, 1;
"""
FENCE = "wgmma.fence.sync.aligned;"
FIRST = "starts the first wgmma of a warp without a wgmma.fence before it"
LATE = "starts a wgmma on registers that were written after the last wgmma.fence"


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        ("", "", []),
        ("", "add.f32 %f5, %f0, %f1;", ["reads accumulator registers"]),
        ("", "add.f32 %f0, %f5, %f5;", ["writes accumulator registers"]),
        ("", "add.u32 %r10, %r1, 1;", ["writes source registers"]),
        ("", "add.u32 %r11, %r10, 1;", []),
        ("", "mov.f32 %f5, %f0;", []),
        ("", "mov.b32 %r10, 0;", ["writes source registers"]),
        ("add.u32 %r10, %r1, 2;", "", [LATE]),
        ("add.f32 %f0, %f5, %f5;", "", [LATE]),
        ("mov.b32 %r10, 0;", "", []),
        ("mov.f32 %f0, 0f00000000;", "", []),
        ("mov.f32 %f1, %f5;", "", []),
        ("add.f32 %f6, %f5, %f5; mov.f32 %f7, %f6; mov.f32 %f1, %f7;", "", [LATE]),
        ("mov.b32 %r10, 0; FENCE", "", []),
    ],
)
def test_registers_in_flight(before: str, after: str, messages: list[str]) -> None:
    """Neither D may be read or written, nor A written; what others than `mov` wrote before needs a fence."""
    body = "mov.f32 %f5, 0f00000000;" + PRODUCT.replace("BEFORE", before).replace("AFTER", after)
    found = kernels.findings(body.replace("FENCE", FENCE), threads=128)
    assert [each.kind for each in found] == ["accumulator"] * len(messages)
    assert [each.message.partition(" of a wgmma")[0] for each in found] == messages


MULTIPLY = (
    PRODUCT[PRODUCT.index("  wgmma.mma_async") : PRODUCT.index("  AFTER")] + "  wgmma.wait_group.sync.aligned 0;\n"
)
START = PRODUCT[: PRODUCT.index("  BEFORE")]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        # Nothing wrote a register but the fence is missing all the same; the second has one.
        (MULTIPLY + FENCE + MULTIPLY, [(FIRST, "add.u32")]),
        (MULTIPLY + MULTIPLY, [(FIRST, "add.u32")]),
        ("mov.f32 %f0, 0f00000000;" + MULTIPLY, [(FIRST, "mov.f32")]),
        ("mov.f32 %f6, 0f00000000; mov.f32 %f0, %f6;" + MULTIPLY, [(FIRST, "mov.f32")]),
        # What a multiplication left there needs none; a constant does, anywhere between the two.
        (FENCE + MULTIPLY + MULTIPLY, []),
        (FENCE + MULTIPLY + "mov.f32 %f6, %f0; mov.f32 %f0, %f6;" + MULTIPLY, []),
        (FENCE + MULTIPLY + "mov.f32 %f0, 0f00000000;" + MULTIPLY, [(LATE, "mov.f32")]),
        (FENCE + MULTIPLY + FENCE + "mov.f32 %f0, 0f00000000;" + MULTIPLY, []),
        (FENCE + MULTIPLY + "mov.f32 %f0, 0f00000000;" + FENCE + MULTIPLY, []),
        (FENCE + MULTIPLY + "add.f32 %f0, %f0, %f0;" + MULTIPLY, [(LATE, "add.f32")]),
    ],
)
def test_fences(body: str, told: list[tuple[str, str]]) -> None:
    """A warp's first multiplication needs a fence, and so do registers that others wrote since; both name the write."""
    found = kernels.findings(START.replace(FENCE, "") + body, threads=128)
    assert [(each.message, each.other and each.other.text.split()[0]) for each in found] == told
    assert {each.kind for each in found} <= {"accumulator"}
    assert all(each.place.text.startswith("wgmma.mma_async") and each.count == 128 for each in found)
