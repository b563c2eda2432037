"""How many orders may be tried, or for how long."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecc.errors import UsageError

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_TEXT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|min|h|orders?)?")


@dataclass(frozen=True, slots=True)
class OrdersBudget:
    """At most so many seconds of trying, or so many orders; `None` for any."""

    seconds: float | None = 60.0
    orders: int | None = None

    @classmethod
    def parse(cls, value: object) -> OrdersBudget:
        """Of `60s`, `10min`, `2h`, or a number of orders, `1000`. Raises `UsageError`."""
        if isinstance(value, OrdersBudget):
            return value
        match = None if isinstance(value, bool) else _TEXT.fullmatch(str(value).strip())
        if match is not None and float(match["number"]) > 0:
            if (unit := match["unit"]) in _UNITS:
                return cls(float(match["number"]) * _UNITS[unit])
            if not match[2]:
                return cls(None, int(match["number"]))
        raise UsageError(
            f"{value!r} is no budget", hints=["seconds, minutes or hours: 60s, 10min, 2h; or a number of orders: 1000"]
        )

    def __str__(self) -> str:
        """`60 s`, `1,000 orders`."""
        if self.orders is not None:
            return f"{self.orders:,} order{'' if self.orders == 1 else 's'}"
        return "no limit" if self.seconds is None else f"{self.seconds:g} s"
