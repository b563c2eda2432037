# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The regions of a workspace as tensors."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.workspace import ALIGNMENT, regions


def region(
    description: GemmDescription, workspace, problem, slices, name: str, dtype: type[cutlass.Numeric]
) -> cute.Tensor:
    """The region called `name` of the workspace of a launch, as a vector of `dtype`."""
    m, n, k, batches = (cutlass.Int64(size) for size in problem[:4])
    count = cutlass.Int64(1 if slices is None else slices)
    found = next(each for each in regions(description, m, n, k, batches, count) if each.name == name)
    pointer = cute.recast_ptr((workspace.iterator + found.offset).align(ALIGNMENT), dtype=dtype)
    return cute.make_tensor(pointer, cute.make_layout((found.bytes // (dtype.width // 8),)))
