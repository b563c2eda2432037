"""An independent model of synchronisation: small programs, all of their interleavings, and which of these are one.

Nothing of cutecc's is used here. A state is what everybody can see, and who has contributed to what; two neighbours in
an interleaving commute where both orders are possible and come to the same state. Interleavings that are turned into
each other by swapping neighbours that commute are one order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Transition = tuple[str, int, int]
"""`("warp", agent, operation)`, or `("copy", agent, operation)`: the copy that the agent's operation has started."""


class Op(NamedTuple):
    """One operation of a warp."""

    name: str
    at: int = 0
    """Which mbarrier, named barrier or word."""
    number: int = 0
    """Parity, bytes."""


@dataclass(frozen=True)
class Skeleton:
    """A program for each warp; each ends at its end."""

    counts: tuple[int, ...]
    """Arrivals that each mbarrier waits for."""
    programs: tuple[tuple[Op, ...], ...]
    of_named: int = 2
    """Warps that each named barrier waits for."""


Mbarrier = tuple[int, int, tuple[frozenset[Any], ...]]
"""Arrivals and bytes that are missing; who has contributed to each phase, the present one last."""


class State(NamedTuple):
    places: tuple[int, ...]
    """Of each warp, the operation that comes next."""
    mbarriers: tuple[Mbarrier, ...]
    named: tuple[tuple[frozenset[Any], ...], ...]
    words: tuple[Any, ...]
    """Who has written each last, and who has added to it since."""
    waiting: tuple[Any, ...]
    """Of each warp, the named barrier and the phase whose end it waits for."""
    copies: frozenset[Transition]
    seen: frozenset[Any]
    """What each has found, or read."""
    surplus: bool = False
    """Whether more have arrived than a phase waits for: which kernels are not to do."""


def begin(skeleton: Skeleton) -> State:
    return State(
        (0,) * len(skeleton.programs),
        tuple((count, 0, (frozenset(),)) for count in skeleton.counts),
        ((frozenset(),),) * 4,
        ((None, frozenset()),) * 4,
        (None,) * len(skeleton.programs),
        frozenset(),
        frozenset(),
    )


def enabled(skeleton: Skeleton, state: State) -> Iterator[Transition]:
    yield from state.copies
    for agent, place in enumerate(state.places):
        waiting = state.waiting[agent]
        if waiting is not None and len(state.named[waiting[0]]) - 1 <= waiting[1]:
            continue
        if place == len(skeleton.programs[agent]):
            continue
        op = skeleton.programs[agent][place]
        if op.name == "wait" and (len(state.mbarriers[op.at][2]) - 1) % 2 == op.number:
            continue
        yield "warp", agent, place


def _counted(skeleton: Skeleton, state: State, at: int, who: Any, arrivals: int, size: int) -> State:
    pending, missing, phases = state.mbarriers[at]
    state = state._replace(surplus=state.surplus or arrivals > pending)
    pending, missing = max(pending - arrivals, 0), missing + size
    phases = (*phases[:-1], phases[-1] | {who})
    if not pending and not missing:
        pending, phases = skeleton.counts[at], (*phases, frozenset())
    return state._replace(mbarriers=_with(state.mbarriers, at, (pending, missing, phases)))


