"""What an emulated call may take at most: of time, instructions, memory, blocks, registers and PTX."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from cutecc.config import read_size, size_text
from cutecc.errors import LimitError, UsageError
from cutecc.support.capacity import whole_bytes
from cutecc.support.spelling import did_you_mean

_LOOK_EVERY = 64
"""Instructions after which the clock is looked at, which takes as long as a hundredth of one."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an emulated call may take at most; what would take more ends in a `LimitError`.

    The defaults are generous: they end what would take a machine's memory, or days. `STRICT_LIMITS` is for kernels of
    unknown origin.
    """

    seconds: float = 86_400.0
    """From the call on, looked at between instructions."""
    steps: int = 100_000_000_000
    """Instructions, each for all warps that take it together."""
    memory: int = whole_bytes() // 2
    """Bytes beside the call's arrays: variables, registers, shared and local memory of the blocks that run together,
    and printed text. By default half of what the machine, or the container, has."""
    blocks: int = 100_000_000
    """That run, of all launches."""
    registers: int = 1_000_000
    """That a kernel's PTX declares, which are virtual ones."""
    ptx: int = 256 << 20
    """Bytes of PTX."""

    def __post_init__(self) -> None:
        """Raises `UsageError` for what is no limit."""
        for each in fields(self):
            value = getattr(self, each.name)
            whole = each.name != "seconds"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not value > 0:
                kind = "a whole number" if whole else "a number"
                raise UsageError(f"the limit {each.name} is {kind} above 0, not {value!r}")

    @classmethod
    def parse(cls, texts: Sequence[str], default: Limits) -> Limits:
        """The limits that `seconds=60` and `memory=2GiB` change in `default`. Raises `UsageError`."""
        found: dict[str, Any] = {each.name: getattr(default, each.name) for each in fields(cls)}
        for text in (each for several in texts for each in several.split(",")):
            name, _, value = text.replace(" ", "").partition("=")
            if name not in found:
                hints = [*did_you_mean(name, found), f"limits: {', '.join(found)}"]
                raise UsageError(f"'{text}': there is no limit '{name}'", hints=hints)
            found[name] = _seconds(value) if name == "seconds" else read_size(value)
            if not found[name]:
                raise UsageError(
                    f"'{text}' is no limit", hints=["one is a number: steps=1000, seconds=0.5, memory=2GiB"]
                )
        return cls(**found)

    def of_program(self) -> Limits:
        """Those that decide which PTX is taken, the others as usual."""
        return Limits(memory=self.memory, registers=self.registers, ptx=self.ptx)

    def check(self, name: str, wanted: float, what: str) -> None:
        """Raise `LimitError` when `what`, of which so much is `wanted`, is more than the limit `name`."""
        if wanted > getattr(self, name):
            raise self.exceeded(name, f"{what} {_text(name, wanted)},")

    def exceeded(self, name: str, what: str) -> LimitError:
        """The error of a call of which `what`, as in `the kernel runs`, is more than the limit `name`."""
        limit = getattr(self, name)
        return LimitError(f"{what} more than the limit of {_text(name, limit)}", hints=[raising(name)])


def raising(name: str) -> str:
    """How the limit `name` is raised."""
    return f"for a kernel that you trust: --limit {name}=N in a shell, limits=Limits({name}=N) in Python"


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(name: str, value: float) -> str:
    """`60 s`, `1.0 GiB`, `1,048,576 blocks`."""
    if name == "seconds":
        return f"{value:g} s"
    if name in ("memory", "ptx"):
        return size_text(value)
    unit = "instructions" if name == "steps" else name
    return f"{value:,} {unit.removesuffix('s') if value == 1 else unit}"


STRICT_LIMITS = Limits(seconds=60.0, steps=100_000_000, memory=1 << 30, blocks=1 << 20, registers=250_000, ptx=16 << 20)
"""Of kernels of unknown origin, `--untrusted`."""


class Budget:
    """What is left of one call's limits. It may be copied to another process, which then has its own."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self._steps = limits.steps
        self._blocks = limits.blocks
        self._printed = limits.memory
        self._look_at = self._steps

    def step(self, count: int) -> None:
        """So many instructions are executed."""
        self._steps -= count
        if self._steps <= self._look_at:
            self._look()

    def start(self, blocks: int) -> None:
        """A launch of so many blocks begins."""
        if blocks > self._blocks:
            raise self.limits.exceeded("blocks", f"a launch has {_text('blocks', blocks)},")
        self._blocks -= blocks

    def show(self, text: str) -> None:
        """The kernel prints something, which is kept."""
        self._printed -= len(text.encode("utf-8", "surrogatepass"))
        if self._printed < 0:
            raise self.limits.exceeded("memory", "the kernel prints")

    @property
    def steps(self) -> int:
        """Instructions that are left."""
        return self._steps

    def _look(self) -> None:
        if self._steps < 0:
            raise self.limits.exceeded("steps", "the kernel executes")
        if time.monotonic() > self._deadline:
            raise self.limits.exceeded("seconds", "the kernel runs")
        self._look_at = max(0, self._steps - _LOOK_EVERY) if self._steps else -1
