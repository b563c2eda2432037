"""The device code as LLVM IR, for people and tools that read it.

The bindings translate the lowered module with an LLVM that is newer than any released one. Where it knows an intrinsic
in a form that LLVM 22 does not, the text is mended, and its header says so.
"""

from __future__ import annotations

import re

from cutecc import __version__
from cutecc.errors import ToolError
from cutecc.ir.bindings import load
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.target import Target

_TRIPLE = 'target triple = "nvptx64-nvidia-cuda"'
_SOURCE_FILENAME = re.compile(r'^source_filename = ".*"\n', re.MULTILINE)


def translate(module: ir.Module, target: Target) -> dict[str, str]:
    """The LLVM IR of each `gpu.module` in `module`, by its name; nearly always it is one.

    `module` is the lowered module before code generation, and is left as it was. Raises `ToolError` when an operation
    of another dialect than LLVM's is left.
    """
    return {
        operation.attributes["sym_name"].value: _translate(operation, target)
        for operation in (view.operation for view in module.body.operations)
        if operation.name == "gpu.module"
    }


def _translate(device: ir.Operation, target: Target) -> str:
    name = device.attributes["sym_name"].value
    _check_lowered(device, name)
    # The translation rewrites what it is given: it makes the successors of a branch distinct.
    copy = device.clone(ip=False).operation
    text: str = load()._mlirDialectsLLVM.translate_module_to_llvmir(copy)
    text, mended = mend_tensor_core_calls(text)
    shown = "".join(each if each.isascii() and each.isprintable() and each not in '"\\\\' else "_" for each in name)
    text = _SOURCE_FILENAME.sub(f'source_filename = "{shown}"\\n{_TRIPLE}\\n', text, count=1)
    header = [
        f"The device code of gpu.module @{shown} for {target}, translated by cutecc {__version__}.",
        "This is for reading, with LLVM 22 or newer: libNVVM was given the MLIR module, not this text.",
        "An intrinsic that your LLVM does not know stays a call of an external function.",
    ]
    if mended:
        header.append(
            f"For LLVM 22, calls of tcgen05.mma lost their last argument, collector_b = discard ({mended} of them)."
        )
    return "".join(f"; {line}\n" for line in header) + text


def _check_lowered(device: ir.Operation, name: str) -> None:
    """Raise `ToolError` at the first operation that is not LLVM's: the translation would end the process over it."""

    def check(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.partition(".")[0] in ("llvm", "nvvm") or operation.name == "gpu.module":
            return ir.WalkResult.ADVANCE
        strangers.append(operation)
        return ir.WalkResult.INTERRUPT

    strangers: list[ir.Operation] = []
    with plain_values():
        device.walk(check, ir.WalkOrder.PRE_ORDER)
    if strangers:
        raise ToolError(
            f"gpu.module @{name} cannot be translated to LLVM IR: {strangers[0].name} is left in it",
            location=user_location(strangers[0].location),
        )


_MMA_NAME = r"@(?P<name>llvm\.nvvm\.tcgen05\.mma\.(?!ws)[\w.]+)"
_MMA_DECLARATION = re.compile(rf"^declare void {_MMA_NAME}\((?P<inner>.*)\)(?P<rest>[^()]*)$", re.MULTILINE)
_MMA_CALL = re.compile(rf"call void {_MMA_NAME}\((?P<inner>.*)\)(?P<rest>[^()]*)$", re.MULTILINE)
_DISCARD = re.compile(r"(?:/\*[^*]*\*/ )?i32 0")


def mend_tensor_core_calls(text: str) -> tuple[str, int]:
    """`text` with its calls of `tcgen05.mma` in the form that LLVM 22 knows, and how many calls changed.

    The wheel's LLVM has, as their last argument, the use of the collector buffer for the second operand (collector_b,
    of an architecture to come); LLVM 22's IntrinsicsNVVM.td ends with that for the first. It is dropped where it is 0,
    discard; an intrinsic that is called with another value anywhere keeps it.
    """
    newer = {
        match["name"]
        for match in _MMA_DECLARATION.finditer(text)
        if match["inner"].count("i32 immarg") > _llvm22_immediates(match["name"])
    }
    if not newer:
        return text, 0
    for match in _MMA_CALL.finditer(text):
        if not _DISCARD.fullmatch(_split_last(match["inner"])[1]):
            newer.discard(match["name"])

    def shorten(match: re.Match[str]) -> str:
        if match["name"] not in newer:
            return match[0]
        inner = match["inner"]
        return match[0].replace(f"({inner})", f"({_split_last(inner)[0]})", 1)

    text = _MMA_DECLARATION.sub(shorten, text)
    mended = sum(match["name"] in newer for match in _MMA_CALL.finditer(text))
    return _MMA_CALL.sub(shorten, text), mended


def _llvm22_immediates(name: str) -> int:
    """How many trailing `i32` immediates the intrinsic has in LLVM 22: the kind, the group of blocks, collector_a.

    The group is part of the name where lanes are disabled, the kind where operands are scaled by block.
    """
    return 2 if ".disable_output_lane" in name or ".block_scale" in name else 3


def _split_last(arguments: str) -> tuple[str, str]:
    """All but the last argument, and that one; the last is an immediate without parentheses, except for a range."""
    depth = 0
    for position in range(len(arguments) - 1, -1, -1):
        character = arguments[position]
        depth += (character == ")") - (character == "(")
        if character == "," and depth == 0:
            return arguments[:position], arguments[position + 1 :].strip()
    return "", arguments
