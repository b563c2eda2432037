"""A gang made by hand, and one PTX instruction executed by it.

`run_instruction("add.s32 %d, %a, %b;", {"%a": a, "%b": b})["%d"]`
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, find
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.decode import FAMILIES
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import FunctionScope
from cutecc.emulator.machine.watch import Watch
from cutecc.ptx.operands import SPECIAL_REGISTERS
from cutecc.ptx.parse import parse_module

_REGISTER = re.compile(r"%\w+(?![\w.])")


def make_machine(
    threads: int = 32, blocks: int = 1, *, memory: Any = None, watch: Watch | None = None, shape: Shape | None = None
) -> Machine:
    """A machine with these blocks resident, each a cluster of its own, and no gangs. `memory` may be a test's own."""
    shape = shape or Shape((blocks, 1, 1), (threads, 1, 1))
    machine = Machine(shape, memory, watch or Watch(), print)
    for slot in range(blocks):
        index = (slot, 0, 0)
        cluster = Cluster(index, (1, 1, 1))
        block = Block(index, slot, threads, cluster, 0, live_warps=-(-threads // 32), processor=slot)
        cluster.blocks.append(block)
        machine.blocks.append(block)
    return machine


def make_gang(machine: Machine, registers: list[Any] | None = None) -> Gang:
    """All warps of all blocks of the machine as one gang."""
    warps = [(block, warp) for block in machine.blocks for warp in range(-(-block.threads // 32))]
    gang = Gang(machine, warps, registers if registers is not None else [])
    machine.gangs.append(gang)
    return gang


def make_operation(
    text: str, types: Mapping[str, str], target: str = "sm_90a", symbols: Mapping[str, tuple[str, int]] | None = None
) -> Operation:
    """One instruction (without guard) whose registers have these types. Special registers need no type."""
    declarations = "\n".join(f".reg .{type_} {name};" for name, type_ in types.items())
    module = parse_module(
        f".version 8.8\n.target {target}\n.address_size 64\n"
        f".visible .entry kernel()\n{{\n{declarations}\n{text.rstrip(';')};\nret;\n}}\n"
    )
    function = module.functions["kernel"]
    instruction = function.instructions[0]
    scope = _LoneScope(function, 0, symbols or {})
    return Operation(0, instruction, Form(instruction.opcode, instruction.modifiers), scope)


class _LoneScope(FunctionScope):
    """Of an instruction alone: what it writes is used by the test."""

    def uses(self, register: str) -> int:
        return 2


def make_step(operation: Operation) -> Step:
    """What executes the instruction; fails when the emulator does not know it."""
    load_families()
    build = find(operation.form)
    assert build is not None, f"no row for {operation.form}"
    return build(operation)


@functools.cache
def load_families() -> None:
    for family in FAMILIES:
        name = f"cutecc.emulator.instructions.{family}"
        if importlib.util.find_spec(name):
            importlib.import_module(name)


def run_instruction(
    text: str | Sequence[str],
    inputs: Mapping[str, Any],
    types: Mapping[str, str] | None = None,
    *,
    mask: Any = None,
    machine: Machine | None = None,
    target: str = "sm_90a",
    symbols: Mapping[str, tuple[str, int]] | None = None,
) -> dict[str, Any]:
    """The registers after the instruction, by name, each of shape `(warps, 32)` and of its type's dtype.

    Of several instructions each is executed after the one before it, without control flow, up to one that waits: its
    `Waiting` is under the name `waiting`. `inputs` are numbers, or arrays of 32 elements a warp. Registers have the
    types given in `types`; those that are not there have the bits type of their input (`uint16` → `b16`, `bool` →
    `pred`), and without input `b32`.
    """
    texts = [text] if isinstance(text, str) else text
    known = dict(types or {})
    for name, value in inputs.items():
        dtype = np.asarray(value).dtype
        known.setdefault(name, "pred" if dtype == np.bool_ else f"b{8 * dtype.itemsize}")
    for name in _REGISTER.findall(" ".join(texts)):
        if name not in SPECIAL_REGISTERS:
            known.setdefault(name, "b32")
    size = max((np.asarray(value).size for value in inputs.values()), default=32)
    if machine is None:
        machine = make_machine(-(-size // 32) * 32)
    gang = make_gang(machine)
    gang.registers += [_register(inputs.get(name, 0), type_, gang.shape) for name, type_ in known.items()]
    lanes = Lanes(gang.alive.copy(), True) if mask is None else Lanes(np.broadcast_to(mask, gang.shape) & gang.alive)
    waiting = None
    for each in texts:
        step = make_step(make_operation(each, known, target, symbols))
        with np.errstate(all="ignore"):
            waiting = step(gang, lanes)
        if waiting is not None:
            break
    found = zip(known.items(), gang.registers, strict=True)
    return {name: bits.view(DTYPES[type_]) for (name, type_), bits in found} | {"waiting": waiting}


def _register(value: Any, type_: str, shape: tuple[int, int]) -> Any:
    """A register of this type that holds the value: a number, or an array whose bits count."""
    width = bits_of(DTYPES[type_])
    if not isinstance(value, np.ndarray | np.generic):
        bits = np.array(value).astype(DTYPES[type_]).view(width)
    else:
        bits = value.view(bits_of(value.dtype)).astype(width)
    return np.array(np.broadcast_to(bits.reshape(shape) if bits.size > 1 else bits, shape))
