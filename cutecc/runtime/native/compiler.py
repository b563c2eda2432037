"""From LLVM IR as text to the address of a function, by llvmlite."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from cutecc.runtime.native.errors import Unsupported
from cutecc.support import forks

_lock = forks.lock()
"""LLVM's global context belongs to one thread at a time."""


def compile_function(text: str) -> tuple[object, int]:
    """The engine that owns the code of the module's function `call`, and the function's address.

    Raises `Unsupported` where llvmlite is missing.
    """
    llvm = _llvm()
    with _lock:
        # The code generator alone: LLVM's optimiser, as llvmlite 0.50 runs it, keeps some 100 KiB of each module for
        # ever and takes half of the time, for 10 ns less per call.
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1, jit=True)
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        return engine, engine.get_function_address("call")


@functools.cache
def _llvm() -> Any:
    try:
        llvm: Any = importlib.import_module("llvmlite.binding")
    except (ImportError, OSError) as failure:
        raise Unsupported(f"llvmlite cannot be used: {failure}") from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
