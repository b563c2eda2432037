"""What the main loops of a kernel's PTX have of matrix products, of tensor memory, of copies by TMA and of barriers.

A main loop is an innermost loop that has a product or a copy of tiles, `cp.async.bulk.tensor`: warps that copy and
warps that multiply have one each. Code generators unroll such loops by other numbers, and leave others of their steps
behind them. So the instructions of a loop are counted by kinds and the counts divided by what all of them are multiples
of: four products and a barrier are what sixteen and four are. Of loops that are then the same there is one.

Loops are natural ones, of edges back to what every path to them goes through: how blocks are laid out does not count.
A wait for an mbarrier is one instruction of PTX, in a loop of its own, of which ptxas makes two or three of SASS: these
are inside of the main loop, and PTX has the same number however ptxas places them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cutecc.ptx.parse import parse_module
from cutecc.ptx.syntax import Function, Instruction, symbols_of

Step = tuple[tuple[str, int], ...]
"""How many instructions of each kind there are for each other, in the order of the kinds' names."""

PRODUCTS = frozenset({"mma", "tcgen05.mma", "wgmma"})
COPIES = frozenset({"cp.async.bulk.tensor"})
_KINDS = re.compile(
    r"(?P<same>tcgen05\.\w+|mbarrier\.\w+|cp\.async\.bulk(?:\.(?:tensor|prefetch|commit_group|wait_group))?"
    r"|cp\.reduce\.async\.bulk|clusterlaunchcontrol\.\w+|ldmatrix|stmatrix)|(?P<product>mma|wgmma)\.(?:sp\.)?mma|mma\b"
    r"|(?P<barrier>bar|barrier)(?:\.cta)?\.(?P<scope>cluster\.)?(?P<action>sync|arrive|wait|red)"
)


def steps(function: Function) -> frozenset[Step]:
    """What a step of each main loop has; of a kernel without such loops, what all of it has."""
    kinds = [kind_of(each) for each in function.instructions]
    found = [_counted(kinds, body) for body in main_loops(function, kinds)]
    whole = _counted(kinds, range(len(kinds)))
    return frozenset(map(step_of, found)) or frozenset([tuple(sorted(whole.items()))])


def kernel_steps(ptx: str) -> frozenset[Step]:
    """Those of all kernels of PTX."""
    functions = parse_module(ptx).functions.values()
    return frozenset(step for each in functions if each.is_entry for step in steps(each))


def kernel_kinds(ptx: str) -> Counter[str]:
    """How many instructions of each kind all kernels of PTX have."""
    functions = [each for each in parse_module(ptx).functions.values() if each.is_entry]
    return Counter(kind for each in functions for instruction in each.instructions if (kind := kind_of(instruction)))


def step_of(counts: Mapping[str, int]) -> Step:
    """Counts divided by their greatest common divisor."""
    divisor = math.gcd(*counts.values())
    return tuple((kind, count // divisor) for kind, count in sorted(counts.items()))


def kind_of(instruction: Instruction) -> str | None:
    """Of what is counted, the name without its modifiers, and the same for other spellings."""
    found = _KINDS.match(instruction.name)
    if found is None:
        return None
    if found["barrier"]:
        return f"barrier.{found['scope'] or ''}{found['action']}"
    return found["same"] or found["product"] or "mma"


def main_loops(function: Function, kinds: Sequence[str | None]) -> list[frozenset[int]]:
    """The indices of the instructions of each innermost loop that has a product or a copy of tiles."""
    wanted = [body for body in loops(function) if any(kinds[each] in PRODUCTS | COPIES for each in body)]
    return [body for body in wanted if not any(other < body for other in wanted)]


def loops(function: Function) -> list[frozenset[int]]:
    """The indices of the instructions of each natural loop."""
    after = [tuple(_successors(function, index)) for index in range(len(function.instructions))]
    before: list[list[int]] = [[] for _ in after]
    for index, targets in enumerate(after):
        for target in targets:
            before[target].append(index)
    bodies: dict[int, set[int]] = {}
    for head in sorted(set(function.labels.values()) - {len(after)}):
        beside = _reached(after, [0], without=head)
        # All paths from the entry to these go through the head.
        if sources := [each for each in before[head] if each not in beside]:
            bodies[head] = {head} | _reached(before, sources, without=head)
    return [frozenset(body) for body in bodies.values() if body]


def _reached(edges: Sequence[Iterable[int]], starts: Iterable[int], *, without: int) -> set[int]:
    found: set[int] = set()
    rest = [each for each in starts if each != without]
    while rest:
        index = rest.pop()
        if index not in found:
            found.add(index)
            rest += [each for each in edges[index] if each != without]
    return found


def _successors(function: Function, index: int) -> Iterator[int]:
    """The instructions that may be next."""
    instruction, end = function.instructions[index], len(function.instructions)
    if instruction.opcode in ("bra", "brx"):
        for name in symbols_of(instruction):
            for label in function.branch_targets.get(name, (name,)):
                if function.labels[label] < end:
                    yield function.labels[label]
    if (instruction.guard or instruction.opcode not in ("bra", "brx", "ret", "exit", "trap")) and index + 1 < end:
        yield index + 1


def _counted(kinds: Sequence[str | None], body: Iterable[int]) -> Counter[str]:
    return Counter(kind for index in body if (kind := kinds[index]))
