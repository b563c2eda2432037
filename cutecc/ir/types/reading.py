"""From a type to its view."""

from __future__ import annotations

import dataclasses
import re
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from cutecc.errors import Error
from cutecc.ir.types.assembly_formats import ASSEMBLY_FORMATS, AssemblyFormat
from cutecc.ir.types.atoms import CopyAtom, MmaAtom, Parameters, TiledCopy, TiledMma
from cutecc.ir.types.directives import Mismatch, read
from cutecc.ir.types.elements import OpaqueType, Scalar, SparseElement, Vector, scalar_bits
from cutecc.ir.types.values import (
    CircularPipelineState,
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordTensor,
    CoordValue,
    FastDivisor,
    IntTupleValue,
    LayoutValue,
    MemRef,
    Pipeline,
    PipelineState,
    Pointer,
    ShapeValue,
    SmemDescriptor,
    SmemDescriptorView,
    StageToken,
    StrideValue,
    SwizzleValue,
    TileValue,
    TmaDescriptor,
    WorkIdResponse,
)

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

TypeView: TypeAlias = (
    LayoutValue
    | ComposedLayoutValue
    | ShapeValue
    | StrideValue
    | IntTupleValue
    | CoordValue
    | TileValue
    | SwizzleValue
    | ConstrainedInteger
    | FastDivisor
    | Pointer
    | MemRef
    | CoordTensor
    | CoordIterator
    | SparseElement
    | CopyAtom
    | MmaAtom
    | TiledCopy
    | TiledMma
    | SmemDescriptor
    | SmemDescriptorView
    | TmaDescriptor
    | WorkIdResponse
    | Pipeline
    | PipelineState
    | CircularPipelineState
    | StageToken
    | Scalar
    | Vector
    | OpaqueType
)

_NAME = re.compile(r"!?([\w.]+)")
_CONSTRAINED = re.compile(r"!cute\.i(\d+)(?:<(?:(pow2)(?:, )?)?(?:divby (\d+))?>)?")
_CONSTRAINED_NAME = re.compile(r"cute\.i\d+")
_VECTOR = re.compile(r"vector<((?:\d+x)*)(\w+)>")

# A type is one object of its context for as long as that lives, and its hash is that object's address: a test says so.
_views: weakref.WeakKeyDictionary[ir.Context, dict[int, TypeView]] = weakref.WeakKeyDictionary()


def view(type: ir.Type) -> TypeView:
    """What `type` says, as a value to match on.

    Raises `Error`, naming the type, for one of CuTe's whose text is not as expected. Of other dialects' types, scalars
    and vectors have views of their own; all else is an `OpaqueType`.
    """
    try:
        return _views[type.context][hash(type)]
    except KeyError:
        pass
    result = _read(str(type), type)
    _views.setdefault(type.context, {})[hash(type)] = result
    return result


def _read(text: str, type: ir.Type) -> TypeView:
    name = _NAME.match(text)
    form = ASSEMBLY_FORMATS.get(name[1]) if name and text.startswith("!") else None
    if name is None or form is None:
        return _read_other(text)
    try:
        fields = read(form.directives, text[name.end() :], lambda inner: _read_nested(inner, type))
        return _with_derived_layouts(_build(form, fields), type)
    except Mismatch:
        raise _unreadable(text) from None
    except Error as error:
        raise _unreadable(text, str(error)) from error


def _unreadable(text: str, *notes: str) -> Error:
    return Error(
        f"cannot read the type '{text}'",
        notes=list(notes),
        hints=["it is spelled in a way that this version of cutecc does not know"],
    )


def _read_nested(text: str, outer: ir.Type) -> TypeView:
    if not text.startswith("!cute"):
        return _read_other(text)
    from cutecc.ir.mlir import ir

    try:
        type = ir.Type.parse(text, outer.context)
    except ir.MLIRError:
        raise Mismatch from None
    return view(type)


def _read_other(text: str) -> TypeView:
    """The view of a type whose name is not in the table."""
    if scalar_bits(text) is not None:
        return Scalar(text)
    if match := _VECTOR.fullmatch(text):
        return Vector(tuple(map(int, match[1].split("x")[:-1])), Scalar(match[2]))
    if match := _CONSTRAINED.fullmatch(text):
        return ConstrainedInteger(int(match[1]), int(match[3] or 1), match[2] is not None)
    name = _NAME.match(text)
    if name and _CONSTRAINED_NAME.fullmatch(name[1]):
        raise _unreadable(text)
    return OpaqueType(name[1] if name else "function", text)


def _build(form: AssemblyFormat, fields: dict[str, Any]) -> Any:
    fields = form.constants | fields
    if form.view is StageToken:
        return StageToken(Pipeline(**fields))
    own = {each.name for each in dataclasses.fields(form.view)}
    if "parameters" in own:
        other = {name: fields.pop(name) for name in list(fields) if name not in own}
        fields["parameters"] = Parameters(**other)
    return form.view(**fields)


# What follows from an atom: the bindings' own accessors say it, as types.

_COPY_TVS = {"thread_id": "thr_id", "source_tv": "layout_src_tv", "destination_tv": "layout_dst_tv"}
_MMA_TVS = {"thread_id": "thr_id", "a_tv": "layout_a_tv", "b_tv": "layout_b_tv", "c_tv": "layout_c_tv"}
_TILED_COPY_TVS = {"source_tv": "layout_src_tv_tiled", "destination_tv": "layout_dst_tv_tiled"}
_TILED_MMA_TVS = {
    "thread_layout_vmnk": "thr_layout_vmnk",
    "a_tv": "layout_a_tv_tiled",
    "b_tv": "layout_b_tv_tiled",
    "c_tv": "layout_c_tv_tiled",
}


def _with_derived_layouts(result: Any, type: ir.Type) -> Any:
    match result:
        case CopyAtom():
            # Some atoms have no class of their own in the bindings, but all are of the interface.
            return _with_layouts(result, "CopyAtomTypeInterface", _COPY_TVS, type)
        case MmaAtom():
            return _with_layouts(result, "MmaAtomTypeInterface", _MMA_TVS, type)
        case TiledCopy():
            return _with_layouts(result, "TiledCopyType", _TILED_COPY_TVS, type)
        case TiledMma():
            return _with_layouts(result, "TiledMmaType", _TILED_MMA_TVS, type)
        case _:
            return result


def _with_layouts(result: Any, class_name: str, accessors: dict[str, str], type: ir.Type) -> Any:
    from cutecc.ir.bindings import load_submodule

    typed = getattr(load_submodule("dialects.cute_nvgpu"), class_name)(type)
    layouts: dict[str, Any] = {}
    for field, accessor in accessors.items():
        try:
            layout = view(getattr(typed, accessor))
        except RuntimeError:
            # A tiling that MLIR takes, but that has no such layout: its own is not over (thread, value).
            continue
        assert isinstance(layout, LayoutValue | ComposedLayoutValue)
        layouts[field] = layout.layout
    return dataclasses.replace(result, **layouts)
