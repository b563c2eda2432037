"""The device code as LLVM IR, for people and tools that read it.

The bindings translate the lowered module with an LLVM that is newer than any released one. Where it knows an intrinsic
in a form that LLVM 22 does not, the text is mended, and its header says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cutecc import __version__
from cutecc.backend.llvm.tensor_core_calls import mend_tensor_core_calls
from cutecc.backend.llvm.translation import to_llvm_ir
from cutecc.ir.mlir import ir
from cutecc.target import Target

_TRIPLE = 'target triple = "nvptx64-nvidia-cuda"'
_SOURCE_FILENAME = re.compile(r'^source_filename = ".*"\n', re.MULTILINE)


def translate(module: ir.Module, target: Target, given: Callable[[ir.Operation], str] | None = None) -> dict[str, str]:
    """The LLVM IR of each `gpu.module` in `module`, by its name; nearly always it is one.

    Where LLVM generates the code, `given` makes of a `gpu.module` the text that it does so from. `module` is the
    lowered module before code generation, and is left as it was. Raises `ToolError` when an operation of another
    dialect than LLVM's is left.
    """
    return {
        operation.attributes["sym_name"].value: _translate(operation, target, given)
        for operation in (view.operation for view in module.body.operations)
        if operation.name == "gpu.module"
    }


def _translate(device: ir.Operation, target: Target, given: Callable[[ir.Operation], str] | None) -> str:
    name = device.attributes["sym_name"].value
    shown = "".join(each if each.isascii() and each.isprintable() and each not in '"\\\\' else "_" for each in name)
    header = [f"The device code of gpu.module @{shown} for {target}, translated by cutecc {__version__}."]
    if given:
        text = given(device)
        header.append("The code was generated from this, by LLVM 22 with -nvptx-short-ptr.")
    else:
        text, mended = mend_tensor_core_calls(to_llvm_ir(device.clone(ip=False).operation))
        header += [
            "This is for reading, with LLVM 22 or newer: libNVVM was given the MLIR module, not this text.",
            "An intrinsic that your LLVM does not know stays a call of an external function.",
        ]
        if mended:
            header.append(
                f"For LLVM 22, calls of tcgen05.mma lost their last argument, collector_b = discard ({mended} of them)."
            )
    text = _SOURCE_FILENAME.sub(f'source_filename = "{shown}"\\n{_TRIPLE}\\n', text, count=1)
    return "".join(f"; {line}\n" for line in header) + text
