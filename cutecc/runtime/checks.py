"""What the compiled kernel takes of an array, checked: both sides in every message."""

from __future__ import annotations

import dataclasses
from typing import Literal, NoReturn, TypeAlias

from cutecc.arguments.arrays import Array, leading_mode
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.arguments.specs import Dynamic, Mode, PointerSpec, ScalarSpec, TensorSpec
from cutecc.errors import ArgumentError
from cutecc.runtime.parameters import CallParameter

Place: TypeAlias = Literal["cuda", "cpu"]
"""Where the arrays of a call have to live."""
NamedSizes: TypeAlias = "dict[str, tuple[int, str]]"
"""The value of each named size, and the argument that it was read from."""


def tensor_leaves(
    parameter: CallParameter, array: Array, known: NamedSizes, *, checked: bool, writes: bool | None = None
) -> list[int]:
    """The leaves of a tensor: its address, dynamic sizes and dynamic strides, as residues.

    With `checked`, the array's element type, sizes, strides and alignment are what the spec says, and its named sizes
    those in `known`, to which new ones are added. The stride of a mode of size 1, and every stride of an empty tensor,
    means nothing: one that does not fit the spec is passed as a compact tensor would have it, rounded up to its
    divisibility. Raises `ArgumentError`; also without `checked` for another number of modes. `writes` says whether the
    kernel writes the tensor, `None` that nobody knows: hints depend on it.
    """
    check = _TensorCheck(parameter, array, known, checked, writes)
    return [array.address, *check.sizes(), *check.strides()]


def check_device(device: object) -> None:
    """Raises `ArgumentError` for what is not the name of a kind of device."""
    if not isinstance(device, str) or device not in ("cpu", "cuda"):
        raise ArgumentError(
            f"no device is called {device!r}",
            hints=['devices: "cpu", which is the emulator, and "cuda", the GPU of the arguments, which is the default'],
        )


def check_place(parameter: CallParameter, array: Array, place: Place | None, first: tuple[str, Array] | None) -> None:
    """Raises `ArgumentError` unless the array lives in `place`, and on the device of `first`, an argument before it."""
    name = parameter.name
    if place == "cuda" and array.device != "cuda":
        if array.device == "cpu":
            hints = ["for numpy: torch.from_numpy(x).cuda() or cupy.asarray(x)"] if array.library == "numpy" else []
            raise ArgumentError(
                f"argument '{name}' lives on the CPU: move it with .cuda()",
                hints=[*hints, 'to run the kernel on the CPU emulator, add device="cpu" to the call'],
            )
        raise ArgumentError(f"argument '{name}' lives on {array.place}, and the kernel runs on a CUDA device")
    if place == "cpu" and array.device != "cpu":
        raise ArgumentError(f"argument '{name}' lives on {array.place}, and this call runs on the CPU: move it there")
    if first is not None and not _same_device(first[1], array):
        raise ArgumentError(
            f"argument '{name}' lives on {array.place}, and '{first[0]}' on {first[1].place}: "
            "all arguments of a call live on one device"
        )


def check_elements(parameter: CallParameter, array: Array) -> None:
    """Raises `ArgumentError` for an array whose elements are of another type than the parameter's."""
    assert isinstance(parameter.spec, TensorSpec | PointerSpec)
    dtype, found = parameter.spec.dtype, find_numeric_type(array.dtype)
    # No library has tf32; its numbers are f32 in memory.
    if found is dtype or (found is not None and (found.name, dtype.name) == ("f32", "tf32")):
        return
    hints: list[str] = []
    if found is not None and found.width == 8 and found.is_integer and dtype.width <= 8:
        hints = [f"bytes that hold {dtype} numbers can be viewed as such: x.view(torch.float8_e4m3fn), for one"]
    refuse(parameter, array_text(array), f"its elements are {found or array.dtype}, not {dtype}", hints)


def check_alignment(parameter: CallParameter, address: int, array: Array | None = None) -> None:
    """Raises `ArgumentError` for an address that is not aligned as the parameter's spec says."""
    assert isinstance(parameter.spec, TensorSpec | PointerSpec)
    if address % parameter.spec.alignment:
        found = f"{address:#x}" if array is None else array_text(array)
        refuse(parameter, found, f"its address {address:#x} is not a multiple of {parameter.spec.alignment} bytes")