def _with(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def after(skeleton: Skeleton, state: State, who: Transition) -> State:
    kind, agent, place = who
    op = skeleton.programs[agent][place]
    if kind == "copy":
        state = state._replace(copies=state.copies - {who})
        return _counted(skeleton, state, op.at, who, 0, -op.number)
    state = state._replace(places=_with(state.places, agent, place + 1), waiting=_with(state.waiting, agent, None))
    match op.name:
        case "arrive":
            return _counted(skeleton, state, op.at, who, 1, 0)
        case "expect":
            # Announced, and arrived.
            pending, missing, phases = state.mbarriers[op.at]
            state = state._replace(mbarriers=_with(state.mbarriers, op.at, (pending, missing + op.number, phases)))
            if not pending and not missing + op.number:
                state = _counted(skeleton, state, op.at, (who, "announced"), 0, 0)
            return _counted(skeleton, state, op.at, who, 1, 0)
        case "copy":
            return state._replace(copies=state.copies | {("copy", agent, place)})
        case "wait":
            return state._replace(seen=state.seen | {(who, len(state.mbarriers[op.at][2]))})
        case "sync" | "come":
            phases = state.named[op.at]
            number = len(phases) - 1
            phases = (*phases[:-1], phases[-1] | {who})
            if len(phases[-1]) == skeleton.of_named:
                phases = (*phases, frozenset())
            state = state._replace(named=_with(state.named, op.at, phases))
            if op.name == "sync":
                state = state._replace(waiting=_with(state.waiting, agent, (op.at, number)))
            return state
        case "add":
            writer, added = state.words[op.at]
            return state._replace(words=_with(state.words, op.at, (writer, added | {who})))
        case "exchange":
            seen = state.seen | {(who, state.words[op.at])}
            return state._replace(seen=seen, words=_with(state.words, op.at, (who, frozenset())))
        case "load":
            return state._replace(seen=state.seen | {(who, state.words[op.at])})
        case name:
            raise AssertionError(name)


class TooMany(Exception):
    """More interleavings than a test should look at."""


def count_orders(skeleton: Skeleton, most: int = 4000) -> tuple[int, bool]:
    """How many classes of interleavings, up to their ends or to where nobody can go on; whether any has a surplus."""
    found: dict[tuple[Transition, ...], list[State]] = {}

    def extend(way: tuple[Transition, ...], states: list[State]) -> None:
        free = list(enabled(skeleton, states[-1]))
        if not free:
            found[way] = states
            if len(found) > most:
                raise TooMany
        for each in free:
            extend((*way, each), [*states, after(skeleton, states[-1], each)])

    extend((), [begin(skeleton)])
    left, classes = set(found), 0
    while left:
        classes += 1
        ways = [left.pop()]
        while ways:
            way = ways.pop()
            for place in range(len(way) - 1):
                swapped = (*way[:place], way[place + 1], way[place], *way[place + 2 :])
                if swapped in left and found[swapped][place + 2] == found[way][place + 2]:
                    left.discard(swapped)
                    ways.append(swapped)
    return classes, any(states[-1].surplus for states in found.values())


def generated(seed: int) -> Skeleton:
    """A program of two or three warps."""
    chance = random.Random(seed)
    warps = chance.choice((2, 2, 3))
    counts = tuple(chance.choice((1, 1, 2)) for _ in range(chance.choice((1, 2))))

    def op() -> Op:
        match chance.choice(("arrive", "arrive", "expect", "wait", "wait", "sync", "come", "add", "exchange", "load")):
            case "expect":
                return Op("expect", chance.randrange(len(counts)), 16)
            case "wait":
                return Op("wait", chance.randrange(len(counts)), chance.choice((0, 0, 1)))
            case "arrive":
                return Op("arrive", chance.randrange(len(counts)))
            case "sync" | "come" as name:
                return Op(name, 1)
            case name:
                return Op(name, chance.randrange(2))

    def program() -> tuple[Op, ...]:
        ops: list[Op] = []
        for _ in range(chance.randrange(1, 5 if warps == 2 else 4)):
            ops.append(made := op())
            if made.name == "expect":
                ops.append(Op("copy", made.at, 16))
        return tuple(ops)

    return Skeleton(counts, tuple(program() for _ in range(warps)))


def ptx(skeleton: Skeleton) -> list[str]:
    """A body for each warp: mbarriers are at the start of shared memory, words behind byte 64, copies go to 256."""
    bodies: list[str] = []
    for agent, program in enumerate(skeleton.programs):
        lines: list[str] = []
        for place, op in enumerate(program):
            label, mbarrier, word = f"L{agent}_{place}", f"[%r9+{8 * op.at}]", f"[%r9+{64 + 4 * op.at}]"
            copied = 256 + 16 * (8 * agent + place)
            lines += {
                "arrive": [f"  @%p5 mbarrier.arrive.shared.b64 _, {mbarrier};"],
                "expect": [f"  @%p5 mbarrier.arrive.expect_tx.shared.b64 _, {mbarrier}, {op.number};"],
                "copy": [
                    f"  add.u32 %r12, %r9, {copied};",
                    "  ld.param.u64 %rd1, [a0];",
                    "  @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                    f"[%r12], [%rd1], {op.number}, {mbarrier};",
                ],
                "wait": [
                    f"{label}:",
                    f"  mbarrier.try_wait.parity.shared.b64 %p2, {mbarrier}, {op.number};",
                    f"  @!%p2 bra {label};",
                ],
                "sync": [f"  bar.sync {op.at}, {32 * skeleton.of_named};"],
                "come": [f"  bar.arrive {op.at}, {32 * skeleton.of_named};"],
                "add": [f"  @%p5 red.shared.add.u32 {word}, 1;"],
                "exchange": [f"  @%p5 atom.shared.exch.b32 %r13, {word}, {agent};"],
                "load": [f"  @%p5 ld.relaxed.cta.shared.u32 %r13, {word};"],
            }[op.name]
        bodies.append("\n".join(lines))
    return bodies
