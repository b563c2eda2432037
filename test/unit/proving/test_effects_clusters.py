"""Stores and copies into the shared memory of other blocks, and who is still there for them."""

from __future__ import annotations

import pytest
from kernel_text import kinds, proof_of, wait

SYNC = "nvvm.cluster.arrive\n    nvvm.cluster.wait"
READY = f"""    scf.if %is_first {{
      nvvm.mbarrier.init %bar0, %c1 : !llvm.ptr<3>, i32
      %token = nvvm.mbarrier.arrive.expect_tx %bar0, %c4 : !llvm.ptr<3>, i32 -> i64
    }}
    {SYNC}
"""
"""Each block expects four bytes."""
OTHER = """    %other = arith.xori %rank, %c1 : i32
    %there = nvvm.mapa %tile, %other : !llvm.ptr<3> -> !llvm.ptr<7>
    %its_bar = nvvm.mapa %bar0, %other : !llvm.ptr<3> -> !llvm.ptr<7>
"""
SEND = """    scf.if %is_first {
      nvvm.store.async %there, %c1, mbarrier = %its_bar : <7>, i32, <7>
    }
"""
RECEIVE = f"""    {wait(0)}
    %received = llvm.load %tile : !llvm.ptr<3> -> i32
"""


def test_a_store_that_arrives_before_it_is_read_is_proved() -> None:
    assert proof_of(READY + OTHER + SEND + RECEIVE, warps=1, blocks=2).answer == "proved"


def test_a_store_that_nobody_waits_for_races() -> None:
    received = "    %received = llvm.load %tile : !llvm.ptr<3> -> i32\n"
    proof = proof_of(READY + OTHER + SEND + received, warps=1, blocks=2)
    assert "race" in kinds(proof)


def test_a_store_of_more_bytes_than_announced_is_told() -> None:
    twice = SEND.replace("%c1, mbarrier", "%wide, mbarrier").replace("i32, <7>", "i64, <7>")
    wide = "    %wide = arith.extsi %c1 : i32 to i64\n"
    proof = proof_of(READY + OTHER + wide + twice + RECEIVE, warps=1, blocks=2)
    assert kinds(proof) & {"deadlock", "arrivals"}


@pytest.mark.parametrize("stays", (False, True))
def test_a_block_has_to_be_there_while_others_read_its_memory(stays: bool) -> None:
    body = f"""    nvvm.cluster.arrive
    nvvm.cluster.wait
{OTHER}
    %theirs = llvm.load %there : !llvm.ptr<7> -> i32
"""
    proof = proof_of(body + (f"    {SYNC}\n" if stays else ""), warps=1, blocks=2)
    assert (proof.answer == "proved") == stays
    assert kinds(proof) == (set() if stays else {"drain"})


COPY = "nvvm.cp.async.bulk.shared.cluster.global %tile, %x, %bar0, %bytes : !llvm.ptr<3>, !llvm.ptr<1>"


@pytest.mark.parametrize(("announced", "answer"), ((64, "proved"), (32, "suspicious"), (128, "suspicious")))
def test_a_copy_brings_its_bytes(announced: int, answer: str) -> None:
    body = f"""    scf.if %is_first {{
      nvvm.mbarrier.init %bar0, %c1 : !llvm.ptr<3>, i32
      %bytes = arith.constant 64 : i32
      %token = nvvm.mbarrier.arrive.expect_tx %bar0, %c{announced} : !llvm.ptr<3>, i32 -> i64
      {COPY}
    }}
    nvvm.barrier
    {wait(0)}
    %loaded = llvm.load %tile : !llvm.ptr<3> -> i32
"""
    assert proof_of(body).answer == answer
