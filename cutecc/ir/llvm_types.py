"""Types of MLIR's `llvm` dialect, whose stubs tell of operations only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from cutecc.ir.mlir import ir, llvm

_types = cast("Any", llvm)


def pointer(space: int = 0) -> ir.Type:
    """`!llvm.ptr`, in an address space by LLVM's number."""
    return _types.PointerType.get(space)


def struct(members: Sequence[ir.Type]) -> ir.Type:
    """`!llvm.struct`, without a name."""
    return _types.StructType.get_literal(list(members))
