"""What a call on the emulator is written with, which targets it models, and how code gets its lines. Of no weight."""

from __future__ import annotations

from collections.abc import Iterable

from cutecc.target import Target

OPTION_NAMES = ("check", "schedule", "seed", "blocks", "counters", "processes", "shared", "limits")
"""Keyword arguments of a call on the CPU that are options of the emulator."""
CALL_NAMES = (*OPTION_NAMES, "emulator", "extent")
"""Keyword arguments of a call on the CPU that are none of the kernel's: options, singly or together, and how much lies
behind bare pointers."""
EMULATED_TARGET = "sm_90a"
"""What is compiled for the emulator when nothing else says."""
LINE_INFO_HINT = (
    "compile it with line info to see the lines of Python: "
    "options=cutecc.CompileOptions(line_info=True), or --line-info in a shell"
)
"""For code that does not say its lines."""
OLDEST, NEWEST = Target(8, 0), Target.parse(EMULATED_TARGET)
"""The targets that the emulator models, and all between them."""


def models(target: str) -> bool:
    """Whether the emulator runs code for this target."""
    return OLDEST <= Target.parse(target) <= NEWEST


def best_modelled(targets: Iterable[str]) -> str | None:
    """Of several targets the newest that the emulator models; `None` when there is none."""
    return max(filter(models, targets), key=Target.parse, default=None)
