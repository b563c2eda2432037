"""DLPack's C exchange API: how a library's arrays are read without Python, and its current stream.

An array type offers it as `__dlpack_c_exchange_api__`, since DLPack 1.3; torch does from 2.10.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from cutecc.arguments.dlpack import type_code
from cutecc.arguments.dtypes import NumericType
from cutecc.runtime.native.errors import Unsupported
from cutecc.runtime.native.python import capsule_pointer

_ATTRIBUTE = "__dlpack_c_exchange_api__"
_CAPSULE = b"dlpack_exchange_api"
_MAJOR = 1

TENSOR_BYTES = 48
"""`DLTensor`, and the offsets of its fields."""
DATA_OFFSET = 0
DEVICE_OFFSET = 8
"""The device's type and its ordinal, 32 bits each."""
RANK_OFFSET = 16
"""32 bits; then the element type as code and bits, 8 bits each, and lanes, 16 bits."""
SHAPE_OFFSET = 24
STRIDES_OFFSET = 32
BYTE_OFFSET_OFFSET = 40


class _Table(ctypes.Structure):
    """`DLPackExchangeAPI`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("view", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Exchange:
    """Addresses of one library's functions."""

    view: int
    """`int (PyObject *array, DLTensor *out)`: describes an array, without owning it."""
    current_stream: int
    """`int (int32_t device_type, int32_t device, void **out)`."""


def exchange_of(kind: type[Any]) -> Exchange | None:
    """The exchange API for arrays of exactly this type, `None` when there is none.

    A subclass has that of its base unless it handles operations itself, as torch's `__torch_dispatch__` lets it:
    such an array may have no memory of its own.
    """
    owner = next((base for base in kind.__mro__ if _ATTRIBUTE in base.__dict__), None)
    if owner is None:
        return None
    if getattr(kind, "__torch_dispatch__", None) != getattr(owner, "__torch_dispatch__", None):
        return None
    address = capsule_pointer(getattr(owner, _ATTRIBUTE), _CAPSULE)
    while address:
        table = _Table.from_address(address)
        if table.major == _MAJOR:
            return Exchange(table.view, table.current_stream) if table.view and table.current_stream else None
        address = table.older
    return None


def rank_and_type(rank: int, dtype: NumericType) -> int:
    """The 8 bytes of a `DLTensor` from `RANK_OFFSET`, as a number; `Unsupported` for types that DLPack packs."""
    code = type_code(dtype)
    if code is None:
        raise Unsupported(f"arrays of {dtype} are read in Python")
    return rank | code << 32 | max(dtype.width, 8) << 40 | 1 << 48
