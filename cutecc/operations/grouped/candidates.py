"""The grouped products to choose from: all valid tiles of a product, the default choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from cutecc.operations import candidates
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.grouped.description import GroupedDescription, Packing, Scales, Schedule
from cutecc.operations.grouped.estimate import cycles
from cutecc.operations.grouped.problem import USUAL, GroupedProblem
from cutecc.operations.grouped.validity import check, refusal, unscaled
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction
from cutecc.operations.operand import Operand
from cutecc.operations.swizzle import Swizzle
from cutecc.operations.tile import TileDescription, TileRequest


def choose(
    operands: tuple[Operand, Operand, Operand],
    packing: Packing,
    schedule: Schedule,
    scales: Scales,
    *,
    target: str,
    problem: GroupedProblem | None = None,
    accumulator: str | None = None,
    arithmetic: Arithmetic | None = None,
    unit: Unit | None = None,
    instruction: MathInstruction | str | None = None,
    tile: TileDescription | TileRequest | str | None = None,
    c: Operand | None = None,
    epilogue: Epilogue | None = None,
    swizzle: Swizzle | None = None,
) -> GroupedDescription:
    """Valid grouped products, with each part as given, and the others chosen by their estimated time.

    Units and their order are those of `cutecc.operations.candidates.choose`. Raises `UsageError` with the reason and
    the nearest that there is when nothing fits.
    """
    given = (
        candidates.fitting_instructions(
            *operands[:2], accumulator=accumulator, arithmetic=arithmetic, unit=unit, target=target
        )
        if instruction is None
        else [as_instruction(instruction)]
    )
    request, sizes = candidates.request_of(tile), problem or USUAL
    listed = [
        GroupedDescription(
            candidates.described(target, each, operands, c, epilogue, "gemm", swizzle), packing, schedule, scales
        )
        for each in given
    ]
    for each in listed:
        if found := ranked(each, request, sizes, 1):
            return found[0] if swizzle else with_swizzle(found[0], sizes)
    return _as_asked(listed, request)


def with_tiles(
    description: GroupedDescription,
    problem: GroupedProblem | None = None,
    tile: TileDescription | TileRequest | str | None = None,
) -> list[GroupedDescription]:
    """The grouped products with each valid tile that has what is asked for, the best guess first.

    Raises `UsageError` with the reason and the nearest when there is none.
    """
    request = candidates.request_of(tile)
    return ranked(description, request, problem or USUAL) or [_as_asked([description], request)]


def with_swizzle(description: GroupedDescription, problem: GroupedProblem) -> GroupedDescription:
    """The same with the order of a group's tiles that takes the least estimated time."""
    swizzled = (replace(description, gemm=replace(description.gemm, swizzle=each)) for each in candidates.ORDERS)
    return min(swizzled, key=lambda each: cycles(each, problem))


def by_other_means(description: GroupedDescription, problem: GroupedProblem | None) -> list[GroupedDescription]:
    """The grouped products with the same results, the least estimated time first: instructions and tiles."""
    sizes = problem or USUAL
    found = [
        one
        for product in candidates.by_other_means(description.gemm, ["gemm"])
        for one in ranked(replace(description, gemm=product), TileRequest(), sizes)
    ]
    return sorted(found, key=lambda each: cycles(each, sizes))


def ranked(
    description: GroupedDescription, request: TileRequest, problem: GroupedProblem, most: int = candidates.MOST_TILES
) -> list[GroupedDescription]:
    """The valid grouped products with the tiles that are asked for, the one with the least estimated time first."""
    turned = description.gemm.is_compiled_transposed
    if unscaled(description) is not None:
        return []
    if turned:
        request, problem = request.transposed(), problem.transposed()
    valid = _valid(description.compiled(), request)
    estimated = sorted((cycles(each, problem), index) for index, each in enumerate(valid))
    found = [valid[index] for _, index in estimated[:most]]
    return [each.transposed() for each in found] if turned else found


@lru_cache(maxsize=256)
def _valid(compiled: GroupedDescription, request: TileRequest) -> Sequence[GroupedDescription]:
    """What is compiled, with each valid tile."""
    found: list[GroupedDescription] = []
    for tile in candidates.tiles(compiled.gemm, request):
        # Where scales lie beside the stages, there may be room for one less.
        fewer = [] if request.stages or compiled.scales == "none" else [replace(tile, stages=tile.stages - 1)]
        staged = (replace(compiled, gemm=compiled.gemm.with_tile(each)) for each in (tile, *fewer))
        found += islice((each for each in staged if refusal(each) is None), 1)
    return found


def _as_asked(described: Sequence[GroupedDescription], request: TileRequest) -> GroupedDescription:
    """Grouped products with the tile that is asked for, as `cutecc.operations.candidates.choose` finds it for one.

    Raises `UsageError` with the reason and the nearest valid ones where there is no kernel for them.
    """
    free = candidates.free_parts(request)
    return candidates.as_asked(check(_filled_in(each, request), free) for each in described)


def _filled_in(description: GroupedDescription, request: TileRequest) -> GroupedDescription:
    filled: GemmDescription = candidates.filled_in(description.gemm, request)
    return replace(description, gemm=filled)
