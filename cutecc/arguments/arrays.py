"""Arrays of any library, by what they offer: none is imported, and nothing is read from their memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.arguments.specs import Dynamic, Mode, TensorSpec
from cutecc.errors import SpecError

_LARGEST_ALIGNMENT = 16
"""Bytes: the widest access of one thread. More would tie the compiled kernel to one address."""
_PAIRS = "float4_e2m1fn_x2"
"""What torch and DLPack call a byte with two 4-bit floats."""


@dataclass(frozen=True)
class Array:
    """The layout of a real array."""

    dtype: str
    """The element type as the library calls it."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements."""
    address: int
    """Of the first element; 0 when there is none."""
    device: str = "cpu"
    """`cuda`, `cpu`, or another library's name of a place: `meta`, `rocm`."""
    ordinal: int | None = None
    """Which of the devices of that name; `None` when the array does not say, and on the CPU."""
    library: str = ""
    """The top-level package of the array's class."""
    stream: int | None = None
    """The `CUstream` on which work for the array may be pending, where its owner names one."""
    readonly: bool = False
    """Whether its owner, of CPU memory, says that nobody may write to it."""

    @property
    def place(self) -> str:
        """Where the array lives, as torch writes it: `cuda:1`, `cpu`."""
        return self.device if self.ordinal is None else f"{self.device}:{self.ordinal}"

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 where its type is not known."""
        dtype = find_numeric_type(self.dtype)
        return dtype.width // 8 if dtype else 1

    @property
    def layout(self) -> tuple[object, ...]:
        """What two arrays have alike that lie in memory alike."""
        return self.shape, self.stride, self.dtype


def read_array(value: Any, *, stream: Callable[[int], int] | None = None, unpack: bool = True) -> Array | None:
    """The layout of an array; `None` for what is none.

    Arrays are: torch's and what has the same attributes; what has `__cuda_array_interface__` (cupy, numba); what has
    `__dlpack__` (jax, and others); numpy's; CuTe tensors that `from_dlpack` made. With `unpack`, a pair of 4-bit floats
    counts as two elements, as CuTe counts them; without, as one of type `f4E2M1FNx2`. `stream` gives the
    `CUstream` that will use arrays on the CUDA device of an ordinal, for those that come by DLPack: their owner makes
    it wait for the work that they wait for. Raises `SpecError` for an array whose memory a kernel cannot use.
    """
    array = _read(value, stream)
    if array is None:
        return None
    if array.dtype == _PAIRS:
        return _unpacked(array) if unpack else replace(array, dtype="f4E2M1FNx2")
    return array


def is_torch_like(value: Any) -> bool:
    """Whether `value` has the attributes of a torch tensor."""
    return callable(getattr(value, "data_ptr", None)) and callable(getattr(value, "stride", None))


def may_be_negated(dtype: NumericType | None) -> bool:
    """Whether torch may leave negating such elements for later: `x.conj().imag` is a view of unchanged memory."""
    return dtype is not None and dtype.name in ("f16", "f32", "tf32", "f64")


def _read(value: Any, stream: Callable[[int], int] | None) -> Array | None:
    if isinstance(value, type):  # a class has what its arrays have
        return None
    if is_torch_like(value):
        return _read_torch(value)
    interface: Any = _attribute(value, "__cuda_array_interface__")
    # Before version 3 it does not say what to wait for; DLPack does.
    if interface is not None and (interface.get("version", 0) >= 3 or not hasattr(value, "__dlpack__")):
        return _read_cuda_interface(value, interface)
    host: Any = None if _is_numpy_scalar(value) else _attribute(value, "__array_interface__")
    if host is not None and host.get("data"):
        return replace(_read_interface(value, host), readonly=bool(host["data"][1]))
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _read_dlpack(value, stream)
    if _package(value) == "cutlass" and type(value).__name__ == "_Tensor":
        return _read_cute(value)
    return None


def _read_torch(value: Any) -> Array:
    device: Any = getattr(value, "device", None)
    place = getattr(device, "type", "cpu")
    ordinal = None if place == "cpu" else device.index
    name = str(value.dtype).removeprefix("torch.")
    _require_whole_bytes(name, getattr(value, "itemsize", 0))
    if may_be_negated(find_numeric_type(name)) and hasattr(value, "is_neg") and value.is_neg():
        raise SpecError("its memory holds the negatives of its elements", hints=["pass x.resolve_neg()"])
    try:
        return Array(name, tuple(value.shape), tuple(value.stride()), value.data_ptr(), place, ordinal, "torch")
    except RuntimeError as error:  # a sparse tensor, or one without memory behind it
        reason = str(error).partition("\n")[0]
        raise SpecError(f"a {type(value).__name__} without strided memory ({reason})") from None


def _read_cuda_interface(value: Any, interface: Any) -> Array:
    if interface.get("mask") is not None:
        raise SpecError("a masked array")
    ordinal = getattr(getattr(value, "device", None), "id", None)  # as cupy has it; the interface does not say
    array = _read_interface(value, interface)
    return replace(array, device="cuda", ordinal=ordinal, stream=interface.get("stream"))


def _read_interface(value: Any, interface: Any) -> Array:
    shape, typestr = tuple(interface["shape"]), str(interface["typestr"])
    if typestr.startswith(">"):
        raise SpecError(f"elements of type {typestr}, which no GPU reads")
    # The interface has no names for the types that numpy lacks; the array may have.
    dtype: Any = getattr(value, "dtype", None)
    itemsize = int(typestr[2:]) if dtype is None else int(dtype.itemsize)
    name = _interface_type(typestr[1], itemsize) if dtype is None else str(dtype.name)
    _require_whole_bytes(name, itemsize)
    strides: tuple[int, ...] | None = interface.get("strides")
    if strides is None:
        stride = _row_major(shape)
    elif any(step % itemsize for step in strides):
        raise SpecError(f"strides of {strides} bytes are not whole elements of {itemsize} bytes")
    else:
        stride = tuple(step // itemsize for step in strides)
    return Array(name, shape, stride, int(interface["data"][0]), library=_package(value))


def _is_numpy_scalar(value: Any) -> bool:
    """A scalar has the interface of an array, but is none."""
    kind = cast("type[Any]", type(value))
    return not hasattr(kind, "__dlpack__") and any(base.__module__ == "numpy" for base in kind.__mro__)


def _interface_type(kind: str, itemsize: int) -> str:
    names = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    return "bool" if kind == "b" else f"{names.get(kind, kind)}{8 * itemsize}"


def _read_dlpack(value: Any, stream: Callable[[int], int] | None) -> Array:
    from cutecc.arguments import dlpack

    try:
        found = dlpack.read(value, stream)
    except (BufferError, RuntimeError, ValueError) as error:
        raise SpecError(f"its __dlpack__ refuses: {error}") from None
    stride = _row_major(found.shape) if found.strides is None else found.strides
    ordinal = None if found.device == "cpu" else found.ordinal
    return Array(
        found.dtype,
        found.shape,
        stride,
        found.address,
        found.device,
        ordinal,
        _package(value),
        readonly=found.readonly and found.device == "cpu",
    )


def _read_cute(value: Any) -> Array:
    """A tensor over a real array; the DSL says in which space it lies, not on which device."""
    device = "cpu" if value.memspace.name == "generic" else "cuda"
    name = value.element_type.__name__
    return Array(name, tuple(value.shape), tuple(value.stride), int(value.data_ptr), device, library="cutlass")


def _attribute(value: Any, name: str) -> Any:
    """An interface of `value`, or `None`: properties that raise say in this way that they do not apply."""
    try:
        return getattr(value, name, None)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _require_whole_bytes(name: str, itemsize: int) -> None:
    """CuTe packs narrow elements; numpy's extension types and torch's own hold one in each byte."""
    dtype = find_numeric_type(name)
    if dtype is not None and dtype.width < 8 and dtype.kind != "bool" and itemsize > 0:
        raise SpecError(f"{name} elements take {itemsize} byte each in this array, and CuTe packs them")


def describe_array(array: Array) -> TensorSpec:
    """The spec of a real array, for a kernel that takes others like it.

    Every size is dynamic, with its present value. Of the strides, 0 and the 1 of the leading mode stay static, as the
    DSL's own `mark_layout_dynamic` has it. The alignment is that of the address, up to 16 bytes. The space is global
    memory, wherever the array lives. Raises `SpecError` for an element type that CuTe does not have.
    """
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise SpecError(f"CuTe has no element type {array.dtype}")
    leading = leading_mode(array)
    stride: list[Mode] = []
    for mode, step in enumerate(array.stride):
        static = step == 0 or mode == leading
        stride.append(step if static else Dynamic(bits=64, value=step))
    align = min(array.address & -array.address, _LARGEST_ALIGNMENT) or None
    return TensorSpec(dtype, tuple(Dynamic(value=size) for size in array.shape), tuple(stride), align=align)


def leading_mode(array: Array) -> int | None:
    """The mode of stride 1; of several, one with more than one element."""
    unit = [mode for mode, step in enumerate(array.stride) if step == 1]
    long = [mode for mode in unit if array.shape[mode] > 1]
    return (long or unit or [None])[-1]


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.insert(0, step)
        step *= size
    return tuple(stride)


def _unpacked(array: Array) -> Array:
    """Pairs of 4-bit floats taken apart: the mode that they lie along is twice as long."""
    leading = leading_mode(array)
    if leading is None:
        raise SpecError("pairs of 4-bit floats that lie along no mode: none has stride 1")
    shape = tuple(2 * size if mode == leading else size for mode, size in enumerate(array.shape))
    stride = tuple(step if mode == leading else 2 * step for mode, step in enumerate(array.stride))
    return replace(array, dtype="float4_e2m1fn", shape=shape, stride=stride)
