"""Loads of tensor memory are over when what they load has been used."""

from __future__ import annotations

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
    assert said(FRAGMENT, READ, INTO_FRAGMENT) == {"race"}
    assert said(FRAGMENT, READ, INTO_FRAGMENT, FROM_FRAGMENT) == set()


def test_what_was_there_before_is_not_what_is_loaded() -> None:
    assert said(FRAGMENT, READ, INTO_FRAGMENT, "llvm.store %c1, %fragment : i32, !llvm.ptr\n", FROM_FRAGMENT) == {
        "race"
    }
    assert said(FRAGMENT, FROM_FRAGMENT, READ, INTO_FRAGMENT) == {"race"}


def test_of_several_all_have_been_used() -> None:
    again = READ.replace("%values", "%others")
    assert said(READ, again, USE) == {"race"}
    assert (
        said(READ, again, USE, USE.replace("%values", "%others").replace("%one", "%other").replace("%at", "%to"))
        == set()
    )


def test_where_some_lanes_store_it() -> None:
    """The others use it nowhere: to them it makes no difference when it comes."""
    assert said(READ, f"scf.if %flag {{ {USE.replace('%tile', '%x').replace('<3>', '<1>')} }}") == set()


def test_one_that_is_handed_on_is_waited_for_by_nobody() -> None:
    """Where a block ends with a load that goes on, no use of another one says that all are over."""
    late = f"""    %late = scf.if %flag -> vector<32xi32> {{
      {READ}
      scf.yield %values : vector<32xi32>
    }} else {{
      %zeros = arith.constant dense<0> : vector<32xi32>
      scf.yield %zeros : vector<32xi32>
    }}
"""
    late = late.replace("%values", "%inner").replace("%flag", "%is_warp1")
    assert said(late, READ, USE) == {"race"}
