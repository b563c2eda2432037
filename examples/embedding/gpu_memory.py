"""Vectors on a GPU, with cuda-bindings alone: what kernels take is anything with `__cuda_array_interface__`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import runtime


@dataclass(frozen=True)
class Vector:
    """Elements of f32 in a GPU's memory."""

    address: int
    elements: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.elements,), "typestr": "<f4", "data": (self.address, False)}


class OnGpu:
    """One GPU's memory; everything is freed at the end of the `with` block."""

    def __init__(self, ordinal: int) -> None:
        self._vectors: list[Vector] = []
        _checked(runtime.cudaSetDevice(ordinal))

    def __enter__(self) -> OnGpu:
        return self

    def __exit__(self, *_: object) -> None:
        for vector in self._vectors:
            _checked(runtime.cudaFree(vector.address))

    def copy(self, array: np.ndarray) -> Vector:
        """The same elements on the GPU."""
        vector = Vector(int(_checked(runtime.cudaMalloc(array.nbytes))), array.size)
        self._vectors.append(vector)
        kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        _checked(runtime.cudaMemcpy(vector.address, array.ctypes.data, array.nbytes, kind))
        return vector

    def fetch(self, vector: Vector, array: np.ndarray) -> None:
        """Copy elements back, after the launches before."""
        kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        _checked(runtime.cudaMemcpy(array.ctypes.data, vector.address, array.nbytes, kind))


def _checked(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if int(status):
        raise SystemExit(f"error: CUDA says {status.name}")
    return values[0] if values else None
