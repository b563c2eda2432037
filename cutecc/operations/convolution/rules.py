"""The rules that every convolution keeps to, besides those of its product: what iterators and kinds need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cutecc.errors import ArgumentError
from cutecc.operations.convolution.description import INTERLEAVED_LAYOUTS, LAYOUTS, ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.words import extents_text
from cutecc.operations.description import SPLIT_K_MODES, Mode
from cutecc.operations.kernels.convolution import depthwise, folding, multistage, sm90
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.kernels.operand_copies import WGMMA_EITHER_WAY_BITS
from cutecc.operations.kernels.workspace import round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT

OwnPart = Literal["iterator", "stride", "groups"]
"""A part of a convolution beside its product that can be changed on its own. Kind and mode are never to blame alone."""

SPLITS: dict[str, Mode] = {"none": "gemm", "serial": "split_k_serial", "parallel": "split_k_parallel"}
"""By the word that says how K is split, the mode of the product."""
MOST_TAPS = 32
"""In each mode of a filter that the optimized iterator walks along: as many bits as the masks of its taps have."""
_LIMIT = 1 << 31
"""Of rows: kernels count them with 32 bits and a sign."""


@dataclass(frozen=True)
class OwnRefusal(Refusal):
    """Why a convolution has no kernel."""

    own: tuple[OwnPart, ...] = ()
    """Parts of the convolution, besides those of its product in `parts`, of which one may change instead."""


Rule = Callable[[ConvolutionDescription], Refusal | None]


def layouts(description: ConvolutionDescription) -> OwnRefusal | None:
    """Matrices lie as the kind says: channels are contiguous, of `fprop` maybe 32 at a time."""
    gemm, kind = description.gemm, description.kind
    first, second = LAYOUTS[kind]
    of_pixels, of_filters = INTERLEAVED_LAYOUTS
    known = {"a": (first, of_pixels), "b": (second, of_filters), "d": ("row", of_pixels), "c": ("row", of_pixels)}
    for name, words in known.items():
        operand = getattr(gemm, name)
        if operand is None or operand.layout == words[0]:
            continue
        part: Part = f"{name}.layout"  # type: ignore[assignment]
        if operand.layout != words[1]:
            reason = f"of {kind} {name.upper()} has contiguous channels, as a matrix {words[0]}, not {operand.layout}"
            return OwnRefusal(reason, (part,))
        if kind != "fprop":
            return OwnRefusal(f"32 channels are kept together of fprop, and {name.upper()} of {kind} is so", (part,))
    of_results = ("row", of_pixels) if kind == "fprop" else ("row",)
    for each in gemm.epilogue.stored:
        # Of C and D the rules of the product say it.
        if each.kind == "full" and each.name not in ("C", "D") and each.layout not in of_results:
            reason = f"'{each.name}' of the epilogue is {each.layout}, and of {kind} its channels are contiguous"
            return OwnRefusal(reason, ("epilogue",))
    return None


def interleaved(description: ConvolutionDescription) -> OwnRefusal | None:
    """Activations and filters are interleaved alike, those of a single group, whose taps have steps of their own."""
    gemm = description.gemm
    if gemm.a.is_interleaved != gemm.b.is_interleaved:
        words = ("keeps 32 channels together", "does not")
        first, second = words if gemm.a.is_interleaved else words[::-1]
        return OwnRefusal(f"A and B are interleaved alike, and A {first}, B {second}", ("a.layout", "b.layout"))
    full = [each.layout for each in gemm.epilogue.stored if each.kind == "full"]
    if not any(layout in INTERLEAVED_LAYOUTS for layout in (gemm.a.layout, gemm.d.layout, *full)):
        return None
    if description.groups != "single":
        return OwnRefusal("32 channels are kept together of a single group", (), ("groups",))
    if description.iterator in ("few_channels", "fixed_channels") and gemm.a.is_interleaved:
        reason = f"{description.iterator} is for channels that follow one another, not for 32 at a time"
        return OwnRefusal(reason, (), ("iterator",))
    return None


def product_mode(description: ConvolutionDescription) -> OwnRefusal | None:
    """Groups are the batch of a convolution."""
    mode = description.gemm.mode
    if description.gemm.tile.swapped:
        return OwnRefusal("tiles of convolutions are not swapped", ())
    if mode in ("gemm", *SPLIT_K_MODES):
        return None
    return OwnRefusal(f"the product of a convolution is of mode gemm, or splits K, not {mode}", ("mode",))


def iterator_of_kind(description: ConvolutionDescription) -> OwnRefusal | None:
    """Few channels are few in activations, which only fprop reads along K; what is folded first any kind may read."""
    kind, iterator = description.kind, description.iterator
    if iterator in ("analytic", "optimized"):
        return None
    if description.is_folded:
        return _folded_kind(description)
    if iterator == "few_filters":
        return OwnRefusal("few_filters is of wgmma, which has them folded first", ("instruction",), ("iterator",))
    if kind != "fprop":
        reason = f"{kind} is analytic or optimized but with wgmma; {iterator} is for fprop"
        return OwnRefusal(reason, (), ("iterator",))
    if description.groups != "single":
        reason = f"{iterator} is for one group; of several each has channels of its own"
        return OwnRefusal(reason, (), ("iterator", "groups"))
    return None


def _folded_kind(description: ConvolutionDescription) -> OwnRefusal | None:
    """What is folded is gathered, or the gradient that filters are multiplied with."""
    kind, iterator = description.kind, description.iterator
    if description.groups != "single":
        return OwnRefusal(f"{iterator} is for one group", (), ("iterator", "groups"))
    if (other := {"fprop": "few_filters", "dgrad": "few_channels"}.get(kind)) == iterator:
        known = "few_channels" if other == "few_filters" else "few_filters"
        return OwnRefusal(f"of {kind} wgmma has {known}, not {iterator}", (), ("iterator",))
    if kind != "wgrad":
        return None
    gemm = description.gemm
    if gemm.mode != "split_k_parallel":
        return OwnRefusal(f"of a wgrad of {iterator} K is split in parallel, whose sums are put in order", ("mode",))
    if gemm.epilogue.has_reductions:
        return OwnRefusal(f"of a wgrad of {iterator} sums of D are not reduced", ("epilogue",), ("iterator",))
    return None


def wgmma(description: ConvolutionDescription) -> OwnRefusal | None:
    """TMA gathers whole steps of K, 16 bytes at least; `wgmma` reads only 16-bit types otherwise than along K."""
    gemm, kind = description.gemm, description.kind
    if gemm.instruction.unit != "wgmma":
        return None
    if description.iterator != "optimized" and not description.is_folded:
        reason = f"of wgmma TMA gathers, which is the optimized iterator, not {description.iterator}"
        return OwnRefusal(reason, ("instruction",), ("iterator",))
    for name, operand in (("a", gemm.a), ("b", gemm.b)):
        is_copied = description.is_folded and name in folding.copied(description)
        if not is_copied and operand.alignment_bytes < WIDEST_ALIGNMENT:
            part: Part = "a.alignment" if name == "a" else "b.alignment"
            least = WIDEST_ALIGNMENT * 8 // operand.bits
            reason = f"TMA reads channels that are aligned to {least} elements, and {name.upper()} is to"
            return OwnRefusal(f"{reason} {operand.alignment}", ("instruction", part))
        if kind != "fprop" and operand.bits != WGMMA_EITHER_WAY_BITS:
            reason = f"of {kind} wgmma would read {name.upper()} along M or N, which it does not read {operand.dtype}"
            return OwnRefusal(f"{reason} along", ("instruction", "a.dtype", "b.dtype"))
    return None


def split_groups(description: ConvolutionDescription) -> OwnRefusal | None:
    """Slices of K are counted where groups are."""
    if description.gemm.mode in SPLIT_K_MODES and description.groups == "many":
        return OwnRefusal("K is split of a single group, or of depthwise convolutions", ("mode",))
    return None


def family_takes_it(description: ConvolutionDescription) -> Refusal | None:
    """What only the kernels of a family know of themselves."""
    if description.groups == "depthwise":
        found = depthwise.accepts(description)
        is_of_many = found is not None and "a.dtype" in found.parts
        return OwnRefusal(found.reason, found.parts, ("groups",)) if found and is_of_many else found
    return (sm90 if description.gemm.family == "sm90" else multistage).accepts(description)


RULES: tuple[Rule, ...] = (layouts, interleaved, product_mode, iterator_of_kind, wgmma, split_groups, family_takes_it)
"""In the order in which they are asked; those of the product come before."""


def size_refusal(description: ConvolutionDescription, sizes: ConvolutionProblem) -> str | None:
    """Why the family of a valid convolution has no kernel for sizes that others have one for; `None` where it has."""
    rows = _tiled_rows(description, sizes)
    if rows >= _LIMIT:
        return (
            f"the kernel would fill up the rows of {sizes} to {rows}, and no extent of its product may be 2^31 or more"
        )
    if description.gemm.family != "sm90":
        return None
    if description.is_folded:
        return folding.size_refusal(description, sizes.geometry)
    return sm90.size_refusal(description, sizes.geometry, sizes.groups)


def _tiled_rows(description: ConvolutionDescription, sizes: ConvolutionProblem) -> int:
    """Of the product, as whole tiles."""
    rows, geometry = sizes.product(description).m, sizes.geometry
    if description.groups == "depthwise" and description.kind != "wgrad":
        rows = depthwise.tiled_rows(description, geometry)
    elif description.gemm.family != "sm90" and multistage.tiles_by_phase(description):
        rows = multistage.tiled_rows(description, geometry)
    return round_up(rows, description.gemm.tile.threadblock[0])


def check_sizes(description: ConvolutionDescription, sizes: ConvolutionProblem) -> None:
    """Raise `ArgumentError` for sizes that are not those that the convolution is described for."""
    check_form(description, sizes)
    if description.iterator == "optimized" and max(sizes.filter) > MOST_TAPS:
        taps = "x".join(map(str, sizes.filter))
        with_unit = ' and unit="tensor_op"' if description.gemm.instruction.unit == "wgmma" else ""
        raise ArgumentError(
            f"a filter of {taps} has more than the {MOST_TAPS} taps in a mode of the optimized iterator",
            hints=[f'describe it with iterator="analytic"{with_unit}'],
        )
    if (reason := size_refusal(description, sizes)) is not None:
        raise ArgumentError(reason, hints=_other_kernels(description))
    align = description.gemm.a.alignment
    if description.iterator == "fixed_channels" and sizes.channels != align:
        raise ArgumentError(
            f"there are {sizes.channels} channels, and fixed_channels is for as many as are aligned, {align}",
            hints=['describe it with iterator="few_channels"'],
        )


def serves(description: ConvolutionDescription, sizes: ConvolutionProblem) -> bool:
    """Whether sizes are those that a valid convolution is described for."""
    try:
        check_sizes(description, sizes)
    except ArgumentError:
        return False
    return True


def _other_kernels(description: ConvolutionDescription) -> list[str]:
    if description.gemm.family == "sm90":
        return ['choose it for these sizes, or describe it with unit="tensor_op"']
    by_phase = description.groups != "depthwise" and multistage.tiles_by_phase(description)
    return ['describe it with iterator="analytic", which fills up less'] if by_phase else []


def check_form(description: ConvolutionDescription, sizes: ConvolutionProblem) -> None:
    """Raise `ArgumentError` for sizes of another rank, groups or stride, which no tile or iterator makes up for."""
    if sizes.rank != description.rank:
        raise ArgumentError(f"the sizes have {extents_text(sizes.rank)}, and the convolution {description.rank}")
    _check_groups(description, sizes)
    if description.stride == "unity" and not sizes.has_unit_stride:
        raise ArgumentError(
            f"the stride is {'x'.join(map(str, sizes.stride))}, and the convolution is for strides of 1",
            hints=['describe it with stride="strided"'],
        )


def _check_groups(description: ConvolutionDescription, sizes: ConvolutionProblem) -> None:
    given = description.groups
    if given == "single" and sizes.groups != 1:
        hints = [f'describe it with groups="{"depthwise" if sizes.is_depthwise else "many"}"']
        raise ArgumentError(f"there are {sizes.groups} groups, and the convolution is of a single one", hints=hints)
    if given == "depthwise" and not sizes.is_depthwise:
        raise ArgumentError(
            f"a depthwise convolution has a group and a filter for each channel, and there are {sizes.channels} "
            f"channels, {sizes.filters} filters and {sizes.groups} groups",
            hints=['describe it with groups="many", or "single"'],
        )
