"""Loads of tensor memory are over when what they load has been used."""

from __future__ import annotations

import pytest
from kernel_text import proof_of
from test_effects_tensor import BEGIN, DONE, END, PRODUCT, READ

USE = """    %one_of_them = vector.extract %values[3] : i32 from vector<32xi32>
    %at = llvm.getelementptr %tile[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %one_of_them, %at : i32, !llvm.ptr<3>
"""
FRAGMENT = "    %fragment = llvm.alloca %c32 x i32 : (i32) -> !llvm.ptr\n"
INTO_FRAGMENT = "    llvm.store %values, %fragment : vector<32xi32>, !llvm.ptr\n"
FROM_FRAGMENT = """    %fourth = llvm.getelementptr %fragment[3] : (!llvm.ptr) -> !llvm.ptr, i32
    %held = llvm.load %fourth : !llvm.ptr -> i32
    llvm.store %held, %x : i32, !llvm.ptr<1>
"""


def said(*parts: str) -> set[str]:
    """What is wrong with who gives tensor memory back while others may still read it; nothing of what is proved."""
    proof = proof_of("".join((BEGIN, PRODUCT, DONE, *parts, END)), warps=4)
    assert proof.answer in ("proved", "suspicious"), proof.reason
    return {each.kind for each in proof.problems}


def test_who_stores_what_it_loads_has_it() -> None:
    assert said(READ) == {"race"}
    assert said(READ, USE) == set()


def test_also_through_memory_of_its_own() -> None:
    assert said(FRAGMENT, READ, INTO_FRAGMENT, FROM_FRAGMENT) == set()
    assert used_late(FRAGMENT + READ + INTO_FRAGMENT, FROM_FRAGMENT) == {"race"}


def test_what_nobody_uses_may_be_late() -> None:
    """Of a branch that some lanes take, too: to the others it makes no difference when it comes."""
    assert said(FRAGMENT, READ, INTO_FRAGMENT) == set()
    assert said(READ, f"scf.if %flag {{ {USE.replace('%tile', '%x').replace('<3>', '<1>')} }}") == set()


def test_of_several_all_have_been_used() -> None:
    again, other = READ.replace("%values", "%others"), store("%others", 2)
    assert used_late(READ + again + USE, other) == {"race"}
    assert said(TO, READ, again, USE, other) == set()


ZEROS = "    %zeros = arith.constant dense<0> : vector<32xi32>\n"
TO = "    %out = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"


def store(value: str, number: int) -> str:
    return f"""    %e{number} = vector.extract {value}[3] : i32 from vector<32xi32>
    llvm.store %e{number}, %out : i32, !llvm.ptr<1>
"""


def used_late(before: str, late: str) -> set[str]:
    """What is wrong where something is used when tensor memory has been given back."""
    proof = proof_of("".join((BEGIN, PRODUCT, DONE, TO, ZEROS, before, END, late)), warps=4)
    assert proof.answer in ("proved", "suspicious"), proof.reason
    return {each.kind for each in proof.problems}


BY_SOME = f"    scf.if %is_warp1 {{ {store('%values', 1)} }}\n"


def test_a_use_of_the_turn_before() -> None:
    turns = f"""    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %zeros) -> (vector<32xi32>) : i32 {{
{READ}{store("%before", 1)}
      scf.yield %values : vector<32xi32>
    }}
"""
    assert used_late(turns, store("%last", 2)) == {"race"}


def test_a_value_of_one_of_two_branches() -> None:
    either = f"""    %r = scf.if %is_warp1 -> vector<32xi32> {{ scf.yield %values : vector<32xi32> }} else {{
      scf.yield %zeros : vector<32xi32>
    }}
{store("%r", 1)}"""
    assert used_late(READ + either, store("%values", 2)) == {"race"}


def test_what_is_written_over_in_part() -> None:
    part = "    llvm.store %c1, %fragment : i32, !llvm.ptr\n"
    assert used_late(FRAGMENT + READ + INTO_FRAGMENT + part + BY_SOME, FROM_FRAGMENT) == {"race"}


@pytest.mark.parametrize(
    "use",
    (
        "    %p = arith.cmpi sgt, %e, %c0 : i32\n    scf.if %p { llvm.store %c1, %out : i32, !llvm.ptr<1> }\n",
        '    llvm.inline_asm has_side_effects "st.global.b32 [$0], $1;", "l,r" %out, %e : (!llvm.ptr<1>, i32) -> ()\n',
    ),
)
def test_uses_that_are_no_stores(use: str) -> None:
    late = f"    %e = vector.extract %values[5] : i32 from vector<32xi32>\n{use}"
    assert used_late(READ + BY_SOME, late) == {"race"}
