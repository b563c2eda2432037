"""The nearest description: always there, accepted itself, and never further away than it has to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import inf, log2, prod
from random import Random
from typing import Any

import pytest
from attacks import attacks
from description_strategies import changed_parts, counted, descriptions, simt, sizes, tensor_op, wgmma
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.operations import Gemm
from cutecc.operations.alternatives import changes, with_tile
from cutecc.operations.candidates import choose
from cutecc.operations.description import GemmDescription
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.instruction import Unit
from cutecc.operations.kernels.family import Part
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription, TileRequest
from cutecc.operations.validity import check, refusal

TILE_PARTS: tuple[Part, ...] = (
    *("tile.m", "tile.n", "tile.k", "tile.stages", "tile.warps", "tile.cluster", "tile.schedule"),
)
PARTS: tuple[Part, ...] = (
    *("target", "instruction", "accumulator", "arithmetic", "swizzle", "mode", "c", "epilogue", *TILE_PARTS),
    *("a.dtype", "a.layout", "a.alignment", "b.dtype", "b.layout", "b.alignment"),
    *("d.dtype", "d.layout", "d.alignment", "c.dtype", "c.layout", "c.alignment"),
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(descriptions())
def test_any_description_is_accepted_or_has_a_nearest_one(description: GemmDescription) -> None:
    verdict = check(description)
    assert verdict.nearest is not None
    assert refusal(verdict.nearest) is None
    assert verdict.accepted == (refusal(description) is None)
    if verdict:
        assert (verdict.nearest, verdict.reason, verdict.changes) == (description, "", ())
    else:
        assert verdict.reason and not verdict.reason.endswith(".")
        assert verdict.changes and verdict.nearest != description


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([tensor_op(), wgmma()]), st.data())
def test_one_wrong_part_is_mended_by_one_part_where_one_does_it(start: GemmDescription, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in PARTS if next(changes(start, part), None)]))
    wrong = data.draw(st.sampled_from(list(changes(start, part))))[1]
    verdict = check(wrong)
    assert verdict.nearest is not None
    if verdict.accepted:
        return
    best = min(
        counted(changed_parts(wrong, changed))
        for other in PARTS
        for _, changed in changes(wrong, other)
        if refusal(changed) is None
    )
    assert counted(changed_parts(wrong, verdict.nearest)) <= best


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.sampled_from([tensor_op(), wgmma()]), st.data())
def test_two_wrong_parts_are_mended_by_no_more_than_they_were(start: GemmDescription, data: st.DataObject) -> None:
    wrong, changed = start, set[Part]()
    for part in data.draw(st.lists(st.sampled_from(TILE_PARTS), min_size=2, max_size=2, unique=True)):
        values = list(changes(wrong, part))
        wrong = data.draw(st.sampled_from(values))[1]
        changed.add(part)
    verdict = check(wrong)
    assert verdict.nearest is not None
    assert counted(changed_parts(wrong, verdict.nearest)) <= counted(changed_parts(wrong, start))


def nearer_tiles(wrong: GemmDescription, most: int, far: float) -> Iterator[tuple[int, float, GemmDescription]]:
    """All descriptions with a tile that differs in fewer parts than `most`, or in as many and less than `far`."""
    for size in range(1, most + 1):
        for parts in combinations(TILE_PARTS, size):
            bound = far - 1e-9 if size == most else inf
            reached = [(0.0, wrong)]
            for part in parts:
                reached = [
                    (distance + by, changed)
                    for distance, description in reached
                    for by, changed in changes(description, part)
                    if distance + by < bound
                ]
            yield from ((size, distance, description) for distance, description in reached)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.sampled_from([tensor_op(), wgmma(), simt()]), sizes, sizes, st.sampled_from(range(3)), st.data())
def test_no_tile_is_nearer(start: GemmDescription, first: int, second: int, axis: int, data: st.DataObject) -> None:
    """Every tile that would be nearer is tried: none is accepted. The measure is that of `changes`."""
    threadblock = [*start.tile.threadblock]
    threadblock[axis] = first
    if data.draw(st.booleans()):
        threadblock[(axis + 1) % 3] = second
    tile = replace(start.tile, threadblock=tuple(threadblock), stages=data.draw(st.sampled_from([2, 3, 5, 11])))
    wrong = with_tile(start, tile)
    verdict = check(wrong)
    problem, means, distance = verdict.distance
    if verdict or problem or means > 2:
        return
    nearer = [each for each in nearer_tiles(wrong, int(means), distance) if refusal(each[2]) is None]
    assert not nearer, (wrong.tile, verdict.changes, nearer[0][2].tile)


@pytest.mark.slow
@settings(max_examples=attacks(3), deadline=None)
@given(
    st.sampled_from([("sm_80", None), ("sm_90a", None), ("sm_90a", "wgmma")]), sizes, sizes, st.just(64), st.randoms()
)
@example(("sm_90a", None), 64, 100, 64, Random(0))
def test_no_threadblock_is_nearer_to_one_that_is_asked_for(
    where: tuple[str, Unit | None], m: int, n: int, k: int, random: Random
) -> None:
    """Whatever warps, schedule and stages it takes: nobody has asked for those. A sample of what would be nearer."""
    (target, unit), sizes = where, (m, n, k)
    operands = Operand("f16", "row"), Operand("f16", "column"), Operand("f16", "row")
    try:
        choose(*operands, target=target, unit=unit, tile=TileRequest(sizes))  # type: ignore[arg-type]
        return
    except UsageError as error:
        message, hint = error.message, error.hints[0]
    found = re.search(r"tile (\d+)x(\d+)x(\d+), not", hint)
    assert found is not None, hint
    nearest = tuple(map(int, found.groups()))
    # What is said to be wrong is.
    blamed = [letter for letter in "MNK" if re.search(rf"\b{letter}\b", message)] or ["M"] * ("rows" in message)
    if message.startswith("a swapped tile"):
        blamed = [{"M": "N", "N": "M"}.get(letter, letter) for letter in blamed]
    assert not blamed or any(sizes["MNK".index(each)] != nearest["MNK".index(each)] for each in blamed)

    far = apart(sizes, nearest)
    steps = [range(8, 520, 8), range(8, 520, 8), (*range(8, 64, 4), *range(64, 257, 16))]
    values = [(size, *step) for size, step in zip(sizes, steps, strict=True)]
    nearer = [each for each in product(*values) if apart(sizes, each) < far]
    for threadblock in random.sample(nearer, min(10, len(nearer))):
        assert not any(refusal(each) is None for each in ways(operands, target, unit, threadblock)), threadblock


def apart(one: Sequence[int], other: Sequence[int]) -> tuple[int, float]:
    """How many sizes differ, and by how many doublings in all."""
    by = [abs(log2(first / second)) for first, second in zip(one, other, strict=True)]
    return sum(each > 0 for each in by), sum(by) - 1e-9


def ways(
    operands: tuple[Operand, Operand, Operand], target: str, unit: Unit | None, threadblock: tuple[int, ...]
) -> Iterator[GemmDescription]:
    """Descriptions with a threadblock, in every way to cut it, with the fewest stages."""
    for instruction in fitting_instructions(*operands[:2], target=target, unit=unit):
        warps = [(1, 1, 1), (2, 1, 1)] if instruction.unit == "wgmma" else WARPS
        schedules = ["cooperative", "pingpong"] if instruction.unit == "wgmma" else ["multistage"]
        plain = wgmma() if instruction.unit == "wgmma" else tensor_op(target)
        for grid, schedule in product(warps, schedules):
            tile = TileDescription(threadblock, 2, grid, (1, 1), schedule)  # type: ignore[arg-type]
            yield with_tile(replace(plain, instruction=instruction), tile)


WARPS = [grid for grid in product((1, 2, 4, 8, 16), (1, 2, 4, 8, 16), (1, 2, 4, 8)) if prod(grid) <= 32]


@pytest.mark.parametrize(
    ("request_", "reason", "nearest"),
    [
        ({"tile": "64x100x64"}, "N a multiple of 8 up to 256, not 64x100x16", "64x104x64"),
        ({"tile": "64x128x32", "unit": "wgmma"}, "has 128 bytes of K, 64 elements of f16, not 32", "64x128x64"),
        ({"tile": "72x128x64", "unit": "wgmma"}, "computes 64 or 128 rows, not 72", "64x128x64"),
    ],
)
def test_what_nobody_asked_for_is_not_to_blame(request_: dict[str, Any], reason: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        Gemm("f16", "f16", target="sm_90a", **request_)
    assert raised.value.hints == [f"the nearest that there is has tile {nearest}, not {request_['tile']}"]


def test_what_is_wrong_in_everything_has_a_nearest_one_too() -> None:
    tile = TileDescription((7, 13, 5), 77, (9, 9, 9), (5, 5), "multistage")
    verdict = check(replace(wgmma(), tile=tile, target="sm_80", mode="array", swizzle="horizontal"))
    assert verdict.nearest is not None and refusal(verdict.nearest) is None
    assert verdict.nearest.mode == "array" and verdict.nearest.target == "sm_80"


def test_the_problem_stays_where_other_means_will_do() -> None:
    verdict = check(replace(wgmma(), target="sm_86"))
    assert verdict.nearest is not None
    assert verdict.nearest.target == "sm_86" and verdict.nearest.instruction.unit == "tensor_op"
    assert counted(changed_parts(wgmma(target="sm_86"), verdict.nearest))[0] == 0


def test_the_value_next_to_the_wrong_one_is_taken() -> None:
    verdict = check(tensor_op(threadblock=(100, 128, 32)))
    assert verdict.nearest == tensor_op(threadblock=(96, 128, 32))
    assert verdict.changes == ("tile 96x128x32, not 100x128x32",)
