"""How long reading, each pass and writing take, as MLIR's tools report it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_WIDTH = 77


class Timing(Observer):
    """Takes the wall time of passes; begins to count when it is made."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self._rows: list[tuple[float, str]] = []
        self._selectors: list[str] = []

    def lap(self, name: str) -> None:
        """What happened since the lap before is called `name`."""
        now = time.perf_counter()
        self._rows.append((now - self._last, name))
        self._last = now

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        self._selectors = pipeline.selectors()

    def before(self, position: Position, module: ir.Module) -> None:
        self._last = time.perf_counter()

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        self.lap(self._selectors[position.index - 1])

    def report(self) -> str:
        """The table; its last rows are what no row names, and all together."""
        total = time.perf_counter() - self._begin
        rest = total - sum(seconds for seconds, _ in self._rows)
        rule = f"==={'-' * (_WIDTH - 6)}==="
        lines = [
            rule,
            "... Execution time report ...".center(_WIDTH).rstrip(),
            rule,
            f"  Total Execution Time: {total:.4f} seconds",
            "",
            "  ----Wall Time----  ----Name----",
            *(_row(seconds, total, name) for seconds, name in [*self._rows, (rest, "Rest"), (total, "Total")]),
        ]
        return "\n".join(lines) + "\n"


def _row(seconds: float, total: float, name: str) -> str:
    return f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)  {name}"
