"""Warps that may count twice in one phase of a named barrier: found in any order, and not where they cannot."""

from __future__ import annotations

import pytest
from checked_kernels import findings

from cutecc.emulator.machine.schedule import SCHEDULES

ROLES = "setp.lt.u32 %p4, %r1, 32; @!%p4 bra SECOND; FIRST bra END; SECOND: OTHER END:"


def told(first: str, second: str, schedule: str, threads: int = 64) -> list[str]:
    """What is told of barriers; the first warp does one thing, the others another."""
    body = ROLES.replace("FIRST", first).replace("OTHER", second).replace(";", ";\n").replace(":", ":\n")
    found = findings(body, threads=threads, schedule=schedule)
    return [each.message.splitlines()[0] for each in found if each.kind in ("barrier", "deadlock")]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("bar.arrive 1, 64; bar.sync 1, 64;", "bar.sync 1, 64; bar.arrive 1, 64;"),
        ("bar.arrive 1, 64; bar.arrive 1, 64;", "bar.sync 1, 64; bar.sync 1, 64;"),
        ("bar.arrive 1, 64; bar.arrive 2, 64; bar.arrive 1, 64;", "bar.sync 1, 64; bar.sync 2, 64; bar.sync 1, 64;"),
    ],
    ids=["full and empty", "two arrivals", "another one between"],
)
def test_a_warp_that_may_come_twice_to_one_phase(first: str, second: str, schedule: str) -> None:
    messages = told(first, second, schedule)
    assert messages[0].startswith("comes to barrier 1 again, and nothing says that the phase")
    assert [each.partition(":")[0] for each in messages[1:]] in ([], ["no thread can go on"])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_in_whose_place_another_counts_may_come_late(schedule: str) -> None:
    late = "setp.lt.u32 %p5, %r1, 64; @%p5 bar.sync 1, 96; @!%p5 bar.sync 2, 32; @!%p5 bar.sync 1, 96;"
    messages = told("bar.arrive 1, 96; bar.sync 1, 96;", late, schedule, threads=96)
    assert messages[0].startswith("comes to barrier 1 again, and nothing says that the phase")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Full and empty have barriers of their own.
        (2 * "bar.arrive 1, 64; bar.sync 2, 64;", 2 * "bar.sync 1, 64; bar.arrive 2, 64;"),
        # Who meets at another barrier behind the phase knows of its end.
        (2 * "bar.arrive 1, 64; bar.sync 3, 64;", 2 * "bar.sync 1, 64; bar.sync 3, 64;"),
        # Two take turns.
        (
            2 * "bar.sync 1, 64; bar.arrive 2, 64;",
            "bar.arrive 1, 64; bar.sync 2, 64; bar.arrive 1, 64; bar.sync 2, 64;",
        ),
        ("bar.arrive 1, 64;", "bar.sync 1, 64;"),
        (3 * "bar.sync 1, 64;", 3 * "bar.sync 1, 64;"),
        # More threads than come: who has stored a tile counts twice, and there is nobody to take the place of.
        (2 * "bar.sync 1, 64; bar.arrive 1, 96; bar.sync 1, 96;", 2 * "bar.sync 1, 64; bar.sync 1, 96;"),
    ],
    ids=["own barriers", "meets", "turns", "once", "waits", "counts twice"],
)
def test_a_warp_that_knows_of_the_end_of_the_phase(first: str, second: str, schedule: str) -> None:
    assert told(first, second, schedule) == []


def test_threads_of_a_warp_that_come_apart_are_one_arrival() -> None:
    body = "and.b32 %r8, %r1, 1; setp.eq.u32 %p4, %r8, 0; @%p4 bra EVEN; barrier.arrive 1, 64; bra END; EVEN: "
    body += "barrier.arrive 1, 64; END: bar.sync 0;"
    found = findings(body.replace(";", ";\n").replace(":", ":\n"), threads=64)
    assert not [each.message for each in found if each.kind == "barrier"]
