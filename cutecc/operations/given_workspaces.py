"""Workspaces that a call is given."""

from __future__ import annotations

from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import read
from cutecc.operations.kernels.workspace import ALIGNMENT
from cutecc.operations.views import View
from cutecc.runtime.checks import array_text


def given_workspace(value: Any, needed: int, device: str) -> View:
    """`needed` bytes of the array that a workspace is, for a call that runs on `device`, `cuda` or `cpu`.

    Raises `ArgumentError` for what is no array, and for one that lives elsewhere, is read-only, too small, not aligned,
    or not in one piece.
    """
    array = cast(Array, read("workspace", value))
    if array.device != device:
        runs = "the CPU emulator" if device == "cpu" else "a CUDA device"
        raise ArgumentError(f"the workspace lives on {array.place}, and this call runs on {runs}")
    dtype = find_numeric_type(array.dtype)
    size = dtype.width // 8 if dtype else 1
    reach = 1
    for extent, step in zip(reversed(array.shape), reversed(array.stride), strict=True):
        if extent > 1 and step != reach:
            raise ArgumentError(f"the workspace {array_text(array)} has gaps")
        reach *= extent
    if size * reach < needed:
        raise ArgumentError(
            f"the workspace has {size * reach:,} bytes, and this call needs {needed:,}",
            hints=["op.workspace_bytes(A, B, C, D) says how many"],
        )
    if array.address % ALIGNMENT:
        raise ArgumentError(f"the workspace at {array.address:#x} is not aligned to {ALIGNMENT} bytes")
    if array.readonly:
        raise ArgumentError("the workspace is written, and its array is read-only")
    return View(array, "u8", (needed,), (1,))
