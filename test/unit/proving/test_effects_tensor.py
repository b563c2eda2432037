"""Tensor cores of sm_100: products, copies, loads and stores of tensor memory, and what they promise of their order."""

from __future__ import annotations

import pytest
from kernel_text import initialised, kinds, proof_of, wait

COLUMNS = 64
PRODUCT_128X64 = 135266320
"""The instruction descriptor of f16 times f16 into f32."""
BEGIN = f"""    scf.if %is_warp0 {{
      nvvm.tcgen05.alloc %word, %c64 : !llvm.ptr<3>, i32
      nvvm.tcgen05.relinquish_alloc_permit
    }}
{initialised(1)}    %base = llvm.load %word : !llvm.ptr<3> -> i32
    %sums = llvm.inttoptr %base : i32 to !llvm.ptr<6>
    %start = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %sixteens = arith.shrui %start, %c4 : i32
    %zero8 = arith.constant 0 : i8
    %swizzle = arith.constant 2 : i8
    %a = nvvm.tcgen05.mma_smem_desc(%sixteens, %c1, %c64, %zero8, %false, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64
    %shape = arith.constant {PRODUCT_128X64} : i32
    %quarter = arith.constant 2097152 : i32
    %lanes = arith.muli %warp, %quarter : i32
    %mine = arith.addi %base, %lanes : i32
    %row = llvm.inttoptr %mine : i32 to !llvm.ptr<6>
"""
MULTIPLY = """      nvvm.tcgen05.mma %sums, %a, %a, %shape, %false {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
"""  # noqa: E501
COMMIT = "      nvvm.tcgen05.commit %bar0 : !llvm.ptr<3>\n"
READ = "    %values = nvvm.tcgen05.ld %row {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>\n"
WRITE = "    nvvm.tcgen05.st %row, %zeros {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>\n"
ZEROS = "    %zeros = arith.constant dense<0> : vector<32xi32>\n"
READ_IS_OVER = "    nvvm.tcgen05.wait <load>\n"
WRITE_IS_OVER = "    nvvm.tcgen05.wait <store>\n"
END = """    nvvm.barrier
    scf.if %is_warp0 { nvvm.tcgen05.dealloc %sums, %c64 : !llvm.ptr<6>, i32 }
"""


def by_one(inside: str) -> str:
    return f"    scf.if %is_first {{\n{inside}    }}\n"


PRODUCT = by_one(MULTIPLY + COMMIT)
DONE = f"    {wait(0)}\n"


def said(*parts: str) -> set[str]:
    """What is wrong; nothing of what is proved."""
    proof = proof_of("".join((BEGIN, *parts)), warps=4)
    assert proof.answer in ("proved", "suspicious"), proof.reason
    return kinds(proof)


def test_sums_that_are_read_when_the_product_is_over_are_proved() -> None:
    assert said(PRODUCT, DONE, READ, READ_IS_OVER, END) == set()


def test_sums_that_are_read_too_early_race() -> None:
    assert said(PRODUCT, READ, READ_IS_OVER, DONE, END) == {"race"}


def test_a_commit_tells_of_what_was_issued_before_it_alone() -> None:
    assert said(by_one(MULTIPLY + COMMIT + MULTIPLY), DONE, READ, READ_IS_OVER, END) >= {"race"}


def test_products_alike_are_in_order() -> None:
    assert said(by_one(MULTIPLY + MULTIPLY + COMMIT), DONE, READ, READ_IS_OVER, END) == set()


@pytest.mark.parametrize(("columns", "found"), ((64, set[str]()), (32, {"race"})))
def test_products_of_other_shapes_into_the_same_columns_are_not(columns: int, found: set[str]) -> None:
    shape = PRODUCT_128X64 - (64 - columns << 14)
    other = f"      %other = arith.constant {shape} : i32\n" + MULTIPLY.replace("%shape", "%other")
    assert said(by_one(MULTIPLY + other + COMMIT), DONE, READ, READ_IS_OVER, END) == found


def test_operands_are_written_over_when_the_product_is_over() -> None:
    store = "    scf.if %is_warp1 { llvm.store %c1, %tile : i32, !llvm.ptr<3> }\n"
    assert said(PRODUCT, DONE, store, END) == set()
    assert said(PRODUCT, store, DONE, END) == {"race"}


@pytest.mark.parametrize(("waits", "found"), ((READ_IS_OVER, set[str]()), ("", {"race"})))
def test_columns_are_given_back_when_loads_are_over(waits: str, found: set[str]) -> None:
    assert said(PRODUCT, DONE, READ, waits, END) == found


@pytest.mark.parametrize(("waits", "found"), ((WRITE_IS_OVER, set[str]()), ("", {"race"})))
def test_a_store_is_over_when_it_was_waited_for(waits: str, found: set[str]) -> None:
    assert said(ZEROS, WRITE, waits, "    nvvm.barrier\n", PRODUCT, DONE, END) == found


def test_a_warp_reaches_its_own_lanes() -> None:
    # Each stores and loads what is its own: nobody has to wait for another one.
    assert said(ZEROS, WRITE, WRITE_IS_OVER, READ, READ_IS_OVER, END) == set()


def test_who_is_lapped_by_the_one_that_multiplies_is_told() -> None:
    turn = f"""      scf.if %is_first {{
{MULTIPLY}{COMMIT}      }}
      {wait(0, "%phase")}
"""
    body = f"""    %last = scf.for %step = %c0 to %n step %c1 iter_args(%phase = %c0) -> (i32) : i32 {{
{turn}      %other = arith.xori %phase, %c1 : i32
      scf.yield %other : i32
    }}
"""
    assert said(body, END) == {"phase"}
    held = body.replace("      %other", "      nvvm.barrier\n      %other")
    assert said(held, END) == set()


def test_what_several_threads_issue_is_not_known() -> None:
    proof = proof_of(BEGIN + f"    scf.if %is_warp0 {{\n{MULTIPLY}    }}\n", warps=4)
    assert proof.answer == "cannot tell"
    assert "several threads" in proof.reason
