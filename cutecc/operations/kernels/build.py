"""From a description of any kind to the kernel object that `cutecc.compile` and `Job` take.

`Job(file=build.FILE, entry=build.entry(description), args=build.specs(description))` compiles it elsewhere. Kernels of
a GEMM are the files here. Those of other kinds are in a package of their own, such as `kernels/convolution`: its module
`signature` has `specs(description)`, which needs no DSL, and its module `build` has `kernel(description)`; both get
what is compiled.
"""

from __future__ import annotations

import importlib
from typing import Any

from cutecc.operations.any_description import Description, from_json
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import signature

FILE = __file__
"""The file in whose namespace `entry` is evaluated."""


def build(description: str | bytes) -> Any:
    """The kernel that a description asks for, given as JSON: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    parsed = from_json(description).compiled()
    if not isinstance(parsed, GemmDescription):
        return _module(parsed, "build").kernel(parsed)
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


def entry(description: Description) -> str:
    """The expression that builds the kernel of a description, for `Job.entry`."""
    return f"build({description.to_json()!r})"


def specs(description: Description) -> dict[str, str]:
    """The argument spec of each parameter of the kernel, in their order: what `cutecc.compile` takes, and `Job.args`.

    `multiprocessors`, `workspace` and `stream` are those of every kind; `none` where a kernel does not take one.
    """
    if isinstance(description, GemmDescription):
        return signature.specs(description)
    compiled = description.compiled()
    return _module(compiled, "signature").specs(compiled)


def _module(description: Description, name: str) -> Any:
    package = "convolution" if isinstance(description, ConvolutionDescription) else "grouped"
    # Not relative to this file, which is also run by its path.
    return importlib.import_module(f"cutecc.operations.kernels.{package}.{name}")
