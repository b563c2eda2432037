"""The named pipeline `open`: from cute to code by passes that can be read."""

from __future__ import annotations

import functools

from cutecc.ir.version import installed_release
from cutecc.passes.base import Pass
from cutecc.passes.generation.backends import llvm_generation
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.pipeline import Pipeline, parse_pass

_SET_TARGET = "set-target"
"""Stands for the pass that the installed release has for it."""
_FROM_CUTE = (
    # What nobody uses, and what is computed twice: much of a trace is both. Fragments only look as if they were. It
    # goes from the top, so that what only such operations used is found in the next turn.
    "number-fragments",
    "cse",
    "cse",
    "cse",
    "inline-static-arguments",
    # The algebra: layouts, tensors and tilings become pointers, and numbers that `arith` computes.
    "unfold-layouts",
    "unfold-tensors",
    # Layouts were said again and again: what all others look at gets fewer.
    "cse",
    "partition-tiles",
    "lower-tma-descriptors",
    "lower-matrix-descriptors",
    "lower-tensor-memory",
    "lower-atom-fields",
    # Copies and products become loops over atoms, printed tensors loops over elements, and atoms instructions.
    "expand-copies",
    "cse",
    "expand-gemms",
    "expand-printing",
    "lower-atoms",
    # Memory: registers, shared memory, single elements, pointers.
    "allocate-registers",
    "place-shared-memory",
    "lower-element-accesses",
    "registers-to-vectors",
    "lower-pointers",
    # The rest of the dialect.
    "lower-comparisons",
    "lower-fast-division",
    "lower-printing",
    "lower-assertions",
    # Parameters, launches, and what loops carry. Nothing of CuTe is left.
    "lower-cute-types",
)
"""Ours, in order."""

_TO_LLVM = (
    "bound-thread-ids",
    "canonicalize",
    "cse",
    # Now that loops carry only what they change.
    "pipeline-tma-loops",
    "unroll-register-loops",
    "arith-expand",
    "loop-invariant-code-motion",
    "unroll-convergent-loops",
    _SET_TARGET,
    "convert-fastmath-ops",
    "strip-iket-ops",
    "lower-conversions",
    "legalize-llvm-types",
    # Here the host function is read.
    "core-to-llvm-prepare",
    "convert-scf-to-cf",
    "one-shot-convert-to-llvm",
    "canonicalize",
    "cse",
    "reconcile-unrealized-casts",
    "ensure-debug-info-scope-on-llvm-func",
    "llvm-to-binary",
    "cuda-to-llvm",
    "reconcile-unrealized-casts",
    "cuda-error-handling",
)
"""Conversions between MLIR's own dialects, as `nvidia` has them, LLVM, and the last of the host function."""

_FOR_CHIP = ("lower-atoms", "lower-conversions")
"""Those that write instructions which not all chips have."""


@functools.lru_cache(maxsize=64)
def open_pipeline(
    target: str, options: WheelOptions = WheelOptions(), *, lir: bool = False, pyir: bool = False
) -> Pipeline:
    """The passes of `open` for the chip `target`; with `lir` and `pyir`, the wheel's own for these dialects first.

    Raises `UnsupportedVersionError` when the installed wheel has no such pipeline or option.
    """
    nvidia = nvidia_pipeline(target, options, lir=lir, pyir=pyir)
    configured = {pass_.name: pass_ for pass_ in nvidia}
    prefix = nvidia.passes[: nvidia.position("cute-remove-static-args")]

    def chosen(name: str) -> list[Pass]:
        if name == "ensure-debug-info-scope-on-llvm-func" and name not in configured:
            # Only with line information.
            return []
        if name == _SET_TARGET:
            name = installed_release().sets_target
        if name == "llvm-to-binary":
            return [llvm_generation(options)]
        return [configured[name] if name in configured else parse_pass(_with_options(name, target, options))]

    ours = [parse_pass(_with_options(name, target, options)) for name in _FROM_CUTE]
    return Pipeline((*prefix, *ours, *(pass_ for name in _TO_LLVM for pass_ in chosen(name))))


def _with_options(name: str, target: str, options: WheelOptions) -> str:
    if name in _FOR_CHIP:
        return f"{name}{{chip={target}}}"
    return f"{name}{{check=true}}" if name == "lower-assertions" and options.enable_assertions else name
