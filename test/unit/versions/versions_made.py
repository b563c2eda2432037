"""Comparisons made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from cutecc.versions.comparison import Cell, ColumnFacts, Comparison, KernelRow
from cutecc.versions.measures import Measures

_PLAIN = Measures(24, 0, 0, 0, {}, {})


def measures(**values: Any) -> Measures:
    """Of a kernel with 24 registers and nothing else, but for the `values`."""
    return msgspec.structs.replace(_PLAIN, **values)


def cell(**values: Any) -> Cell:
    """A cell of one function `k`; what is no field of a cell is its measures'."""
    known = {name: values.pop(name) for name in [*values] if name in Cell.__struct_fields__}
    if "failure" not in known:
        known.setdefault("functions", {"k": measures(**values)})
    return Cell(**known)


def comparison(names: Sequence[str], *rows: Sequence[Cell | None]) -> Comparison:
    """Kernels `k`, `k1`, … for sm_80, of `k.py`, in columns of these names."""
    kernels = [f"k{number or ''}" for number in range(len(rows))]
    return Comparison(
        [ColumnFacts(name) for name in names],
        [KernelRow(name, "sm_80", "k.py", [*cells]) for name, cells in zip(kernels, rows, strict=True)],
    )
