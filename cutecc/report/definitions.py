"""Which operation makes each value that the operations of a module use."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, compress, repeat
from operator import add, attrgetter

from cutecc.report.module_lines import ModuleLine

Uses = tuple[int | None, ...]
"""The operation around one, then those that define its operands, or have them for arguments of their blocks; `None`
where there is none."""

_NAMES, _RESULTS, _MADE = attrgetter("names"), attrgetter("results"), attrgetter("made")
_CLOSES, _ISOLATES = attrgetter("closes"), attrgetter("isolates")
_MAKES = attrgetter("makes")
_IS_PACK, _HAS_ARGUMENTS = attrgetter("is_pack"), attrgetter("has_arguments")


class Definitions:
    """The values of a module, by the lines that make them.

    A name may be taken again once a region has ended: the lines between two such ends are looked at together.
    """

    def __init__(self, names: list[str], lines: Sequence[ModuleLine]) -> None:
        """Of `lines`, whose values have these `names`, in the order of the text."""
        self._names, self._lines = names, lines
        counts = [*map(_NAMES, lines)]
        self._ends = [*accumulate(counts, initial=0)]
        """Where the names of each line begin, and those of the one before end."""
        self._made = [*chain.from_iterable(map(_MADE, lines))]
        self._makers: list[int | None] = []
        """By name, the line that makes the value."""
        self._which: dict[int, str] = {}
        """By name that is used, which result or argument it is, if not the first."""
        if any(map(_IS_PACK, lines)):
            self._take_packs_apart()
        self._find_makers()

    def uses(self, parents: Sequence[int | None]) -> list[Uses]:
        """What each line uses; `parents` are the operations around them."""
        ends, makers = self._ends, tuple(self._makers)
        begins = map(add, ends, map(_RESULTS, self._lines))
        # Slices and sums of tuples: a star would make two lists for each.
        around = {parent: (parent,) for parent in set(parents)}
        operands = [makers[begin:end] for begin, end in zip(begins, ends[1:], strict=False)]
        uses: list[Uses] = [*map(add, map(around.__getitem__, parents), operands)]
        for number in compress(range(len(uses)), map(_HAS_ARGUMENTS, self._lines)):
            uses[number] = parents[number], *map(makers.__getitem__, self._used(number))
        return uses

    def which(self) -> dict[int, tuple[str | None, ...]]:
        """By line, which result or argument of these each of its operands is, `None` for the first one.

        Lines where each is that are left out.
        """
        lines = {bisect_right(self._ends, position) - 1 for position in self._which}
        return {number: tuple(map(self._which.get, self._used(number))) for number in sorted(lines)}

    def _used(self, number: int) -> Iterator[int]:
        """The names that a line uses."""
        return (each for each in range(self._ends[number], self._ends[number + 1]) if not self._made[each])

    def _take_packs_apart(self) -> None:
        """Operands like `%0#1` are called as the results that they are of."""
        names = self._names
        for position in [each for each, name in enumerate(names) if "#" in name]:
            names[position], _, number = names[position].partition("#")
            if number != "0":
                self._which[position] = number

    def _find_makers(self) -> None:
        defined: dict[str, int] = {}
        later: dict[str, str] = {}
        """Of results and arguments that are not the first and have names of their own, which they are."""
        for first, last in self._stretches():
            if self._lines[first].isolates:
                defined.clear()
                later.clear()
            begin, end = self._ends[first], self._ends[last]
            names, made = self._names[begin:end], self._made[begin:end]
            new = [*compress(names, made)]
            makers = chain.from_iterable(map(repeat, range(first, last), map(_MAKES, self._lines[first:last])))
            defined.update(zip(new, makers, strict=True))
            self._makers += map(defined.get, names)
            if max(made, default=0) > 1 or (later and not later.keys().isdisjoint(new)):
                _note_later(new, [*filter(None, made)], later)
            if later and not later.keys().isdisjoint(names):
                for position, name in enumerate(names, begin):
                    if name in later and not self._made[position]:
                        self._which.setdefault(position, later[name])

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Lines of which none takes the name of a value that another has."""
        begin = 0
        lines = self._lines
        is_end = (line.closes or line.isolates for line in lines)
        for number in compress(range(len(lines)), is_end):
            end = number + lines[number].closes
            if begin < end:
                yield begin, end
            begin = end
        if begin < len(lines):
            yield begin, len(lines)


def _note_later(names: Sequence[str], positions: Sequence[int], later: dict[str, str]) -> None:
    for name, position in zip(names, positions, strict=True):
        if position > 1:
            later[name] = str(position - 1)
        else:
            later.pop(name, None)
