"""Loops whose numbers of steps a launch decides: what shows only after many of them is not passed over.

Each kernel has a wait for which nobody arrives, from the seventeenth step of a loop on. Where another loop has come to
states that repeat long before that one begins, these are no reason to look no further.
"""

from __future__ import annotations

import time

from kernel_text import initialised, kernel_text, kinds, proof_of, wait

from cutecc.ir.modules import fresh_context, parse
from cutecc.proving.exploring import Assumed, explore
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.numbers import Residue
from cutecc.proving.pictured import skeletons_of
from cutecc.proving.proof import prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.states import States
from cutecc.proving.warps import program_of

LATE = f"""
        %late = arith.cmpi sgt, %step, %c16 : i32
        scf.if %late {{ {wait(0)} }}
        %held = llvm.load %word : !llvm.ptr<3> -> i32"""
WRITES = "llvm.store %c1, %tile : i32, !llvm.ptr<3>"


def loop(body: str, to: str = "%n") -> str:
    return f"""
      scf.for %step = %c0 to {to} step %c1 : i32 {{
        {body}
      }}"""


INNER = loop(WRITES).replace("%step", "%inner")


def test_in_the_only_loop() -> None:
    proof = proof_of(initialised(1) + f"scf.if %is_warp1 {{ {loop(LATE)} }}")
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})
    assert list(proof.sizes.values()) == [18]


def test_in_a_loop_behind_another_warps() -> None:
    body = f"""{initialised(1)}
    scf.if %is_warp0 {{ {loop(WRITES)} }}
    nvvm.barrier
    scf.if %is_warp1 {{ {loop(LATE)} }}"""
    proof = proof_of(body)
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})


def test_in_a_second_loop_of_the_same_warp() -> None:
    proof = proof_of(initialised(1) + f"scf.if %is_warp1 {{ {loop(WRITES)} {loop(LATE)} }}")
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})


def over_tiles(body: str) -> str:
    """A loop of both warps over `%m` tiles, of which each block has every so many-th."""
    return f"""
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %blocks = nvvm.read.ptx.sreg.nctaid.x : i32
    scf.for %tile_number = %block to %m step %blocks : i32 {{
      {body}
      nvvm.barrier
    }}"""


def test_loops_inside_of_a_loop_over_tiles_are_proved() -> None:
    proof = proof_of(initialised(1) + over_tiles(f"scf.if %is_warp0 {{ {loop(WRITES)} }}"))
    assert proof.answer == "proved"


def test_in_a_loop_of_each_tile_behind_another_warps() -> None:
    first, then = f"scf.if %is_warp0 {{ {loop(WRITES)} }}", f"scf.if %is_warp1 {{ {loop(LATE)} }}"
    proof = proof_of(initialised(1) + over_tiles(f"{first} nvvm.barrier {then}"))
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})


def test_in_a_second_loop_of_each_tile() -> None:
    proof = proof_of(initialised(1) + over_tiles(f"scf.if %is_warp1 {{ {loop(WRITES)} {loop(LATE)} }}"))
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})


def test_loops_of_two_numbers_of_steps_are_not_known() -> None:
    turns = f"scf.for %turn = %c0 to %c2 step %c1 : i32 {{ {loop(WRITES)} {loop(WRITES, to='%m')} }}"
    proof = proof_of(initialised(1) + f"scf.if %is_warp1 {{ {turns} }}")
    assert proof.answer == "cannot tell"
    assert proof.reason == "loops take argument 1 and argument 2 steps, numbers that differ"


def test_proofs_and_pictures_keep_to_their_time() -> None:
    """Also in a run that asks nothing, and would go on for hours."""
    endless = loop(f"{WRITES} nvvm.barrier", to="%c10000000")
    with fresh_context():
        (kernel,) = read_kernels(parse(kernel_text(initialised(1) + endless).encode()), Atoms({}))
        program = program_of(skeleton_of(kernel))
    proof = prove(program, seconds=0.2)
    assert (proof.answer, proof.reason) == ("cannot tell", "the time is over")
    assert skeletons_of(program, seconds=0.0) == []


def steady(body: str, steps: int = 12, period: int = 1) -> bool:
    """Whether the run of so many steps stands for those with a period more."""
    with fresh_context():
        module = parse(kernel_text(initialised(1) + over_tiles(body)).encode())
        (kernel,) = read_kernels(module, Atoms({}))
        program = program_of(skeleton_of(kernel))
    (symbol,) = {each for each in program.symbols.values() if each.name == "argument 1"}
    assumed = Assumed(exact={symbol: steps}, residues={symbol: Residue(steps, period)}, window=symbol)
    found = explore(program, assumed, States(program), time.monotonic() + 20)
    assert found.is_complete and not found.problems
    return found.is_steady


def test_loops_that_go_in_step_have_a_steady_state_together() -> None:
    both = loop(f"scf.if %is_warp0 {{ {WRITES} }} nvvm.barrier")
    # Whose turn it is comes around with the second step.
    assert steady(both, period=2)
    assert not steady(both, period=1)
    assert not steady(both, steps=1, period=2), "it is left before it comes to one"


def test_loops_one_after_the_other_have_each_its_own() -> None:
    first, then = f"scf.if %is_warp0 {{ {loop(WRITES)} }}", f"scf.if %is_warp1 {{ {loop(WRITES)} }}"
    assert steady(first)
    assert steady(f"{first} nvvm.barrier {then}")
    assert steady(f"scf.if %is_warp0 {{ {loop(WRITES)} {loop(WRITES)} }}")
    assert steady(f"scf.if %is_warp0 {{ {loop(INNER, to='%c2')} }}")
    # The second has none before its seventeenth turn.
    assert not steady(f"{first} nvvm.barrier scf.if %is_warp1 {{ {loop(LATE)} }}")
    assert not steady(f"scf.if %is_warp0 {{ {loop(WRITES)} {loop(LATE)} }}")


def test_a_loop_inside_of_one_of_as_many_steps_has_none() -> None:
    assert not steady(f"scf.if %is_warp0 {{ {loop(INNER)} }}")


def test_in_a_loop_that_is_gone_through_again() -> None:
    """What is wrong is so only the second time, and late."""
    late = f"""
        %again = arith.cmpi eq, %turn, %c1 : i32
        scf.if %again {{ {LATE} }}"""
    twice = f"scf.for %turn = %c0 to %c2 step %c1 : i32 {{ {loop(late)} }}"
    proof = proof_of(initialised(1) + f"scf.if %is_warp1 {{ {twice} }}")
    assert (proof.answer, kinds(proof)) == ("suspicious", {"deadlock"})
    right = f"scf.for %turn = %c0 to %c2 step %c1 : i32 {{ {loop(WRITES)} nvvm.barrier }}"
    assert proof_of(initialised(1) + right, warps=1).answer == "proved"


def test_loops_that_do_not_count_are_not_known_to_repeat() -> None:
    """One that has ended before others come to their steady state would be overlooked."""
    turns = """scf.if %is_warp1 {
      %last = scf.while (%at = %c0) : (i32) -> i32 {
        %more = arith.cmpi slt, %at, %n : i32
        scf.condition(%more) %at : i32
      } do {
      ^bb0(%at: i32):
        %held = llvm.load %word : !llvm.ptr<3> -> i32
        %next = arith.addi %at, %c1 : i32
        scf.yield %next : i32
      }
    }"""
    assert not steady(f"{turns} nvvm.barrier scf.if %is_warp0 {{ {loop(WRITES)} }}")
