"""How each part of a description may change, nearest values first: the steps on the way to a valid description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import log2
from typing import Any, Literal

from cutecc.errors import EpilogueError
from cutecc.operations.description import MODES, GemmDescription, matched
from cutecc.operations.instruction import ARITHMETICS, MathInstruction, Unit
from cutecc.operations.instruction_set import KINDS, kind_of, multiplied_type
from cutecc.operations.kernels.family import Part
from cutecc.operations.operand import LAYOUTS, OPERAND_TYPES, Operand, most_aligned, type_bits
from cutecc.operations.swizzle import SWIZZLES
from cutecc.operations.tile import SCHEDULES, TileDescription
from cutecc.target import known_targets

Change = tuple[float, GemmDescription]
"""How far a description is from the one that was changed, and the description. Distances compare within one part."""
Weight = Literal["problem", "means"]

_ROWS = range(8, 513, 8)
_DEPTHS = (*range(4, 64, 4), *range(64, 257, 16))
_STAGES = range(2, 13)
_WARPS = [(m, n, k) for m in (1, 2, 4, 8, 16) for n in (1, 2, 4, 8, 16) for k in (1, 2, 4, 8) if m * n * k <= 32]
_CLUSTERS = [(m, n) for m in (1, 2, 4) for n in (1, 2, 4) if m * n <= 8]
_ACCUMULATORS = ("f32", "f16", "f64", "i32")
_MULTIPLIED = frozenset(kind.a for kind in KINDS)
_OTHER_UNIT = 16.0
"""The distance of another unit: further than any shape of the same."""
_NEAR_MODES = {
    "gemm": ("batched",),
    "batched": ("array", "gemm"),
    "array": ("batched", "gemm"),
    "split_k_serial": ("split_k_parallel", "split_k_cluster", "gemm"),
    "split_k_parallel": ("split_k_serial", "split_k_cluster", "gemm"),
    "split_k_cluster": ("split_k_serial", "split_k_parallel", "gemm"),
}


def weight(part: Part) -> Weight:
    """Whether a part says what is computed, of which data and where, or only by which means."""
    return "means" if part.startswith("tile.") or part in ("instruction", "swizzle") else "problem"


def changes(description: GemmDescription, part: Part) -> Iterator[Change]:
    """The descriptions that differ in this part alone, the nearest first.

    Sizes of a threadblock and alignments are as far apart as the doublings between them, log2 of their ratio. Stages,
    warps and clusters count half of that, and another schedule half a doubling: they cut the same tile in another way.
    Another instruction, type, or word counts more the less it is like the one that was given.

    What follows from a part changes with it: the epilogue's operands with C and D, the types that an instruction
    multiplies with those of A and B and with the arithmetic, the N of wgmma with the threadblock's.
    """
    head, _, field = part.partition(".")
    if head == "tile":
        return _tile_changes(description, field)
    found = [each for each in _changes(description, part) if each[1] != description]
    return iter(sorted(found, key=lambda change: change[0]))


def _changes(description: GemmDescription, part: Part) -> Iterator[Change]:
    """Those of any part but the tile's, in any order, the description itself among them."""
    head, _, field = part.partition(".")
    if field:
        yield from _operand_changes(description, head, field)
    elif part == "instruction":
        yield from _instruction_changes(description)
    elif part == "epilogue":
        yield from _epilogue_changes(description)
    elif part == "c":
        yield from _source_changes(description)
    elif part == "accumulator":
        for distance, value in enumerate(_ACCUMULATORS):
            instruction = replace(description.instruction, accumulator=value)
            yield distance, _tied(description, replace(description, instruction=instruction))
    elif part == "arithmetic":
        for distance, value in enumerate(ARITHMETICS):
            changed = replace(description, instruction=replace(description.instruction, arithmetic=value))
            yield distance, replace(changed, instruction=_of_operands(changed))
    else:
        yield from _word_changes(description, part)


