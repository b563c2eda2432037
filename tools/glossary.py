"""A table of CuTe's operations: after which pass each is gone, and that none is missing which a page does not name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ir_excerpts import OPERATION, ExcerptError

LastSeen = dict[str, tuple[int, str]]
"""By operation, the pass after which there is none of it: its place among the passes, and its name."""


def last_seen(dumps: Iterable[tuple[str, Path]]) -> LastSeen:
    """The operations of CuTe's dialects in the dumps of a kernel, in order: (`cse#2`, its dump) and so on."""
    gone: LastSeen = {}
    before: set[str] = set()
    for number, (stage, dump) in enumerate(dumps):
        matches = (OPERATION.match(line.strip()) for line in dump.read_text().splitlines())
        now = {match[1] for match in matches if match and match[1].startswith(("cute.", "cute_nvgpu."))}
        gone |= dict.fromkeys(before - now, (number, stage.removesuffix("#1")))
        before = now
    return gone


def completed(table: str, kernels: Iterable[LastSeen], page: str) -> str:
    """The table with its last column made anew: after which pass no kernel has the operations of the row any more.

    The operations are those in backticks in the first column; a name without a dot is in the dialect of the one before.

    Raises:
        ExcerptError: a row whose operations no kernel has, or that are gone after different passes; an operation of
            the kernels that neither the table nor the page names.
    """
    gone: LastSeen = {}
    for kernel in kernels:
        gone |= {name: max(gone.get(name, stage), stage) for name, stage in kernel.items()}
    rows: list[str] = []
    listed: set[str] = set()
    for row in table.splitlines():
        cells = row[1:-1].split("|")
        names = _operations(cells[0])
        if unknown := [name for name in names if name not in gone]:
            raise ExcerptError(f"no dump has {', '.join(unknown)}")
        stages = {gone[name][1] for name in names}
        if len(stages) > 1:
            raise ExcerptError(f"not gone after one pass: {', '.join(f'{name} {gone[name][1]}' for name in names)}")
        listed.update(names)
        rows.append("|".join(["", *cells[:-1], f" `{stages.pop()}` |"]) if stages else row)
    missing = [name for name in sorted(gone.keys() - listed) if not re.search(rf"{re.escape(name)}(?![\w.])", page)]
    if missing:
        raise ExcerptError(f"the page names no {', '.join(missing)}")
    return "".join(f"{row}\n" for row in rows)


def _operations(cell: str) -> list[str]:
    found: list[str] = []
    for name in re.findall(r"`([\w.]+)`", cell):
        found.append(name if "." in name or not found else f"{found[-1].rpartition('.')[0]}.{name}")
    return found
