"""The words of a thread's stack that instructions read and write, as if they were registers.

ptxas keeps at fixed places of the stack what it has no registers for. `R1` is the stack's end, which the prologue sets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cutecc.sass.effects import Effects

_PLACE = re.compile(r"\[R1(?:\+(-?)0x([0-9a-f]+))?\]$")
_POINTER = "R1"
_WORD = 4
"""Bytes of a register."""


def with_stack(done: Effects) -> Effects:
    """What an instruction does, with the words of the stack that it loads or stores: `[R1+0x8]`; else what it is."""
    place = next((match for each in done.operands if (match := _PLACE.match(each))), None)
    stem = done.opcode.split(".")[0]
    if place is None or stem not in ("LDL", "STL"):
        return done
    first = int(f"{place[1] or ''}{place[2] or 0}", 16)
    words = [f"[{_POINTER}+{first + _WORD * index:#x}]" for index in range(max(1, len(moved(done))))]
    if stem == "STL":
        return replace(done, writes=(*done.writes, *words))
    return replace(done, reads=(*done.reads, *words))


def moved(done: Effects) -> Sequence[str]:
    """The registers that a load from the stack or a store there moves."""
    if done.opcode.split(".")[0] == "LDL":
        return [each for each in done.writes if not each.startswith("[")]
    guard = (done.guard or "").removeprefix("!")
    return [each for each in done.reads if each not in (_POINTER, guard)]
