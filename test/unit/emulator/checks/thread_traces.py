"""Made-up accesses and synchronisation of threads, for the race check and for a naive one to compare it with."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.clocks import Clock, Clocks
from cutecc.emulator.checks.finding import Finding, Place
from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.races import Races
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.checks.shadow import GlobalShadow, SharedShadow
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.ptx.syntax import Instruction

BLOCKS = 2
PER_BLOCK = 64
"""Threads: two warps."""
Event = tuple[Literal["read", "write", "release", "acquire"], tuple[int, ...], int]
"""What threads do, and to which granule of 4 bytes, or by which key; each thread of a `write` to a granule of its own,
from this one on."""


def operation(index: int, opcode: str = "st", *modifiers: str) -> Operation:
    text = ".".join((opcode, *modifiers))
    return Operation(index, Instruction(opcode, modifiers, (), None, index, text), Form(opcode, modifiers), None)  # pyright: ignore


@dataclass
class Checked:
    """The check itself."""

    shared: bool = True
    clocks: Clocks = field(default_factory=lambda: Clocks(BLOCKS, PER_BLOCK, PER_BLOCK))
    history: History = field(default_factory=History)
    reports: Reports = field(default_factory=Reports)

    def __post_init__(self) -> None:
        self.shadow = (
            SharedShadow(1024, self.clocks, 1024, True) if self.shared else GlobalShadow(1024, self.clocks.shift, 2)
        )
        self.keys: dict[int, Clock] = {}
        for slot in range(BLOCKS):
            self.history.blocks.append((slot, 0, 0))
            self.clocks.start_block(slot, slot)
        self.operations = [operation(index) for index in range(200)]
        program: Any = SimpleNamespace(operations=self.operations)
        self.races = Races(
            self.clocks, self.history, program, self.reports, frozenset({"races"}), self._place, {}, (1, 1, 1)
        )

    @staticmethod
    def _place(agent: int, what: Operation, text: str) -> Place:
        return Place(None, what.index, "", (0, 0, 0), (agent, 0, 0), text)

    def step(self, number: int, event: Event) -> bool:
        """Whether the event races with one before."""
        kind, threads, where = event
        agents = np.array(threads)
        if kind == "release":
            self.clocks.release(self.keys.setdefault(where, Clock()), agents)
        elif kind == "acquire":
            if where in self.keys:
                self.clocks.acquire(self.keys[where], agents)
        else:
            access = Access(
                self.operations[number],
                kind,
                "shared",
                self.clocks.agents_of(agents),
                self.clocks.view_of[agents],
                lambda text, part, other, found: Finding(
                    "race", text, self._place(part, self.operations[0], ""), "", other
                ),
            )
            offsets = np.array([granule * 4 for granule in granules(event)])
            self.races.note(self.shadow, self.shadow.locate(offsets, 4), access)
        return bool(self.reports.take())


def granules(event: Event) -> list[int]:
    kind, threads, where = event
    return [where + (number if kind == "write" else 0) for number in range(len(threads))]


@dataclass
class Naive:
    """One vector clock a thread, every access remembered."""

    now: int = 0
    known: dict[int, dict[int, int]] = field(default_factory=dict)
    released: dict[int, dict[int, int]] = field(default_factory=dict)
    accesses: list[tuple[int, int, int, bool]] = field(default_factory=list)
    """Event, thread, granule, whether it writes."""

    def step(self, event: Event) -> tuple[bool, bool]:
        """Whether the event races with any before, and whether with a write."""
        kind, threads, where = event
        self.now += 1
        if kind == "release":
            clock = self.released.setdefault(where, {})
            for thread in threads:
                _join(clock, {**self.known.get(thread, {}), thread: self.now})
        elif kind == "acquire":
            for thread in threads:
                _join(self.known.setdefault(thread, {}), self.released.get(where, {}))
        else:
            mine = list(zip(threads, granules(event), strict=True))
            found = [
                writes
                for thread, granule in mine
                for then, other, place, writes in self.accesses
                if place == granule and other != thread and (writes or kind == "write")
                if self.known.get(thread, {}).get(other, 0) < then
            ]
            self.accesses += [(self.now, thread, granule, kind == "write") for thread, granule in mine]
            return bool(found), any(found)
        return False, False


def _join(clock: dict[int, int], other: dict[int, int]) -> None:
    for thread, event in other.items():
        clock[thread] = max(clock.get(thread, 0), event)
