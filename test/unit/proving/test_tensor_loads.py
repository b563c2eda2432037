"""Loads of tensor memory are over when what they load has been used."""

from __future__ import annotations

import pytest
from kernel_text import proof_of
from test_effects_tensor import BEGIN, DONE, END, PRODUCT, READ, READ_IS_OVER, WRITE, WRITE_IS_OVER

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


def is_not_known(before: str, late: str) -> bool:
    """Whether nothing is said of who uses something then, and perhaps before: it is no race where it has been used."""
    proof = proof_of("".join((BEGIN, PRODUCT, DONE, TO, ZEROS, before, END, late)), warps=4)
    return proof.answer == "cannot tell" and "has been used by then" in proof.reason


BY_SOME = f"    scf.if %is_warp1 {{ {store('%values', 1)} }}\n"


def test_a_use_of_the_turn_before() -> None:
    turns = f"""    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %zeros) -> (vector<32xi32>) : i32 {{
{READ}{store("%before", 1)}
      scf.yield %values : vector<32xi32>
    }}
"""
    assert is_not_known(turns, store("%last", 2))


@pytest.mark.parametrize("is_used_first", (True, False))
def test_what_is_handed_to_the_next_turn(*, is_used_first: bool) -> None:
    """Is over when that uses it, not when it is handed over."""
    zeros = WRITE.replace("%row", "%sums")
    over = f"    nvvm.barrier\n    scf.if %is_warp0 {{\n{zeros}{WRITE_IS_OVER}    }}\n    nvvm.barrier\n"
    parts = [over, READ, store("%before", 1)]
    turns = f"""    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %zeros) -> (vector<32xi32>) : i32 {{
{"".join(parts[2:] + parts[:2] if is_used_first else parts)}
      scf.yield %values : vector<32xi32>
    }}
"""
    proof = proof_of("".join((BEGIN, TO, ZEROS, turns)), warps=4)
    assert proof.answer == "cannot tell" and "has been used by then" in proof.reason


def test_a_value_of_one_of_two_branches() -> None:
    either = f"""    %r = scf.if %is_warp1 -> vector<32xi32> {{ scf.yield %values : vector<32xi32> }} else {{
      scf.yield %zeros : vector<32xi32>
    }}
{store("%r", 1)}"""
    assert is_not_known(READ + either, store("%values", 2))


def test_what_is_written_over_in_part() -> None:
    part = "    llvm.store %c1, %fragment : i32, !llvm.ptr\n"
    assert used_late(FRAGMENT + READ + INTO_FRAGMENT + part, FROM_FRAGMENT) == {"race"}
    assert is_not_known(FRAGMENT + READ + INTO_FRAGMENT + part + BY_SOME, FROM_FRAGMENT)


@pytest.mark.parametrize(
    "use",
    (
        "    %p = arith.cmpi sgt, %e, %c0 : i32\n    scf.if %p { llvm.store %c1, %out : i32, !llvm.ptr<1> }\n",
        '    llvm.inline_asm has_side_effects "st.global.b32 [$0], $1;", "l,r" %out, %e : (!llvm.ptr<1>, i32) -> ()\n',
    ),
)
def test_uses_that_are_no_stores(use: str) -> None:
    late = f"    %e = vector.extract %values[5] : i32 from vector<32xi32>\n{use}"
    assert used_late(READ, late) == {"race"}
    assert is_not_known(READ + BY_SOME, late)


AGAIN = """    nvvm.tcgen05.st %row, %made {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
    nvvm.tcgen05.wait <store>
"""


def test_who_writes_over_it_what_is_made_of_it() -> None:
    made = "    %made = arith.addi %values, %values : vector<32xi32>\n"
    assert said(READ, made, AGAIN) == set()
    assert said(READ, made.replace("%values, %values", "%zeros, %zeros").join((ZEROS, AGAIN))) == {"race"}


def test_of_one_nobody_knows_of_another_one_is_known() -> None:
    """When other warps, in a branch of theirs, use what they load says nothing of who has used what it has loaded."""
    others = f"""    scf.if %is_warp1 {{
      %v = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %zeros) -> (vector<32xi32>) : i32 {{
        {store("%before", 1)}{READ}
        scf.yield %values : vector<32xi32>
      }}
      {READ_IS_OVER}
    }} else {{
      {READ}{USE}
    }}
"""
    assert said(TO, ZEROS, others) == set()
