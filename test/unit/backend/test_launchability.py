"""Why a kernel can never be launched: each limit in words of its own, and launches of nothing."""

from __future__ import annotations

import pytest

from cutecc.backend.launchability import empty_launches, exceeded_limits
from cutecc.backend.occupancy import occupancy
from cutecc.record.compilation import KernelResources
from cutecc.record.host_program import (
    Block,
    HostProgram,
    Instruction,
    KernelEntry,
    LaunchSite,
)
from cutecc.target import Target

SM_80 = Target.parse("sm_80")


def resources(threads: int, registers: int = 32, shared: int = 0) -> KernelResources:
    fits = occupancy(SM_80, registers=registers, threads=threads, shared_bytes=shared)
    return KernelResources("k", registers, 0, 0, 0, shared, 0, 0, 0, fits)


def test_what_fits_exceeds_nothing() -> None:
    assert exceeded_limits(resources(1024, 64, 166912), SM_80) == []


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "reasons"),
    [
        (2048, 32, 0, ["2048 threads a block, of at most 1024"]),
        (32, 32, 307200, ["307200 bytes of shared memory a block, of at most 166912"]),
        (1024, 72, 0, ["1024 threads a block of 72 registers each, of which the registers hold 896"]),
        (
            1025,
            32,
            166913,
            ["1025 threads a block, of at most 1024", "166913 bytes of shared memory a block, of at most 166912"],
        ),
    ],
)
def test_each_limit_has_its_words(threads: int, registers: int, shared: int, reasons: list[str]) -> None:
    assert exceeded_limits(resources(threads, registers, shared), SM_80) == reasons


def launching(grid: tuple[int | None, ...], block: tuple[int | None, ...]) -> HostProgram:
    """A program that launches with these constants, `None` for what an argument says: value 0."""
    instructions: list[Instruction] = []
    numbers: list[int] = []
    for size in (*grid, *block):
        if size is None:
            numbers.append(0)
            continue
        numbers.append(len(instructions) + 1)
        instructions.append(Instruction("constant", [], [numbers[-1]], immediate=size & 0xFFFFFFFF))
    site = LaunchSite(0, (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]), 0, 0, [], [])
    inner = Block([Instruction("launch", [], [90], launch=site)])
    body = Block([*instructions, Instruction("if", [0], [], blocks=[inner, Block()])])
    return HostProgram("host", [], ["i32"] * 91, [KernelEntry("k", [], 0)], body)


def test_launches_of_nothing_are_seen() -> None:
    assert empty_launches(launching((1, 1, 1), (32, 1, 1))) == {}
    assert empty_launches(launching((None, None, 1), (None, 1, 1))) == {}
    assert empty_launches(launching((None, 0, 1), (32, 1, 1))) == {"k": ["its grid is (?, 0, 1)"]}
    assert empty_launches(launching((1, 1, 1), (32, -1, 1))) == {"k": ["its block is (32, -1, 1)"]}
