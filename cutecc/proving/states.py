"""When two states of runs go on alike: what is the same of them, written down to be compared."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from cutecc.proving.aggregates import Answer
from cutecc.proving.demands import carried_values, demands_of
from cutecc.proving.kernel import Operation
from cutecc.proving.liveness import live_values
from cutecc.proving.numbers import Count, Key
from cutecc.proving.skeleton import LOOPS
from cutecc.proving.values import Lanes, Linear, Symbol

if TYPE_CHECKING:
    from cutecc.proving.barriers import Clock
    from cutecc.proving.execution import Execution
    from cutecc.proving.memory import Record
    from cutecc.proving.numbers import Numbers
    from cutecc.proving.values import Value
    from cutecc.proving.warps import Frame, Program, Step, Warp


class States:
    """Writes states of one program down."""

    def __init__(self, program: Program) -> None:
        self._demands = demands_of(program.skeleton)
        self._carried = carried_values(program.skeleton)
        self._loops = program.loops
        self._live = live_values(program, self._demands)
        self._shown_at: dict[Hashable, Sequence[Sequence[int]]] = {}
        """What was found, by where warps are."""

    def of(self, run: Execution, looked_at: Symbol | None = None) -> Hashable:
        """The state, less what makes no difference.

        Of loops to come that take as many turns as the number that is looked at, it is not said how many these are.
        """
        numbers = run.numbers
        live = run.live
        clocks, barriers, memory = _knowledge(run, live)
        warps = tuple(
            (self._warp(warp, numbers), self._to_come(warp, numbers, looked_at), _looks(run, warp))
            if index in clocks
            else None
            for index, warp in enumerate(run.warps)
        )
        known = tuple(sorted(clocks.items()))
        return run.current, run.idle, warps, barriers, memory, known, _bounds(run, numbers), _words(run, numbers)

    def _warp(self, warp: Warp, numbers: Numbers) -> Hashable:
        tiles = _first_tile(numbers)
        values: list[Hashable] = []
        for frame, shown in zip(warp.frames, self._shown(warp), strict=True):
            values.append((frame.outer, frame.condition if isinstance(frame.condition, Lanes) else None))
            values.append(tuple(self._value(warp, each, warp.values[each], numbers) for each in shown))
            if frame.step is None:
                continue
            if frame.step.operation.name == "scf.for":
                values.append(self._counter(warp, frame, numbers))
            elif frame.which and frame.is_branch and type(frame.condition) is not int:
                # What the other block has handed on.
                handed = (first for _, first, *_ in frame.step.moves if first in self._demands)
                values.append(tuple(self._value(warp, each, warp.values[each], numbers) for each in handed))
        tile = None if warp.tile is None else warp.tile - tiles
        following = None if warp.next_tile is None else warp.next_tile - tiles
        return warp.place, warp.mask, warp.is_between, tile, following, tuple(values)

    def _shown(self, warp: Warp) -> Sequence[Sequence[int]]:
        """By the frames, the values that matter and are still to be used from where a warp is."""
        key = warp.place, *(type(frame.condition) is int for frame in warp.frames)
        found = self._shown_at.get(key)
        if found is None:
            found = self._shown_at[key] = self._find_shown(warp.frames)
        return found

    def _find_shown(self, frames: Sequence[Frame]) -> Sequence[Sequence[int]]:
        shown: list[Sequence[int]] = []
        needed: set[int] = set()
        inner: Frame | None = None
        for frame in reversed(frames):
            live = self._live[id(frame.steps)]
            if inner is not None:
                needed = needed | live.needed[frame.at + 1]
                if inner.goes_on:
                    needed |= live.inside[frame.at]
            elif not frame.is_head:
                needed = live.needed[frame.at]
            shown.append(sorted(needed & live.defined[frame.at]) if not frame.is_head else sorted(live.own))
            inner = frame
        return shown[::-1]

    def _to_come(self, warp: Warp, numbers: Numbers, looked_at: Symbol | None) -> Hashable:
        """Of loops that a warp has not begun, how many turns they have at least: not what is left of those of others.

        A loop over tiles has other numbers in the next one.
        """
        ahead = self._loops_to_come(warp)
        found: list[Hashable] = []
        if not ahead.isdisjoint(self._loops.over_tiles):
            found.append(_first_tile(numbers))
        if not ahead.isdisjoint(self._loops.by_number):
            symbols = {key.what for key in numbers.bounds if isinstance(key.what, Symbol)} - {looked_at}
            found += [(str(each), numbers.known(Key(each, warp.tile)).least) for each in sorted(symbols, key=str)]
        return tuple(found)

    def _loops_to_come(self, warp: Warp) -> set[Operation]:
        ahead: set[Operation] = set()
        is_once = True
        for frame, inner in zip(warp.frames, (*warp.frames[1:], None), strict=True):
            live = self._live[id(frame.steps)]
            loop = frame.step.operation if frame.step is not None and frame.step.operation.name in LOOPS else None
            is_once = is_once and loop is None
            if inner is not None and inner.is_branch and inner.goes_on:
                # Other lanes have the other block to come.
                ahead |= live.loops[frame.at]
            if loop is not None and loop not in self._loops.over_tiles:
                ahead |= live.ahead(0)
            elif not frame.is_head:
                first = frame.at if inner is None else frame.at + 1
                ahead |= self._ahead(warp, frame.steps, first) if is_once else live.ahead(first)
        return ahead

    def _ahead(self, warp: Warp, steps: Sequence[Step], first: int) -> set[Operation]:
        """Loops outside of others that a warp still comes to: not those of branches that it is known not to take."""
        found: set[Operation] = set()
        for step, loops in zip(steps[first:], self._live[id(steps)].loops[first:], strict=True):
            condition = warp.values[step.operation.operands[0]] if step.operation.name == "scf.if" else None
            if type(condition) is int:
                taken = step.blocks[:1] if condition else step.blocks[1:]
                loops = set[Operation]().union(*(self._ahead(warp, each, 0) for each in taken))
            found |= loops
        return found

    def _counter(self, warp: Warp, frame: Frame, numbers: Numbers) -> Hashable:
        """How far it is from the end, and what is asked of it in the next turns."""
        assert frame.step is not None
        operation = frame.step.operation
        counter, end, argument = frame.counter, warp.values[operation.operands[1]], operation.blocks[0].arguments[0]
        asked = self._value(warp, argument, counter, numbers) if argument in self._demands else None
        if isinstance(end, Linear) and type(counter) is int:
            return asked, _distance(warp, end, counter, numbers)
        return asked, _relative(counter, numbers) if isinstance(counter, Linear) else counter

    def _value(self, warp: Warp, number: int, value: Value, numbers: Numbers) -> Hashable:
        demand = self._demands[number]
        if isinstance(value, Linear):
            return _relative(value, numbers) if number in self._carried else value
        if type(value) is not int:
            return _of_tile(value, numbers)
        if demand.period == 0 or value < 0:
            return value
        found: list[Hashable] = [value if value < demand.limit else None, value % demand.period]
        if not demand.is_relative:
            return tuple(found)
        symbols = sorted({key.what for key in numbers.bounds if isinstance(key.what, Symbol)}, key=str)
        distances = [(str(each), value - numbers.known(Key(each, warp.tile)).least) for each in symbols]
        if number in self._carried:
            return (*found, *(distances or [value]))
        # What stays the same is itself, and has been compared with what a number is known to exceed.
        return (value, *((symbol, max(distance, -1)) for symbol, distance in distances))


def _words(run: Execution, numbers: Numbers) -> Hashable:
    """What is known of what shared memory holds; requests are counted from the tile of which nothing is known."""
    words = tuple((at, size, _of_tile(word, numbers)) for at, (size, word) in sorted(run.words.items()))
    return words, run.requests - _first_tile(numbers) if run.requests else None


def _of_tile(value: Value, numbers: Numbers) -> Hashable:
    return ("answer", value.number - _first_tile(numbers)) if isinstance(value, Answer) else value


def _looks(run: Execution, warp: Warp) -> Hashable:
    """Looks ahead, by how far they are from the phase that goes on."""
    return tuple(sorted((at, parity, phase - run.mbarriers[at].complete) for at, parity, phase in warp.looks))


def _distance(warp: Warp, end: Linear, counter: int, numbers: Numbers) -> Hashable:
    """How far a counter is from what is known of the end."""
    found: list[Hashable] = []
    for symbol, factor in end.terms:
        known = numbers.known(Key(symbol, warp.tile))
        found.append((symbol.name, factor, known.least - counter))
    return (*found, end.constant)


def _first_tile(numbers: Numbers) -> int:
    """How many tiles there are at least: tiles are counted from there."""
    return max((each.least for key, each in numbers.bounds.items() if isinstance(key.what, Count)), default=0)


def _relative(value: Linear, numbers: Numbers) -> Hashable:
    """Steps over the grid, from the tile of which nothing is known."""
    first = _first_tile(numbers)
    terms = tuple(
        (symbol.name, factor - first if symbol.is_positive and type(factor) is int else factor)
        for symbol, factor in value.terms
    )
    missing = -first if first and not any(symbol.is_positive for symbol, _ in value.terms) else 0
    return terms, missing, value.constant


def _bounds(run: Execution, numbers: Numbers) -> Hashable:
    """What is known of numbers, relative to how far the loops are."""
    first = _first_tile(numbers)
    oldest = min((_tile_of(warp) for warp in run.warps if warp.event is not None or warp.is_between), default=0)
    for key in [key for key in numbers.bounds if key.tile is not None and key.tile < oldest]:
        del numbers.bounds[key]
    found: list[Hashable] = []
    for key, each in numbers.bounds.items():
        spread = None if each.most is None else each.most - each.least
        if isinstance(key.what, Count):
            found.append((str(key.what), "", spread))
            continue
        residue = numbers.residues.get(key.what)
        place: Hashable = None
        if residue is not None:
            place = (min(each.least, residue.first), each.least % residue.period)
        tile = None if key.tile is None else key.tile - first
        found.append((key.what.name, str(tile), spread, place))
    return tuple(sorted(found, key=str))


def _tile_of(warp: Warp) -> int:
    """The first tile that a warp may still ask about."""
    if warp.tile is not None:
        return warp.tile
    return warp.next_tile if warp.next_tile is not None else 0


def _points(run: Execution, opened: Sequence[tuple[tuple[Record, ...], tuple[Record, ...]]]) -> dict[int, set[int]]:
    """By the components of clocks, the values that they may be compared with."""
    points: dict[int, set[int]] = {}
    for writes, reads in opened:
        for record in (*writes, *reads):
            points.setdefault(record.component, set()).add(record.value)
    for barrier in run.mbarriers.values():
        points.setdefault(barrier.component, set()).update((barrier.complete - 1, barrier.complete))
        points.setdefault(barrier.initialised[0], set()).add(barrier.initialised[1])
        for waiter in (*barrier.waiters, *run.unseen(barrier)):
            points.setdefault(waiter.warp, set()).add(waiter.value)
    for barrier in run.named.values():
        points.setdefault(barrier.component, set()).add(barrier.complete)
    for groups in run.groups.values():
        points.setdefault(groups.component, set()).add(groups.committed + 1)
        if groups.perhaps is not None:
            points[groups.perhaps] = points[groups.component]
    return points


def _knowledge(run: Execution, live: Sequence[int]) -> tuple[dict[int, Hashable], Hashable, Hashable]:
    """Clocks as ranks among what they may be compared with; barriers; and accesses that not all know to be over."""
    known = run.known_to_all(live)
    opened = list(run.memory.open(known))
    # Many places have the same accesses.
    distinct = {(id(writes), id(reads)): (writes, reads) for _, writes, reads in opened}
    points = _points(run, [*distinct.values()])
    ranked = {component: sorted(values) for component, values in points.items()}
    order = sorted(ranked)

    def rank(component: int, value: int) -> int:
        # What is known up to a point is known with it.
        return bisect_left(ranked[component], value + 1)

    def ranks(clock: Clock) -> tuple[int, ...]:
        size = len(clock)
        return tuple(rank(each, clock[each] if each < size else 0) for each in order)

    clocks: dict[int, Hashable] = {index: ranks(run.clocks[index]) for index in live}
    mbarriers = tuple(
        (
            address, each.complete % 2, each.missing, each.bytes, ranks(each.arrived), ranks(each.passed),
            tuple(sorted((waiter.warp, rank(waiter.warp, waiter.value)) for waiter in each.waiters)),
            tuple(sorted((waiter.warp, rank(waiter.warp, waiter.value)) for waiter in each.remote.values())),
        )
        for address, each in sorted(run.mbarriers.items())
    )  # fmt: skip
    named = tuple(
        (
            key, each.arrived, each.expected, ranks(each.clock), tuple(sorted(each.waiting)),
            tuple(sorted((index, ranks(clock)) for index, clock in each.released.items())),
        )
        for key, each in sorted(run.named.items())
    )  # fmt: skip
    groups = tuple(
        (key, each.is_open, min(each.committed - each.done, 64), rank(each.component, each.committed))
        for key, each in sorted(run.groups.items())
    )
    accesses = {
        key: tuple(tuple(sorted((each.component, rank(each.component, each.value)) for each in made)) for made in both)
        for key, both in distinct.items()
    }
    memory = tuple((start, accesses[id(writes), id(reads)]) for start, writes, reads in opened)
    return clocks, (mbarriers, named, groups), memory
