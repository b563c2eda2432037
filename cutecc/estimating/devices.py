"""What is known of a device: constants that `tools/bench_model.py` has measured on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cutecc.errors import UsageError

_TABLES = Path(__file__).parent / "devices"


@dataclass(frozen=True, eq=False)
class Device:
    """A GPU by its constants."""

    name: str
    """`h200`."""
    title: str
    """As the driver calls it."""
    target: str
    """What code has to be compiled for."""
    processors: int
    """Multiprocessors."""
    l2_bytes: int
    measured: dict[str, float]
    """By name, in the unit that its first part says."""

    def __getitem__(self, name: str) -> float:
        return self.measured[name]

    def rate(self, name: str) -> float:
        """Instructions of warps that a multiprocessor starts in a cycle."""
        return self.measured[f"rate/{name}"]

    def latency(self, name: str) -> float:
        """Cycles from an instruction to one that needs its result."""
        return self.measured[f"latency/{name}"]

    def product_cycles(self, columns: int) -> float:
        """Cycles of the tensor cores for a product of a warpgroup: 64 rows, so many columns, 32 bytes of depth."""
        return max(columns, 32) * self.measured["cycles/wgmma.f16.n128"] / 128

    def mma(self, kind: str, operations: int) -> tuple[float, float]:
        """Cycles of a scheduler's tensor core for an `mma.sync` with so many operations, and cycles to its result."""
        name, measured = _MMA.get(kind, ("f16", 4096))
        return operations / measured * SCHEDULERS / self.rate(f"mma.{name}"), self.latency(f"mma.{name}")

    def clock(self, tensor: float) -> float:
        """MHz while the tensor cores are busy for this part of the time: what power allows."""
        if tensor < _LITTLE:
            return self.measured["mhz/fma.f32"]
        light, full = self.measured["mhz/mma.4"], self.measured["mhz/wgmma.f16.n256"]
        return light + (full - light) * min(1.0, tensor)


_MMA = {"f16": ("f16", 4096), "tf32": ("tf32", 2048), "s8": ("s8", 8192), "u8": ("s8", 8192), "f64": ("f64", 512)}
"""By the type of operands: the measured instruction, and its operations."""
_LITTLE = 0.01
SCHEDULERS = 4
"""Of a multiprocessor."""


@cache
def device(name: str) -> Device:
    """The device of this name. Raises `UsageError` for one of which no constants are measured."""
    table = _table(name)
    # What is alike in both is measured on one of them.
    measured = (_table(table["borrowed_from"])["measured"] if table.get("borrowed_from") else {}) | table["measured"]
    fields = ("title", "target", "processors", "l2_bytes")
    return Device(name.lower(), **{each: table[each] for each in fields}, measured=measured)


def _table(name: str) -> dict[str, Any]:
    path = _TABLES / f"{name.lower()}.json"
    if name.lower() not in known_devices():
        raise UsageError(
            f"nothing is measured of a device '{name}': there are constants of {' and '.join(known_devices())}",
            hints=["tools/bench_model.py measures them on the GPU at hand, and writes the table that is missing"],
        )
    return json.loads(path.read_text())


def known_devices() -> list[str]:
    """Their names."""
    return sorted(each.stem for each in _TABLES.glob("*.json"))
