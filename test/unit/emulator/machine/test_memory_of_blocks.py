"""What blocks see of memory: their own shared memory, the module's variables."""

from __future__ import annotations

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.errors import EmulatorError, UsageError

WIDE = (
    PROLOGUE
    + """
  mov.u32 %r5, dynamic;
  mov.u32 %r6, 7;
  st.shared.u32 [%r5], %r6;
  st.shared.u32 [%r5+4], %r6;
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5];
  add.u32 %r14, %r10, %r11;
"""
)
DYNAMIC = ".extern .shared .align 16 .b8 dynamic[];\n"


def test_a_load_that_a_compiler_has_widened_may_reach_behind_the_memory() -> None:
    out = np.zeros(32, np.uint32)
    run(WIDE + "  st.global.u32 [%rd3], %r14;\n", out, module=DYNAMIC, shared=8)
    assert (out == 14).all()


def test_what_a_program_uses_of_a_load_may_not() -> None:
    body = WIDE + "  add.u32 %r14, %r14, %r12;\n  st.global.u32 [%rd3], %r14;\n"
    with pytest.raises(EmulatorError, match="outside of the block's shared memory"):
        run(body, np.zeros(32, np.uint32), module=DYNAMIC, shared=8)


@pytest.mark.parametrize(("offset", "past"), [(8, "just"), (12, "4 bytes")])
def test_an_address_behind_shared_memory_says_how_much_there_is(offset: int, past: str) -> None:
    body = f"  st.shared.u32 [dynamic+{offset}], 1;\n"
    message = rf"outside of the block's shared memory at shared\+{offset}, {past} past the end of 8 bytes"
    with pytest.raises(EmulatorError, match=message):
        run(body, np.zeros(32, np.uint32), module=DYNAMIC, shared=8)


def test_a_variable_of_the_module_is_one_for_all_blocks_of_a_launch() -> None:
    body = PROLOGUE + "  atom.global.add.u32 %r5, [counter], 1;\n  st.global.u32 [%rd3], %r5;\n"
    out = np.zeros(64 * 512, np.uint32)
    run(body, out, module=".global .u32 counter = 5;\n", grid=(512, 1, 1), block=(64, 1, 1))
    assert np.array_equal(np.sort(out), np.arange(out.size) + 5)
    run(body, out, module=".global .u32 counter = 5;\n", block=(64, 1, 1))
    assert out[:64].min() == 5, "another launch begins with the initial value"


def test_variables_of_the_module_lie_at_their_alignment() -> None:
    module = (
        ".global .u8 first = 3;\n.global .u32 second = 5;\n.const .u8 third = 7;\n.const .u32 fourth[2] = {9, 11};\n"
    )
    body = (
        PROLOGUE
        + """
  ld.global.u8 %r5, [first];
  ld.global.u32 %r6, [second];
  ld.const.u8 %r7, [third];
  ld.const.u32 %r8, [fourth+4];
  mad.lo.u32 %r5, %r5, 100, %r6;
  mad.lo.u32 %r5, %r5, 100, %r7;
  mad.lo.u32 %r5, %r5, 100, %r8;
  st.global.u32 [%rd3], %r5;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, module=module)
    assert (out == 3_05_07_11).all()


UNWRITTEN = PROLOGUE + "  ld.{space}.u32 %r5, [place];\n  st.global.u32 [%rd3], %r5;\n"
FORMATS = ["f2", "f4", "f8"]


@pytest.mark.parametrize("space", ["shared", "local"])
def test_what_nothing_has_written_is_no_number_of_any_type(space: str) -> None:
    """And no index: as an integer it is larger than any tensor."""
    out = np.zeros(32, np.uint32)
    body = f".{space} .align 8 .b8 place[8];\n" + UNWRITTEN.format(space=space)
    run(body, out)
    for type_ in FORMATS:
        assert np.isnan(out.view(type_)).all()
    assert np.isnan((out.view(np.uint16).astype(np.uint32) << 16).view("f4")).all(), "bf16"
    assert set(out.view(np.uint8).tolist()) <= {0x7F, 0xFF}, "each byte is no number as an 8-bit float"
    assert out.view(np.int32).min() == 2**31 - 1


def test_registers_that_nothing_has_written_are_no_numbers_either() -> None:
    out = np.zeros(32, np.uint32)
    run(PROLOGUE + "  st.global.u32 [%rd3], %r17;\n", out)
    assert (out == 0x7FFF_FFFF).all()


def test_shared_memory_may_begin_with_zeros() -> None:
    out = np.ones(32, np.uint32)
    run(".shared .align 8 .b8 place[8];\n" + UNWRITTEN.format(space="shared"), out, shared_start="zero")
    assert not out.any()
    with pytest.raises(UsageError, match="shared memory does not begin with 'ones'"):
        run(PROLOGUE, out, shared_start="ones")


def test_blocks_do_not_see_what_others_have_left() -> None:
    """Each begins anew, in one wave with others or not."""
    out = np.zeros(32 * 300, np.uint32)
    body = PROLOGUE + (
        "  .shared .align 8 .b8 place[8];\n  ld.shared.u32 %r5, [place];\n  st.shared.u32 [place], 1;\n"
        "  st.global.u32 [%rd3], %r5;\n"
    )
    run(body, out, grid=(300, 1, 1))
    assert (out == 0x7FFF_FFFF).all()
