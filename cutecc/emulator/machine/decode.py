"""From a PTX function to a program: each instruction is looked at once, and becomes a step or a control."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from cutecc.emulator.instructions import heap
from cutecc.emulator.instructions.arrangement import arranged
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation, Reader
from cutecc.emulator.instructions.table import Step, find
from cutecc.emulator.limits import Limits
from cutecc.emulator.machine import control
from cutecc.emulator.machine.call_graph import CallGraph
from cutecc.emulator.machine.calling import external_call, fits, moves
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.late_registers import wait_for_registers
from cutecc.emulator.machine.layout import Layout
from cutecc.emulator.machine.polling import awaits_blocks, is_polling
from cutecc.emulator.machine.program import FunctionScope, Program
from cutecc.emulator.machine.stack import Frame, Stack
from cutecc.emulator.machine.wide_registers import split_wide
from cutecc.emulator.numbers.compiled import together
from cutecc.errors import EmulatorError
from cutecc.ptx.syntax import Arguments, Function, Instruction, Module, Operand, Register, Special, Symbol, callee_of

if TYPE_CHECKING:
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang

FAMILIES = (
    *("integer", "carry", "logic", "floating", "half", "compare", "convert", "convert_packed"),
    *("move", "loads_and_stores", "atomics", "warp", "cp_async", "ldmatrix", "mma", "wmma", "wgmma"),
    *("tcgen05_allocation", "tcgen05_transfer", "tcgen05_pipe", "tcgen05_copy", "tcgen05_mma"),
    *("barriers", "cluster_barrier", "fences", "mbarrier", "bulk_groups", "bulk", "tensor_copy", "tensormap"),
    *("cluster", "launch_control", "control_hints", "calls", "video"),
)
"""The files of `cutecc.emulator.instructions` that fill the table."""

_find = cache(find)
_CONTROL = ("bra", "brx", "ret", "exit", "call")
_MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What making a step comes to for operands of another number or kind than its instruction has.

Only while PTX is decoded: what a step raises is a mistake of the emulator's own.
"""


def decode(module: Module, kernel: str, limits: Limits = Limits()) -> Program:
    """The program of an entry of the module. Raises `EmulatorError` when the module does not have it."""
    load_families()
    entry = module.functions.get(kernel)
    if entry is None or not entry.is_entry:
        raise EmulatorError(f"the PTX has no kernel '{kernel}'")
    module = replace(module, functions={name: split_wide(each) for name, each in module.functions.items()})
    graph = CallGraph(module, module.functions[kernel])
    layout = Layout(module, graph.functions, limits)
    program = Program(kernel, module.target, parameters=entry.parameters)
    program.required_block = entry.directives.get("reqntid", ())
    decoders: dict[str, _Decoder] = {}
    pairs = graph.has(lambda each: "cta_group::2" in each.modifiers)
    slot, start = 0, 0
    for function in graph.functions:
        recursive = graph.is_recursive(function, function)
        scope = FunctionScope(function, slot, layout.symbols(function), names_ranks=pairs, has_frames=recursive)
        decoders[function.name] = decoder = _Decoder(function, scope, start, module, graph, decoders)
        program.widths += scope.widths
        program.registers[function.name] = list(function.registers)
        slot += len(scope.widths)
        start += decoder.size
        limits.check("registers", slot, "the kernel and what it calls declare")
    layout.place_dynamic()
    if any(decoder.scope.has_frames for decoder in decoders.values()):
        program.stack = Stack(layout.local_bytes, limits)
    with together():
        for decoder in decoders.values():
            decoder.decode(program)
    program.stops = _stops(program)
    if graph.has(lambda each: Special("%envreg1") in each.operands):
        program.grid_workspace = layout.take_grid_workspace()
    if graph.has(lambda each: callee_of(each) in heap.NAMES and not graph.callees(each)):
        program.heap = layout.take_heap()
    program.module_image = bytes(layout.image)
    program.shared_bytes = layout.shared_bytes
    program.local_bytes = layout.local_bytes if program.stack is None else program.stack.bytes
    wait_for_registers(program)
    return program


def _stops(program: Program) -> list[int]:
    """For each operation, the index of the first control from there on."""
    stop = len(program.operations)
    stops = [0] * stop
    for index in reversed(range(stop)):
        stop = index if program.controls[index] is not None else stop
        stops[index] = stop
    return stops


@cache
def load_families() -> None:
    """Import the files that say what instructions do."""
    for family in FAMILIES:
        importlib.import_module(f"cutecc.emulator.instructions.{family}")


