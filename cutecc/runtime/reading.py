"""The fast way to read a call that is like an earlier one: Python code generated for its parameters and libraries.

def read(_p0, _p1, _p2):
    try:
        if _p0.dtype is not _f0 or …: return None
        …
        return (_p0.shape, _p2.shape, _d), (_a0, _a1, _a2), None
    except Exception:
        return None
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from cutecc.arguments.arrays import may_be_negated
from cutecc.arguments.specs import (
    Dynamic,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
)
from cutecc.runtime.parameters import CallGroup, CallParameter

Reader: TypeAlias = "Callable[..., tuple[Hashable, tuple[int, ...], int | None] | None]"
"""`read(*args, **kwargs) -> (key, values, stream)`, called as the kernel is.

`values` are those of `Binder.varying`, in its order; a stream that was not given is 0. `stream` is `Bound.stream`.
`key` holds or implies all else that `Binder.bind` reads and checks: once `bind(args, kwargs)` has accepted a call,
every call with its key from the same reader is acceptable, and has the same `Bound.key` and `library`, and no `after`.
Keys of different readers, and `Bound.key`, have nothing in common: keep a dictionary per reader.

`None`, or a `TypeError` for a call of another form (number of arguments, names), sends the caller to `bind`.
"""


def generate_reader(
    groups: Sequence[CallGroup],
    varying: Sequence[int],
    given: Mapping[str, Any],
    positional: Sequence[str],
    named: Mapping[str, str],
) -> Reader | None:
    """A reader of calls like one that was accepted.

    `given` are its arguments by the parameters' names (`stream` for an extra stream), `positional` the parameters that
    have theirs in place, `named` from each keyword of the call to its parameter. `None` when an argument is of a kind
    that generated code does not read: arrays other than torch's and cupy's, numbers and streams other than Python's
    and torch's.
    """
    variables = {name: f"_p{index}" for index, name in enumerate(positional)}
    for key, name in named.items():
        if not key.isidentifier() or keyword.iskeyword(key) or key.startswith("_"):
            return None
        variables[name] = key
    code = _Code(varying)
    for group in groups:
        if group.name in variables and not code.group(group, variables.pop(group.name), given[group.name]):
            return None
    for name, variable in variables.items():  # `stream=` without a parameter of that name
        if not code.stream(None, variable, given[name]):
            return None
    in_place = ", ".join(f"_p{index}" for index in range(len(positional)))
    by_name = f"{', ' if in_place else ''}*, {', '.join(named)}" if named else ""
    return code.function(f"{in_place}{', /' if in_place else ''}{by_name}")


class _Code:
    """The generated function, argument by argument."""

    def __init__(self, varying: Sequence[int]) -> None:
        self._globals: dict[str, Any] = {}
        self._loads: list[str] = []
        """Statements."""
        self._unless: list[str] = []
        """Conditions that send the call to `bind`."""
        self._key: list[str] = []
        self._values: dict[int, str] = dict.fromkeys(varying, "0")
        self._stream = "None"
        self._aligned: dict[int, list[str]] = {}
        """Addresses by the number of bytes that they are a multiple of."""
        self._shapes: dict[tuple[int | str, ...], str] = {}
        """The variable that holds a shape, by the sizes and names that determine it."""
        self._device: str | None = None
        self._has_torch = self._has_cupy = False

    def group(self, group: CallGroup, variable: str, value: Any) -> bool:
        """Reads one argument; `False` when it cannot be."""
        if isinstance(group.spec, TupleSpec):
            items = [f"{variable}_{index}" for index in range(len(group.items))]
            if not items or type(value) not in (tuple, list):
                return False
            self._loads.append(f"if type({variable}) is not {type(value).__name__}: return None")
            self._loads.append(f"[{', '.join(items)}] = {variable}")
            pairs = zip(group.items, items, value, strict=True)
            return all(isinstance(item, CallGroup) and self.group(item, name, inner) for item, name, inner in pairs)
        parameter = group.items[0]
        assert isinstance(parameter, CallParameter)
        match parameter.spec:
            case TensorSpec():
                return self._tensor(parameter, variable, value)
            case PointerSpec():
                return self._pointer(parameter, variable, value)
            case ScalarSpec():
                return self._scalar(variable, value)
            case StreamSpec():
                return self.stream(parameter.first_leaf, variable, value)
            case NoneSpec():
                self._unless.append(f"{variable} is not None")
                return True
            case _:
                return False

    def stream(self, leaf: int | None, variable: str, value: Any) -> bool:
        """Reads a stream, of a parameter or of the call as a whole."""
        if value is None:
            self._unless.append(f"{variable} is not None")
            return True
        if self._stream != "None" or (leaf is None and "0" in self._values.values()):
            return False  # several streams, or one that stands in for a parameter's
        if type(value) is int:
            number = variable
            self._unless.append(f"type({variable}) is not int or not 0 <= {variable} < {1 << 64}")
        elif _is_torch_stream(value):
            number = f"_s{variable}"
            self._loads.append(f"{number} = {variable}.cuda_stream")
            if self._device is None:
                return False
            self._unless.append(f"{variable}.device_index != _device")
        else:
            return False
        self._stream = number
        if leaf is not None:
            self._values[leaf] = number
        return True

    def function(self, parameters: str) -> Reader | None:
        """The function that takes `parameters`."""
        if self._has_cupy and (self._has_torch or self._stream != "None"):
            return None  # the launch goes to another stream than cupy's current one, and has to wait for that
        for alignment, addresses in self._aligned.items():
            if alignment > 1:
                joined = " | ".join(addresses)
                self._unless.append(
                    f"({joined}) & {alignment - 1}" if len(addresses) > 1 else f"{joined} & {alignment - 1}"
                )
        key = [*self._key, *(["_device"] if self._device else [])]
        body = [*self._loads]
        if self._unless:
            body.append(f"if {' or '.join(self._unless)}: return None")
        values = list(self._values.values())
        body.append(f"return {_tuple(key)}, {_tuple(values)}, {self._stream}")
        lines = "\n        ".join(body)
        source = f"def read({parameters}):\n    try:\n        {lines}\n    except Exception:\n        return None\n"
        exec(compile(source, "<reader>", "exec"), self._globals)
        return self._globals["read"]

    def _tensor(self, parameter: CallParameter, variable: str, value: Any) -> bool:
        if _is_torch(value):
            self._has_torch = True
            self._dtype(variable, value.dtype)
            self._on_device(_torch_device(variable, value))
            self._memory(parameter, variable, value)
            self._shape(parameter, variable)
            assert isinstance(parameter.spec, TensorSpec)
            row_major = parameter.compact is not None and parameter.spec.order is None
            # Of pairs the strides say along which mode they lie.
            if row_major and not str(value.dtype).endswith("_x2"):
                self._unless.append(f"not {variable}.is_contiguous()")
            elif parameter.sizes:
                self._key.append(f"{variable}.stride()")
            return True
        if _is_cupy(value):
            self._has_cupy = True
            self._dtype(variable, value.dtype)
            self._on_device(f"{variable}.data.device_id")
            self._address(parameter, variable, f"{variable}.data.ptr")
            self._unless.append(f"not _a{variable}")
            self._shape(parameter, variable)
            if parameter.sizes:
                self._key.append(f"{variable}.strides")
            return True
        return False

    def _pointer(self, parameter: CallParameter, variable: str, value: Any) -> bool:
        if type(value) is int:
            self._unless.append(f"type({variable}) is not int or not 0 <= {variable} < {1 << 64}")
            self._values[parameter.first_leaf] = variable
            self._align(parameter, variable)
            return True
        if not _is_torch(value):
            return False
        self._has_torch = True
        self._dtype(variable, value.dtype)
        self._on_device(_torch_device(variable, value))
        self._memory(parameter, variable, value)
        return True

    def _scalar(self, variable: str, value: Any) -> bool:
        if type(value) not in (int, float, bool):
            return False
        self._unless.append(f"type({variable}) is not {type(value).__name__}")
        if type(value) is float:
            # Zeros of two signs are equal, and what is no number is not even equal to itself.
            self._unless.append(f"{variable} != {variable}")
            self._key.append(f"{variable} or repr({variable})")
        else:
            self._key.append(variable)
        return True

    def _dtype(self, variable: str, dtype: Any) -> None:
        name = f"_dtype{variable}"
        self._globals[name] = dtype
        self._unless.append(f"{variable}.dtype is not {name}")

    def _on_device(self, device: str) -> None:
        if self._device is None:
            self._device = device
            self._loads.append(f"_device = {device}")
        else:
            self._unless.append(f"{device} != _device")

    def _memory(self, parameter: CallParameter, variable: str, tensor: Any) -> None:
        """Reads where a torch tensor's elements are."""
        assert isinstance(parameter.spec, TensorSpec | PointerSpec)
        self._address(parameter, variable, f"{variable}.data_ptr()")
        # The memory may be gone, and its elements may have to be negated.
        self._unless.append(f"not _a{variable}")
        if may_be_negated(parameter.spec.dtype) and hasattr(tensor, "is_neg"):
            self._unless.append(f"{variable}.is_neg()")

    def _address(self, parameter: CallParameter, variable: str, address: str) -> None:
        name = f"_a{variable}"
        self._loads.append(f"{name} = {address}")
        self._values[parameter.first_leaf] = name
        self._align(parameter, name)

    def _align(self, parameter: CallParameter, address: str) -> None:
        assert isinstance(parameter.spec, TensorSpec | PointerSpec)
        self._aligned.setdefault(parameter.spec.alignment, []).append(address)

    def _shape(self, parameter: CallParameter, variable: str) -> None:
        """Puts the shape into the key, or compares it with one that is there and has the same named sizes."""
        sizes = tuple(size.name if isinstance(size, Dynamic) else size for size in parameter.sizes)
        before = None if None in sizes else self._shapes.get(sizes)  # pyright: ignore[reportArgumentType]
        if before is not None:
            self._unless.append(f"{variable}.shape != {before}")
            return
        name = f"_n{variable}"
        self._loads.append(f"{name} = {variable}.shape")
        self._key.append(name)
        self._shapes[sizes] = name  # pyright: ignore[reportArgumentType]


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _is_torch(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _torch_device(variable: str, tensor: Any) -> str:
    """An ordinal is quicker to read than a device; all that are not on a GPU have -1."""
    return f"{variable}.get_device()" if tensor.is_cuda else f"{variable}.device"


def _is_torch_stream(value: Any) -> bool:
    return type(value).__module__.startswith("torch.") and hasattr(value, "device_index")


def _is_cupy(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "cupy" and hasattr(value, "__cuda_array_interface__")
