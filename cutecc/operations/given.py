"""What a call of a product was given, and the workspace among it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import read
from cutecc.operations.kernels.workspace import ALIGNMENT
from cutecc.operations.views import View
from cutecc.runtime.checks import array_text


@dataclass(slots=True)
class Given:
    """What a call was given, before anything is known about it."""

    arguments: dict[str, Any]
    """A, B and the epilogue's operands by name: arrays and numbers, `None` for one that was left out."""
    stream: Any = None
    workspace: Any = None
    settings: Hashable = None
    """What else decides how it is launched: the slices of a GEMM."""


def given_workspace(value: Any, needed: int, device: str, alignment: int = ALIGNMENT) -> View:
    """`needed` bytes of the array that a workspace is, for a call that runs on `device`, `cuda` or `cpu`.

    Raises `ArgumentError` for what is no array, and for one that lives elsewhere, is read-only, too small, not aligned,
    or not in one piece.
    """
    array = cast(Array, read("workspace", value))
    if array.device != device:
        runs = "the CPU emulator" if device == "cpu" else "a CUDA device"
        raise ArgumentError(f"the workspace lives on {array.place}, and this call runs on {runs}")
    reach = 1
    for extent, step in zip(reversed(array.shape), reversed(array.stride), strict=True):
        if extent > 1 and step != reach:
            raise ArgumentError(f"the workspace {array_text(array)} has gaps")
        reach *= extent
    if (size := array.itemsize * reach) < needed:
        raise ArgumentError(
            f"the workspace has {size:,} bytes, and this call needs {needed:,}",
            hints=["op.workspace_bytes, with the arguments of the call, says how many"],
        )
    if array.address % alignment:
        raise ArgumentError(f"the workspace at {array.address:#x} is not aligned to {alignment} bytes")
    if array.readonly:
        raise ArgumentError("the workspace is written, and its array is read-only")
    return View(array, "u8", (needed,), (1,))
