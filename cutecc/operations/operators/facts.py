"""The metadata of an operator as plain facts with uniform keys, for tables, filters and JSON."""

# pyright: basic

from __future__ import annotations

import dataclasses
import re
from typing import Any

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.operations.gemm_problem import Major
from cutecc.operations.metadata_filter import Fact

_EXTENTS = "mnk"


def facts_of(metadata: Any) -> dict[str, Fact]:
    """What an `OperatorMetadata` says.

    Of every operator `name`, `class`, `provider`, `targets`, `epilogue`; of each operand `a`, `b`, `out` its `.dtype`,
    `.layout` and `.alignment` in bytes, and `accumulator`; of its design `instruction`, `tile`, `tile.m` and so on,
    `cluster`, `stages`, and whatever else the design says, by the package's name for it. What an operator does not say
    is `None`, or is not there.
    """
    found: dict[str, Fact] = {
        "name": metadata.operator_name,
        "class": metadata.operator_class.__name__,
        "provider": _provider(metadata),
        "targets": " ".join(f"sm_{target}" for target in metadata.supported_targets),
    }
    for role in ("A", "B", "out"):
        if (operand := getattr(metadata.operands, role, None)) is not None:
            found |= _operand(role.lower(), getattr(operand, "quantized", operand))
    if (accumulator := getattr(metadata.operands, "accumulator_type", None)) is not None:
        found["accumulator"] = type_name(accumulator)
    if metadata.design is not None:
        found |= _design(metadata.design)
    found["epilogue"] = metadata.epilogue is not None
    return found


def type_name(numeric: Any) -> str:
    """cutecc's name of a numeric class of the DSL."""
    dtype = find_numeric_type(numeric.__name__)
    return dtype.name if dtype else numeric.__name__


def layout_of(stride: tuple[int, ...] | None) -> Major | None:
    """The layout that strides ask for, of which one is 1; `None` for any."""
    return None if stride is None else "row" if stride[-1] == 1 else "column"


def _provider(metadata: Any) -> str:
    from cutecc.operations.operators.package import ops

    provider = getattr(metadata.operator_class, "_provider", None)
    return next((name for name, each in ops.available_providers.items() if each is provider), "none")


def _operand(role: str, operand: Any) -> dict[str, Fact]:
    return {
        f"{role}.dtype": type_name(operand.dtype),
        f"{role}.layout": layout_of(operand.stride),
        f"{role}.alignment": operand.ptr_alignment_bytes,
    }


def _design(design: Any) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for each in dataclasses.fields(design):
        value = getattr(design, each.name)
        key = _KEYS.get(each.name, each.name)
        if isinstance(value, tuple) and all(isinstance(size, int) for size in value):
            found[key] = "x".join(map(str, value))
            found |= {f"{key}.{name}": size for name, size in zip(_EXTENTS, value, strict=False)}
        elif value is None or isinstance(value, str | int | bool):
            found[key] = value
        elif isinstance(value, type):
            found[key] = value.__name__
        else:
            found[key] = re.sub(r"Metadata$", "", type(value).__name__)
    return found


_KEYS = {
    "mma_instruction_type": "instruction",
    "tile_shape": "tile",
    "cluster_shape": "cluster",
    "num_smem_stages": "stages",
}
