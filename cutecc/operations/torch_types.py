"""torch where it is installed, and its names of the types of results."""

from __future__ import annotations

import importlib
from typing import Any

from cutecc.errors import UsageError

TYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
}


def import_torch() -> Any:
    """The module. Raises `UsageError` where it cannot be imported."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise UsageError(f"torch cannot be imported: {error}", hints=["pip install 'cutecc[torch]'"]) from None
