"""cutecc: an open compiler driver and pass inspector for CuTe DSL kernels.

The names below load what they need when they are first used, so that `import cutecc` takes milliseconds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself costs more than the rest of this file
if TYPE_CHECKING:
    from typing import Any

    from cutecc.benchmarking.results import Benchmark
    from cutecc.benchmarking.running import benchmark
    from cutecc.compilation.loading import include_path, load
    from cutecc.compilation.request import CompileOptions
    from cutecc.compilation.sweep import Job, compile_many
    from cutecc.driver import compile, compile_module, trace
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.limits import STRICT_LIMITS, Limits
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.errors import (
        ArgumentError,
        EmulatorError,
        Error,
        EstimateError,
        LaunchError,
        LimitError,
        ParseError,
        PassError,
        ProfilingError,
        RecordError,
        SanitizerError,
        SpecError,
        ToolError,
        UsageError,
    )
    from cutecc.estimating.estimate import estimate
    from cutecc.estimating.results import Estimate
    from cutecc.jit_function import jit
    from cutecc.kernel import Kernel, KernelSet
    from cutecc.passes.manager import Observer
    from cutecc.passes.registry import register, register_pipeline
    from cutecc.profiling.profile import Profile, profile
    from cutecc.proving.functions import prove
    from cutecc.proving.proof import Proof
    from cutecc.ptx_kernel import emulate_ptx
    from cutecc.record.compilation import Signature
    from cutecc.report.pair_page import write_pair_report
    from cutecc.report.writing import Report, write_report

__version__ = "0.1.0"

__all__ = [
    "STRICT_LIMITS",
    "ArgumentError",
    "Benchmark",
    "CompileOptions",
    "Emulation",
    "EmulatorError",
    "EmulatorOptions",
    "Error",
    "Estimate",
    "EstimateError",
    "Job",
    "Kernel",
    "KernelSet",
    "LaunchError",
    "LimitError",
    "Limits",
    "Observer",
    "ParseError",
    "PassError",
    "Profile",
    "ProfilingError",
    "Proof",
    "RecordError",
    "Report",
    "SanitizerError",
    "Signature",
    "SpecError",
    "ToolError",
    "UsageError",
    "__version__",
    "benchmark",
    "compile",
    "compile_many",
    "compile_module",
    "emulate_ptx",
    "estimate",
    "include_path",
    "jit",
    "load",
    "profile",
    "prove",
    "register",
    "register_pipeline",
    "trace",
    "write_pair_report",
    "write_report",
]

_HOMES = {
    "Benchmark": "cutecc.benchmarking.results",
    "benchmark": "cutecc.benchmarking.running",
    "compile": "cutecc.driver",
    "compile_module": "cutecc.driver",
    "trace": "cutecc.driver",
    "CompileOptions": "cutecc.compilation.request",
    "Job": "cutecc.compilation.sweep",
    "compile_many": "cutecc.compilation.sweep",
    "ArgumentError": "cutecc.errors",
    "Emulation": "cutecc.emulator.device",
    "EmulatorError": "cutecc.errors",
    "EmulatorOptions": "cutecc.emulator.options",
    "emulate_ptx": "cutecc.ptx_kernel",
    "SanitizerError": "cutecc.errors",
    "Error": "cutecc.errors",
    "Estimate": "cutecc.estimating.results",
    "EstimateError": "cutecc.errors",
    "estimate": "cutecc.estimating.estimate",
    "LaunchError": "cutecc.errors",
    "LimitError": "cutecc.errors",
    "Limits": "cutecc.emulator.limits",
    "STRICT_LIMITS": "cutecc.emulator.limits",
    "ParseError": "cutecc.errors",
    "PassError": "cutecc.errors",
    "ProfilingError": "cutecc.errors",
    "Profile": "cutecc.profiling.profile",
    "profile": "cutecc.profiling.profile",
    "prove": "cutecc.proving.functions",
    "Proof": "cutecc.proving.proof",
    "RecordError": "cutecc.errors",
    "SpecError": "cutecc.errors",
    "ToolError": "cutecc.errors",
    "UsageError": "cutecc.errors",
    "jit": "cutecc.jit_function",
    "Kernel": "cutecc.kernel",
    "KernelSet": "cutecc.kernel",
    "include_path": "cutecc.compilation.loading",
    "load": "cutecc.compilation.loading",
    "Observer": "cutecc.passes.manager",
    "register": "cutecc.passes.registry",
    "register_pipeline": "cutecc.passes.registry",
    "Signature": "cutecc.record.compilation",
    "write_pair_report": "cutecc.report.pair_page",
    "Report": "cutecc.report.writing",
    "write_report": "cutecc.report.writing",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cutecc' has no attribute '{name}'")
    from cutecc.errors import MissingNameError, NotInstalledError

    try:
        return _load(name)
    except NotInstalledError as missing:
        raise MissingNameError(missing.message, hints=missing.hints) from None


def _load(name: str) -> Any:
    """What is called so, from its home. Raises `NotInstalledError`."""
    import importlib

    from cutecc.support.distributions import needed_by

    with needed_by(f"cutecc.{name}", extra="emulator"):
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


class _Elsewhere:
    """Is asked last for a module, after all that find any: says which distribution has one of cutecc's."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package, _, own = name.partition(".")
        if package != "cutecc" or not own:
            return
        if own in _HOMES:
            # `from cutecc import name` looks for a module where there is no attribute, and has nothing to say itself.
            _load(own)
        else:
            from cutecc.support.distributions import refuse_module

            refuse_module(name)


if not os.path.isfile(os.path.join(os.path.dirname(__file__), "driver.py")):
    # The runtime alone. Elsewhere nothing of the process changes.
    sys.meta_path.append(_Elsewhere)
