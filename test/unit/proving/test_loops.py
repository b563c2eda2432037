"""Loops whose numbers of steps a launch decides: what shows only after many of them is not passed over.

Each kernel has a wait for which nobody arrives, from the seventeenth step of a loop on. Where another loop has come to
states that repeat long before that one begins, these are no reason to look no further.
"""

from __future__ import annotations

from kernel_text import initialised, kinds, proof_of, wait

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