def _word_changes(description: GemmDescription, part: str) -> Iterator[Change]:
    if part == "target":
        names = [target.name for target in known_targets()]
        here = names.index(description.target)
        # An older GPU is no answer to who has a newer one, unless there is nothing else.
        for index, name in enumerate(names):
            yield index - here if index >= here else len(names) + here - index, replace(description, target=name)
    elif part == "mode":
        near = _NEAR_MODES[description.mode]
        for index, mode in enumerate((*near, *(each for each in MODES if each not in near))):
            yield index, replace(description, mode=mode)
    else:
        for index, swizzle in enumerate(SWIZZLES):
            yield index, replace(description, swizzle=swizzle)


def _columns(description: GemmDescription) -> Sequence[int]:
    """The N of tiles to try; of `wgmma` also that of the instruction."""
    instruction = description.instruction
    return (*_ROWS, instruction.shape[1]) if instruction.unit == "wgmma" else _ROWS


def _tile_changes(description: GemmDescription, field: str) -> Iterator[Change]:
    """Made one by one: of the sixty sizes that a threadblock may have instead, a search mostly takes the first."""
    tile = description.tile
    for distance, value in sorted(_tile_values(description, field), key=lambda each: each[0]):
        if (changed := replace(tile, **value)) != tile:
            yield distance, with_tile(description, changed)


def _tile_values(description: GemmDescription, field: str) -> Iterable[tuple[float, dict[str, Any]]]:
    """What a part of the tile can be, in any order."""
    tile = description.tile
    m, n, k = tile.threadblock
    match field:
        case "m":
            return ((ratio(m, each), {"threadblock": (each, n, k)}) for each in _ROWS)
        case "n":
            return ((ratio(n, each), {"threadblock": (m, each, k)}) for each in _columns(description))
        case "k":
            return ((ratio(k, each), {"threadblock": (m, n, each)}) for each in _DEPTHS)
        case "stages":
            return ((ratio(tile.stages, each) / 2, {"stages": each}) for each in _STAGES)
        case "warps":
            return ((_ratios(tile.warps, each) / 2, {"warps": each}) for each in _WARPS)
        case "cluster":
            return ((_ratios(tile.cluster, each) / 2, {"cluster": each}) for each in _CLUSTERS)
        case _:
            return ((0.5, {"schedule": each}) for each in SCHEDULES)


def with_tile(description: GemmDescription, tile: TileDescription) -> GemmDescription:
    """With another tile; where that has another N, a `wgmma` too."""
    is_as_wide = tile.threadblock[1] == description.tile.threadblock[1]
    return replace(description, tile=tile) if is_as_wide else description.with_tile(tile)


def _shapes(unit: Unit, a: str, b: str) -> tuple[tuple[int, int, int], ...]:
    kind = kind_of(unit, a, b)
    return kind.shapes if kind else ()


def _instruction_changes(description: GemmDescription) -> Iterator[Change]:
    """Every unit and shape for the types of A and B, with the accumulator and arithmetic that are there."""
    given = description.instruction
    for unit in ("tensor_op", "simt", "wgmma"):
        a, b = (multiplied_type(unit, each.dtype, given.arithmetic) for each in (description.a, description.b))
        for shape in _shapes(unit, a, b):
            if unit == "wgmma" and shape[1] != description.tile.threadblock[1] and given.unit != unit:
                continue
            follows = unit == "wgmma" and shape[1] == description.tile.threadblock[1]
            near = 0.0 if follows else _ratios(given.shape, shape) / 8
            distance = near if unit == given.unit else _OTHER_UNIT
            yield distance, replace(description, instruction=replace(given, unit=unit, shape=shape, a=a, b=b))


