"""CUDA streams of any library as `CUstream` integers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from cutecc.errors import ArgumentError

_BOUND_TYPES = ("CUstream", "cudaStream_t")
"""Of cuda.bindings: they convert to `int`."""


def read_stream(value: Any) -> int:
    """The `CUstream` of a stream, in the order that is tried: an integer (0 is the legacy default stream, 1 and 2 are
    CUDA's names for the legacy and the per-thread one), torch's `.cuda_stream`, `__cuda_stream__()`, `CUstream` and
    `cudaStream_t` of cuda.bindings, cupy's `.ptr`, numba's `.handle`.

    Raises `ArgumentError` for anything else.
    """
    stream = find_stream(value)
    if stream is None:
        raise ArgumentError(
            f"a {type(value).__module__}.{type(value).__qualname__} is no CUDA stream",
            hints=["a stream is an int, a stream of torch, cupy, numba or cuda.bindings, or has __cuda_stream__"],
        )
    return stream


def find_stream(value: Any) -> int | None:
    """As `read_stream`, but `None` for what is no stream."""
    stream = _handle(value)
    return stream if stream is not None and 0 <= stream < 1 << 64 else None


def _handle(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(stream := getattr(value, "cuda_stream", None), int):
        return stream
    protocol: Any = getattr(value, "__cuda_stream__", None)
    if callable(protocol):
        version, stream = cast("tuple[int, Any]", protocol())
        if version != 0:
            raise ArgumentError(f"a stream with version {version} of the __cuda_stream__ protocol; cutecc reads 0")
        return int(stream)
    if type(value).__name__ in _BOUND_TYPES:
        return int(value)
    if type(value).__module__.split(".")[0] == "cupy" and isinstance(stream := getattr(value, "ptr", None), int):
        return stream
    if type(value).__module__.split(".")[0] == "numba":
        return _numba_stream(value)
    return None


def stream_device(value: Any) -> int | None:
    """The CUDA ordinal of the device that a stream belongs to, where its library says so."""
    for name in ("device_index", "device_id"):
        ordinal = getattr(value, name, None)
        if isinstance(ordinal, int) and not isinstance(value, int) and ordinal >= 0:
            return ordinal
    return None


def current_stream(library: str | None, device: int) -> Callable[[], int]:
    """What gives the current stream of a device in `library`, `torch` or `cupy`, each time it is called.

    Neither is imported: a library that is not loaded, or that was built without CUDA, and any other has the legacy
    default stream, 0. Of torch it is `torch.cuda.current_stream(device)`, of the calling thread.
    """
    module: Any = sys.modules.get(library) if library in ("torch", "cupy") else None
    if library == "torch" and (current := getattr(getattr(module, "_C", None), "_cuda_getCurrentRawStream", None)):
        return partial(current, device)
    if library == "cupy" and module is not None:
        get: Any = module.cuda.get_current_stream
        return lambda: get(device).ptr
    return lambda: 0


def _numba_stream(value: Any) -> int | None:
    """Numba's handle is a `c_void_p`, a `CUstream` or an integer, by its version and binding."""
    handle = getattr(value, "handle", None)
    handle = getattr(handle, "value", handle) or 0
    try:
        return int(handle)
    except (TypeError, ValueError):
        return None
