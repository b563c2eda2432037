"""What kind of work an instruction is."""

from __future__ import annotations

import math
import re
from typing import Literal, get_args

from cutecc.emulator.instructions.form import Form, matrix_types

InstructionClass = Literal[
    "integer",
    "float",
    "special",
    "conversion",
    "move",
    "global",
    "shared",
    "local",
    "parameter",
    "atomic",
    "copy",
    "barrier",
    "warp",
    "matrix",
    "tensor",
    "control",
    "other",
]
CLASSES: tuple[InstructionClass, ...] = get_args(InstructionClass)
"""`special` are the approximations of the special function unit, `copy` asynchronous copies, `parameter` parameters and
constants, `barrier` everything that orders or waits, `warp` what threads of a warp exchange, `tensor` loads, stores and
copies of tensor memory."""

_FLOATS = re.compile(r"(b?f16|f32|f64|tf32)(x2)?|e4m3x2|e5m2x2")
_BY_OPCODE: dict[str, InstructionClass] = {
    **dict.fromkeys(("cvt",), "conversion"),
    **dict.fromkeys(("mov", "cvta", "isspacep", "mapa", "getctarank", "selp", "slct"), "move"),
    **dict.fromkeys(("atom", "red"), "atomic"),
    **dict.fromkeys(("mma", "wgmma", "wmma", "tcgen05"), "matrix"),
    **dict.fromkeys(("bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol"), "barrier"),
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask", "elect"), "warp"),
    **dict.fromkeys(("bra", "brx", "call", "ret", "exit", "trap", "brkpt"), "control"),
    **dict.fromkeys(("nanosleep", "setmaxnreg", "pmevent", "prefetch", "prefetchu", "clusterlaunchcontrol"), "other"),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "tanh"), "special"),
    **dict.fromkeys(("ldmatrix", "stmatrix"), "shared"),
}
_COPY_WAITS = {"commit_group", "wait_group", "wait_all", "mbarrier"}
"""In `cp.async.wait_all`, `cp.async.mbarrier.arrive` and so on."""
_TENSOR_TRANSFERS = {"ld", "st", "cp", "shift"}
"""Of `tcgen05`; others than these and `mma` order, wait, or allocate."""
_APPROXIMATED = {"rcp", "sqrt", "rsqrt", "div"}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WARPS_OF_GROUP = 4


def class_of(form: Form) -> InstructionClass:
    """The class of an instruction of this form."""
    if form.operation in ("ld", "ldu", "st", "wmma.load", "wmma.store"):
        return _class_of_access(form)
    if form.opcode == "cp":
        return "copy" if _COPY_WAITS.isdisjoint(form.modifiers) else "barrier"
    if form.opcode == "wgmma" and not form.has("mma_async"):
        return "barrier"
    if form.opcode == "tcgen05" and not form.has("mma"):
        return "tensor" if form.modifiers[0] in _TENSOR_TRANSFERS else "barrier"
    if found := _BY_OPCODE.get(form.opcode):
        return found
    if form.opcode in _APPROXIMATED and any(each.startswith("approx") for each in form.modifiers):
        return "special"
    return "float" if form.modifiers and _FLOATS.fullmatch(form.type) else "integer"


def _class_of_access(form: Form) -> InstructionClass:
    if form.has("async"):
        return "copy"
    spaces = [each.partition("::")[0] for each in form.modifiers]
    if "shared" in spaces:
        return "shared"
    if "local" in spaces:
        return "local"
    return "parameter" if "param" in spaces or "const" in spaces else "global"


def matrix_kind(form: Form) -> str:
    """What a matrix instruction multiplies: `tcgen05 kind::f16`, `wgmma bf16`, `mma s8`, also `mma.sp f16`."""
    name = form.opcode + (".sp" if _is_sparse(form) else "")
    kind = next((each for each in form.modifiers if each.startswith("kind::")), None)
    # The result's type comes first.
    return f"{name} {kind or matrix_types(form)[1]}"


def _is_sparse(form: Form) -> bool:
    return any(each.split("::")[0] == "sp" for each in form.modifiers)


def matrix_work(form: Form) -> tuple[int, int]:
    """Warps that execute one matrix operation together, and its floating-point (or integer) operations.

    One multiplication and one addition for each product; of sparse operands, for those that are stored. `(1, 0)` for
    all other instructions, and those of `tcgen05`, whose shape is in a register.
    """
    if class_of(form) != "matrix":
        return 1, 0
    shape = next((found for each in form.modifiers if (found := _SHAPE.fullmatch(each))), None)
    if shape is None:
        return 1, 0
    stored = 2 if _is_sparse(form) else 1
    operations = 2 * math.prod(int(size) for size in shape.groups()) // stored
    return (_WARPS_OF_GROUP if form.opcode == "wgmma" else 1), operations