def refuse(parameter: CallParameter, found: str, reason: str, hints: list[str] | None = None) -> NoReturn:
    """Raises the `ArgumentError` for an argument, `found`, that is not what the kernel takes."""
    raise ArgumentError(
        f"argument '{parameter.name}': {found}, but the kernel takes {taken_text(parameter)}: {reason}",
        hints=hints or [],
    )


def taken_text(parameter: CallParameter) -> str:
    """The parameter's spec without the values that stand in for real arguments."""
    spec = parameter.spec
    if isinstance(spec, TensorSpec):
        stride = None if spec.stride is None else tuple(map(_without_value, spec.stride))
        return str(dataclasses.replace(spec, shape=tuple(map(_without_value, spec.shape)), stride=stride))
    if isinstance(spec, PointerSpec):
        return str(dataclasses.replace(spec, elements=None))
    return str(spec.dtype) if isinstance(spec, ScalarSpec) else str(spec)


def kind_text(value: object) -> str:
    """A value that is not what was asked for, by its type, since arrays have long texts: `an int`, `None`."""
    if value is None:
        return "None"
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def array_text(array: Array) -> str:
    """An array as messages show it: `f16[1000,2044]:(2048,1) on cuda:0`, without strides when it is row-major."""
    dtype = find_numeric_type(array.dtype) or array.dtype
    shape = ",".join(map(str, array.shape))
    expected = compact_strides(array.shape, tuple(reversed(range(len(array.shape)))))
    modes = zip(array.shape, array.stride, expected, strict=True)
    usual = all(size == 1 or step == compact for size, step, compact in modes)
    stride = "" if usual or 0 in array.shape else f":({','.join(map(str, array.stride))})"
    return f"{dtype}[{shape}]{stride} on {array.place}"


