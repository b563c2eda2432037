"""What of a program depends on what memory holds: loops and addresses are refused, branches are said."""

from __future__ import annotations

import pytest

import cutecc
from cutecc.emulator.launch import load_program
from cutecc.emulator.machine.program import Program
from cutecc.estimating.refusals import assumptions, check_within_reach
from cutecc.ptx.locations import PtxText

_START = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p)
{
  .reg .pred %p<9>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .shared .align 16 .b8 tile[256];
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, tile;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
"""
_LOOP = """
  ld.shared.b32 %r3, [%r1];
  mov.b32 %r4, 0;
$again:
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p1, %r4, %r3;
  @%p1 bra $again;
"""
COPIES = {
    "st.shared": "ld.global.b32 %r5, [%rd4];\nst.shared.b32 [%r1], %r5;",
    "cp.async": "cp.async.ca.shared.global [%r1], [%rd4], 16;",
    "bulk": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 16, [%r1+128];",
    "tensor": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {%r2, %r2}], [%r1+128];",
}


def program(body: str) -> Program:
    return load_program(PtxText(f"{_START}{body}\n  ret;\n}}\n"), "kernel")


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_a_loop_by_what_was_copied_to_shared_memory_is_refused(copy: str) -> None:
    with pytest.raises(cutecc.EstimateError, match="a data-dependent loop"):
        check_within_reach(program(copy + _LOOP))


def test_a_loop_by_what_else_shared_memory_holds_is_not() -> None:
    check_within_reach(program("st.shared.b32 [%r1], %r2;" + _LOOP))
    # What is copied from there to global memory is no data of before.
    check_within_reach(program("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;" + _LOOP))


GATHERS = {
    "ld.global": "ld.global.b32 %r6, [%rd6];",
    "st.global": "st.global.b32 [%rd6], %r2;",
    "cp.async": "cp.async.ca.shared.global [%r1], [%rd6], 16;",
    "tensor": "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {%r2, %r5}], [%r1+128];",
    "ld.shared": "add.s32 %r7, %r1, %r5;\nld.shared.b32 %r6, [%r7];",
}


@pytest.mark.parametrize("access", GATHERS.values(), ids=GATHERS.keys())
def test_an_address_that_was_loaded_is_refused(access: str) -> None:
    loaded = "ld.global.b32 %r5, [%rd4];\nmul.wide.s32 %rd5, %r5, 4;\nadd.s64 %rd6, %rd2, %rd5;\n"
    with pytest.raises(cutecc.EstimateError, match="a data-dependent address at"):
        check_within_reach(program(loaded + access))


def test_a_register_that_held_what_was_loaded_may_be_an_address() -> None:
    """Registers are written again: it counts what is there at the time."""
    body = "ld.global.b64 %rd6, [%rd4];\nst.global.b64 [%rd4], %rd6;\nmov.b64 %rd6, %rd4;\nld.global.b32 %r5, [%rd6];"
    check_within_reach(program(body))
    assert not assumptions(program(body))


def test_an_address_that_is_stored_to_by_a_matrix_is_not_its_result() -> None:
    body = (
        "ld.global.b32 %r5, [%rd4];\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r5};\nld.shared.b32 %r6, [%r1];"
    )
    check_within_reach(program(body))


BRANCHES = {
    "branch": "@%p1 bra $end;\nst.global.b32 [%rd4], %r2;\n$end:",
    "access": "@%p1 st.global.b32 [%rd4], %r2;",
    "exit": "@%p1 exit;",
}


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES.keys())
def test_a_branch_by_what_was_loaded_is_said(branch: str) -> None:
    decided = program(f"ld.global.b32 %r5, [%rd4];\nsetp.eq.s32 %p1, %r5, 0;\n{branch}")
    check_within_reach(decided)
    (said,) = assumptions(decided)
    assert "depends on data; here it is as on zeros" in said


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES.keys())
def test_the_predicate_of_an_edge_is_not(branch: str) -> None:
    edge = program(f"ld.global.b32 %r5, [%rd4];\nsetp.lt.s32 %p1, %r2, 100;\n{branch}")
    check_within_reach(edge)
    assert not assumptions(edge)
