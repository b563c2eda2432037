"""Barriers of a block, registers of warpgroups and tensor memory, with one number wrong, as MLIR's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_text import judged

from cutecc.passes.analysis.synchronisation.register_budget import launched_with

KERNEL = """
gpu.module @kernels {{
  llvm.mlir.global external @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%n: i32) attributes {{nvvm.reqntid = array<i32: {threads}, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %place = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divsi %thread, %c32 : i32
    %group = arith.divsi %thread, %c128 : i32
    %first = arith.cmpi eq, %group, %c0 : i32
    %one_warp = arith.cmpi eq, %warp, %c0 : i32
    %large = arith.cmpi sgt, %n, %c0 : i32
    {body}
    return
  }}
}}
"""


def said(check: str, body: str, threads: int = 256) -> tuple[list[str], int, int]:
    """Messages, how much is right, and of how much it cannot tell."""
    messages, sums = judged(KERNEL.format(body=body, threads=threads), [check])
    return messages[check], sums[check].right, sum(sums[check].unknown.values())


def barrier(number: int, threads: int | str, name: str = "", op: str = "barrier") -> str:
    """A barrier of so many threads; `%n` are those of an argument."""
    count = f"%t{name} = arith.constant {threads} : i32" if threads != "%n" else f"%t{name} = arith.addi %n, %c0 : i32"
    what = f"nvvm.{op} id = %i{name} number_of_threads = %t{name}"
    return f"%i{name} = arith.constant {number} : i32\n    {count}\n    {what}\n"


@pytest.mark.parametrize(
    ("body", "threads", "words"),
    [
        (barrier(16, 256), 256, ["barrier 16", "0 to 15"]),
        (barrier(1, 100), 256, ["100 threads", "multiple of 32"]),
        (barrier(1, 288), 256, ["288 threads", "a block has 256"]),
        # One half for itself, with the number of the barrier that all come to.
        (f"scf.if %first {{\n{barrier(0, 128, 'a')}}}\nnvvm.barrier", 256, ["128", "others may be at it"]),
        (
            f"scf.if %first {{\n{barrier(2, 128, 'a')}}} else {{\n{barrier(2, 64, 'b')}}}",
            256,
            ["barrier 2", "64", "128"],
        ),
        (
            f"scf.if %first {{\n{barrier(3, 256, 'a', 'barrier.arrive')}}} else {{\n{barrier(3, 128, 'b')}}}",
            256,
            ["256"],
        ),
    ],
)
def test_barriers_that_collide(body: str, threads: int, words: list[str]) -> None:
    messages, _, _ = said("check-named-barriers", body, threads)
    assert messages
    assert all(each in messages[0] for each in words), messages


@pytest.mark.parametrize(
    ("body", "right", "unknown"),
    [
        (barrier(1, 256), 1, 0),
        ("nvvm.barrier\n" + barrier(0, 256), 2, 0),
        # All come to it, then one half does: nobody can be late.
        (f"nvvm.barrier\nscf.if %first {{\n{barrier(0, 128, 'a')}}}", 2, 0),
        (f"scf.if %first {{\n{barrier(1, 128, 'a')}}} else {{\n{barrier(2, 128, 'b')}}}", 2, 0),
        (barrier(1, "%n"), 0, 1),
        (f"scf.if %large {{\n{barrier(16, 100, 'a')}}}", 1, 0),
    ],
)
def test_barriers_that_do_not(body: str, right: int, unknown: int) -> None:
    messages, *counts = said("check-named-barriers", body)
    if "%large" in body:
        # An assumed size is not the launch's, yet no launch makes the number right.
        assert messages
        return
    assert (messages, counts) == ([], [right, unknown])


def registers(change: str, count: int) -> str:
    return f"nvvm.setmaxregister {change} {count}\n"


def groups(first: str, other: str) -> str:
    return f"scf.if %first {{\n{first}}} else {{\n{other}}}"


@pytest.mark.parametrize(
    ("body", "threads", "words"),
    [
        (groups(registers("decrease", 40), registers("increase", 240)), 384, ["66,560 registers", "at most 64,512"]),
        (groups(registers("decrease", 56), registers("increase", 232)), 384, ["66,560 registers", "64,512"]),
        (registers("decrease", 232), 384, ["a decrease to 232", "at most 168"]),
        (f"scf.if %one_warp {{\n{registers('decrease', 40)}}}", 256, ["1 of the 4 warps 0 to 3"]),
    ],
)
def test_registers_that_there_are_not(body: str, threads: int, words: list[str]) -> None:
    messages, _, _ = said("check-register-budget", body, threads)
    assert len(messages) == 1
    assert all(each in messages[0] for each in words), messages


@pytest.mark.parametrize(("low", "high", "threads"), [(40, 232, 384), (24, 240, 384), (24, 240, 256), (64, 216, 384)])
def test_registers_that_fit(low: int, high: int, threads: int) -> None:
    body = groups(registers("decrease", low), registers("increase", high))
    assert said("check-register-budget", body, threads) == ([], 2, 0)


@given(st.integers(1, 7), st.sampled_from(range(24, 256, 8)), st.sampled_from(range(24, 256, 8)))
def test_what_fits_is_said_to(others: int, low: int, high: int) -> None:
    """By the sum, worked out here once more."""
    threads = 128 * (1 + others)
    most = launched_with(threads)
    body = groups(registers("decrease", low), registers("increase", high))
    messages, _, _ = said("check-register-budget", body, threads)
    assert bool(messages) == (low > most or 128 * (low + others * high) > most * threads)


def columns(action: str, count: int, name: str = "") -> str:
    wanted = f"%w{name} = arith.constant {count} : i32\n"
    if action == "alloc":
        return f"{wanted}nvvm.tcgen05.alloc %place, %w{name} : !llvm.ptr<3>, i32\n"
    address = f"%a{name} = llvm.inttoptr %c0 : i32 to !llvm.ptr<6>\n"
    return f"{wanted}{address}nvvm.tcgen05.dealloc %a{name}, %w{name} : !llvm.ptr<6>, i32\n"


RELINQUISH = "nvvm.tcgen05.relinquish_alloc_permit\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (columns("alloc", 64, "a"), ["never deallocated"]),
        (columns("alloc", 64, "a") + columns("dealloc", 32, "b"), ["64 columns", "32 deallocated"]),
        (columns("alloc", 64, "a") + columns("dealloc", 128, "b"), ["128 columns", "64 allocated"]),
        (columns("alloc", 48, "a") + columns("dealloc", 48, "b"), ["48 columns", "power of two"]),
        (columns("alloc", 1024, "a") + columns("dealloc", 1024, "b"), ["1,024 columns", "32 to 512"]),
        (RELINQUISH + columns("alloc", 64, "a") + columns("dealloc", 64, "b"), ["after relinquish"]),
    ],
)
def test_tensor_memory_that_is_wrong(body: str, words: list[str]) -> None:
    messages, _, _ = said("check-tensor-memory", f"scf.if %one_warp {{\n{body}}}")
    assert len(messages) == 1
    assert all(each in messages[0] for each in words), messages


def test_tensor_memory_that_is_right() -> None:
    body = columns("alloc", 64, "a") + RELINQUISH + columns("dealloc", 64, "b")
    assert said("check-tensor-memory", f"scf.if %one_warp {{\n{body}}}") == ([], 1, 0)


def test_tensor_memory_given_back_on_a_way_that_is_not_known() -> None:
    body = columns("alloc", 64, "a") + f"scf.if %unknown {{\n{columns('dealloc', 64, 'b')}}}\n"
    loaded = "%value = llvm.load %place : !llvm.ptr<3> -> i32\n%unknown = arith.cmpi sgt, %value, %c0 : i32\n"
    assert said("check-tensor-memory", f"{loaded}scf.if %one_warp {{\n{body}}}") == ([], 0, 1)