def compact_strides(sizes: tuple[int, ...], fastest_first: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a compact layout; a size of 0 counts as 1."""
    strides = [1] * len(sizes)
    product = 1
    for mode in fastest_first:
        strides[mode] = product
        product *= sizes[mode] or 1
    return tuple(strides)


class _TensorCheck:
    """One array held against its spec."""

    def __init__(
        self, parameter: CallParameter, array: Array, known: NamedSizes, checked: bool, writes: bool | None
    ) -> None:
        assert isinstance(parameter.spec, TensorSpec)
        self._parameter, self._array, self._known, self._checked = parameter, array, known, checked
        self._writes = writes
        if checked:
            check_elements(parameter, array)
        modes, rank = len(array.shape), len(parameter.sizes)
        if modes != rank:
            self._refuse(f"it has {modes} mode{'' if modes == 1 else 's'}, not {rank}")
        self._empty = 0 in array.shape
        if checked and not self._empty:
            if array.address == 0:
                self._refuse("no memory is behind it")
            check_alignment(parameter, array.address, array)

    def sizes(self) -> list[int]:
        """The dynamic sizes."""
        numbers: list[int] = []
        for mode, (wanted, size) in enumerate(zip(self._parameter.sizes, self._array.shape, strict=True)):
            if self._checked and (problem := self._problem(wanted, size, "elements")):
                self._refuse(f"mode {mode} has {problem}")
            if isinstance(wanted, Dynamic):
                if self._checked and wanted.name is not None:
                    self._agree(wanted.name, size)
                numbers.append(size & _mask(wanted))
        return numbers

    def strides(self) -> list[int]:
        """The dynamic strides."""
        numbers: list[int] = []
        expected = self._expected()
        for mode, wanted in enumerate(self._parameter.strides):
            step = self._array.stride[mode]
            free = self._empty or self._array.shape[mode] == 1
            if self._parameter.compact is not None:
                if self._checked and not free and step != expected[mode]:
                    self._refuse_layout(mode, expected[mode])
                step = expected[mode]
            if not isinstance(wanted, Dynamic):
                if self._checked and not free and step != wanted:
                    self._refuse(f"mode {mode} has stride {step}, not {wanted}")
                continue
            problem = self._problem(wanted, step, "stride")
            if free and (problem or self._differs(wanted.name, step)):
                step = self._placeholder(wanted, expected[mode])
            elif self._checked:
                if problem:
                    self._refuse(f"mode {mode} has {problem}")
                if wanted.name is not None and not free:
                    self._agree(wanted.name, step)
            numbers.append(step & _mask(wanted))
        return numbers

    def _expected(self) -> tuple[int, ...]:
        """The strides of a compact tensor of this shape, the fastest mode the one that the spec says is; the array's
        own where nobody asks for them."""
        order = self._parameter.compact
        if order is None:
            if not self._empty and 1 not in self._array.shape:
                return self._array.stride
            modes = list(reversed(range(len(self._parameter.strides))))
            order = tuple(sorted(modes, key=lambda mode: self._parameter.strides[mode] != 1))
        return compact_strides(self._array.shape, order)

    def _placeholder(self, wanted: Dynamic, compact: int) -> int:
        """The stride of a mode where it means nothing: a multiple of its divisibility, that of its name if that is
        known."""
        if wanted.name in self._known:
            return self._known[wanted.name][0]
        least = -(-compact // wanted.divisibility) * wanted.divisibility
        return least if least < 1 << wanted.bits - 1 else wanted.divisibility

    def _differs(self, name: str | None, value: int) -> bool:
        return name in self._known and self._known[name][0] != value

    def _problem(self, wanted: int | Dynamic, found: int, what: Literal["elements", "stride"]) -> str | None:
        text = f"stride {found}" if what == "stride" else f"{found} element{'' if found == 1 else 's'}"
        if not isinstance(wanted, Dynamic):
            return None if found == wanted else f"{text}, not {wanted}"
        if found < 0:
            return f"{text}, and the kernel takes none below 0"
        if found % wanted.divisibility:
            return f"{text}, not a multiple of {wanted.divisibility}"
        if found >> wanted.bits - 1:
            return f"{text}, more than {wanted.bits} bits hold"
        return None

    def _agree(self, name: str, value: int) -> None:
        before, argument = self._known.setdefault(name, (value, self._parameter.name))
        if before == value:
            return
        if argument == self._parameter.name:
            self._refuse(f"?{name} is {before} and {value}")
        self._refuse(f"?{name} is {before} in '{argument}' and {value} in '{self._parameter.name}'")

    def _refuse_layout(self, mode: int, expected: int) -> NoReturn:
        assert isinstance(self._parameter.spec, TensorSpec)
        spec, array, name = self._parameter.spec, self._array, self._parameter.name
        hints: list[str] = []
        if spec.order is None and not self._writes:
            unless_written = "if the kernel only reads it, " if self._writes is None else ""
            hints.append(f"{unless_written}pass a compact copy: {_compact_copy(name, array)}")
        # No spec of a tensor from outside has nested modes, and no kernel takes strides below 0.
        if not any(isinstance(size, tuple) for size in spec.shape) and min(array.stride) >= 0:
            hints.append(f"{'or ' if hints else ''}compile for strides of its own: {_with_strides_of(spec, array)}")
        if self._writes:
            hints.append(f"the kernel writes '{name}': the result would land in a compact copy, to be copied back")
        order = "" if spec.order is None else " in this order"
        self._refuse(
            f"its strides ({','.join(map(str, array.stride))}) are not compact{order}: mode {mode} has "
            f"{array.stride[mode]}, a compact tensor of this shape {expected}",
            hints,
        )

    def _refuse(self, reason: str, hints: list[str] | None = None) -> NoReturn:
        refuse(self._parameter, array_text(self._array), reason, hints)


def _compact_copy(name: str, array: Array) -> str:
    """How to write a row-major copy of an argument."""
    return (
        f"{array.library}.ascontiguousarray({name})" if array.library in ("numpy", "cupy") else f"{name}.contiguous()"
    )


def _with_strides_of(spec: TensorSpec, array: Array) -> TensorSpec:
    """`spec` for arrays laid out as this one: 0s and the 1 of the leading mode static, as compiling for it has them."""
    leading = leading_mode(array)
    stride = tuple(step if step == 0 or mode == leading else Dynamic(bits=64) for mode, step in enumerate(array.stride))
    return dataclasses.replace(spec, shape=tuple(map(_without_value, spec.shape)), stride=stride, order=None)


def _mask(size: Dynamic) -> int:
    return (1 << size.bits) - 1


def _without_value(mode: Mode) -> Mode:
    if isinstance(mode, tuple):
        return tuple(map(_without_value, mode))
    return dataclasses.replace(mode, value=None) if isinstance(mode, Dynamic) else mode


def _same_device(one: Array, other: Array) -> bool:
    ordinals = (one.ordinal, other.ordinal)
    return one.device == other.device and (None in ordinals or ordinals[0] == ordinals[1])
