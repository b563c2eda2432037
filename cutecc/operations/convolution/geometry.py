"""The sizes of a convolution: its extents, how filters step over them, and the product of matrices that it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry, problem
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.words import shown, whole_number

Extents = tuple[int, ...]
"""One size for each spatial mode, the slowest first: (H, W) of images."""
Padding = int | Sequence[int | Sequence[int]]
"""The same on all sides; one for each spatial mode; or a pair for each, before and behind."""
_LIMIT = 1 << 31
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}
_SIDES = (("front", "back"), ("top", "bottom"), ("left", "right"))
"""Before and behind along D, H and W."""


@dataclass(frozen=True, init=False)
class ConvolutionProblem:
    """All sizes of a convolution, whichever of its products is computed."""

    batch: int
    image: Extents
    """Of the activations: (H, W) of images, (W) in one mode, (D, H, W) in three."""
    channels: int
    """Of the activations, in all groups together."""
    filters: int
    """As many as the outputs have channels, in all groups together."""
    filter: Extents
    """The taps of a filter: (R, S) of images."""
    padding: tuple[tuple[int, int], ...]
    """Zeros before and behind the activations in each spatial mode."""
    stride: Extents
    dilation: Extents
    groups: int

    def __init__(
        self,
        batch: int,
        image: int | Sequence[int],
        channels: int,
        filters: int,
        filter: int | Sequence[int],
        *,
        padding: Padding = 0,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> None:
        """Raises `ArgumentError` for sizes that give no outputs, or do not go together."""
        modes = (whole_number(image, "the extent of an image"),) if isinstance(image, int) else extents(image)
        rank = len(modes)
        if rank not in (1, 2, 3):
            raise ArgumentError(f"a convolution has 1 to 3 spatial extents, not the {rank} of {shown(image)}")
        values: dict[str, Any] = {
            "batch": whole_number(batch, "a batch"),
            "image": modes,
            "channels": whole_number(channels, "the number of channels"),
            "filters": whole_number(filters, "the number of filters"),
            "filter": spatial(filter, rank, "filter"),
            "padding": paddings(padding, rank),
            "stride": spatial(stride, rank, "stride"),
            "dilation": spatial(dilation, rank, "dilation"),
            "groups": whole_number(groups, "the number of groups"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check(self)

    @property
    def rank(self) -> int:
        """How many extents are spatial."""
        return len(self.image)

    @property
    def output(self) -> Extents:
        """The spatial extents of the outputs: (P, Q) of images."""
        return tuple(map(_output, self.image, self.filter, self.padding, self.stride, self.dilation))

    @property
    def taps(self) -> int:
        """Of a filter."""
        return prod(self.filter)

    @property
    def channels_of_group(self) -> int:
        return self.channels // self.groups

    @property
    def filters_of_group(self) -> int:
        return self.filters // self.groups

    @property
    def has_unit_stride(self) -> bool:
        return set(self.stride) == {1}

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has one filter of its own."""
        return self.groups == self.channels == self.filters > 1

    @property
    def geometry(self) -> Geometry:
        """What kernels take of it: only the padding before counts, since all extents are given."""
        before = tuple(first for first, _ in self.padding)
        extents = (self.image, self.filter, self.output, before, self.stride, self.dilation)
        return Geometry(self.batch, self.channels, self.filters, *extents)

    def product(self, description: ConvolutionDescription) -> Problem:
        """The product of matrices that it is, one for each group."""
        return Problem(*problem(description, self.geometry, self.groups))

    def __str__(self) -> str:
        def joined(sizes: Sequence[int]) -> str:
            return "x".join(map(str, sizes))

        words = [f"{joined((self.batch, *self.image, self.channels))} by {joined((self.filters, *self.filter))}"]
        if any(map(any, self.padding)):
            sides = [str(first) if first == last else f"{first}+{last}" for first, last in self.padding]
            words.append(f"padding {'x'.join(sides)}")
        words += [
            f"{name} {joined(sizes)}"
            for name, sizes in (("stride", self.stride), ("dilation", self.dilation))
            if set(sizes) != {1}
        ]
        return ", ".join([*words, *([f"{self.groups} groups"] if self.groups > 1 else [])])


