"""What calls of grouped products are given in the place of lists, and of offsets that the host knows: tables.

They are kept for later calls with the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import matrix, read
from cutecc.operations.given import Given
from cutecc.operations.grouped.arguments import check_ends, ends_on_host, group_sizes
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.grouped.lists import TILES, GroupMatrices, are_numpy, key_of, tables_of, turns_in_all
from cutecc.operations.grouped.tables import Numbers, in_memory
from cutecc.operations.grouped.variant import GroupedVariant
from cutecc.operations.kernels.grouped.schedule import tiles_before
from cutecc.operations.kernels.grouped.signature import ends_divisor
from cutecc.operations.problem_sizes import Problem
from cutecc.support import forks

_MOST = 64
"""Calls whose tables are kept."""


class GroupTables:
    """The tables of the last calls of an operation. Threads may share it."""

    def __init__(self, description: GroupedDescription) -> None:
        self._description = description
        self._divisor = ends_divisor(description)
        self._tables: dict[tuple[object, ...], dict[str, Numbers]] = {}
        self._lock = forks.lock()

    def clear(self) -> None:
        """Keep none."""
        with self._lock:
            self._tables.clear()

    def put_lists(self, variant: GroupedVariant, given: Given, device: str, keep: bool) -> None:
        """Put tables in the place of lists, with `keep` for a launch, else to look at them.

        Lists of numpy's stay, which a launch copies.
        Raises `ArgumentError` for lists that do not fit, and while a CUDA graph is captured, `LaunchError`.
        """
        if device == "cuda" and are_numpy(given.arguments, variant.lists):
            return
        tables = self._tables_of(variant, given, device, keep)
        given.arguments.update(tables)
        if variant.reduces:  # so much workspace is needed
            given.settings = turns_in_all(tables)
        variant.check_scalars(given.arguments)

    def _tables_of(self, variant: GroupedVariant, given: Given, device: str, keep: bool) -> Mapping[str, Numbers]:
        """The tables of the lists of a call."""
        arguments = given.arguments
        first = arguments["A"]
        if isinstance(first, GroupMatrices):
            self._check_together(variant, first, arguments)
            return first.tables
        if not keep or device != "cuda":
            return tables_of(variant.description, arguments, device, keep=False)
        if isinstance(first, list | tuple) and first:
            hint = "make them before, and keep them as long as the graph: op.run(**op.matrices(A=…, B=…, D=…))"
            _check_not_captured(cast("Sequence[Any]", first)[0], given.stream, "tables of lists", hint)
        key = key_of(arguments, variant.lists)
        return self._kept(key, lambda: tables_of(variant.description, arguments, device))

    def put_ends(self, variant: GroupedVariant, given: Given, device: str, keep: bool) -> None:
        """Put a table in the place of offsets that the host knows, and that of the tiles before each group where a
        kernel takes one; those on a GPU stay. `keep` as for `put_lists`, and what is raised too.
        """
        arguments, description = given.arguments, variant.description
        ends = ends_on_host(arguments["offsets"])
        if ends is None:
            if description.schedule == "host":
                raise ArgumentError(
                    "argument 'offsets' lives on a GPU, and the schedule host needs to read it",
                    hints=['schedule="device" does not', "give offsets as a list"],
                )
            return
        problem = _problem_of(variant, arguments, len(ends))
        a = cast(Array, read("A", arguments["A"]))
        is_on_gpu = device == "cuda" and keep and a.device == "cuda"

        def made() -> dict[str, Numbers]:
            check_ends(description.packing, ends, problem, self._divisor)
            tables = {"offsets": np.array(ends, np.int32)}
            if variant.has_tiles:
                sizes = group_sizes(description.packing, ends, problem)
                turned = description.gemm.is_compiled_transposed
                seen = [(n, m, k) for m, n, k in sizes] if turned else sizes
                tables[TILES] = np.array(tiles_before(variant.compiled, seen), np.int32)
            return in_memory(tables, a, {}, (a.ordinal or 0) if is_on_gpu else None)

        if a.library == "numpy":  # copied with the others
            arguments.update({name: each.data for name, each in made().items()})
        elif not is_on_gpu:
            arguments.update(made())
        else:
            hint = "give offsets that are on the GPU"
            hint += ' to an operation with schedule="device"' if description.schedule == "host" else ""
            _check_not_captured(arguments["A"], given.stream, "offsets of the host", hint)
            arguments.update(self._kept((a.ordinal, ends, problem), made))

    def _check_together(self, variant: GroupedVariant, first: GroupMatrices, arguments: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for tables that were not made together, or by another operation."""
        for name in variant.lists:
            each = arguments.get(name)
            if not isinstance(each, GroupMatrices) or each.tables is not first.tables or each.name != name:
                raise ArgumentError(
                    f"argument '{name}' is not of the tables of A", hints=["op.run(**op.matrices(A=…, B=…, D=…))"]
                )
        if first.description is not self._description and first.description != self._description:
            raise ArgumentError("these tables were made by another operation")

    def _kept(self, key: tuple[object, ...], make: Callable[[], dict[str, Numbers]]) -> dict[str, Numbers]:
        """The tables of an earlier call, or new ones."""
        with self._lock:
            tables = self._tables.pop(key, None)
        tables = tables or make()
        with self._lock:
            while len(self._tables) >= _MOST:
                del self._tables[next(iter(self._tables))]
            self._tables[key] = tables
        return tables


def _problem_of(variant: GroupedVariant, arguments: Mapping[str, Any], groups: int) -> Problem:
    """The sizes of all groups together, as far as A and B say them."""
    a, b = (matrix(name, cast(Array, read(name, arguments[name])), variant.operands[name]) for name in ("A", "B"))
    return Problem(a.rows, b.columns, a.columns, groups)


def _check_not_captured(first: Any, stream: Any, what: str, hint: str) -> None:
    """Raise `ArgumentError` while a CUDA graph is captured on the stream of a call, of which `first` is an array."""
    from cutecc.operations.matrix_arrays import is_captured

    if is_captured(cast(Array, read("A", first)), stream):
        raise ArgumentError(f"a CUDA graph does not keep {what}", hints=[hint])
