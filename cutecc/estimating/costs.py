"""What an instruction of PTX costs in SASS: places in the issue of its warp, time of a pipe, cycles to its result.

`ptxas` makes one instruction of most arithmetic, none of moves and conversions of addresses, and several of divisions
and of integers of 64 bits. Which pipe an instruction takes is that of a multiprocessor of capability 9.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cutecc.emulator.checks.registers import accumulators_of, guard_of, uses_of
from cutecc.emulator.counters.classes import matrix_kind, matrix_work
from cutecc.estimating.devices import SCHEDULERS
from cutecc.ptx.syntax import Special, Symbol

if TYPE_CHECKING:
    from cutecc.emulator.checks.registers import Use
    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program
    from cutecc.estimating.devices import Device

Kind = Literal[
    "compute", "load", "store", "shared", "copy", "commit", "wait", "barrier", "arrive_barrier", "init", "arrive",
    "arrive_expect", "expect",
    "mwait", "product", "commit_products", "wait_products", "bulk_load", "bulk_store", "commit_bulk", "wait_bulk",
    "fence", "cluster_arrive", "cluster_wait", "copy_arrive",
]  # fmt: skip
PIPES = ("alu", "fma", "xu", "fp64", "tensor")
"""Of which each of the four schedulers has its own."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one instruction, for each warp that executes it."""

    kind: Kind
    slots: float
    """Cycles of its scheduler."""
    pipe: int
    """By the place in `PIPES`; -1 for none."""
    busy: float
    """Cycles of the pipe."""
    latency: float
    """Cycles from its issue to its result."""
    reads: tuple[int, ...]
    """Registers, by slot."""
    writes: tuple[int, ...]
    number: int = 0
    """Of a wait, how many groups may be left; of a bulk store, whether it adds to what is there."""
    is_cached: bool = True
    """Whether a load looks into the L1 cache."""
    line: int | None = None
    """Of the source."""
    is_fork: bool = False
    """Whether it may jump over more than `ptxas` makes predicated."""
    wavefronts: float = 0.0
    """Of shared memory, that a product takes for each warp."""


def _wavefronts(form: Form) -> float:
    """A quarter of those by which the operands of a warpgroup's product are read, 32 bytes of each row."""
    shape = next(each for each in form.modifiers if each.startswith("m64n"))
    columns = int(shape[4:].partition("k")[0])
    return (columns + 64) * 32 / 128 / 4


_CONSTANT = 30.0
"""Cycles of a load from constant memory, and of a special register."""
_FREE = ("mov", "cvta", "prefetch", "pragma", "isspacep", "setmaxnreg", "prefetchu", "fence", "griddepcontrol")
_APPROXIMATE = ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt")
_WIDE = ("u64", "s64", "b64")


def costs_of(program: Program, device: Device) -> list[Cost]:
    """Of each instruction of a program."""
    first: dict[int, int] = {}
    for each in program.operations:
        first.setdefault(id(each.scope), each.index)
    return [
        _cost(each, use, device, each.index - first[id(each.scope)])
        for each, use in zip(program.operations, uses_of(program), strict=True)
    ]


_PREDICATED = 12
"""Instructions that a branch jumps over, up to which they are predicated instead."""


def _is_fork(operation: Operation, place: int) -> bool:
    if operation.form.opcode not in ("bra", "brx"):
        return False
    labels = operation.scope.function.labels
    targets = [labels[each.name] for each in operation.operands if isinstance(each, Symbol) and each.name in labels]
    return not targets or any(target - place > _PREDICATED for target in targets)


def _cost(operation: Operation, use: Use, device: Device, place: int) -> Cost:
    kind, slots, pipe, busy, latency = _of_form(operation, device)
    form, location = operation.form, operation.instruction.location
    number = 0
    if kind in ("wait", "wait_products", "wait_bulk") and operation.operands:
        number = operation.constant(operation.operands[0])
    if kind == "bulk_store":
        number = int(form.modifiers[0] == "reduce")
    return Cost(
        kind,
        slots,
        -1 if pipe is None else PIPES.index(pipe),
        busy,
        latency,
        tuple(use.reads | guard_of(operation) | accumulators_of(operation)),
        tuple(use.writes),
        number,
        not any(each in ("cg", "cv", "volatile", "acquire", "relaxed") for each in form.modifiers),
        location.line if location else None,
        _is_fork(operation, place),
        _wavefronts(form) if kind == "product" else 0.0,
    )


