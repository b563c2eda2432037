"""The contexts of this process, through the CUDA driver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutecc.runtime.cuda_bindings import describe_status, load_bindings
from cutecc.runtime.driver import failure


def driver_version() -> int:
    """13000 for CUDA 13.0. Nothing is initialised. Raises `LaunchError` where there is no driver."""
    import importlib

    try:
        cuda: Any = importlib.import_module("cuda.bindings.driver")
        return int(_do(cuda, "cuDriverGetVersion"))
    except (ImportError, RuntimeError, OSError):
        load_bindings()  # which says what is missing
        raise


def active_contexts() -> list[int]:
    """The primary contexts that are in use, and the current one. Raises `LaunchError` where there is no driver."""
    cuda = load_bindings()
    current = int(_do(cuda, "cuCtxGetCurrent"))
    found = [current] if current else []
    for ordinal in range(_do(cuda, "cuDeviceGetCount")):
        device = _do(cuda, "cuDeviceGet", ordinal)
        _flags, is_active = _do(cuda, "cuDevicePrimaryCtxGetState", device)
        if is_active:
            found.append(int(_do(cuda, "cuDevicePrimaryCtxRetain", device)))
            _do(cuda, "cuDevicePrimaryCtxRelease", device)
    return [*dict.fromkeys(found)]


def synchronize(contexts: Iterable[int]) -> None:
    """Wait for all kernels in these contexts. Raises `LaunchError` for one that has failed."""
    cuda = load_bindings()
    for context in contexts:
        _do(cuda, "cuCtxPushCurrent", cuda.CUcontext(context))
        try:
            _do(cuda, "cuCtxSynchronize")
        finally:
            _do(cuda, "cuCtxPopCurrent")


def describe_device(context: int | None) -> tuple[str, tuple[int, int]]:
    """The name and compute capability of a context's GPU; without a context, of the first one."""
    cuda = load_bindings()
    if context is None:
        device = _do(cuda, "cuDeviceGet", 0)
    else:
        _do(cuda, "cuCtxPushCurrent", cuda.CUcontext(context))
        try:
            device = _do(cuda, "cuCtxGetDevice")
        finally:
            _do(cuda, "cuCtxPopCurrent")
    name = bytes(_do(cuda, "cuDeviceGetName", 256, device)).split(b"\0")[0].decode(errors="replace").strip()
    kinds = cuda.CUdevice_attribute
    major = _do(cuda, "cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
    minor = _do(cuda, "cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
    return name, (int(major), int(minor))


def _do(cuda: Any, name: str, *arguments: Any) -> Any:
    status, *results = getattr(cuda, name)(*arguments)
    if int(status):
        raise failure(f"{name} failed", int(status), describe_status(cuda, int(status)))
    return results[0] if len(results) == 1 else tuple(results)
