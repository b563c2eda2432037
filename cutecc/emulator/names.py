"""What a call on the emulator is written with, which target it runs, and how code gets its lines. Of no weight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.record import Compilation

OPTION_NAMES = ("check", "schedule", "budget", "seed", "blocks", "counters", "processes", "shared", "limits")
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
"""For code of kernels in Python that does not say its lines."""
FOREIGN_LINE_INFO_HINT = (
    "compile it with line info to see the lines of its source: nvcc -lineinfo, numba's lineinfo=True"
)
"""The same for PTX of another compiler."""
FOREIGN = "another compiler"
"""The pipeline of such code in its record."""


def line_hint(compilation: Compilation) -> str:
    """How code that does not say its lines would."""
    return FOREIGN_LINE_INFO_HINT if compilation.pipeline == FOREIGN else LINE_INFO_HINT


def emulated_target(targets: Iterable[str]) -> str:
    """Of several targets, at least one, that whose code the emulator runs: the newest up to `sm_90a`, for what comes
    of that was compared with a GPU; without one the newest."""
    return max(targets, key=lambda name: (Target.parse(name) <= Target.parse(EMULATED_TARGET), Target.parse(name)))
