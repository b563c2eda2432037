"""Arrays of a GPU that is not there: what each library offers of one, and nothing behind it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cutecc.arguments import dlpack


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for mode in range(len(shape) - 1, 0, -1):
        strides[mode - 1] = strides[mode] * max(shape[mode], 1)
    return tuple(strides)


@dataclass(frozen=True)
class Device:
    type: str
    index: int | None


class TorchLike:
    """What a torch tensor offers."""

    def __init__(
        self,
        dtype: str,
        shape: tuple[int, ...],
        stride: tuple[int, ...] | None = None,
        address: int = 0x10000,
        device: str = "cuda:0",
    ) -> None:
        kind, _, index = device.partition(":")
        self.dtype, self.shape, self.device = f"torch.{dtype}", shape, Device(kind, int(index) if index else None)
        self._stride = row_major(shape) if stride is None else stride
        self._address = address

    def stride(self) -> tuple[int, ...]:
        return self._stride

    def data_ptr(self) -> int:
        return self._address


class TorchOnGpu(TorchLike):
    """One on `cuda:0`, with all that a call looks at."""

    is_cuda = True

    def get_device(self) -> int:
        return 0

    def is_contiguous(self) -> bool:
        return True


TorchOnGpu.__module__ = "torch"


class InterfaceArray:
    """What has `__cuda_array_interface__`."""

    def __init__(self, dtype: str, shape: tuple[int, ...], address: int = 0x20000, **interface: Any) -> None:
        self.dtype, self.shape = np.dtype(dtype), shape
        data = {"shape": shape, "typestr": self.dtype.str, "data": (address, False), "version": 3}
        self.__cuda_array_interface__ = {**data, **interface}


class CupyLike(InterfaceArray):
    """What a cupy array offers besides."""

    def __init__(self, dtype: str, shape: tuple[int, ...], address: int = 0x20000, **interface: Any) -> None:
        super().__init__(dtype, shape, address, **interface)
        self.device = type("Device", (), {"id": 0})()


CupyLike.__module__ = "cupy"


class _Legacy(ctypes.Structure):
    _fields_: ClassVar = [("tensor", dlpack._Tensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DlpackArray:
    """What has `__dlpack__`; remembers what it was asked, and how many exports were given back."""

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        *,
        code: int = 2,
        bits: int = 32,
        lanes: int = 1,
        address: int = 0x30000,
        byte_offset: int = 0,
        device: tuple[int, int] = (dlpack.CUDA, 0),
        version: tuple[int, int] | None = (1, 0),
    ) -> None:
        self.streams: list[int | None] = []
        self.given_back = 0
        self._device, self._version = device, version
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        tensor = dlpack._Tensor(address, *device, len(shape), code, bits, lanes)
        tensor.shape, tensor.byte_offset = self._shape, byte_offset
        if self._strides is not None:
            tensor.strides = self._strides
        if version is None:
            self._managed: ctypes.Structure = _Legacy(tensor, None, None)
        else:
            self._managed = dlpack._Versioned(*version, None, None, 0, tensor)
        self._destructor: Callable[..., None] = _Destructor(self._release)

    def _release(self, capsule: int) -> None:
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: int | None = None, **options: object) -> object:
        if options and self._version is None:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        name = b"dltensor" if self._version is None else b"dltensor_versioned"
        new: Any = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = (ctypes.c_void_p, ctypes.c_char_p, _Destructor), ctypes.py_object
        return new(ctypes.addressof(self._managed), self._keep(name), self._destructor)

    def _keep(self, name: bytes) -> ctypes.c_char_p:
        self._name = ctypes.c_char_p(name)  # the capsule does not copy it
        return self._name
