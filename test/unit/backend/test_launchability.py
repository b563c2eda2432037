"""Why a kernel can never be launched: each limit in words of its own, and launches of nothing."""

from __future__ import annotations

import pytest

from cutecc.backend.launchability import exceeded_limits, impossible_launches, launch_warnings
from cutecc.backend.occupancy import occupancy
from cutecc.record.compilation import KernelResources
from cutecc.record.host_program import (
    Block,
    HostProgram,
    Instruction,
    KernelEntry,
    LaunchAttribute,
    LaunchSite,
)
from cutecc.target import Target

SM_80, SM_90 = Target.parse("sm_80"), Target.parse("sm_90a")


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
    assert [each.text for each in exceeded_limits(resources(threads, registers, shared), SM_80)] == reasons


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "mend", "numbers"),
    [
        (2048, 32, 0, "launch blocks of at most 1024 threads", {"threads": 2048, "most threads": 1024}),
        (
            *(32, 32, 307200, "take 140288 bytes away, with fewer stages or smaller tiles"),
            {"shared bytes": 307200, "most shared bytes": 166912},
        ),
        (
            *(1024, 72, 0, "launch blocks of at most 896 threads, or keep fewer values alive at a time"),
            {"threads": 1024, "registers": 72, "most threads": 896},
        ),
    ],
)
def test_each_limit_has_its_mend(threads: int, registers: int, shared: int, mend: str, numbers: dict[str, int]) -> None:
    (found,) = exceeded_limits(resources(threads, registers, shared), SM_80)
    assert (found.mend, found.numbers) == (mend, numbers)


Sizes = tuple[int | None, ...]


def launching(grid: Sizes, block: Sizes, cluster: Sizes = ()) -> HostProgram:
    """A program that launches with these constants, `None` for what an argument says: value 0."""
    instructions: list[Instruction] = []
    numbers: list[int] = []
    for size in (*grid, *block, *cluster):
        if size is None:
            numbers.append(0)
            continue
        numbers.append(len(instructions) + 1)
        instructions.append(Instruction("constant", [], [numbers[-1]], immediate=size & 0xFFFFFFFF))
    attributes = [LaunchAttribute("cluster", numbers[6:])] if cluster else []
    site = LaunchSite(
        0, (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]), 0, 0, attributes, []
    )
    inner = Block([Instruction("launch", [], [90], launch=site)])
    body = Block([*instructions, Instruction("if", [0], [], blocks=[inner, Block()])])
    return HostProgram("host", [], ["i32"] * 91, [KernelEntry("k", [], 0)], body)


def said_of(program: HostProgram, target: Target = SM_90) -> list[str]:
    return [f"{each.text}: {each.mend}" for each in impossible_launches(program, target).get("k", [])]


def test_launches_of_nothing_are_seen() -> None:
    assert said_of(launching((1, 1, 1), (32, 1, 1))) == []
    assert said_of(launching((None, None, 1), (None, 1, 1))) == []
    assert said_of(launching((None, 0, 1), (32, 1, 1))) == ["its grid is (?, 0, 1): give each dimension at least 1"]
    assert said_of(launching((1, 1, 1), (32, -1, 1))) == ["its block is (32, -1, 1): give each dimension at least 1"]


@pytest.mark.parametrize(
    ("grid", "block", "said"),
    [
        ((2**31 - 1, 65535, 65535), (1, 1, 64), []),
        ((1, 65536, 1), (32, 1, 1), ["its grid is (1, 65536, 1), of at most (2147483647, 65535, 65535)"]),
        ((1, None, 65536), (32, 1, 1), ["its grid is (1, ?, 65536), of at most (2147483647, 65535, 65535)"]),
        ((1, 1, 1), (1, 1, 65), ["its block is (1, 1, 65), of at most (1024, 1024, 64)"]),
    ],
)
def test_dimensions_have_limits_of_their_own(grid: Sizes, block: Sizes, said: list[str]) -> None:
    assert said_of(launching(grid, block)) == [f"{each}: let x be the dimension that is large" for each in said]


@pytest.mark.parametrize(
    ("grid", "cluster", "target", "said"),
    [
        ((16, 1, 1), (16, 1, 1), "sm_90a", []),
        ((None, 3, 1), (2, 1, 1), "sm_90a", []),
        ((4, 4, 1), (1, 1, 1), "sm_80", []),
        (
            *((32, 1, 1), (16, 2, 1), "sm_90a"),
            [
                "its cluster is (16, 2, 1), 32 blocks of at most 16: launch clusters of at most 16 blocks, or of 8 for "
                "every GPU",
                "its grid is (32, 1, 1), of which its cluster (16, 2, 1) is no divisor: "
                "round the grid up to (32, 2, 1)",
            ],
        ),
        (
            *((3, None, 1), (2, 1, 1), "sm_90a"),
            ["its grid is (3, ?, 1), of which its cluster (2, 1, 1) is no divisor: round the grid up to (4, ?, 1)"],
        ),
        (
            *((4, 1, 1), (2, 1, 1), "sm_80"),
            ["its cluster is (2, 1, 1), and there are none before sm_90: launch it without clusters"],
        ),
    ],
)
def test_clusters(grid: Sizes, cluster: Sizes, target: str, said: list[str]) -> None:
    assert said_of(launching(grid, (32, 1, 1), cluster), Target.parse(target)) == said


def test_a_kernel_has_one_warning_at_its_line() -> None:
    program = launching((1, 0, 1), (32, 1, 1))
    (found,) = launch_warnings([resources(32, 32, 307200)], program, SM_80, {"k": "k.py:4:1"})
    assert found.message == (
        "kernel k cannot be launched on sm_80: 307200 bytes of shared memory a block, of at most 166912, and its grid "
        "is (1, 0, 1); take 140288 bytes away, with fewer stages or smaller tiles, and give each dimension at least 1"
    )
    assert (found.severity, found.location, found.analysis) == ("warning", "k.py:4:1", "check-launch")
    assert found.numbers == {"shared bytes": 307200, "most shared bytes": 166912}
    assert launch_warnings([resources(32)], None, SM_80, {}) == []
