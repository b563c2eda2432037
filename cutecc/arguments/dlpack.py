"""What a DLPack capsule describes, read in place: https://dmlc.github.io/dlpack/latest/c_api.html."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.errors import SpecError

_MAJOR = 1
"""The newest major version of the capsule that can be read here; an older producer has none."""

_READ_ONLY = 1
"""`DLPACK_FLAG_BITMASK_READ_ONLY`."""

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_DEVICE_NAMES = {
    **{CPU: "cpu", CUDA: "cuda", CUDA_HOST: "cpu", CUDA_MANAGED: "cuda"},
    **{4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 14: "oneapi", 15: "webgpu", 16: "hexagon"},
}

_PLAIN_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
"""By `DLDataTypeCode`: names that the number of bits completes."""
_EXACT_TYPES = {
    6: "bool",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
    17: "float4_e2m1fn",
}


class _Tensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def type_code(dtype: NumericType) -> int | None:
    """The `DLDataTypeCode` of one element of a type; `None` where DLPack has none, or packs several into a byte."""
    if dtype.width < 8 and dtype.kind != "bool":
        return None
    for code, name in _EXACT_TYPES.items():
        if find_numeric_type(name) is dtype:
            return code
    # No library has tf32; its numbers are f32 in memory.
    kind = {"signed": "int", "unsigned": "uint", "float": "bfloat" if dtype.name == "bf16" else "float"}[dtype.kind]
    plain = next(code for code, name in _PLAIN_TYPES.items() if name == kind)
    known = dtype.name == "tf32" or find_numeric_type(f"{kind}{dtype.width}") is dtype
    return plain if known else None


class Description:
    """An array as its owner describes it."""

    def __init__(self, tensor: _Tensor, flags: int = 0) -> None:
        self.dtype = _type_name(tensor.code, tensor.bits, tensor.lanes)
        """By the name that numpy or torch would give it; `float4_e2m1fn_x2` for pairs of 4-bit floats."""
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.strides: tuple[int, ...] | None = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        """In elements; `None` when the layout is row-major."""
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.device = _DEVICE_NAMES.get(tensor.device_type, f"device type {tensor.device_type}")
        self.ordinal = tensor.device_id
        self.readonly = bool(flags & _READ_ONLY)


def read(array: Any, stream: Callable[[int], int] | None) -> Description:
    """What `array.__dlpack__()` exports.

    `stream` gives the `CUstream` that will use arrays on the CUDA device of an ordinal: the owner makes that stream
    wait for the work that the array waits for. `None` asks for no such order. The capsule is dropped unused, which
    gives the export back to its owner. Raises `SpecError` for a capsule of a version that is newer than 1.x.
    """
    options: dict[str, Any] = {}
    kind, ordinal = array.__dlpack_device__()
    if int(kind) in (CUDA, CUDA_MANAGED):
        # The protocol has no 0: the legacy default stream is 1.
        options["stream"] = -1 if stream is None else (stream(ordinal) or 1)
    try:
        capsule = array.__dlpack__(**options, max_version=(_MAJOR, 0))
    except TypeError:
        capsule = array.__dlpack__(**options)  # a producer from before version 1
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major > _MAJOR:
            raise SpecError(f"DLPack version {versioned.major}.{versioned.minor}; cutecc reads up to {_MAJOR}.x")
        return Description(versioned.tensor, versioned.flags)
    return Description(_Tensor.from_address(_pointer(capsule, b"dltensor")))


def _is_valid(capsule: Any, name: bytes) -> bool:
    check: Any = ctypes.pythonapi.PyCapsule_IsValid
    check.argtypes, check.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
    return bool(check(capsule, name))


def _pointer(capsule: Any, name: bytes) -> int:
    """The address in a capsule; `ValueError` when it has another name, or was used before."""
    get: Any = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return get(capsule, name)


def _type_name(code: int, bits: int, lanes: int) -> str:
    name = f"{_PLAIN_TYPES[code]}{bits}" if code in _PLAIN_TYPES else _EXACT_TYPES.get(code, f"DLPack type {code}")
    return name if lanes == 1 else f"{name}_x{lanes}"
