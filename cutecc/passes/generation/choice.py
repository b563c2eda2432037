"""The code generators there are, by name."""

from __future__ import annotations

from typing import Literal

Backend = Literal["llvm", "nvvm"]

PASSES: dict[Backend, str] = {"llvm": "llvm-to-binary", "nvvm": "cuda-to-binary"}
"""The pass that takes the device code out of the module and makes PTX and a cubin of it, by backend."""

CODE_GENERATION = frozenset(PASSES.values())
"""The names of all such passes."""

MISSED_OPTIMISATIONS = "check-llvm"
"""The analysis that tells what LLVM could not do; it is told that while code is generated."""
