"""The sizes of grouped products: what a kernel is chosen for, and what the host may know of a call."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cutecc.errors import UsageError
from cutecc.operations.grouped.description import Packing
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.words import shown

VARYING: dict[Packing, int] = {"rows": 0, "columns": 1, "depth": 2}
"""Which of M, N, K the groups of a packed operation differ in."""


@dataclass(frozen=True)
class GroupedProblem:
    """The products of all groups."""

    sizes: tuple[tuple[int, int, int], ...]
    """(M, N, K) of each."""

    @classmethod
    def of(cls, value: Any, packing: Packing) -> GroupedProblem:
        """From (M, N, K, groups), or [(M, N, K), …] of each group.

        Of the first the extent that varies is that of all groups together, which are taken to be about even; of `list`
        all are those of each group. Raises `UsageError` for anything else, and for groups that differ in what does not
        vary.
        """
        if isinstance(value, cls):
            return value
        try:
            listed = [*cast("Iterable[Any]", value)]
            if listed and isinstance(listed[0], Sequence):
                sizes = [tuple(map(operator.index, each)) for each in listed]
            else:
                m, n, k, groups = map(operator.index, listed)
                sizes = _even([m, n, k], groups, VARYING.get(packing))
        except (TypeError, ValueError):
            sizes = [()]
        if any(len(each) != 3 or min(each) < 0 for each in sizes):
            raise UsageError(
                f"sizes of groups are (M, N, K, groups) or [(M, N, K), …], not {shown(value)}",
                hints=["of what varies, M, N or K of (M, N, K, groups) is the sum over all groups"],
            )
        _check_even(packing, sizes)
        return cls(tuple(cast("list[tuple[int, int, int]]", sizes)))

    @property
    def groups(self) -> int:
        return len(self.sizes)

    @property
    def multiply_adds(self) -> int:
        """How many there are."""
        return sum(m * n * k for m, n, k in self.sizes)

    def whole(self, packing: Packing) -> Problem:
        """The sizes of all groups together, as a batch: of what varies the sum, of `list` the means."""
        if not self.sizes:
            return Problem(0, 0, 0, 0)
        axis = VARYING.get(packing)
        m, n, k = (sum(size[each] for size in self.sizes) if each == axis else self._mean(each) for each in range(3))
        return Problem(m, n, k, self.groups)

    def _mean(self, axis: int) -> int:
        return round(sum(size[axis] for size in self.sizes) / len(self.sizes))

    def __str__(self) -> str:
        spans = (sorted({size[axis] for size in self.sizes}) for axis in range(3))
        texts = (f"{each[0]}…{each[-1]}" if len(each) > 1 else str(each[0]) for each in spans if each)
        return f"{self.groups} of {'×'.join(texts)}"

    def transposed(self) -> GroupedProblem:
        """M and N exchanged."""
        return GroupedProblem(tuple((n, m, k) for m, n, k in self.sizes))


def _check_even(packing: Packing, sizes: Sequence[tuple[int, ...]]) -> None:
    """Raise `UsageError` for packed groups that differ in more than what may vary."""
    for axis in {0, 1, 2} - {VARYING[packing]} if packing in VARYING else ():
        if len(found := sorted({size[axis] for size in sizes})) > 1:
            raise UsageError(
                f"groups packed as {packing} have one {'MNK'[axis]}, not {found[0]} and {found[-1]}",
                hints=['packing="list" takes groups of any sizes'],
            )


def _even(total: list[int], groups: int, axis: int | None) -> list[tuple[int, ...]]:
    """Sizes of so many groups that are even."""
    if groups < 0:
        raise ValueError
    if axis is None:
        return [tuple(total)] * groups
    found: list[tuple[int, ...]] = []
    for group in range(groups):
        part = total[axis] * (group + 1) // groups - total[axis] * group // groups
        found.append(tuple(part if each == axis else size for each, size in enumerate(total)))
    return found


USUAL = GroupedProblem(((4096, 4096, 4096),) * 16)
"""Stands for sizes that are not known: tiles that keep a whole GPU busy."""
