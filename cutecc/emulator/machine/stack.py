"""The stack of a thread whose functions call themselves.

Registers and local variables have their places for good, a copy for each function. A call of a function that may be
active already saves its registers, and moves its local variables to others of the same stack: their addresses are
relative to `Gang.stack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.machine.lanes import WARP

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.limits import Limits
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Mask

_ALIGNMENT = 16
_BYTES = 1 << 14
"""Of a thread's stack: sixteen times what CUDA gives it unless it is told to give more."""
_CALLS, _MOST_CALLS = 24, 1000
"""Inside of one another that there is room for at least, and at most of functions without local variables."""


class Stack:
    """How local variables of functions that call themselves lie: one frame a call behind the others."""

    def __init__(self, frame_bytes: int, limits: Limits) -> None:
        """A frame has copies of all local variables, which take so much."""
        self.limits = limits
        self._frame_bytes = -(-frame_bytes // _ALIGNMENT) * _ALIGNMENT
        self.deepest = max(_CALLS, _BYTES // max(self._frame_bytes, 1)) if frame_bytes else _MOST_CALLS
        """Calls inside of one another."""
        self.bytes = (self.deepest + 1) * self._frame_bytes
        """Local memory of a thread."""

    def move(self, gang: Gang, mask: Mask, calls: int) -> None:
        """Threads go that much deeper into calls."""
        gang.depth = gang.depth + np.where(mask, calls, 0)
        gang.stack = (gang.depth * self._frame_bytes).astype(np.uint64)


@dataclass(eq=False)
class Frame:
    """What a call keeps of a function, which may be active already, until it is over."""

    _stack: Stack
    _slots: Sequence[int]
    """Registers of the function."""
    _saved: WeakKeyDictionary[Gang, dict[int, list[Array]]] = field(
        default_factory=WeakKeyDictionary["Gang", dict[int, list["Array"]]]
    )
    """Registers by depth."""

    def enter(self, operation: Operation, gang: Gang, mask: Mask) -> None:
        """Threads call the function. Raises `EmulatorError` for a stack that is full; a `LimitError`, too."""
        first = int(mask.argmax())
        depth = int(gang.depth.flat[first])
        if depth >= self._stack.deepest:
            row, lane = divmod(first, WARP)
            where = f"block {gang.blocks[row].index}, thread {gang.machine.thread_index(int(gang.threads[row, lane]))}"
            raise operation.error(f"{where}: {depth:,} calls inside of one another: the thread's stack is full")
        frames = self._saved.setdefault(gang, {})
        now = [gang.registers[slot] for slot in self._slots]
        if depth not in frames:
            gang.machine.taken += sum(each.nbytes for each in now)
            what = "with the registers that calls inside of one another keep, the blocks that run together take"
            self._stack.limits.check("memory", gang.machine.taken, what)
        before = frames.get(depth, now)
        frames[depth] = [np.where(mask, new, old) for new, old in zip(now, before, strict=True)]
        self._stack.move(gang, mask, 1)

    def leave(self, gang: Gang, mask: Mask) -> None:
        """Threads are back from the call."""
        self._stack.move(gang, mask, -1)
        depth = int(gang.depth.flat[int(mask.argmax())])
        for slot, saved in zip(self._slots, self._saved[gang][depth], strict=True):
            gang.registers[slot] = np.where(mask, saved, gang.registers[slot])
