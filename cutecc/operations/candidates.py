"""The descriptions to choose from: all valid tiles of an instruction, the default choice, everything on offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import log2
from typing import Any, cast

import numpy as np

from cutecc.errors import UsageError
from cutecc.operations.any_description import AnyDescription
from cutecc.operations.description import (
    SPLITS,
    GemmDescription,
    Mode,
    matched,
)
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import ACCUM, Output, default_conversion
from cutecc.operations.epilogue.verification import compute_type
from cutecc.operations.fitting_instructions import USUAL_ACCUMULATORS as USUAL_ACCUMULATORS
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.instruction import UNITS, Arithmetic, MathInstruction, Unit, as_instruction
from cutecc.operations.instruction_set import KINDS, memory_type
from cutecc.operations.kernels.family import TilePart
from cutecc.operations.kernels.sm90 import INSTRUCTION_M
from cutecc.operations.operand import Layout, Operand, as_operand
from cutecc.operations.rules import RESULTS
from cutecc.operations.swizzle import Swizzle
from cutecc.operations.tile import Schedule, TileDescription, TileRequest
from cutecc.operations.tile_model import LARGE, Problem, cycles, cycles_of, machine
from cutecc.operations.tile_rules import WGMMA_TILE_BYTES, shared_memory
from cutecc.operations.validity import Verdict, check, refusal
from cutecc.operations.wgmma_tiles import SUMS, WAYS, wgmma_tiles
from cutecc.operations.words import known_word, of_kind, shown, whole_number
from cutecc.target import Target

MOST_TILES = 64
"""Tiles that `tile_descriptions` lists."""
_WARP_TILES = ((64, 64), (64, 32), (32, 64), (32, 32), (32, 16), (16, 32), (16, 16))
_WARP_GRIDS = ((2, 2), (2, 4), (4, 2), (1, 4), (4, 1), (2, 1), (1, 2), (1, 1))
_THREAD_TILES = ((8, 8), (8, 4), (4, 8), (4, 4), (4, 2), (2, 4), (2, 2))
_WGMMA_COLUMNS = (256, 224, 192, 160, 128, 112, 96, 80, 64, 48, 32, 16, 8)
"""Of 8 to 256 in steps of 8. TMA writes D best in 64 of them, well in 32 or 16."""
_WGMMA_CLUSTERS = ((1, 2), (2, 1), (1, 1))
_MOST_SWAPPED = 256
"""Rows of D that may be the columns of one `wgmma`."""
ORDERS: tuple[Swizzle, ...] = ("identity1", "identity2", "identity4", "identity8", "horizontal")
"""Of the tiles of one matrix."""
_FEW_STAGES = 3
_MOST_STAGES = {"simt": 4, "tensor_op": 5, "wgmma": 8}


def tile_descriptions(
    a: Operand | str,
    b: Operand | str,
    d: Operand | str,
    accumulator: str | None = None,
    instruction: MathInstruction | str | None = None,
    *,
    target: str,
    c: Operand | str | None = None,
    epilogue: Epilogue | None = None,
    mode: Mode = "gemm",
    problem: Problem | None = None,
) -> list[TileDescription]:
    """The valid tiles for a product, the best guess first: at most `MOST_TILES`.

    Without an instruction those of the best unit that takes the operands; without a problem those for a large one.
    Raises `UsageError` with the reason when there is no tile.
    """
    operands = as_operand(a, "a"), as_operand(b, "b"), as_operand(d, "d")
    sizes = LARGE if problem is None else of_kind(problem, Problem, "the problem")
    if instruction is None:
        given = fitting_instructions(*operands[:2], accumulator=accumulator, target=target)
    else:
        given = [as_instruction(instruction)]
    return [
        each.tile
        for each in with_tiles([described(target, each, operands, c, epilogue, mode) for each in given], sizes)
    ]


def with_tiles(
    described: Sequence[GemmDescription],
    problem: Problem = LARGE,
    tile: TileDescription | TileRequest | str | None = None,
) -> list[GemmDescription]:
    """The first of descriptions that has valid tiles, with each of these, the best guess first.

    They have what is asked for in `tile`. Raises `UsageError` with the reason when there is no tile.
    """
    request = request_of(tile)
    ranked = (_ranked(each, request, problem) for each in described)
    return next(filter(None, ranked), None) or [_as_asked(described, request)]


def choose(
    a: Operand | str,
    b: Operand | str,
    d: Operand | str,
    *,
    target: str,
    problem: Problem | None = None,
    accumulator: str | None = None,
    arithmetic: Arithmetic | None = None,
    unit: Unit | None = None,
    instruction: MathInstruction | str | None = None,
    tile: TileDescription | TileRequest | str | None = None,
    c: Operand | None = None,
    epilogue: Epilogue | None = None,
    swizzle: Swizzle | None = None,
    mode: Mode | None = None,
) -> GemmDescription:
    """A valid description of a product, with each part as given, and the others chosen by their estimated time.

    The unit is `wgmma` where TMA can read the operands, else `tensor_op`, else `simt`; of f32 it is `simt`, which keeps
    all digits: operands of type `tf32`, `unit` or `instruction` ask for tensor cores, which round f32 to tf32, and
    `arithmetic="multiply_add_fast_f32"` for three such products. K is split only when a problem is given, and no mode.
    Raises `UsageError` with the reason and the nearest description when nothing fits.
    """
    operands = as_operand(a, "a"), as_operand(b, "b"), as_operand(d, "d")
    request = request_of(tile)
    given = (
        fitting_instructions(*operands[:2], accumulator=accumulator, arithmetic=arithmetic, unit=unit, target=target)
        if instruction is None
        else [as_instruction(instruction)]
    )
    modes, sizes = _modes(mode, problem), problem or LARGE
    listed = [[described(target, each, operands, c, epilogue, chosen, swizzle) for chosen in modes] for each in given]
    for each in listed:
        if found := [best for one in each for best in _ranked(one, request, sizes, 1)]:
            best = min(found, key=lambda candidate: cycles(candidate, sizes))
            return best if swizzle else replace(best, swizzle=usual_swizzle(best, sizes))
    return _as_asked([each[0] for each in listed], request)


def gemm_descriptions(
    target: str,
    *,
    dtype: str | None = None,
    unit: Unit | None = None,
    layouts: Iterable[tuple[Layout, Layout, Layout]] | None = None,
    tiles: int = 4,
) -> Iterator[GemmDescription]:
    """Everything on offer for a target, by instruction and layouts of A, B and D: the `tiles` best guesses of each.

    Operands are aligned to 16 bytes, D has the type of A where it can, epilogues only convert. `dtype` is that of A.
    """
    chip, most = Target.parse(target), whole_number(tiles, "the number of tiles")
    if most < 1:
        raise UsageError(f"the number of tiles is at least 1, not {most}")
    wanted = None if dtype is None else Operand(dtype, "row").dtype
    if unit is not None:
        unit = known_word(unit, UNITS, "unit")  # type: ignore[assignment]
    chosen = None if layouts is None else _checked_layouts(layouts)
    for kind in KINDS:
        a, b = memory_type(kind.a), memory_type(kind.b)
        if not kind.exists_on(chip) or unit not in (None, kind.unit) or wanted not in (None, a):
            continue
        for layout_a, layout_b, layout_d in chosen or _layouts(a):
            for instruction in kind.instructions():
                if instruction.unit == "wgmma" and instruction.shape[1] != 128:
                    continue
                # D has the type of A, where the accumulators can become it.
                results = RESULTS[instruction.accumulator]
                d = Operand(a if a in results else results[0], layout_d)
                operands = Operand(a, layout_a), Operand(b, layout_b), d
                whole = described(target, instruction, operands, None, None, "gemm")
                yield from _ranked(whole, TileRequest(), LARGE, most)


def _checked_layouts(layouts: object) -> list[tuple[Layout, Layout, Layout]]:
    """The layouts of A, B and D, listed. Raises `UsageError` for anything else."""
    if not isinstance(layouts, Iterable):
        raise UsageError(f"layouts are listed, each of A, B and D, not {shown(layouts)}")
    found: list[Any] = list(cast("Iterable[Any]", layouts))
    for each in found:
        if not isinstance(each, tuple | list) or len(cast("Sequence[Any]", each)) != 3:
            raise UsageError(f"layouts are those of A, B and D, not {shown(cast(object, each))}")
    return [tuple(each) for each in found]


def plain_epilogue(d: Operand, accumulator: str) -> Epilogue:
    """The accumulators, converted to D."""
    output = Output("D", "full", d.dtype, ACCUM, "none", default_conversion(d.dtype), d.layout, d.alignment)
    return Epilogue((), (), (output,), accumulator, compute_type(accumulator, (), (output,)))


def described(
    target: str,
    instruction: MathInstruction,
    operands: tuple[Operand, Operand, Operand],
    c: Operand | str | None,
    epilogue: Epilogue | None,
    mode: Mode,
    swizzle: Swizzle | None = None,
) -> GemmDescription:
    """A description whose tile is still to be chosen."""
    a, b, d = (each.stored for each in operands)
    epilogue = plain_epilogue(d, instruction.accumulator) if epilogue is None else epilogue
    of_kind(epilogue, Epilogue, "an epilogue")
    if c is not None:
        c = as_operand(c, "c")
    elif (source := epilogue.source) is not None:
        c = source.operand
    epilogue = matched(epilogue, c, d, instruction.accumulator)
    return GemmDescription(target, instruction, _ANY_TILE, a, b, d, c, epilogue, swizzle or "identity1", mode)


def by_other_means(description: GemmDescription, modes: Sequence[Mode]) -> list[GemmDescription]:
    """What multiplies the same in the same way and type, by every instruction and mode; tiles are to be chosen."""
    instruction = description.instruction
    rounds = {"dtype": "tf32"} if instruction.a == "tf32" else {}
    asked = (replace(each, **rounds) for each in (description.a, description.b))
    given = fitting_instructions(
        *asked, accumulator=instruction.accumulator, arithmetic=instruction.arithmetic, target=description.target
    )
    operands = description.a, description.b, description.d
    return [
        described(description.target, each, operands, description.c, description.epilogue, mode)
        for each in given
        for mode in modes
    ]


Ranked = tuple[float, GemmDescription]
"""An estimated time, and what has it."""
_ANY_TILE = TileDescription((64, 64, 64), 2, (2, 2, 1))


def _ranked(
    described: GemmDescription, request: TileRequest, problem: Problem, most: int = MOST_TILES
) -> list[GemmDescription]:
    """The valid descriptions with the tiles that are asked for, the one with the least estimated time first."""
    found: list[Ranked] = []
    for each in _oriented(described, request, problem):
        turned = each.is_compiled_transposed
        asked, sizes = (request.transposed(), problem.transposed()) if turned else (request, problem)
        best = (_best_of_wgmma if each.family == "sm90" else _best)(each.compiled(), asked, sizes, most)
        found += [(estimate, one.transposed() if turned else one) for estimate, one in best]
    found.sort(key=lambda entry: entry[0])
    return [each for _, each in found[:most]]


def _best(compiled: GemmDescription, request: TileRequest, problem: Problem, most: int) -> list[Ranked]:
    """The valid descriptions of what is compiled that have the least estimated times."""
    found = [(cycles(each, problem), each) for each in _valid(compiled, request)]
    return sorted(found, key=lambda entry: entry[0])[:most]


def _best_of_wgmma(compiled: GemmDescription, request: TileRequest, problem: Problem, most: int) -> list[Ranked]:
    """The same of `wgmma`, which has so many tiles that only the best are looked at whether they are valid."""
    offered = wgmma_tiles(compiled, request)
    if not offered.tiles:
        return []
    estimated = cycles_of(compiled, offered.cuts, problem)
    found: list[Ranked] = []
    for index in np.argsort(estimated, kind="stable"):
        candidate = compiled.with_tile(offered.tile(index))
        if refusal(candidate) is None:
            found.append((float(estimated[index]), candidate))
            if len(found) == most:
                break
    return found


def _oriented(described: GemmDescription, request: TileRequest, problem: Problem) -> list[GemmDescription]:
    """A description whose tile is to be chosen: as is asked for, and else swapped too where rows are few."""
    swapped = replace(described, tile=replace(described.tile, swapped=True))
    if request.swapped is not None:
        return [swapped if request.swapped else described]
    if described.instruction.unit != "wgmma":
        return [described]
    axis = 0 if described.d.is_along_rows else 1
    if request.threadblock:
        return [swapped if request.threadblock[axis] < INSTRUCTION_M else described]
    return [described, swapped] if (problem.m, problem.n)[axis] <= _MOST_SWAPPED else [described]


@lru_cache(maxsize=256)
def _valid(compiled: GemmDescription, request: TileRequest) -> Sequence[GemmDescription]:
    """What is compiled, with each valid tile."""
    valid: list[GemmDescription] = []
    for tile in tiles(compiled, request):
        candidate = compiled.with_tile(tile)
        if refusal(candidate) is None:
            valid.append(candidate)
    return valid


def tiles(compiled: GemmDescription, request: TileRequest) -> Iterator[TileDescription]:
    """Tiles worth a try for what is compiled, with the parts that are asked for; not all of them are valid."""
    unit = compiled.instruction.unit
    for threadblock, warps, cluster, schedule in _cuts(compiled, request):
        if request.threadblock is None and max(threadblock[:2]) > 512:
            continue
        tile = TileDescription(threadblock, request.stages or 2, warps, cluster, schedule, compiled.tile.swapped)
        if not request.allows(tile):
            continue
        if request.stages:
            yield tile
            continue
        staged = (replace(tile, stages=stages) for stages in range(_MOST_STAGES[unit], 1, -1))
        most = next((each for each in staged if shared_memory(replace(compiled, tile=each)) is None), None)
        if most is not None:
            yield most
            # Of fewer stages, more blocks may share an SM.
            if unit != "wgmma" and most.stages > _FEW_STAGES:
                yield replace(tile, stages=_FEW_STAGES)


_Cut = tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int], Schedule]


def _cuts(compiled: GemmDescription, request: TileRequest) -> Iterator[_Cut]:
    """Threadblocks, warps, clusters and schedules of the unit."""
    unit, (_, _, depth) = compiled.instruction.unit, compiled.instruction.shape
    if unit == "wgmma":
        yield from _wgmma_cuts(compiled, request)
        return
    bits = min(compiled.a.bits, compiled.b.bits)
    depths = (8, 16, 32) if unit == "simt" else (512 // bits, 1024 // bits, 2 * depth)
    grids = [request.warps] if request.warps else [(*grid, 1) for grid in _WARP_GRIDS]
    if request.threadblock:
        for grid in grids:
            yield request.threadblock, grid, (1, 1), "multistage"
        return
    # Lanes of a warp are 8 along M and 4 along N.
    tiles = [(8 * m, 4 * n) for m, n in _THREAD_TILES] if unit == "simt" else _WARP_TILES
    for (m, n), grid, k in product(tiles, grids, dict.fromkeys(depths)):
        yield (m * grid[0], n * grid[1], k * grid[2]), grid, (1, 1), "multistage"


def _wgmma_cuts(compiled: GemmDescription, request: TileRequest) -> Iterator[_Cut]:
    k = WGMMA_TILE_BYTES * 8 // compiled.a.bits
    clusters = [request.cluster] if request.cluster else _WGMMA_CLUSTERS
    for (schedule, groups, m), n, cluster in product(WAYS, _WGMMA_COLUMNS, clusters):
        threadblock = (m, n, k)
        rows = m if schedule == "pingpong" else m // groups
        if rows * n > SUMS and request.threadblock is None:
            continue
        if request.threadblock and request.threadblock[0] == m and n == _WGMMA_COLUMNS[0]:
            threadblock = request.threadblock
        yield threadblock, (groups, 1, 1), cluster, schedule


def request_of(tile: TileDescription | TileRequest | str | None) -> TileRequest:
    """What is asked for of a tile."""
    if isinstance(tile, str):
        return TileRequest.parse(tile)
    return TileRequest(**vars(tile)) if isinstance(tile, TileDescription) else tile or TileRequest()


def _modes(mode: Mode | None, problem: Problem | None) -> list[Mode]:
    if mode is not None:
        return [mode]
    if problem is None:
        return ["gemm"]
    return ["batched"] if problem.batches > 1 else ["gemm", *SPLITS]


def usual_swizzle(description: GemmDescription, problem: Problem) -> Swizzle:
    """The order with the least estimated time; where that does not tell, tiles that run together are about square."""
    if description.family == "sm90":
        return min(ORDERS, key=lambda each: cycles(replace(description, swizzle=each), problem))
    compiled = description.compiled()
    if description.is_compiled_transposed:
        problem = problem.transposed()
    m, n, _ = compiled.tile.threadblock
    side = (machine(description.target).multiprocessors * m * n) ** 0.5
    if problem.m <= side or problem.n <= n:
        return "identity1"
    strips: tuple[tuple[int, Swizzle], ...] = ((1, "identity1"), (2, "identity2"), (4, "identity4"), (8, "identity8"))
    return min(strips, key=lambda each: abs(log2(each[0] * n / side)))[1]


def _layouts(dtype: str) -> list[tuple[Layout, Layout, Layout]]:
    kinds: list[tuple[Layout, Layout]] = [("row", "column")]
    if dtype == "i8":
        kinds.append(("column_interleaved32", "row_interleaved32"))
    return [layouts for both in kinds for layouts in product(both, both, both)]


def _as_asked(described: Sequence[GemmDescription], request: TileRequest) -> GemmDescription:
    """A description, of those with one instruction each, with the tile that is asked for, which none on offer has.

    Raises `UsageError` with the reason and the nearest valid one where there is no kernel for it.
    """
    free = free_parts(request)
    oriented = [one for each in described for one in _oriented(each, request, LARGE)]
    return as_asked(check(filled_in(each, request), free) for each in oriented)


def free_parts(request: TileRequest) -> frozenset[TilePart]:
    """The parts of a tile that are not asked for.

    They are not to blame: a reason is that which is left with these parts of the nearest description.
    """
    free: set[TilePart] = set() if request.threadblock else {"tile.m", "tile.n", "tile.k"}
    others: tuple[TilePart, ...] = ("tile.stages", "tile.warps", "tile.cluster", "tile.schedule")
    free.update(part for part in others if getattr(request, part.removeprefix("tile.")) is None)
    return frozenset(free)


def as_asked(answers: Iterable[Verdict[AnyDescription]]) -> AnyDescription:
    """What the first of some answers found by changing nothing that was asked for.

    Raises `UsageError` with the reason and what is nearest where none did.
    """
    verdicts: list[Verdict[AnyDescription]] = []
    for verdict in answers:
        if verdict.nearest is not None and verdict.distance == (0, 0, 0):
            return verdict.nearest
        verdicts.append(verdict)
    nearest = min(verdicts, key=lambda verdict: (verdict.nearest is None, verdict.distance))
    raise UsageError(nearest.reason, hints=nearest.hints)


def filled_in(described: GemmDescription, request: TileRequest) -> GemmDescription:
    """A description with the tile that is asked for, its open parts as in the first one that is tried."""
    compiled = described.compiled()
    tile = next(iter(tiles(compiled, TileRequest())), _ANY_TILE)
    turned = described.is_compiled_transposed
    asked = vars(request.transposed() if turned else request)
    filled = compiled.with_tile(replace(tile, **{part: each for part, each in asked.items() if each is not None}))
    return filled.transposed() if turned else filled
