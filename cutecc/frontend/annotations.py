"""What a parameter's annotation says about its argument: which specs fit it, and one that would."""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any, get_args, get_origin

from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.arguments.specs import ConstSpec, NoneSpec, PointerSpec, ScalarSpec, Spec, StreamSpec, TensorSpec, TupleSpec
from cutecc.frontend import dsl

_PYTHON_NUMBERS: dict[object, str] = {int: "i32", float: "f32", bool: "bool"}
_CONSTANTS: dict[object, str] = {bool: "const(True)", str: "const('name')", float: "const(1.0)", tuple: "const((1, 1))"}


def is_constexpr(annotation: Any) -> bool:
    """Whether the parameter is a compile-time constant, `cutlass.Constexpr` or `cutlass.Constexpr[…]`."""
    constexpr = dsl.cutlass().Constexpr
    return annotation is constexpr or get_origin(annotation) is constexpr


def numeric_type(annotation: Any) -> NumericType | None:
    """The type of number that the parameter takes, `None` when it is not declared as a number."""
    if annotation in _PYTHON_NUMBERS:
        return find_numeric_type(_PYTHON_NUMBERS[annotation])
    if isinstance(annotation, type) and issubclass(annotation, dsl.cutlass().Numeric):
        return find_numeric_type(annotation.__name__)
    return None


def is_array_view(annotation: Any) -> bool:
    """Whether the parameter is a `cutlass.Array`, which the DSL has since 4.8."""
    array = getattr(dsl.cutlass(), "Array", None)
    return array is not None and annotation is array


def is_stream(annotation: Any) -> bool:
    """Whether the parameter takes a CUDA stream."""
    return getattr(annotation, "__name__", None) == "CUstream"


def named_fields(annotation: Any) -> dict[str, Any] | None:
    """The annotations of a `NamedTuple`'s fields; `None` for anything else."""
    fields: tuple[str, ...] | None = getattr(annotation, "_fields", None)
    if fields is None or not _is_class(annotation, tuple):
        return None
    hints = typing.get_type_hints(annotation)
    return {name: hints.get(name, inspect.Parameter.empty) for name in fields}


def item_annotations(annotation: Any, count: int) -> list[Any]:
    """The annotations of a tuple's `count` items."""
    arguments = list((named_fields(annotation) or {}).values()) or list(get_args(annotation))
    if get_origin(annotation) is list or (len(arguments) == 2 and arguments[1] is Ellipsis):
        arguments = arguments[:1] * count
    return arguments if len(arguments) == count else [inspect.Parameter.empty] * count


def fits(spec: Spec, annotation: Any) -> bool:
    """Whether the DSL takes an argument made from `spec` for a parameter so annotated. In doubt, it does."""
    options = _alternatives(annotation)
    if isinstance(spec, NoneSpec):
        return True
    return any(_fits_one(spec, option) for option in options)


def suggest(annotation: Any) -> str:
    """A spec that fits a parameter so annotated."""
    for option in _alternatives(annotation):
        if is_constexpr(option):
            return _constant(option)
        if dtype := numeric_type(option):
            return str(dtype)
        if is_stream(option):
            return "stream"
        if _is_class(option, dsl.cute().Pointer):
            return "ptr<f32>"
        items = list((named_fields(option) or {}).values())
        if not items and get_origin(option) in (tuple, list):
            items = [item for item in get_args(option) if item is not Ellipsis]
        if items:
            specs = [suggest(item) for item in items]
            return f"({specs[0]},)" if len(specs) == 1 else f"({', '.join(specs)})"
    return "f32[?,?]"


def _constant(annotation: Any) -> str:
    """A spec that fits a `Constexpr`."""
    inner = get_args(annotation)[0] if get_args(annotation) else None
    if get_origin(inner) is type:
        return "const(f16)"
    return _CONSTANTS.get(get_origin(inner) or inner, "const(1)")


def _fits_one(spec: Spec, annotation: Any) -> bool:
    if is_constexpr(annotation):
        return isinstance(spec, ConstSpec)
    if dtype := numeric_type(annotation):
        return isinstance(spec, ScalarSpec) and spec.dtype == dtype
    if is_stream(annotation):
        return isinstance(spec, StreamSpec)
    if _is_class(annotation, dsl.cute().Pointer):
        return isinstance(spec, PointerSpec)
    if _is_class(annotation, dsl.cute().Tensor) or is_array_view(annotation):
        return isinstance(spec, TensorSpec)
    if get_origin(annotation) in (tuple, list) or named_fields(annotation) is not None:
        return isinstance(spec, TupleSpec) and all(
            fits(item, inner)
            for item, inner in zip(spec.items, item_annotations(annotation, len(spec.items)), strict=True)
        )
    return True


def _alternatives(annotation: Any) -> list[Any]:
    """The members of a union without `None`; otherwise the annotation alone."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(annotation) is typing.Annotated:
        return [get_args(annotation)[0]]
    return [annotation]


def _is_class(annotation: Any, base: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, base)
