"""The MLIR Python bindings, as the wheel ships them; the neighbouring `.pyi` files give them types.

`ir`, `passmanager`, `rewrite`, and by their names the dialects: `arith`, `cute`, `llvm`, `scf` … Each loads when it is
first asked for.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from cutecc.ir.bindings import load_submodule

ir = load_submodule("ir")

_CORE = ("passmanager", "rewrite")


def __getattr__(name: str) -> Any:
    module = name if name in _CORE else f"dialects.{name}"
    if name.startswith("_") or importlib.util.find_spec(f"cutlass._mlir.{module}") is None:
        raise AttributeError(f"module 'cutecc.ir.mlir' has no attribute '{name}'")
    value = globals()[name] = load_submodule(module)
    return value
