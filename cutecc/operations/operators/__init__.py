"""nvidia-cutlass-operators through cutecc, and cutecc's own kernels among its operators: `docs/operators.md`.

Importing this takes the extra `cutecc[operators]` and loads the DSL, a second or two; `UsageError` without the extra.
"""

from __future__ import annotations

from cutecc.operations.operators.compiling import check_support, compile, trace
from cutecc.operations.operators.provider import CuteccProvider
from cutecc.operations.operators.session import CompiledOperator
from cutecc.operations.operators.tensors import Codes, OperandTensor, gemm_arguments, tensor
from cutecc.operations.operators.through import through_cutecc

__all__ = [
    "Codes",
    "CompiledOperator",
    "CuteccProvider",
    "OperandTensor",
    "check_support",
    "compile",
    "gemm_arguments",
    "tensor",
    "through_cutecc",
    "trace",
]
