"""Numbers and addresses of a call, as leaves."""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from typing import Any

from cutecc.arguments.arrays import Array
from cutecc.arguments.specs import PointerSpec, ScalarSpec
from cutecc.runtime.checks import check_alignment, check_elements, kind_text, refuse
from cutecc.runtime.parameters import CallParameter

_OVERFLOWS = {"f16": 65520.0, "bf16": 2.0**128 - 2.0**119, "f32": 2.0**128 - 2.0**103, "tf32": 2.0**128 - 2.0**103}
"""The least number that rounds to infinity, by floating-point type; `f64` holds every Python float."""


def scalar_leaf(parameter: CallParameter, value: Any, *, checked: bool) -> int | float:
    """The leaf of a number: an integer as a residue, a `float` as it is.

    Integers are `int`s and what converts to one exactly (`__index__`): numpy's, and torch's on the CPU. Floats also
    take integers, bools also 0 and 1. Raises `ArgumentError` for a number of the wrong kind, and with `checked` for
    one out of the type's range.
    """
    assert isinstance(parameter.spec, ScalarSpec)
    dtype, number = parameter.spec.dtype, _number(parameter, value)
    if dtype.kind == "bool":
        if checked and number not in (0, 1):
            refuse(parameter, _number_text(number), "True or False")
        return int(bool(number))
    if dtype.kind == "float":
        return _float(parameter, number, checked)
    if isinstance(number, float) or (checked and isinstance(number, bool)):
        refuse(parameter, _number_text(number), "an integer is needed")
    low, high = (0, 1 << dtype.width) if dtype.kind == "unsigned" else (-(1 << dtype.width - 1), 1 << dtype.width - 1)
    if checked and not low <= number < high:
        refuse(parameter, _number_text(number), f"{low} to {high - 1}")
    return number & ((1 << dtype.width) - 1)


def pointer_leaf(parameter: CallParameter, value: Any, array: Array | None, *, checked: bool) -> int:
    """The leaf of a pointer: an integer; the address of `array`, what `value` is if it is one; a pointer of ctypes,
    cuda.bindings (`CUdeviceptr`), cupy (`.ptr`) or CuTe.

    0 is the null pointer. Raises `ArgumentError` for anything else, and with `checked` for elements of another type
    and an address that is not aligned as the spec says.
    """
    assert isinstance(parameter.spec, PointerSpec)
    address = array.address if array is not None else _address(value)
    if address is None:
        hint = "a null pointer is 0" if value is None else "pass an address, an array or a pointer object"
        refuse(parameter, kind_text(value), "a pointer is needed", [hint])
    if not 0 <= address < 1 << 64:
        refuse(parameter, _number_text(address), "an address is 0 to 2^64 - 1")
    if checked:
        if array is not None:
            check_elements(parameter, array)
        check_alignment(parameter, address, array)
    return address


def _number(parameter: CallParameter, value: Any) -> int | float:
    if type(value) in (int, float, bool):
        return value
    if hasattr(value, "shape"):
        return _array_number(parameter, value)
    # ctypes and the DSL hold a number in an object.
    if type(value).__module__.partition(".")[0] in ("ctypes", "cutlass"):
        value = getattr(value, "value", value)
    if isinstance(value, int | float):
        return value
    if hasattr(value, "__index__"):
        return operator.index(value)
    if hasattr(value, "__float__"):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    refuse(parameter, kind_text(value), "a number is needed")


def _array_number(parameter: CallParameter, value: Any) -> int | float:
    """The number in an array of rank 0: numpy's scalars, and torch's on the CPU."""
    # The class of every torch tensor has the interface, also of those on the CPU.
    on_gpu = value.is_cuda if hasattr(value, "is_cuda") else hasattr(value, "__cuda_array_interface__")
    if on_gpu:
        refuse(parameter, kind_text(value), "reading it would wait for the GPU", ["pass x.item()"])
    number: object = None
    if tuple(value.shape) == () and hasattr(value, "item"):
        with suppress(RuntimeError):  # torch's tensors without memory have no number
            number = value.item()
    if not isinstance(number, int | float):
        refuse(parameter, kind_text(value), "one number is needed", ["pass x.item()"])
    return number


def _float(parameter: CallParameter, number: int | float, checked: bool) -> float:
    assert isinstance(parameter.spec, ScalarSpec)
    try:
        result = float(number)
    except OverflowError:
        result = math.inf
        if checked:
            refuse(parameter, _number_text(number), "out of its range")
    limit = _OVERFLOWS.get(parameter.spec.dtype.name, math.inf)
    if checked and not math.isinf(result) and abs(result) >= limit:
        refuse(parameter, _number_text(number), "out of its range")
    return result


def _number_text(number: int | float) -> str:
    """A number as messages show it; Python refuses to print the longest integers."""
    if isinstance(number, int) and number.bit_length() > 256:
        return f"an integer of {number.bit_length()} bits"
    return repr(number)


def _address(value: Any) -> int | None:
    if isinstance(value, bool | float | str | bytes) or value is None:
        return None
    if isinstance(value, int):
        return value
    if any(base.__module__ == "_ctypes" for base in type(value).__mro__):
        return _ctypes_address(value)
    for name in ("ptr", "_pointer"):  # cupy's memory, CuTe's pointers
        if isinstance(address := getattr(value, name, None), int):
            return address
    if hasattr(value, "__index__"):
        return operator.index(value)
    # A number with a fraction is no address; `CUdeviceptr` converts to `int` alone.
    return int(value) if hasattr(value, "__int__") and not hasattr(value, "__float__") else None


def _ctypes_address(value: Any) -> int | None:
    import ctypes

    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if hasattr(value, "contents"):  # a POINTER(…)
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    number = getattr(value, "value", None)
    return number if isinstance(number, int) and not isinstance(number, bool) else None
