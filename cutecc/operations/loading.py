"""Reading the file of an operation of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.operation import Operation, read_operation

_KINDS: tuple[type[Operation[Any]], ...] = (Gemm, Conv1d, Conv2d, Conv3d, GroupedGemm)


def load(path: str | Path, *, target: str | None = None) -> Any:
    """The operation that `bundle` wrote, a `Gemm` or one of another kind. As `Gemm.load`."""
    description, kernels = read_operation(path, target)
    kind = next(each for each in _KINDS if each.serves(description))
    return kind.made(description, kernels)
