"""Views of types whose values are layouts, tuples of integers, pointers and tensors.

CuTe's types say all that is known of a value: a `!cute.layout` that is static *is* its value. A `?` is what only the
running kernel knows. Each `?` of a type is a variable of its own, named by its place in the type's text, `0`, `1`, …;
two values of one type have equal views though their numbers differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cutecc.errors import Error
from cutecc.ir.types.elements import AddressSpace, OpaqueType, Scalar, SparseElement, Vector, natural_alignment
from cutecc.layout import AnyLayout, Coordinate, CoordinateTensor, IntTuple, Layout, Stride, Swizzle, Tile


@dataclass(frozen=True, slots=True)
class LayoutValue:
    """`!cute.layout`: a layout. CuTe also keeps swizzled ones in this type."""

    layout: AnyLayout


@dataclass(frozen=True, slots=True)
class ComposedLayoutValue:
    """`!cute.composed_layout`: a swizzle or layout, an offset and a layout; a plain layout occurs too."""

    layout: AnyLayout


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """`!cute.shape`."""

    shape: IntTuple


@dataclass(frozen=True, slots=True)
class StrideValue:
    """`!cute.stride`."""

    stride: Stride


@dataclass(frozen=True, slots=True)
class IntTupleValue:
    """`!cute.int_tuple`: integers in nested tuples, an offset or a coordinate."""

    value: IntTuple


@dataclass(frozen=True, slots=True)
class CoordValue:
    """`!cute.coord`: a coordinate, `None` for each `_`."""

    coordinate: Coordinate


@dataclass(frozen=True, slots=True)
class TileValue:
    """`!cute.tile`: a layout, `None` for `_`, or a tuple of these by mode."""

    tile: Tile


@dataclass(frozen=True, slots=True)
class SwizzleValue:
    """`!cute.swizzle`."""

    swizzle: Swizzle


@dataclass(frozen=True, slots=True)
class ConstrainedInteger:
    """`!cute.i32<divby 4>`: an integer that is known to be a multiple of `divisibility`."""

    width: int
    """Bits."""
    divisibility: int = 1
    power_of_two: bool = False
    """Whether it is known to be a power of two."""


@dataclass(frozen=True, slots=True)
class FastDivisor:
    """`!cute.fast_divmod_divisor`: a divisor with what makes dividing by it cheap."""

    width: int
    """Bits of the dividend."""
    power_of_two: bool = False


@dataclass(frozen=True, slots=True)
class Pointer:
    """`!cute.ptr`."""

    element: Element
    space: AddressSpace = AddressSpace.GENERIC
    alignment: int | None = None
    """Bytes. Without one, the element's own size; `None` in the view of a pointer that CuTe gives none."""
    swizzle: Swizzle | None = None
    """The permutation of the offsets of what it points to; `None` for none."""

    def __post_init__(self) -> None:
        _complete(self)

    @property
    def bits(self) -> int:
        """Bits of the pointer itself, as copy atoms count them."""
        return 64


@dataclass(frozen=True, slots=True)
class MemRef:
    """`!cute.memref`: a tensor, which is a pointer and a layout."""

    element: Element
    space: AddressSpace
    layout: AnyLayout
    """Offsets in elements."""
    alignment: int | None = None
    """As of `Pointer`."""
    swizzle: Swizzle | None = None
    """As of `Pointer`. A swizzle is here or in the layout, never both."""

    def __post_init__(self) -> None:
        _complete(self)

    @property
    def pointer(self) -> Pointer:
        """The type of its iterator."""
        return Pointer(self.element, self.space, self.alignment, self.swizzle)


def _complete(view: Pointer | MemRef) -> None:
    # One view for one type: what CuTe leaves out of the text is filled in.
    if view.alignment is None:
        object.__setattr__(view, "alignment", natural_alignment(view.element))
    if view.swizzle is not None and view.swizzle.bits == 0:
        object.__setattr__(view, "swizzle", None)


@dataclass(frozen=True, slots=True)
class CoordTensor:
    """`!cute.coord_tensor`: a tensor whose elements are coordinates, `offset` plus what the layout's strides give."""

    offset: IntTuple
    layout: AnyLayout

    @property
    def tensor(self) -> CoordinateTensor:
        """The tensor as a value. Raises `Error` for a composed layout."""
        if not isinstance(self.layout, Layout):
            raise Error(f"the coordinate tensor's layout {self.layout} is composed, not plain")
        return CoordinateTensor(self.offset, self.layout)


@dataclass(frozen=True, slots=True)
class CoordIterator:
    """`!cute.arith_tuple_iter`: what a coordinate tensor has for a pointer."""

    offset: IntTuple


@dataclass(frozen=True, slots=True)
class SmemDescriptor:
    """`!cute_nvgpu.smem_desc`: the 64-bit descriptor of a matrix in shared memory."""

    generation: str = ""
    """`sm107` for that generation's own; empty for the one from Hopper on."""


@dataclass(frozen=True, slots=True)
class SmemDescriptorView:
    """`!cute_nvgpu.smem_desc_view`: a tensor of such descriptors, its offsets in units of 16 bytes."""

    descriptor: SmemDescriptor
    layout: Layout


@dataclass(frozen=True, slots=True)
class TmaDescriptor:
    """`!cute_nvgpu.tma_descriptor_tiled`, `…_im2col`: the 128-byte tensor map."""

    mode: str
    """`tiled` or `im2col`."""


@dataclass(frozen=True, slots=True)
class WorkIdResponse:
    """`!cute_nvgpu.workid_response`: what a cluster launch control query answers."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`!lir.pipeline`: buffers between a producer and a consumer."""

    stages: int
    producer: str
    """The operation that fills a stage, `SM90_TMA_LOAD`."""
    consumer: str
    locale: str
    """Who synchronises: `cta` or `cluster`."""


@dataclass(frozen=True, slots=True)
class StageToken:
    """`!lir.stage_token`: one stage of a pipeline, held."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class PipelineState:
    """`!lir.pipeline_state`: which stage is next, and its phase."""

    stages: int


@dataclass(frozen=True, slots=True)
class CircularPipelineState:
    """`!lir.circular_buffer_pipeline_state`: a position among units that are smaller than a stage."""

    stages: int
    units_per_stage: int
    units_per_iteration: int


Element: TypeAlias = Scalar | Vector | SparseElement | Pointer | OpaqueType
"""What a pointer can point to."""
