"""Kernels that are wrong for what is easily forgotten of a state: each has to be seen."""

from __future__ import annotations

import pytest
from kernel_text import initialised, kinds, proof_of, wait
from test_loops import LATE, WRITES, loop, over_tiles

SUM = """%sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
    %held = llvm.load %word : !llvm.ptr<3> -> i32
    %b = arith.addi %a, %c1 : i32
    %r = arith.remsi %b, %c16 : i32
    scf.yield %r : i32
  }
  %is_eight = arith.cmpi eq, %sum, %c8 : i32
"""
"""Of the number of steps, what is left modulo 16."""
QUESTION = "%q = arith.cmpi sgt, %m, %c4 : i32 scf.if %q { llvm.store %c1, %tile : i32, !llvm.ptr<3> }"
PARTED = "%is_lane0 = arith.cmpi eq, %lane, %c0 : i32"


def of_warp1(body: str) -> str:
    return f"{initialised(1)} scf.if %is_warp1 {{ {body} }}"


def test_the_loop_of_the_other_lanes_is_to_come() -> None:
    body = f"{PARTED} scf.if %is_lane0 {{ {loop(WRITES)} }} else {{ {loop(LATE)} }}"
    assert kinds(proof_of(of_warp1(body))) == {"deadlock"}


def test_what_the_next_turn_asks_of_a_counter() -> None:
    body = f"""scf.for %i = %c0 to %n step %c1 : i32 {{
      %next = arith.addi %i, %c1 : i32
      %r = arith.remsi %i, %c16 : i32
      %bad = arith.cmpi eq, %r, %c8 : i32
      scf.if %bad {{ {wait(0)} }}
      %more = arith.cmpi slt, %next, %n : i32
      scf.if %more {{ llvm.store %c1, %tile : i32, !llvm.ptr<3> }}
    }}"""
    assert kinds(proof_of(of_warp1(body))) == {"deadlock"}


def test_which_lanes_there_are_outside_of_a_branch() -> None:
    body = f"""{SUM}
    %limit = arith.select %is_eight, %c2, %c1 : i32
    %is_some = arith.cmpi slt, %lane, %limit : i32
    scf.if %is_some {{
      {PARTED} scf.if %is_lane0 {{ {QUESTION} }}
      nvvm.mbarrier.arrive %bar0 : !llvm.ptr<3>
    }}"""
    assert kinds(proof_of(of_warp1(body))) == {"arrivals"}


def test_what_the_first_block_hands_on() -> None:
    body = f"""{SUM} {PARTED}
    %v = scf.if %is_lane0 -> i32 {{
      llvm.store %c1, %word : i32, !llvm.ptr<3>
      scf.yield %sum : i32
    }} else {{
      {QUESTION}
      scf.yield %c0 : i32
    }}
    %all = arith.constant -1 : i32
    %c31 = arith.constant 31 : i32
    %w = nvvm.shfl.sync idx %all, %v, %c0, %c31 : i32 -> i32
    %bad = arith.cmpi eq, %w, %c8 : i32
    scf.if %bad {{ {wait(0)} }}"""
    assert kinds(proof_of(of_warp1(body))) == {"deadlock"}


@pytest.mark.parametrize(("condition", "answer"), (("%is_warp0", "suspicious"), ("%flag", "cannot tell")))
def test_who_exits_before_an_access_that_may_be_made(condition: str, answer: str) -> None:
    body = f"""
    %other = arith.subi %c1, %rank : i32
    %there = nvvm.mapa %tile, %other : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.if {condition} {{ scf.if %is_first {{ llvm.store %c1, %there : i32, !llvm.ptr<7> }} }}
"""
    assert proof_of(body, blocks=2).answer == answer


BY_PARITY = """
   %odd = arith.remsi %n, %c2 : i32
   %is_odd = arith.cmpi eq, %odd, %c1 : i32
   scf.if %is_odd { scf.if %is_warp1 { llvm.store %c1, %word : i32, !llvm.ptr<3> } nvvm.barrier }
"""
"""Takes runs for those with more steps."""


@pytest.mark.parametrize("before", (BY_PARITY, ""))
def test_who_looks_ahead_is_told_of_the_end_before(before: str) -> None:
    """With 26 steps somebody does what nobody does with less."""
    late = f"""
   %ahead = arith.addi %step, %c8 : i32
   %more = arith.cmpi slt, %ahead, %n : i32
   scf.if %more {{ %late = arith.cmpi sgt, %step, %c16 : i32 scf.if %late {{ {WRITES} }} }}
   %held = llvm.load %word : !llvm.ptr<3> -> i32"""
    body = over_tiles(f"{before} scf.if %is_warp0 {{ {WRITES} }} scf.if %is_warp1 {{ {loop(late)} }}")
    assert kinds(proof_of(initialised(1) + body)) == {"race"}
