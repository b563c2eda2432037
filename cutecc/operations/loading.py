"""Reading the file of an operation of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cutecc.operations.any_description import Description
from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.operation import Operation, read_operation

_KINDS: tuple[type[Operation[Any]], ...] = (Gemm, Conv1d, Conv2d, Conv3d, GroupedGemm)


def load(path: str | Path, *, target: str | None = None) -> Any:
    """The operation that `bundle` wrote, a `Gemm` or one of another kind. As `Gemm.load`."""
    description, kernels = read_operation(path, target)
    return kind_of(description).made(description, kernels)


def kind_of(description: Description) -> type[Operation[Any]]:
    """The class of the operations of such descriptions."""
    return next(each for each in _KINDS if each.serves(description))
