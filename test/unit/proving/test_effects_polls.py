"""Looks at mbarriers: loops of them are waits, and looks ahead make waits superfluous."""

from __future__ import annotations

from kernel_text import initialised, kinds, proof_of, wait

ARRIVES = """    scf.if %is_first {
      %token = nvvm.mbarrier.arrive %bar0, %c1 : !llvm.ptr<3> -> i64
    }
"""


def look(bar: int = 0, parity: str = "%c0", name: str = "%found") -> str:
    return f"{name} = nvvm.mbarrier.try_wait.parity.timelimit %bar{bar}, {parity}, %c1 : !llvm.ptr<3>, i32, i32 -> i1"


def spin(bar: int = 0, parity: str = "%c0", condition: str = "arith.cmpi eq, %found, %false : i1") -> str:
    return f"""      scf.while : () -> () {{
        {look(bar, parity)}
        %again = {condition}
        scf.condition(%again)
      }} do {{
        scf.yield
      }}
"""


def ahead(wait_for: str, bar: int = 0, parity: str = "%c0") -> str:
    return f"""    scf.if %is_warp1 {{
      {look(bar, parity)}
      %fails = arith.cmpi eq, %found, %false : i1
      scf.if %fails {{
        {wait_for}
      }}
    }}
"""


def test_a_loop_that_looks_is_a_wait() -> None:
    assert proof_of(initialised(1) + ARRIVES + spin()).answer == "proved"


def test_a_loop_that_looks_for_ever_is_a_deadlock() -> None:
    proof = proof_of(initialised(2) + ARRIVES + spin())
    assert kinds(proof) == {"deadlock"}


def test_a_loop_that_ends_without_an_answer_is_not_known() -> None:
    proof = proof_of(initialised(1) + ARRIVES + spin(condition="arith.cmpi eq, %found, %true : i1"))
    assert proof.answer == "cannot tell"


def test_a_look_ahead_of_the_same_wait_is_proved() -> None:
    assert proof_of(initialised(1) + ARRIVES + ahead(wait(0))).answer == "proved"


def test_a_look_ahead_of_another_wait_is_not_known() -> None:
    other = "    scf.if %is_first { %t = nvvm.mbarrier.arrive %bar1, %c1 : !llvm.ptr<3> -> i64 }\n"
    proof = proof_of(initialised(1, 1) + ARRIVES + other + ahead(wait(1)))
    assert proof.answer == "cannot tell"
    assert "another phase" in proof.reason


def test_an_answer_that_does_more_than_skip_a_wait_is_not_known() -> None:
    proof = proof_of(initialised(1) + ARRIVES + ahead("llvm.store %c1, %tile : i32, !llvm.ptr<3>"))
    assert proof.answer == "cannot tell"
    assert "more depends on a look" in proof.reason


def test_who_is_lapped_while_it_looks_is_told() -> None:
    proof = proof_of(initialised(1) + ARRIVES + ARRIVES + ahead(wait(0)))
    assert kinds(proof) & {"phase", "deadlock"}