_Costs = tuple[Kind, float, str | None, float, float]
_ROUNDED: _Costs = ("compute", 9.0, "xu", 16.0, 60.0)
"""A division or root of f32 to the last bit: an approximation, the steps that correct it, and a branch not taken."""


def _of_form(operation: Operation, device: Device) -> _Costs:
    form = operation.form
    opcode = form.opcode
    if opcode == "mov" and any(isinstance(each, Special) for each in operation.operands):
        return "compute", 1.0, None, 0.0, _CONSTANT
    if opcode in _FREE:
        return "fence" if opcode == "fence" else "compute", 0.0, None, 0.0, 0.0
    return _FAMILIES.get(opcode, _of_arithmetic)(form, device)


def _of_exchange(form: Form, device: Device) -> _Costs:
    """Between the threads of a warp."""
    if form.opcode == "shfl":
        return "shared", 1.0, None, 0.0, device.latency("shfl")
    return "compute", 1.0, "alu", 2.0, device.latency("redux" if form.opcode == "redux" else "vote")


def _of_matrix(form: Form, device: Device) -> _Costs:
    return "shared", 1.0, None, 0.0, device.latency("ldmatrix")


def _of_access(form: Form, device: Device) -> _Costs:
    spaces = [each.partition("::")[0] for each in form.modifiers]
    if "param" in spaces or "const" in spaces:
        return "compute", 0.5, None, 0.0, _CONSTANT
    if "local" in spaces:
        return "shared", 1.0, None, 0.0, device.latency("ld.shared")
    if "shared" in spaces:
        return "shared", 1.0, None, 0.0, device.latency("ld.shared")
    return "load" if form.opcode != "st" else "store", 1.0, None, 0.0, 0.0


def _of_copy(form: Form, device: Device) -> _Costs:
    name = ".".join(form.modifiers)
    if "commit_group" in name:
        return "commit_bulk" if "bulk" in name else "commit", 1.0, None, 0.0, 0.0
    if "wait_group" in name or "wait_all" in name:
        return "wait_bulk" if "bulk" in name else "wait", 1.0, None, 0.0, 0.0
    if "prefetch" in name:
        return "compute", 1.0, None, 0.0, 0.0
    if form.modifiers[:2] == ("async", "mbarrier"):
        return "copy_arrive", 1.0, None, 0.0, 0.0
    if "bulk" not in name:
        return "copy", 1.0, None, 0.0, 0.0
    return "bulk_load" if form.has("mbarrier::complete_tx::bytes") else "bulk_store", 1.0, None, 0.0, 0.0


def _of_barrier(form: Form, device: Device) -> _Costs:
    if "warp" in form.modifiers:
        return "compute", 1.0, None, 0.0, 0.0
    if "cluster" in form.modifiers:
        return "cluster_wait" if form.has("wait") else "cluster_arrive", 1.0, None, 0.0, 0.0
    return "arrive_barrier" if form.has("arrive") else "barrier", 1.0, None, 0.0, device["cycles/bar.sync.1"]


def _of_mbarrier(form: Form, device: Device) -> _Costs:
    what = form.modifiers[0]
    if what == "init":
        return "init", 1.0, None, 0.0, 0.0
    if what in ("try_wait", "test_wait"):
        return "mwait", 2.0, None, 0.0, 0.0
    if what == "expect_tx":
        return "expect", 1.0, None, 0.0, 0.0
    return "arrive_expect" if "expect_tx" in form.modifiers else "arrive", 1.0, None, 0.0, 0.0


def _of_warpgroup(form: Form, device: Device) -> _Costs:
    if form.has("commit_group"):
        return "commit_products", 1.0, None, 0.0, 0.0
    if form.has("wait_group"):
        return "wait_products", 1.0, None, 0.0, 0.0
    if not form.has("mma_async"):
        return "fence", 1.0, None, 0.0, 0.0
    shape = next(each for each in form.modifiers if each.startswith("m64n"))
    columns = int(shape[4:].partition("k")[0])
    # Descriptors are made in the uniform datapath, which issues like any other.
    return "product", 2.0, None, device.product_cycles(columns), 0.0


def _of_mma(form: Form, device: Device) -> _Costs:
    _, work = matrix_work(form)
    kind = matrix_kind(form).rpartition(" ")[2]
    rate, latency = device.mma(kind, work)
    return "compute", 2.0, "tensor", rate, latency


