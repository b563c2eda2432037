"""A machine with shared memory whose warps execute one instruction after another."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.memory.memory import Memory, initialised

sys.path[:0] = [str(Path(__file__).parents[1])]

from hand import make_machine, make_operation, make_step  # noqa: E402

WIDTHS = {"b32": np.uint32, "b64": np.uint64, "pred": np.bool_}


class Warps:
    """The gangs of a machine, with registers by name."""

    def __init__(
        self,
        types: Mapping[str, str],
        threads: int = 128,
        blocks: int = 1,
        shared: int = 64 << 10,
        watch: Watch | None = None,
        eager: bool = True,
        together: bool = True,
    ) -> None:
        """All warps are one gang, or (not `together`) each is one."""
        program = Program("k", "sm_90a", shared_bytes=shared)
        shape = Shape((blocks, 1, 1), (threads, 1, 1))
        self.types = types
        self.memory = Memory(program, shape, blocks, b"", [], initialised(b""), shared_start="zero")
        self.machine: Machine = make_machine(threads, blocks, memory=self.memory, watch=watch, shape=shape)
        self.machine.eager = eager
        warps = [(block, warp) for block in self.machine.blocks for warp in range(-(-threads // 32))]
        lists = [warps] if together else [[each] for each in warps]
        self.gangs = [
            Gang(self.machine, each, [np.zeros((len(each), 32), WIDTHS[type_]) for type_ in types.values()])
            for each in lists
        ]
        self.machine.gangs += self.gangs

    def set(self, name: str, value: Any) -> None:
        """A register of all warps: shape `(warps, 32)` or what broadcasts to it."""
        slot = list(self.types).index(name)
        dtype = WIDTHS[self.types[name]]
        whole = np.broadcast_to(np.asarray(value, dtype), (sum(gang.warps for gang in self.gangs), 32))
        first = 0
        for gang in self.gangs:
            gang.registers[slot] = whole[first : first + gang.warps].copy()
            first += gang.warps

    def get(self, name: str) -> Any:
        slot = list(self.types).index(name)
        return np.concatenate([gang.registers[slot] for gang in self.gangs])

    def do(self, text: str, gangs: list[int] | None = None, mask: Any = None) -> list[Waiting | None]:
        """Execute one instruction in all gangs, or in these."""
        step = make_step(make_operation(text, self.types))
        found: list[Waiting | None] = []
        with np.errstate(all="ignore"):
            for number in range(len(self.gangs)) if gangs is None else gangs:
                gang = self.gangs[number]
                found.append(step(gang, Lanes(gang.alive, True) if mask is None else Lanes(mask & gang.alive)))
        return found