def extents(sizes: object) -> Extents:
    """Sizes as a tuple of whole numbers. Raises `ArgumentError` for anything else."""
    try:
        return tuple(whole_number(each, "an extent") for each in cast("Sequence[int]", sizes))
    except (TypeError, UsageError):
        raise ArgumentError(f"extents are whole numbers, not {shown(sizes)}") from None


def spatial(value: object, rank: int, what: str) -> Extents:
    """One number for each spatial mode, of one for all or of as many. Raises `ArgumentError` for others."""
    if hasattr(value, "__index__"):
        return (whole_number(value, f"a {what}"),) * rank
    found = extents(value)
    if len(found) == 1:
        return found * rank
    if len(found) != rank:
        raise ArgumentError(f"a {what} is one number or {rank}, for {_letters(rank)}, not {shown(value)}")
    return found


def paddings(value: object, rank: int) -> tuple[tuple[int, int], ...]:
    """The zeros before and behind each spatial mode. Raises `ArgumentError` for what is no `Padding`."""
    if isinstance(value, str):
        raise ArgumentError(
            f"a padding is a number of zeros, not '{value}'",
            hints=["padding='same' is dilation * (filter - 1) zeros, half of them before"],
        )
    sides: list[object] = [value] * rank if hasattr(value, "__index__") else list(_sequence(value))
    if len(sides) == 1:
        sides *= rank
    if len(sides) != rank:
        raise ArgumentError(
            f"a padding is one number, or {rank} for {_letters(rank)}, not {shown(value)}",
            hints=[f"what differs before and behind: a pair for each, {_pairs_text(rank)}"],
        )
    found = [spatial(each, 2, "padding") for each in sides]
    return tuple((first, last) for first, last in found)


def _sequence(value: object) -> Sequence[object]:
    if not isinstance(value, Sequence):
        raise ArgumentError(f"a padding is numbers of zeros, not {shown(value)}")
    return cast("Sequence[object]", value)


def _letters(rank: int) -> str:
    return ", ".join(_LETTERS[rank])


def _pairs_text(rank: int) -> str:
    """`((top, bottom), (left, right))`."""
    pairs = [f"({first}, {last})" for first, last in _SIDES[-rank:]]
    return f"({', '.join(pairs)}{',' if rank == 1 else ''})"


def _output(image: int, taps: int, padding: tuple[int, int], stride: int, dilation: int) -> int:
    return (image + sum(padding) - dilation * (taps - 1) - 1) // stride + 1


def _check(sizes: ConvolutionProblem) -> None:
    """Raise `ArgumentError` for sizes that give no outputs, do not go together, or are too large for kernels."""
    least = {"channels": sizes.channels, "filters": sizes.filters, "groups": sizes.groups}
    for name, size in least.items():
        if size < 1:
            raise ArgumentError(f"a convolution has at least 1 of its {name}, not {size}")
    if sizes.batch < 0:
        raise ArgumentError(f"a batch has no fewer than 0 images, not {sizes.batch}")
    for name, steps in (("filter", sizes.filter), ("stride", sizes.stride), ("dilation", sizes.dilation)):
        if min(steps) < 1:
            raise ArgumentError(f"a {name} is at least 1 in each mode, not {shown(steps)}")
    if min(map(min, sizes.padding)) < 0:
        raise ArgumentError(f"a padding is no less than 0, not {shown(sizes.padding)}")
    for what, number in (("channels", sizes.channels), ("filters", sizes.filters)):
        if number % sizes.groups:
            raise ArgumentError(f"{number} {what} do not divide into {sizes.groups} groups")
    for mode, letter in enumerate(_LETTERS[sizes.rank]):
        if sizes.image[mode] < 1 or sizes.output[mode] < 1:
            reach = sizes.dilation[mode] * (sizes.filter[mode] - 1) + 1
            inside = sizes.image[mode] + sum(sizes.padding[mode])
            raise ArgumentError(
                f"there are no outputs: along {letter} a filter reaches over {reach}, and activations with padding "
                f"have {inside}"
            )
    reaches = [size + first + last for size, (first, last) in zip(sizes.image, sizes.padding, strict=True)]
    rows = sizes.batch * max(prod(sizes.image), prod(sizes.output))
    columns = sizes.taps * max(sizes.channels, sizes.filters)
    if max(rows, columns, *reaches, *sizes.stride, *sizes.dilation) >= _LIMIT:
        raise ArgumentError(f"the convolution {sizes} is too large: no extent of its product may be 2^31 or more")
