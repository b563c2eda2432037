"""Types made of random parts: from the view to the type and back, and to the view of the text that MLIR prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attacks import attacks
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context
from cutecc.ir.types import (
    AddressSpace,
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordTensor,
    CoordValue,
    CopyAtom,
    Element,
    IntTupleValue,
    LayoutValue,
    MemRef,
    Parameters,
    Pointer,
    Scalar,
    ShapeValue,
    SmemDescriptor,
    SmemDescriptorView,
    SparseElement,
    StrideValue,
    SwizzleValue,
    TiledCopy,
    TileValue,
    TypeView,
    Vector,
    to_type,
    type_text,
    view,
)
from cutecc.layout import Basis, ComposedLayout, Layout, Swizzle, symbol

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def context() -> Iterator[None]:
    with fresh_context():
        yield


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(leaf, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=6)


def integers(smallest: int) -> st.SearchStrategy[Any]:
    """Known ones, small for MLIR aborts where a tensor's size takes more than 64 bits, and `?`, all of one name."""
    unknown = st.builds(
        symbol, st.just("0"), width=st.sampled_from((32, 64)), divisibility=st.sampled_from((1, 2, 3, 8, 128))
    )
    return st.integers(smallest, 256) | unknown


SHAPES = nested(integers(1))
TUPLES = nested(integers(-256))
BASES = st.builds(Basis, integers(1), st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
STRIDES = nested(integers(0) | BASES)
COORDINATES = nested(integers(0) | st.none())
SWIZZLES = st.tuples(st.integers(1, 3), st.integers(0, 5), st.integers(3, 4)).map(lambda parts: Swizzle(*parts))


@st.composite
def layouts(draw: st.DrawFn, leaf: st.SearchStrategy[Any] | None = None) -> Layout:
    shape = draw(SHAPES)
    strides = integers(0) if leaf is None else leaf

    def stride(part: Any) -> Any:
        return tuple(map(stride, part)) if isinstance(part, tuple) else draw(strides)

    return Layout(shape, stride(shape))


COMPOSED = st.builds(ComposedLayout, SWIZZLES, integers(0), layouts())
SWIZZLED = st.builds(ComposedLayout, SWIZZLES, st.just(0), layouts())
COORDINATE_LAYOUTS = layouts(BASES | st.just(0))
TILES = st.lists(st.none() | layouts(), min_size=1, max_size=3).map(tuple) | layouts()

SCALARS = st.sampled_from(
    ["f16", "bf16", "tf32", "f32", "f8E4M3FN", "f4E2M1FN", "i1", "i8", "i32", "si64", "ui16"]
).map(Scalar)
STORED = SCALARS.filter(lambda scalar: scalar.name in ("f16", "f32", "i8"))
SPARSE = st.builds(SparseElement, st.sampled_from((2, 4, 8)), STORED | st.builds(Vector, st.just((1,)), STORED))
ALIGNMENTS = st.none() | st.sampled_from((1, 2, 4, 8, 16, 128, 1024))
SPACES = st.sampled_from(AddressSpace)
# Tensor memory is not swizzled.
SWIZZLED_SPACES = SPACES.filter(lambda space: space is not AddressSpace.TMEM)
POINTERS = st.builds(Pointer, SCALARS | SPARSE, SPACES, ALIGNMENTS)
POINTERS |= st.builds(Pointer, SCALARS | SPARSE, SWIZZLED_SPACES, ALIGNMENTS, SWIZZLES)
ELEMENTS: st.SearchStrategy[Element] = SCALARS | POINTERS

VIEWS: st.SearchStrategy[Any] = st.one_of(
    st.builds(LayoutValue, layouts() | COORDINATE_LAYOUTS | SWIZZLED),
    st.builds(ComposedLayoutValue, COMPOSED | layouts()),
    st.builds(ShapeValue, SHAPES),
    st.builds(StrideValue, STRIDES),
    st.builds(IntTupleValue, TUPLES),
    st.builds(CoordValue, COORDINATES),
    st.builds(TileValue, TILES),
    st.builds(SwizzleValue, SWIZZLES),
    st.builds(ConstrainedInteger, st.sampled_from((8, 32, 64)), st.integers(1, 4096), st.booleans()),
    st.builds(CoordIterator, TUPLES),
    st.builds(CoordTensor, TUPLES, COORDINATE_LAYOUTS),
    POINTERS,
    st.builds(MemRef, ELEMENTS, SPACES, layouts(), ALIGNMENTS),
    st.builds(MemRef, ELEMENTS, SWIZZLED_SPACES, layouts(), ALIGNMENTS, SWIZZLES),
    st.builds(MemRef, ELEMENTS, SPACES, SWIZZLED, ALIGNMENTS),
    # A compressed tensor has to be dense, in units of what is stored.
    st.builds(MemRef, SPARSE, SPACES, st.just(Layout((64, 8), (1, 64))), ALIGNMENTS),
    SPARSE,
    st.builds(SmemDescriptorView, st.builds(SmemDescriptor, st.sampled_from(("", "sm107"))), layouts()),
    st.builds(
        TiledCopy,
        st.builds(CopyAtom, st.just("universal_copy"), SCALARS, st.just(Parameters(copy_bits=64))),
        st.just(Layout((32, 4), (1, 32))),
        st.just((Layout(8, 1), Layout(16, 1))),
    ),
)


@settings(max_examples=attacks(200), deadline=None)
@given(VIEWS)
def test_there_and_back(made: TypeView) -> None:
    type = to_type(made)
    assert str(type) == type_text(made)
    seen = view(type)
    assert seen.__class__ is made.__class__
    assert to_type(seen) == type
    # By text, for what a test calls the `?` is not what their places call them.
    assert type_text(seen) == type_text(made)
    assert view(ir.Type.parse(str(type))) == seen


@settings(max_examples=attacks(80), deadline=None)
@given(VIEWS, VIEWS)
def test_views_are_equal_when_their_types_are(left: TypeView, right: TypeView) -> None:
    first, second = to_type(left), to_type(right)
    assert (view(first) == view(second)) == (first == second)
    if first == second:
        assert hash(view(first)) == hash(view(second))
