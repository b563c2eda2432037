"""Loops that the memory analyses go through: which threads still run, and what comes out at the end."""

from __future__ import annotations

import pytest
from analysed_text import messages_of

from cutecc.passes.analysis.coalescing import CheckCoalescing

KERNEL = """
gpu.module @kernels {{
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %n: i32) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant 8 : i32
    %v = arith.constant 1.0 : f32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    {}
    return
  }}
}}
"""
STORE = """
    %address = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %address {alignment = 4 : i64} : f32, !llvm.ptr<1>
"""


def said_of(body: str) -> list[str]:
    return messages_of(CheckCoalescing(all=True), KERNEL.format(body))


def test_threads_that_have_left_a_loop_keep_what_they_left_it_with() -> None:
    # Its first part runs once more for odd threads than for even ones, and counts in memory of the thread's own.
    first, _ = said_of(
        """
    %memory = llvm.alloca %c1 x i32 : (i32) -> !llvm.ptr
    llvm.store %c0, %memory : i32, !llvm.ptr
    %turns = arith.andi %thread, %c1 : i32
    %count = scf.while (%unused = %c0) : (i32) -> i32 {
      %before = llvm.load %memory : !llvm.ptr -> i32
      %next = arith.addi %before, %c1 : i32
      llvm.store %next, %memory : i32, !llvm.ptr
      %on = arith.cmpi slt, %before, %turns : i32
      scf.condition(%on) %next : i32
    } do {
    ^bb0(%each: i32):
      scf.yield %each : i32
    }
    %at = arith.muli %count, %c8 : i32
    """
        + STORE
    )
    # Even threads leave it with 1, odd ones with 2: two sectors.
    assert first == "a store of 32 bits a thread takes 2 sectors a request, as few as possible"


@pytest.mark.parametrize(("result", "apart"), [(0, 8), (1, 12)])
def test_a_loop_hands_on_what_it_computes_for_nothing_else(result: int, apart: int) -> None:
    first, known = said_of(
        f"""
    %results:2 = scf.while (%i = %c0) : (i32) -> (i32, i32) {{
      %on = arith.cmpi slt, %i, %c1 : i32
      %double = arith.muli %thread, %c2 : i32
      %triple = arith.muli %thread, %c3 : i32
      scf.condition(%on) %double, %triple : i32, i32
    }} do {{
    ^bb0(%a: i32, %b: i32):
      scf.yield %c1 : i32
    }}
    %at = arith.addi %results#{result}, %c0 : i32
    """
        + STORE
    )
    assert first.endswith(f"threads are {apart} bytes apart")
    assert known == "the addresses of 1 of 1 accesses of global memory are known"


@pytest.mark.parametrize(
    ("bounds", "matters"),
    [
        ("%scaled to %after step %c1", True),
        ("%c0 to %after step %next_scaled", True),
        ("%c0 to %after step %c8", False),
    ],
    ids=["first", "step", "end"],
)
def test_what_the_turns_count_from_and_by_matters_and_not_where_they_end(bounds: str, matters: bool) -> None:
    said = said_of(
        f"""
    %next_thread = arith.addi %thread, %c1 : i32
    %scaled = arith.muli %thread, %n : i32
    %next_scaled = arith.muli %next_thread, %n : i32
    %after = arith.addi %next_scaled, %next_scaled : i32
    scf.for %i = {bounds} : i32 {{
      %eightfold = arith.muli %thread, %c8 : i32
      %at = arith.addi %eightfold, %i : i32
      {STORE}
    }}
    """
    )
    assert "sectors a request, 4 would do" in said[0]
    assert said[0].endswith(", with argument 1 = 8192") == matters
