"""From real arguments to specs: arrays, CuTe tensors and pointers, numbers, streams."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from cutecc.arguments.arrays import describe_array, read_array
from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import (
    ConstSpec,
    Dynamic,
    Mode,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
)
from cutecc.errors import SpecError

_SPECS = (TensorSpec, ScalarSpec, ConstSpec, PointerSpec, StreamSpec, NoneSpec, TupleSpec)
_PYTHON_NUMBERS: dict[type, str] = {bool: "bool", int: "i32", float: "f32"}
_STREAM_TYPES = ("CUstream", "cudaStream_t", "_FakeStream")
_PTR = re.compile(r"!cute\.ptr<(?P<dtype>\w+), (?P<space>\w+)(?:, align<(?P<alignment>\d+)>)?>")
_MEMREF = re.compile(r'!cute\.memref<[^,]+, \w+(?:, align<\d+>)?, "\((?P<shape>.*)\):\((?P<stride>.*)\)">')


def describe(value: object) -> Spec:
    """The spec of a real argument.

    Arrays of torch, numpy, cupy or another library with DLPack are described as `describe_array` says, CuTe tensors as
    they are marked, Python numbers as `i32`, `f32` and `bool`, as the DSL passes them. A spec string stands for what it
    spells. Raises `SpecError` for anything else.
    """
    spec = describe_known(value)
    if spec is None:
        raise SpecError(f"no argument spec describes a {type(value).__module__}.{type(value).__qualname__}")
    return spec


def describe_known(value: object) -> Spec | None:
    """As `describe`, but `None` for a value of a kind that specs do not know."""
    if isinstance(value, _SPECS):
        return value
    if isinstance(value, str):
        return parse_spec(value)
    if value is None:
        return NoneSpec()
    if type(value) in _PYTHON_NUMBERS:
        return ScalarSpec(_numeric_type(_PYTHON_NUMBERS[type(value)]), cast("int | float | bool", value))
    if isinstance(value, tuple | list):
        items = [describe_known(item) for item in cast("Sequence[object]", value)]
        known = tuple(item for item in items if item is not None)
        return TupleSpec(known) if len(known) == len(items) else None
    return _describe_dsl_value(value) or _describe_foreign_value(value)


def in_constant(value: Any, convert: Callable[[Any], Any], *, as_plain: bool = True) -> Any:
    """A compile-time constant, with what `convert` makes of each value in its tuples, lists and dictionaries.

    A dictionary of a class of its own becomes a plain one, or unless `as_plain` a value for `convert`.
    """
    converted = functools.partial(in_constant, convert=convert, as_plain=as_plain)
    if type(value) in (tuple, list):
        return type(value)(map(converted, cast("tuple[Any]", value)))
    if type(value) is dict or (as_plain and isinstance(value, dict)):
        pairs = cast("dict[Any, Any]", value).items()
        return {converted(key): converted(item) for key, item in pairs}
    return convert(value)


def is_placeholder(value: object) -> bool:
    """Whether `value` is of the DSL's own and can be traced with as it is: no array is behind it."""
    return type(value).__module__.split(".")[0] == "cutlass" and type(value).__name__ != "_Tensor"


def _describe_foreign_value(value: Any) -> Spec | None:
    if array := read_array(value):
        return describe_array(array)
    if ("cutlass.cute.typing", "Pointer") in {(each.__module__, each.__name__) for each in type(value).__mro__}:
        return _describe_pointer(value)
    is_stream = hasattr(value, "cuda_stream") or hasattr(value, "__cuda_stream__")
    if is_stream or type(value).__name__ in _STREAM_TYPES:
        return StreamSpec()
    if hasattr(value, "__array_interface__") and (dtype := find_numeric_type(str(value.dtype.name))):
        return ScalarSpec(dtype, value.item())  # a numpy scalar
    return None


def _describe_dsl_value(value: Any) -> Spec | None:
    """The spec of what the DSL itself makes; its classes are told apart by name, as they do not all name themselves."""
    if type(value).__module__.split(".")[0] != "cutlass":
        return None
    match type(value).__name__:
        case "_Tensor":
            return _describe_tensor(value)
        case "_FakeTensor" | "_FakeArray":
            shape = tuple(_symbolic(size) for size in value.shape)
            stride = tuple(_symbolic(step) for step in value.stride)
            space = value.memspace.name
            return TensorSpec(_numeric_type(value.element_type.__name__), shape, stride, space, value._assumed_align)
        case "_Pointer":
            dtype = _numeric_type(value.dtype.__name__)
            return PointerSpec(dtype, value.memspace.name, value._assumed_align or None)
        case "_FakeStream":
            return StreamSpec()
        case name if dtype := find_numeric_type(name):
            number = getattr(value, "value", None)
            return ScalarSpec(dtype, number) if isinstance(number, int | float) else None
        case _:
            return None


def _describe_pointer(pointer: Any) -> PointerSpec:
    """The spec of a pointer of a class that a package derives from the DSL's, in the DSL's own words."""
    with importlib.import_module("cutlass._mlir.ir").Context():
        # The abstract class does not ask for it.
        text = str(getattr(pointer, "mlir_type", type(pointer).__name__))
    match = _PTR.fullmatch(text)
    if match is None:
        raise SpecError(f"no argument spec describes a pointer of type {text}")
    alignment = f" align={match['alignment']}" if match["alignment"] else ""
    spec = parse_spec(f"ptr<{_numeric_type(match['dtype'])}>@{match['space']}{alignment}")
    assert isinstance(spec, PointerSpec)
    return spec


def _describe_tensor(tensor: Any) -> TensorSpec:
    """The spec of a CuTe tensor over a real array, in the DSL's own words."""
    # The marks for compact dynamic shapes reach the strides only when the descriptor is built.
    tensor.__c_pointers__()
    with importlib.import_module("cutlass._mlir.ir").Context():
        text = str(tensor.mlir_type)
    dtype = _numeric_type(tensor.element_type.__name__)
    match = _MEMREF.fullmatch(text)
    if match is None:
        raise SpecError(f"no argument spec describes a tensor of type {text}")
    spec = parse_spec(f"{dtype}[{match['shape']}]:({match['stride']})")
    assert isinstance(spec, TensorSpec)
    assert spec.stride is not None
    return TensorSpec(
        dtype,
        _with_values(spec.shape, tensor.shape),
        _with_values(spec.stride, tensor.stride),
        # Memory that it sees on the CPU the DSL puts in the generic space; the kernel will run on a GPU's.
        "gmem" if tensor.memspace.name == "generic" else tensor.memspace.name,
        tensor._assumed_align,
    )


def _symbolic(size: Any) -> Mode:
    if isinstance(size, int):
        return size
    return Dynamic(size.symbol, size.divisibility, size.width)


def _with_values(modes: tuple[Mode, ...], values: Sequence[int]) -> tuple[Mode, ...]:
    return tuple(
        Dynamic(divisibility=mode.divisibility, bits=mode.bits, value=int(value)) if isinstance(mode, Dynamic) else mode
        for mode, value in zip(modes, values, strict=True)
    )


def _numeric_type(name: str) -> NumericType:
    dtype = find_numeric_type(name)
    if dtype is None:
        raise SpecError(f"no argument spec describes numbers of type {name}")
    return dtype
