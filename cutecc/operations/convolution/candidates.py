"""The convolutions to choose from: all valid tiles, the iterators that suit the sizes, the default choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from cutecc.operations import candidates
from cutecc.operations.convolution import depthwise, folded
from cutecc.operations.convolution.description import (
    LAYOUTS,
    ConvolutionDescription,
    Groups,
    Iterator,
    Kind,
    Stride,
)
from cutecc.operations.convolution.description import Mode as FilterMode
from cutecc.operations.convolution.estimate import cycles, multiplied, usual_sizes
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.rules import MOST_TAPS, serves, size_refusal
from cutecc.operations.convolution.validity import check, refusal
from cutecc.operations.description import SPLIT_K_MODES, Mode
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.instruction import Arithmetic, MathInstruction, Unit, as_instruction
from cutecc.operations.operand import Operand
from cutecc.operations.swizzle import Swizzle
from cutecc.operations.tile import TileDescription, TileRequest
from cutecc.operations.tile_model import has_few_tiles

_FEW_CHANNELS = 16
"""Of which two taps have room in a step along K."""


def choose(
    kind: Kind,
    rank: int,
    operands: tuple[Operand, Operand, Operand],
    *,
    target: str,
    sizes: ConvolutionProblem | None = None,
    iterator: Iterator | None = None,
    stride: Stride | None = None,
    groups: Groups | None = None,
    filter_mode: FilterMode = "cross_correlation",
    accumulator: str | None = None,
    arithmetic: Arithmetic | None = None,
    unit: Unit | None = None,
    instruction: MathInstruction | str | None = None,
    tile: TileDescription | TileRequest | str | None = None,
    c: Operand | None = None,
    epilogue: Epilogue | None = None,
    swizzle: Swizzle | None = None,
    split: Mode | None = None,
) -> ConvolutionDescription:
    """A valid convolution, with each part as given, and the others chosen by their estimated time.

    The unit is `wgmma` where TMA can gather, else `tensor_op`, else `simt`, as for a GEMM. The iterator is the one that
    PyCUTLASS proposes, or for few `few_channels`; where sizes say that there are few channels or filters, `wgmma` with
    what is folded comes first. K is split where the sizes say that it helps; of a `wgrad` without sizes in parallel,
    since its D is small.

    Raises `UsageError` with the reason and the nearest when nothing fits.
    """
    a, b, d = _laid_out(kind, operands)
    groups = groups or usual_groups(sizes, a, b)
    given = (
        _instructions(a, b, groups, accumulator, arithmetic, unit, target)
        if instruction is None
        else [as_instruction(instruction)]
    )
    stride = stride or _usual_stride(sizes)
    usual = iterator or _iterator(kind, groups, a.alignment, b.alignment, sizes)
    ways: list[tuple[MathInstruction, Iterator]] = [(each, usual) for each in given]
    if iterator is None and groups == "single" and sizes is not None:
        ways = [*_folded(given, kind, sizes), *ways]
    listed: list[list[ConvolutionDescription]] = []
    for each, walked in ways:
        modes = _modes(kind, groups, sizes, each, split, walked)
        gemms = [candidates.described(target, each, (a, b, d), c, epilogue, mode, swizzle) for mode in modes]
        listed.append([ConvolutionDescription(kind, gemm, walked, stride, rank, groups, filter_mode) for gemm in gemms])
    request = candidates.request_of(tile)
    for each in listed:
        if found := [best for one in each for best in ranked(one, request, sizes, 1)]:
            best = min(found, key=lambda candidate: cycles(candidate, sizes or usual_sizes(candidate)))
            return best if swizzle else with_swizzle(best, sizes)
    return _as_asked([each[0] for each in listed[-len(given) :]], request)


def proposed_iterator(kind: Kind, a: int, b: int, sizes: ConvolutionProblem | None) -> Iterator:
    """What PyCUTLASS proposes for operands of these alignments; without sizes for filters of few taps."""
    if sizes is None:
        return "optimized"
    if kind == "fprop" and sizes.channels == a and sizes.groups == 1:
        return "fixed_channels"
    c, k = sizes.channels_of_group, sizes.filters_of_group
    divides = c % a == 0 if kind == "fprop" else k % a == 0 and c % b == 0
    return "optimized" if divides and max(sizes.filter) <= MOST_TAPS else "analytic"


def _iterator(kind: Kind, groups: Groups, a: int, b: int, sizes: ConvolutionProblem | None) -> Iterator:
    """What PyCUTLASS proposes, but of so few channels that steps of one tap would mostly be zeros several in a step."""
    if groups == "depthwise":
        return "optimized"
    proposed = proposed_iterator(kind, a, b, sizes)
    is_few = sizes is not None and sizes.groups == 1 and sizes.channels < _FEW_CHANNELS
    return "few_channels" if kind == "fprop" and proposed != "fixed_channels" and is_few else proposed


def _folded(
    given: Iterable[MathInstruction], kind: Kind, sizes: ConvolutionProblem
) -> Iterable[tuple[MathInstruction, Iterator]]:
    """What comes first where there are few channels or filters: those instructions that multiply what is folded."""
    return product([each for each in given if each.unit == "wgmma"], folded_iterators(kind, sizes))


def folded_iterators(kind: Kind, sizes: ConvolutionProblem, most: int = _FEW_CHANNELS) -> list[Iterator]:
    """Those of `wgmma` that fold what there are fewer than `most` of, the fewest first."""
    few: list[tuple[int, Iterator]] = []
    if kind != "dgrad":
        few.append((sizes.channels, "few_channels"))
    if kind != "fprop":
        few.append((sizes.filters, "few_filters"))
    return [iterator for count, iterator in sorted(few) if count < most]


def iterators(kind: Kind, a: int, b: int, sizes: ConvolutionProblem) -> list[Iterator]:
    """Those that may be the fastest for these sizes."""
    found: tuple[Iterator, ...] = (
        _iterator(kind, "single", a, b, sizes),
        proposed_iterator(kind, a, b, sizes),
    )
    if sizes.groups == 1:
        found = (*found, *folded_iterators(kind, sizes, 4 * _FEW_CHANNELS))
    if "few_channels" in found:
        found = (*found, "optimized")
    return [each for index, each in enumerate(found) if each not in found[:index]]


def with_swizzle(description: ConvolutionDescription, sizes: ConvolutionProblem | None) -> ConvolutionDescription:
    """The same with the order of tiles that suits the sizes."""
    if description.groups == "depthwise":
        return description
    problem = multiplied(description, sizes or usual_sizes(description))
    return replace(
        description, gemm=replace(description.gemm, swizzle=candidates.usual_swizzle(description.gemm, problem))
    )


def with_tiles(
    description: ConvolutionDescription,
    sizes: ConvolutionProblem | None = None,
    tile: TileDescription | TileRequest | str | None = None,
) -> list[ConvolutionDescription]:
    """The convolution with each valid tile that has what is asked for, the best guess first.

    Raises `UsageError` with the reason and the nearest when there is none.
    """
    request = candidates.request_of(tile)
    return ranked(description, request, sizes) or [_as_asked([description], request)]


def by_other_means(
    description: ConvolutionDescription, sizes: ConvolutionProblem | None
) -> list[ConvolutionDescription]:
    """The convolutions with the same results, the least estimated time first: instructions, tiles, ways to split K.

    With `sizes` those that serve them, with every iterator that suits them, else with that of the description.
    """
    gemm, is_depthwise = description.gemm, description.groups == "depthwise"
    tried: list[Iterator] = [description.iterator]
    if sizes is not None and not is_depthwise:
        tried = iterators(description.kind, gemm.a.alignment, gemm.b.alignment, sizes)
    modes = _other_modes(description, sizes)
    products = [gemm] if is_depthwise else candidates.by_other_means(gemm, modes)
    found = [
        one
        for product in products
        for iterator in tried
        for one in ranked(replace(description, gemm=product, iterator=iterator), TileRequest(), sizes)
        if sizes is None or serves(one, sizes)
    ]
    return sorted(found, key=lambda each: cycles(each, sizes or usual_sizes(each)))


def _other_modes(description: ConvolutionDescription, sizes: ConvolutionProblem | None) -> tuple[Mode, ...]:
    gemm = description.gemm
    splits = description.groups == "single" and gemm.instruction.accumulator != "f16"
    problem = (sizes or usual_sizes(description)).product(description)
    return ("gemm", *SPLIT_K_MODES) if splits and has_few_tiles(problem, gemm.target) else ("gemm",)


def ranked(
    description: ConvolutionDescription,
    request: TileRequest,
    sizes: ConvolutionProblem | None,
    most: int = candidates.MOST_TILES,
) -> list[ConvolutionDescription]:
    """The valid convolutions with the tiles that are asked for, the one with the least estimated time first."""
    valid, sizes = _valid(description, request), sizes or usual_sizes(description)
    valid = [each for each in valid if size_refusal(each, sizes) is None]
    estimated = sorted((cycles(each, sizes), index) for index, each in enumerate(valid))
    return [valid[index] for _, index in estimated[:most]]


@lru_cache(maxsize=256)
def _valid(description: ConvolutionDescription, request: TileRequest) -> Sequence[ConvolutionDescription]:
    """The convolution with each valid tile."""
    if description.groups == "depthwise":
        tiles = depthwise.tiles(description, request)
    elif description.is_folded:
        tiles = folded.tiles(description, request)
    else:
        tiles = candidates.tiles(description.gemm, request)
    found = (replace(description, gemm=description.gemm.with_tile(tile)) for tile in tiles)
    return [each for each in found if refusal(each) is None]


def _laid_out(kind: Kind, operands: tuple[Operand, Operand, Operand]) -> tuple[Operand, Operand, Operand]:
    """The operands with their channels contiguous, as the kind has them; those that are interleaved as they are."""
    a, b, d = (
        each if each.is_interleaved else replace(each, layout=layout)
        for each, layout in zip(operands, (*LAYOUTS[kind], "row"), strict=True)
    )
    return a, b, d


def usual_groups(sizes: ConvolutionProblem | None, a: Operand, b: Operand) -> Groups:
    """The word for the groups of these sizes, for A and B of some types."""
    if sizes is None or sizes.groups == 1:
        return "single"
    return "depthwise" if sizes.is_depthwise and depthwise.multiplies(a, b) else "many"


def _instructions(
    a: Operand,
    b: Operand,
    groups: Groups,
    accumulator: str | None,
    arithmetic: Arithmetic | None,
    unit: Unit | None,
    target: str,
) -> list[MathInstruction]:
    """Those that fit, the fastest first."""
    if groups == "depthwise" and depthwise.multiplies(a, b):
        own = depthwise.instruction(a)
        given = accumulator or own.accumulator, arithmetic or own.arithmetic, unit or own.unit
        if given == (own.accumulator, own.arithmetic, own.unit):
            return [own]
    return fitting_instructions(a, b, accumulator=accumulator, arithmetic=arithmetic, unit=unit, target=target)


def _usual_stride(sizes: ConvolutionProblem | None) -> Stride:
    return "unity" if sizes is not None and sizes.has_unit_stride else "strided"


def _modes(
    kind: Kind,
    groups: Groups,
    sizes: ConvolutionProblem | None,
    instruction: MathInstruction,
    asked: Mode | None,
    iterator: Iterator,
) -> list[Mode]:
    """The ways to go along K that are worth a try."""
    if asked:
        return [asked]
    if groups == "depthwise":
        return [depthwise.mode(kind)]
    if groups != "single" or instruction.accumulator == "f16":
        return ["gemm"]
    is_folded = instruction.unit == "wgmma" and iterator in ("few_channels", "few_filters")
    if sizes is None or is_folded:
        return ["split_k_parallel"] if kind == "wgrad" else ["gemm"]
    return ["gemm", *SPLIT_K_MODES]


def _as_asked(described: Sequence[ConvolutionDescription], request: TileRequest) -> ConvolutionDescription:
    """A convolution with the tile that is asked for, as `candidates.choose` finds it for a product.

    Raises `UsageError` with the reason and the nearest valid one where there is no kernel for it.
    """
    free = candidates.free_parts(request)
    return candidates.as_asked(
        check(replace(each, gemm=candidates.filled_in(each.gemm, request)), free) for each in described
    )
