"""How numba hands arrays to kernels: as several parameters each, of which one is the pointer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from cutecc.arguments.arrays import read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import NoneSpec, Spec, TensorSpec
from cutecc.ptx.syntax import Function

_PREFIX = "_ZN6cudapy"
"""Of the names of kernels."""
_Argument = TypeVar("_Argument")


def takes_arrays_apart(entry: Function, given: int) -> bool:
    """Whether a kernel is numba's, and has more parameters than the arguments that are given."""
    return entry.name.startswith(_PREFIX) and given < len(entry.parameters)


def values_apart(given: Mapping[str, object]) -> dict[str, object]:
    """Arguments of a kernel of numba as its parameters take them."""
    found: dict[str, object] = {}
    for name, value in given.items():
        array = read_array(value)
        dtype = None if array is None else find_numeric_type(array.dtype)
        if array is None or dtype is None:
            found[name] = value
        else:
            size = dtype.width // 8
            strides = [size * each for each in array.stride]
            found |= _apart(name, value, array.shape, strides, size, lambda number: number or None)
    return found


def specs_apart(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """The same for specs, of compact tensors that say their sizes."""
    found: dict[str, Spec] = {}
    for name, spec in specs.items():
        shape = [each for each in spec.shape if isinstance(each, int)] if isinstance(spec, TensorSpec) else []
        if not isinstance(spec, TensorSpec) or len(shape) < len(spec.shape) or spec.stride or spec.order:
            found[name] = spec
        else:
            size = spec.dtype.width // 8
            strides = [size * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            found |= _apart(name, spec, shape, strides, size, _number)
    return found


def _number(number: int) -> Spec:
    return parse_spec(f"i64={number}") if number else NoneSpec()


def _apart(
    name: str,
    pointer: _Argument,
    shape: Sequence[int],
    strides: Sequence[int],
    size: int,
    argument: Callable[[int], _Argument],
) -> dict[str, _Argument]:
    """Two pointers that only the host follows, elements, bytes of one, the pointer, sizes, and strides in bytes."""
    before = {"meminfo": 0, "parent": 0, "nitems": math.prod(shape), "itemsize": size}
    behind = {
        f"{what}_{axis}": each
        for what, parts in (("shape", shape), ("strides", strides))
        for axis, each in enumerate(parts)
    }
    return {
        **{f"{name}_{what}": argument(each) for what, each in before.items()},
        name: pointer,
        **{f"{name}_{what}": argument(each) for what, each in behind.items()},
    }
