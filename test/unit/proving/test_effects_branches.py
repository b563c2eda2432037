"""Branches of which is not known whether they are taken: what is in them may be done."""

from __future__ import annotations

import pytest
from kernel_text import kinds, proof_of

STORE = "llvm.store %c1, %tile : i32, !llvm.ptr<3>"
LOAD = "%loaded = llvm.load %tile : !llvm.ptr<3> -> i32"


def maybe(inside: str) -> str:
    return f"    scf.if %flag {{ {inside} }}\n"


def only(warp: int, inside: str) -> str:
    return f"    scf.if %is_warp{warp} {{ {inside} }}\n"


def test_accesses_that_a_barrier_orders_are_proved() -> None:
    proof = proof_of(only(0, f"scf.if %flag {{ {STORE} }}") + "    nvvm.barrier\n" + only(1, LOAD))
    assert proof.answer == "proved"


@pytest.mark.parametrize("is_in_doubt", (False, True))
def test_a_collision_is_told_only_of_what_is_done_for_sure(is_in_doubt: bool) -> None:
    store = f"scf.if %flag {{ {STORE} }}" if is_in_doubt else STORE
    proof = proof_of(only(0, store) + only(1, LOAD))
    if is_in_doubt:
        assert proof.answer == "cannot tell"
        assert "whether its branch is taken" in proof.reason
    else:
        assert kinds(proof) == {"race"}


def test_who_may_have_written_does_not_hide_who_has() -> None:
    proof = proof_of(only(0, STORE) + "    nvvm.barrier\n" + maybe(LOAD) + only(1, STORE))
    assert proof.answer == "cannot tell"


@pytest.mark.parametrize("inside", ("nvvm.barrier", "nvvm.cp.async.commit.group"))
def test_what_synchronises_there_is_not_known(inside: str) -> None:
    proof = proof_of(maybe(inside))
    assert proof.answer == "cannot tell"
    assert proof.reason == "whether the branch is taken is not known"
