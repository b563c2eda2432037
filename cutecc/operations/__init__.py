"""Ready operations: products and convolutions described, found, compiled by cutecc and launched (`docs/operations.md`).

The names below load what they need when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself costs more than the rest of this file
if TYPE_CHECKING:
    from typing import Any

    from cutecc.operations.autotuning import autotune
    from cutecc.operations.candidates import gemm_descriptions, tile_descriptions
    from cutecc.operations.convolution.description import ConvolutionDescription
    from cutecc.operations.convolution.functional import conv2d, conv3d, conv_transpose2d
    from cutecc.operations.convolution.geometry import ConvolutionProblem
    from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d
    from cutecc.operations.description import GemmDescription
    from cutecc.operations.device_memory import allocated_bytes, set_pool_size, set_release_threshold
    from cutecc.operations.discovery import Found, find, supports
    from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
    from cutecc.operations.epilogue.graph import Epilogue
    from cutecc.operations.gemm import Gemm
    from cutecc.operations.grouped.description import GroupedDescription
    from cutecc.operations.grouped.functional import grouped_mm
    from cutecc.operations.grouped.lists import GroupMatrices
    from cutecc.operations.grouped.operation import GroupedGemm
    from cutecc.operations.instruction import MathInstruction
    from cutecc.operations.loading import load
    from cutecc.operations.operand import Operand
    from cutecc.operations.operation import compile_all
    from cutecc.operations.operators import compile as compile
    from cutecc.operations.operators import through_cutecc as through_cutecc
    from cutecc.operations.status import Status
    from cutecc.operations.tile import TileDescription
    from cutecc.operations.torch_library import torch_operator
    from cutecc.operations.tuning_results import Tuning
    from cutecc.operations.views import DeviceMatrix, MatrixArray

__all__ = [
    "Column",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvolutionDescription",
    "ConvolutionProblem",
    "DeviceMatrix",
    "Epilogue",
    "Found",
    "Full",
    "Gemm",
    "GemmDescription",
    "GroupMatrices",
    "GroupedDescription",
    "GroupedGemm",
    "MathInstruction",
    "MatrixArray",
    "Operand",
    "Row",
    "Scalar",
    "Status",
    "TileDescription",
    "Tuning",
    "allocated_bytes",
    "autotune",
    "compile_all",
    "conv2d",
    "conv3d",
    "conv_transpose2d",
    "find",
    "gemm_descriptions",
    "grouped_mm",
    "load",
    "set_pool_size",
    "set_release_threshold",
    "supports",
    "tile_descriptions",
    "torch_operator",
]
"""All but what takes the extra `cutecc[operators]`, and torch: `from cutecc.operations import *` needs neither."""

_HOMES = {
    "Column": "epilogue.declarations",
    "Conv1d": "convolution.operation",
    "Conv2d": "convolution.operation",
    "Conv3d": "convolution.operation",
    "ConvolutionDescription": "convolution.description",
    "ConvolutionProblem": "convolution.geometry",
    "DeviceMatrix": "views",
    "Epilogue": "epilogue.graph",
    "Found": "discovery",
    "Full": "epilogue.declarations",
    "Gemm": "gemm",
    "GemmDescription": "description",
    "GroupMatrices": "grouped.lists",
    "GroupedDescription": "grouped.description",
    "GroupedGemm": "grouped.operation",
    "MathInstruction": "instruction",
    "MatrixArray": "views",
    "Operand": "operand",
    "Row": "epilogue.declarations",
    "Scalar": "epilogue.declarations",
    "Status": "status",
    "TileDescription": "tile",
    "Tuning": "tuning_results",
    "allocated_bytes": "device_memory",
    "autotune": "autotuning",
    "compile": "operators",
    "compile_all": "operation",
    "conv2d": "convolution.functional",
    "conv3d": "convolution.functional",
    "conv_transpose2d": "convolution.functional",
    "find": "discovery",
    "gemm_descriptions": "candidates",
    "grouped_mm": "grouped.functional",
    "load": "loading",
    "set_pool_size": "device_memory",
    "set_release_threshold": "device_memory",
    "supports": "discovery",
    "through_cutecc": "operators",
    "tile_descriptions": "candidates",
    "torch_operator": "torch_library",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cutecc.operations' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"cutecc.operations.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
