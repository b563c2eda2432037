"""How bad what a remark is about is: its severity, unless an access costs too much for that."""

from __future__ import annotations

from typing import Literal

from cutecc.record import Remark

Grade = Literal["error", "severe", "warning", "remark", "note"]
GRADES: tuple[Grade, ...] = ("error", "severe", "warning", "remark", "note")
"""The worst first."""
SIGNS: dict[Grade, str] = dict(zip(GRADES, "✗◆▲●○", strict=True))
_SEVERE = {"wavefronts": 8, "sectors": 4}
"""From so many times as much as its bytes need on, an access is severe."""


def grade_of(remark: Remark) -> Grade:
    """Its severity, or that it is severe."""
    is_severe = any(_factor(remark, unit) >= least for unit, least in _SEVERE.items())
    return "severe" if is_severe and remark.severity != "error" else remark.severity


def cost_of(remark: Remark) -> float:
    """How many times as much as its bytes need the access takes; 1 of what is about something else."""
    return max(1.0, *(_factor(remark, unit) for unit in _SEVERE))


def badness(remark: Remark) -> tuple[int, float]:
    """Orders remarks: the worst first, of equally bad ones those that cost most."""
    return GRADES.index(grade_of(remark)), -cost_of(remark)


def _factor(remark: Remark, unit: str) -> float:
    taken, needed = (remark.numbers.get(f"{which}{unit} a request") for which in ("", "ideal "))
    if isinstance(taken, str | None) or isinstance(needed, str | None) or needed <= 0:
        return 1.0
    return taken / needed
