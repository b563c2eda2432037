"""How long reading, each pass and writing take, as MLIR's tools report it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cutecc.errors import PassError
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_WIDTH = 77


class Timing(Observer):
    """Takes the wall time of passes, on one module after another; begins to count when it is made."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self._rows: dict[str, float] = {}
        self._selectors: list[str] = []

    def lap(self, name: str) -> None:
        """What happened since the lap before is called `name`."""
        now = time.perf_counter()
        self._rows[name] = self._rows.get(name, 0.0) + now - self._last
        self._last = now

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        self._selectors = pipeline.selectors()

    def begin(self) -> None:
        """What comes until the next lap is of that lap."""
        self._last = time.perf_counter()

    def before(self, position: Position, module: ir.Module) -> None:
        self.begin()

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        self.lap(self._selectors[position.index - 1])

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        self.lap(self._selectors[position.index - 1])

    def report(self) -> str:
        """The table; its last rows are what no row names, and all together."""
        total = time.perf_counter() - self._begin
        rows = {**self._rows, "Rest": total - sum(self._rows.values()), "Total": total}
        rule = f"==={'-' * (_WIDTH - 6)}==="
        lines = [
            rule,
            "... Execution time report ...".center(_WIDTH).rstrip(),
            rule,
            f"  Total Execution Time: {total:.4f} seconds",
            "",
            "  ----Wall Time----  ----Name----",
            *(f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)  {name}" for name, seconds in rows.items()),
        ]
        return "\n".join(lines) + "\n"
