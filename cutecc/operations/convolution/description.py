"""A convolution described whole: nothing is left to be chosen. Needs no DSL.

It is computed as a product of matrices of which one, gathered from the tensor, is nowhere in memory:

| kind | A | B | D | M | N | K |
|---|---|---|---|---|---|---|
| `fprop` | activations, gathered | filters | outputs | N·P·Q | filters | R·S·C |
| `dgrad` | outputs' gradient, gathered | filters | gradient of the activations | N·H·W | C | R·S·filters |
| `wgrad` | outputs' gradient | activations, gathered | gradient of the filters | filters | R·S·C | N·P·Q |

Activations are N×H×W×C with contiguous channels, outputs N×P×Q×filters, filters are filters×R×S×C. One and three
spatial extents are as two. Of several groups each is such a product of its channels and filters, one of a batch.

Of `fprop` in i8 32 channels may be kept together: activations are N×C/32×H×W×32, outputs N×filters/32×P×Q×32, filters
C/32×R×S×filters×32. As matrices they have the layouts `column_interleaved32` and, of filters, `row_interleaved32`,
though each image is such a matrix of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, get_args

import msgspec

from cutecc.errors import UsageError
from cutecc.operations.description import GemmDescription
from cutecc.operations.operand import Layout
from cutecc.operations.words import known_word, of_kind

Kind = Literal["fprop", "dgrad", "wgrad"]
"""Outputs; the gradient of the activations, which is also the transposed convolution; that of the filters."""
Iterator = Literal["analytic", "optimized", "few_channels", "fixed_channels", "few_filters"]
"""How the gathered matrix is walked along: from scratch at each step; from one step to the next, with what no step
changes kept; with several taps of the filter in one step, each with fewer channels than a step is long, in any number
or in one that is a constant; or the same of outputs of few filters."""
Stride = Literal["unity", "strided"]
"""Whether all strides are 1."""
Mode = Literal["cross_correlation", "convolution"]
"""A filter as it lies, or turned by half a turn."""
Groups = Literal["single", "many", "depthwise"]
"""One group; several; as many as there are channels."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ITERATORS: tuple[Iterator, ...] = get_args(Iterator)
STRIDES: tuple[Stride, ...] = get_args(Stride)
MODES: tuple[Mode, ...] = get_args(Mode)
GROUPS: tuple[Groups, ...] = get_args(Groups)
LAYOUTS: dict[Kind, tuple[Layout, Layout]] = {
    "fprop": ("row", "column"),
    "dgrad": ("row", "row"),
    "wgrad": ("column", "row"),
}
"""Of A and B as matrices: channels are contiguous in both."""
INTERLEAVED_LAYOUTS: tuple[Layout, Layout] = ("column_interleaved32", "row_interleaved32")
"""Of the activations and outputs, and of the filters of an `fprop`, where 32 channels are kept together."""


@dataclass(frozen=True)
class ConvolutionDescription:
    """D = epilogue(A B, C, …), where A or B is gathered from a tensor of activations or gradients."""

    kind: Kind
    gemm: GemmDescription
    """The product: target, instruction, tile, operands, epilogue, order of tiles, and the mode, which may split K. The
    layouts of A and B are `LAYOUTS`, or both `INTERLEAVED_LAYOUTS`; an alignment counts channels."""
    iterator: Iterator = "optimized"
    stride: Stride = "strided"
    rank: int = 2
    """How many extents are spatial: 1 to 3."""
    groups: Groups = "single"
    mode: Mode = "cross_correlation"

    def __post_init__(self) -> None:
        of_kind(self.gemm, GemmDescription, "the product of a convolution")
        for name, words in (
            ("kind", KINDS),
            ("iterator", ITERATORS),
            ("stride", STRIDES),
            ("groups", GROUPS),
            ("mode", MODES),
        ):
            object.__setattr__(self, name, known_word(getattr(self, name), words, name))
        if self.rank not in (1, 2, 3):
            raise UsageError(f"a convolution has 1 to 3 spatial extents, not {self.rank}")

    @property
    def target(self) -> str:
        return self.gemm.target

    def compiled(self) -> ConvolutionDescription:
        """What a kernel is built from: this, since D always has contiguous channels."""
        return self

    @property
    def is_folded(self) -> bool:
        """Whether taps are folded into channels before the kernel runs: `kernels/convolution/folding.py`."""
        return self.gemm.family == "sm90" and self.iterator in ("few_channels", "few_filters")

    def to_json(self, *, places: bool = True) -> bytes:
        """One line of JSON; `places` as in `GemmDescription.to_json`."""
        gemm = self.gemm if places else GemmDescription.from_json(self.gemm.to_json(places=False))
        return msgspec.json.encode(_Convolution(replace(self, gemm=gemm)))

    @classmethod
    def from_json(cls, text: bytes | str) -> ConvolutionDescription:
        """The description that `to_json` wrote. Raises `UsageError` for any other text."""
        try:
            return msgspec.json.decode(text, type=_Convolution).convolution
        except (msgspec.DecodeError, TypeError) as failure:
            raise UsageError(f"this is no description of a convolution: {failure}") from None

    @property
    def key(self) -> str:
        """64 hexadecimal digits: the same for descriptions that are equal, in every process and place."""
        return hashlib.sha256(self.to_json(places=False)).hexdigest()

    @property
    def name(self) -> str:
        """Short, for files and tables: `conv2d_fprop_optimized_…`, then what the product is called."""
        words = [f"conv{self.rank}d", self.kind, self.iterator]
        usual = ("strided", "single", "cross_correlation")
        words += [word for word in (self.stride, self.groups, self.mode) if word not in usual]
        return "_".join([*words, self.gemm.name.removeprefix("gemm_")])

    @property
    def kernel_name(self) -> str:
        """What profilers and reports call the kernel, as of a `GemmDescription`."""
        gemm = replace(self.gemm, epilogue=replace(self.gemm.epilogue, name=""))
        return replace(self, gemm=gemm).name

    def __str__(self) -> str:
        return self.name


class _Convolution(msgspec.Struct, tag_field="operation", tag="convolution"):
    """The text form of a convolution."""

    convolution: ConvolutionDescription
