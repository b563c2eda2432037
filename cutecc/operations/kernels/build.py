"""From a description to the kernel object that `cutecc.compile` and `Job` take.

`Job(file=build.FILE, entry=build.entry(description), args=signature.specs(description))` compiles it elsewhere.
"""

from __future__ import annotations

from typing import Any

from cutecc.operations.description import GemmDescription

FILE = __file__
"""The file in whose namespace `entry` is evaluated."""


def build(description: str | bytes) -> Any:
    """The kernel that a description asks for, given as JSON: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    parsed = GemmDescription.from_json(description).compiled()
    match parsed.family:
        case "simt":
            from cutecc.operations.kernels.simt_kernel import SimtGemm

            return SimtGemm(parsed)
        case "sm80":
            from cutecc.operations.kernels.sm80_kernel import Sm80Gemm

            return Sm80Gemm(parsed)
        case "sm90":
            from cutecc.operations.kernels.sm90_kernel import Sm90Gemm

            return Sm90Gemm(parsed)


def entry(description: GemmDescription) -> str:
    """The expression that builds the kernel of a description, for `Job.entry`."""
    return f"build({description.to_json()!r})"