def _operand_changes(description: GemmDescription, head: str, field: str) -> Iterator[Change]:
    operand: Operand | None = getattr(description, head)
    if operand is None:
        return
    if field == "dtype":
        operands: Iterable[tuple[float, Operand]] = (
            (_type_distance(operand.dtype, dtype), _of_type(operand, dtype)) for dtype in OPERAND_TYPES
        )
    elif field == "layout":
        operands = ((1, replace(operand, layout=layout)) for layout in LAYOUTS)
        # Kernels write along rows of D: a column-major one is turned over before this.
        operands = (each for each in operands if head != "d" or each[1].is_along_rows)
    else:
        operands = _alignments(operand)
    for distance, changed in operands:
        moved = replace(description, **{head: changed})
        if field == "dtype" and head in "ab":
            moved = replace(moved, instruction=_of_operands(moved))
        yield distance, _tied(description, moved) if head in "cd" else moved


def _alignments(operand: Operand) -> Iterator[tuple[float, Operand]]:
    """The operand with each alignment: data aligned to more is aligned to less, and not the other way round."""
    for bit in range(most_aligned(operand.dtype).bit_length()):
        alignment = 1 << bit
        distance = ratio(operand.alignment, alignment) + (8 if alignment > operand.alignment else 0)
        yield distance, replace(operand, alignment=alignment)


def _of_operands(description: GemmDescription) -> MathInstruction:
    """The instruction with the types of A and B; its shape stays if it can, and is the nearest one if not."""
    given = description.instruction
    a, b = (multiplied_type(given.unit, each.dtype, given.arithmetic) for each in (description.a, description.b))
    shapes = _shapes(given.unit, a, b)
    if not all(each in _MULTIPLIED for each in (a, b)):
        return given
    shape = min(shapes, key=lambda each: _ratios(given.shape, each)) if shapes else given.shape
    return replace(given, a=a, b=b, shape=given.shape if given.shape in shapes else shape)


def _of_type(operand: Operand, dtype: str) -> Operand:
    """The operand with another type and as many bytes of alignment, as far as those are whole elements."""
    elements = operand.alignment * operand.bits // type_bits(dtype)
    return Operand(dtype, operand.layout, max(1, elements))


def _epilogue_changes(description: GemmDescription) -> Iterator[Change]:
    """The epilogue with operands that fit, without the source that there is not, or else a linear combination."""
    from cutecc.operations.epilogue.named import named_epilogue

    epilogue, c, d, accumulator = (
        description.epilogue,
        description.c,
        description.d,
        description.instruction.accumulator,
    )
    yield 0, replace(description, epilogue=matched(epilogue, c, d, accumulator))
    if c is None and epilogue.source is not None:
        with suppress(EpilogueError):
            yield 1, replace(description, epilogue=matched(epilogue.without_source(), None, d, accumulator))
    with suppress(EpilogueError):
        plain = named_epilogue("linear_combination", d=d, c=c, accumulator=accumulator)
        yield 2, replace(description, epilogue=plain)


def _source_changes(description: GemmDescription) -> Iterator[Change]:
    source = description.epilogue.source
    if source is None or source.kind != "full":
        yield 0, replace(description, c=None)
    elif description.c is None:
        yield 0, replace(description, c=source.operand)


def _tied(before: GemmDescription, after: GemmDescription) -> GemmDescription:
    """`after` with its epilogue's operands made to fit, if those of `before` did."""
    given = (before.c, before.d, before.instruction.accumulator)
    if matched(before.epilogue, *given) is not before.epilogue:
        return after
    return replace(after, epilogue=matched(after.epilogue, after.c, after.d, after.instruction.accumulator))


def _type_distance(given: str, other: str) -> float:
    kinds = [each.startswith(("i", "u")) for each in (given, other)]
    return ratio(type_bits(given), type_bits(other)) + (2 if kinds[0] != kinds[1] else 0) + (given[:2] != other[:2]) / 2


@cache
def ratio(given: int, other: int) -> float:
    """How far two sizes are apart, in doublings."""
    return abs(log2(max(given, 1) / other)) + (1 if given < 1 else 0)


@cache
def _ratios(given: tuple[Any, ...], other: tuple[Any, ...]) -> float:
    return sum(map(ratio, given, other))