@dataclass(eq=False)
class _Decoder:
    """Decodes one function."""

    function: Function
    scope: FunctionScope
    start: int
    module: Module
    graph: CallGraph
    decoders: dict[str, _Decoder]

    def __post_init__(self) -> None:
        # Behind a call there is for each function of the program that it may be of an operation that takes its results;
        # where there are several, also one that goes on behind them all.
        counts = [len(self.graph.callees(each)) for each in self.function.instructions]
        sizes = [1 + (count if count < 2 else 2 * count) for count in counts]
        self._places = [*accumulate(sizes, initial=self.start)]
        """Of each instruction, and of the end: the index of its operation."""
        self.size = self._places[-1] + 1 - self.start  # with the exit at the end

    def decode(self, program: Program) -> None:
        for number, instruction in enumerate(self.function.instructions):
            operation = self._operation(self._places[number], instruction)
            try:
                self._decode(program, operation)
            except _MALFORMED as failure:
                raise operation.error(
                    f"the emulator knows no '{operation.form}' with such operands",
                    hints=["ptxas says whether there is such an instruction; docs/emulator.md lists what is modelled"],
                ) from failure
        line = self.function.instructions[-1].line if self.function.instructions else 0
        end = Instruction("ret", (), (), None, line, "ret;")
        operation = self._operation(self._places[-1], end)
        self._add(program, operation, None, control.leave(operation.index, None, exits=False))

    def _decode(self, program: Program, operation: Operation) -> None:
        opcode, condition = operation.instruction.opcode, operation.condition()
        callees = self.graph.callees(operation.instruction)
        is_outside = opcode == "call" and not callees
        if opcode not in _CONTROL or is_outside:
            try:
                step = self._external_call(operation) if is_outside else self._step(operation)
            except EmulatorError as error:
                program.refused.add(operation.index)
                step = _failing(error)
            self._add(program, operation, step if condition is None else guarded(step, condition), None)
        elif opcode == "call":
            self._add_call(program, operation, condition, callees)
        else:
            self._add(program, operation, None, self._control(operation, condition, program))

    def _operation(self, index: int, instruction: Instruction) -> Operation:
        return Operation(index, instruction, arranged(Form(instruction.opcode, instruction.modifiers)), self.scope)

    @staticmethod
    def _add(program: Program, operation: Operation, step: Step | None, way: control.Control | None) -> None:
        program.operations.append(operation)
        program.steps.append(step)
        program.controls.append(way)

    def _step(self, operation: Operation) -> Step:
        build = _find(operation.form)
        if build is None:
            raise operation.unmodelled()
        return build(operation)

    # Control.

    def _control(self, operation: Operation, condition: Reader | None, program: Program) -> control.Control:
        instruction, index = operation.instruction, operation.index
        match instruction.opcode:
            case "bra":
                (label,) = instruction.operands
                target = self._target(program, operation, _label(operation, label))
                return control.branch(index, target, condition)
            case "brx":
                number, labels = instruction.operands
                name = _label(operation, labels)
                names = self.function.branch_targets.get(name)
                if names is None:
                    raise operation.error(f"the PTX has no list of branch targets '{name}'")
                targets = [self._target(program, operation, name) for name in names]
                return control.branch_indexed(operation, targets, operation.reader(number, "u32"), condition)
            case opcode:
                return control.leave(index, condition, exits=opcode == "exit")

    def _target(self, program: Program, operation: Operation, name: str) -> int:
        place = self.function.labels.get(name)
        if place is None:
            raise operation.error(f"the PTX has no label '{name}'")
        target = self._places[place]
        if target <= operation.index:
            self._note_loop(program, target, operation.index)
        return target

    def _note_loop(self, program: Program, first: int, last: int) -> None:
        """Note whether a loop, of these operations, waits for what others do."""
        inside = [
            instruction
            for place, instruction in zip(self._places, self.function.instructions, strict=False)
            if first <= place <= last
        ]
        if is_polling(inside):
            program.polls[last] = first
        program.awaits_blocks |= awaits_blocks(inside)

    # Calls.

    def _external_call(self, operation: Operation) -> Step:
        from cutecc.emulator.instructions.calls import provided

        name = callee_of(operation.instruction)
        function = provided(name) if name else None
        declaration = self.module.functions.get(name or "")
        if function is None or declaration is None:
            raise operation.error(f"the emulator cannot call '{name or 'a function by its address'}'")
        return external_call(operation, function, declaration)

    def _add_call(
        self, program: Program, operation: Operation, condition: Reader | None, callees: Sequence[Function]
    ) -> None:
        """Copies of arguments and the jump to one of `callees`; behind it, for each, copies of results."""
        by_address = callee_of(operation.instruction) is None
        several = len(callees) > 1
        end = operation.index + 1 + len(callees) * (1 + several)
        targets: list[control.Target] = []
        takes: list[Step] = []
        for callee, back in zip(callees, range(operation.index + 1, end, 1 + several), strict=True):
            decoder = self.decoders[callee.name]
            inner = decoder._operation(operation.index, operation.instruction)
            if by_address and not fits(operation, callee):
                takes.append(_nothing)
                continue
            give, take = moves(operation, inner, callee, self._frame(program, decoder))
            targets.append(control.Target(self.scope.address_of(callee.name), decoder.start, back, give))
            takes.append(take)
        program.calls[operation.index] = {target.back: target.first for target in targets}
        chosen = operation.reader(_callee(operation), "u64") if by_address else None
        self._add(program, operation, None, control.call(operation, targets, chosen, condition, end))
        for take in takes:
            self._add(program, self._operation(len(program.operations), operation.instruction), take, None)
            if several:
                jump = self._operation(len(program.operations), operation.instruction)
                self._add(program, jump, None, control.branch(jump.index, end, None))
                program.jumps[jump.index] = end

    def _frame(self, program: Program, callee: _Decoder) -> Frame | None:
        """What a call has to keep of a function that may be active already."""
        if program.stack is None or not self.graph.is_recursive(self.function, callee.function):
            return None
        return Frame(program.stack, callee.scope.slots)


def guarded(step: Step, condition: Reader) -> Step:
    """The step for those threads for which the condition holds."""

    def when(gang: Gang, lanes: Lanes) -> Waiting | None:
        mask = lanes.mask & condition(gang)
        return step(gang, Lanes(mask)) if mask.any() else None

    return when


def _failing(error: EmulatorError) -> Step:
    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        raise error

    return step


def _nothing(gang: Gang, lanes: Lanes) -> None:
    """Behind a call of a function that it cannot be of."""


def _callee(operation: Operation) -> Operand:
    """The operand that is the address of the function that is called."""
    return next(each for each in operation.operands if not isinstance(each, Arguments))


def _label(operation: Operation, operand: Operand) -> str:
    if isinstance(operand, (Symbol, Register)):
        return operand.name
    raise operation.error("a branch needs a label")
