"""Loads and stores of shared memory, whatever operation they are."""

from __future__ import annotations

import pytest
from kernel_text import kinds, proof_of


def said(store: str, load: str) -> tuple[str, set[str]]:
    """Of a store and a load of two warps that nothing orders."""
    proof = proof_of(f"    scf.if %is_warp0 {{ {store} }}\n    scf.if %is_warp1 {{ {load} }}\n")
    return proof.answer, kinds(proof)


PLAIN = "llvm.store %c1, %tile : i32, !llvm.ptr<3>", "%held = llvm.load %tile : !llvm.ptr<3> -> i32"


@pytest.mark.parametrize("store", (PLAIN[0], "nvvm.store.ext %c1, %tile : i32, !llvm.ptr<3>"))
@pytest.mark.parametrize("load", (PLAIN[1], "%held = nvvm.load.ext %tile : !llvm.ptr<3> -> i32"))
def test_nothing_orders_them(store: str, load: str) -> None:
    assert said(store, load) == ("suspicious", {"race"})


def test_others_of_shared_memory_are_not_modelled() -> None:
    fill = '"llvm.intr.memset"(%tile, %byte, %c64) <{isVolatile = false}> : (!llvm.ptr<3>, i8, i32) -> ()'
    proof = proof_of(f"    %byte = arith.constant 0 : i8\n    {fill}\n")
    assert (proof.answer, proof.reason) == ("cannot tell", "llvm.intr.memset is not modelled")


@pytest.mark.parametrize(
    ("store", "load"),
    (
        (
            "llvm.store volatile %c1, %tile : i32, !llvm.ptr<3>",
            "%held = llvm.load volatile %tile : !llvm.ptr<3> -> i32",
        ),
        (
            "llvm.store %c1, %tile atomic release {alignment = 4 : i64} : i32, !llvm.ptr<3>",
            "%held = llvm.load %tile atomic acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32",
        ),
    ),
)
def test_those_that_order_others_do_not_race(store: str, load: str) -> None:
    assert said(store, load) == ("cannot tell", set())
    assert said(PLAIN[0], load) == said(store, PLAIN[1]) == ("suspicious", {"race"})