def _of_arithmetic(form: Form, device: Device) -> _Costs:
    opcode, type_ = form.opcode, form.type if form.modifiers else ""
    if opcode in ("bra", "brx", "call", "ret", "exit"):
        return "compute", 1.0, None, 0.0, 0.0
    if type_ == "f64" and opcode not in ("setp", "selp", "neg", "abs", "cvt"):
        return _of_doubles(form, device)
    if opcode in _APPROXIMATE or opcode == "div":
        return _of_approximation(form, device)
    if opcode == "rem":
        return _whole_division(type_)
    if opcode == "cvt":
        return _of_conversion(form, device)
    if opcode in ("popc", "clz", "bfind", "brev"):
        return "compute", 1.0, "xu", SCHEDULERS / device.rate("popc.b32"), device.latency("popc.b32")
    return _of_two_pipes(opcode, type_, device.latency("fma.f32"))


def _of_doubles(form: Form, device: Device) -> _Costs:
    # A division or root takes about twelve products and sums.
    count = 12 if form.opcode in ("div", "rcp", "sqrt", "rsqrt") else 1
    busy, latency = SCHEDULERS / device.rate("fma.f64"), device.latency("fma.f64")
    return "compute", float(count), "fp64", count * busy, count * latency


def _of_approximation(form: Form, device: Device) -> _Costs:
    if form.opcode == "div" and form.type != "f32":
        return _whole_division(form.type)
    if any(each in ("rn", "full") for each in form.modifiers):
        return _ROUNDED
    # What does not flush small numbers to zero scales them, there and back.
    slots = 1.0 if form.has("ftz") or form.opcode == "tanh" else 2.0
    latency = device.latency("ex2.f32") + (slots - 1) * device.latency("fma.f32")
    return "compute", slots, "xu", SCHEDULERS / device.rate("ex2.f32"), latency


def _whole_division(type_: str) -> _Costs:
    return ("compute", 80.0, "xu", 8.0, 300.0) if type_ in _WIDE else ("compute", 18.0, "xu", 8.0, 100.0)


def _of_two_pipes(opcode: str, type_: str, latency: float) -> _Costs:
    """Of sums, products and logic, which one of two pipes does: `fma` products and floats, `alu` the rest."""
    if type_ in ("f32", "f16", "f16x2", "bf16", "bf16x2") and opcode in ("fma", "mul", "add", "sub", "mad"):
        return "compute", 1.0, "fma", 1.0 if type_ == "f32" else 2.0, latency
    if opcode in ("mul", "mad"):
        return ("compute", 4.0, "fma", 8.0, 3 * latency) if type_ in _WIDE else ("compute", 1.0, "fma", 2.0, latency)
    if type_ in _WIDE and opcode in ("add", "sub", "shl", "shr", "setp", "min", "max"):
        return "compute", 2.0, "alu", 4.0, 2 * latency
    if opcode in ("add", "sub"):
        # Half of them go to the other pipe, as IMAD.
        return "compute", 1.0, "alu", 1.0, latency
    if opcode in ("and", "or", "xor", "not", "shl", "shr", "lop3", "bfe", "bfi", "prmt"):
        # LOP3, LEA and the like take several of these together.
        return "compute", 0.75, "alu", 1.5, latency
    return "compute", 1.0, "alu", 2.0, latency


def _of_conversion(form: Form, device: Device) -> _Costs:
    one = device.latency("fma.f32")
    types = [each for each in form.modifiers if each[-1].isdigit() and each[0] in "usbfe" and each != "ftz"]
    floats = [each[0] in "fbe" and each not in ("b8", "b16", "b32", "b64") for each in types[:2]]
    if len(types) < 2 or not any(floats):
        # Between integers: registers are 32 bits wide anyway.
        return "compute", 0.25, "alu", 0.5, one / 2
    if "f64" in types:
        return "compute", 1.0, "xu", SCHEDULERS / device.rate("cvt.f64.f32") / 2, device.latency("cvt.f64.f32") / 2
    if all(floats):
        return "compute", 1.0, "alu", 2.0, one
    return "compute", 1.0, "xu", SCHEDULERS / device.rate("ex2.f32"), device.latency("cvt.s32.f32") / 2


_FAMILIES: dict[str, Callable[[Form, Device], _Costs]] = {
    **dict.fromkeys(("ld", "ldu", "st"), _of_access),
    **dict.fromkeys(("ldmatrix", "stmatrix"), _of_matrix),
    **dict.fromkeys(("bar", "barrier"), _of_barrier),
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask", "elect"), _of_exchange),
    "cp": _of_copy,
    "mbarrier": _of_mbarrier,
    "wgmma": _of_warpgroup,
    "mma": _of_mma,
}
"""By opcode; of all others it is arithmetic."""
