"""From a PTX function to a program: each instruction is looked at once, and becomes a step or a control."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation, Reader
from cutecc.emulator.instructions.table import Build, Step, find
from cutecc.emulator.machine import control
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.machine.layout import Layout, size_of
from cutecc.emulator.machine.program import FunctionScope, Program
from cutecc.emulator.numbers.compiled import together
from cutecc.errors import EmulatorError
from cutecc.ptx.syntax import Arguments, Function, Instruction, Module, Operand, Register, Symbol, Variable

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.waiting import Waiting

FAMILIES = (
    *("integer", "carry", "logic", "floating", "half", "compare", "convert", "move"),
    *("memory", "atomics", "warp", "cp_async", "ldmatrix", "mma", "wgmma"),
    *("barriers", "cluster_barrier", "fences", "mbarrier", "bulk_groups", "bulk", "tensor_copy", "tensormap"),
    *("cluster", "control_hints", "calls"),
)
"""The files of `cutecc.emulator.instructions` that fill the table."""

_CONTROL = ("bra", "brx", "ret", "exit", "call")
_POLLING = {"atom", "nanosleep"}
_POLLING_LOADS = {"volatile", "relaxed", "acquire"}
_ONLY_COMPUTE = {
    *("setp", "set", "selp", "mov", "add", "sub", "and", "or", "xor", "not", "bra", "cvt", "cvta", "mul", "mad", "ld"),
    *("shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi", "popc", "clz", "neg", "abs", "div", "rem", "max", "min"),
    *("fence", "membar", "nanosleep", "atom", "mapa", "vote", "match", "activemask", "elect", "shfl", "redux"),
}
"""Opcodes of a loop that waits for something that others do."""


def decode(module: Module, kernel: str) -> Program:
    """The program of an entry of the module. Raises `EmulatorError` when the module does not have it or recurses."""
    _load_families()
    entry = module.functions.get(kernel)
    if entry is None or not entry.is_entry:
        raise EmulatorError(f"the PTX has no kernel '{kernel}'")
    functions = _reachable(module, entry)
    layout = Layout(module, functions)
    program = Program(kernel, module.target, parameters=entry.parameters)
    program.required_block = entry.directives.get("reqntid", ())
    decoders: dict[str, _Decoder] = {}
    slot, start = 0, 0
    for function in functions:
        scope = FunctionScope(function, slot, layout.symbols(function))
        decoders[function.name] = decoder = _Decoder(function, scope, start, module, decoders)
        program.widths += scope.widths
        program.registers[function.name] = list(function.registers)
        slot += len(scope.widths)
        start += decoder.size
    layout.place_dynamic()
    with together():
        for decoder in decoders.values():
            decoder.decode(program)
    stop = len(program.operations)
    program.stops = [0] * stop
    for index in reversed(range(stop)):
        stop = index if program.controls[index] is not None else stop
        program.stops[index] = stop
    program.module_image = bytes(layout.image)
    program.shared_bytes, program.local_bytes = layout.shared_bytes, layout.local_bytes
    return program


@cache
def _load_families() -> None:
    for family in FAMILIES:
        importlib.import_module(f"cutecc.emulator.instructions.{family}")


def _reachable(module: Module, entry: Function) -> list[Function]:
    """The kernel and all functions of the module that it calls, each once."""
    found: list[Function] = []

    def visit(function: Function, callers: tuple[str, ...]) -> None:
        if function.name in callers:
            raise EmulatorError(f"the emulator has no recursion: '{function.name}' calls itself")
        if any(each is function for each in found):
            return
        found.append(function)
        for instruction in function.instructions:
            called = module.functions.get(_callee(instruction) or "")
            if called is not None and not called.is_declaration:
                visit(called, (*callers, function.name))

    visit(entry, ())
    return found


def _callee(instruction: Instruction) -> str | None:
    """The name of the function that an instruction calls; `None` for other instructions and calls of a pointer."""
    if instruction.opcode != "call":
        return None
    return next((each.name for each in instruction.operands if isinstance(each, Symbol)), None)


class _Decoder:
    """Decodes one function."""

    def __init__(
        self,
        function: Function,
        scope: FunctionScope,
        start: int,
        module: Module,
        decoders: dict[str, _Decoder],
    ) -> None:
        self._function = function
        self._scope = scope
        self.start = start
        self._module = module
        self._decoders = decoders
        self._places: list[int] = []
        """Of each instruction: the index of its operation."""
        place = start
        for instruction in function.instructions:
            self._places.append(place)
            place += 2 if self._calls_inside(instruction) else 1
        self._places.append(place)
        self.size = place + 1 - start  # with the exit at the end

    def _calls_inside(self, instruction: Instruction) -> bool:
        """Whether it calls a function of the program: an operation behind it takes the results."""
        called = self._module.functions.get(_callee(instruction) or "")
        return called is not None and not called.is_declaration

    def decode(self, program: Program) -> None:
        for number, instruction in enumerate(self._function.instructions):
            operation = self._operation(self._places[number], instruction)
            condition = operation.condition()
            if instruction.opcode not in _CONTROL or (
                instruction.opcode == "call" and not self._calls_inside(instruction)
            ):
                step = self._external_call(operation) if instruction.opcode == "call" else self._step(operation)
                self._add(program, operation, step if condition is None else guarded(step, condition), None)
            elif instruction.opcode == "call":
                self._add_call(program, operation, condition)
            else:
                self._add(program, operation, None, self._control(operation, condition, program))
        line = self._function.instructions[-1].line if self._function.instructions else 0
        end = Instruction("ret", (), (), None, line, "ret;")
        operation = self._operation(self._places[-1], end)
        self._add(program, operation, None, control.leave(operation.index, None, exits=False))

    def _operation(self, index: int, instruction: Instruction) -> Operation:
        return Operation(index, instruction, Form(instruction.opcode, instruction.modifiers), self._scope)

    @staticmethod
    def _add(program: Program, operation: Operation, step: Step | None, way: control.Control | None) -> None:
        program.operations.append(operation)
        program.steps.append(step)
        program.controls.append(way)

    def _step(self, operation: Operation) -> Step:
        build = _find(operation.form)
        if build is None:
            return lambda gang, lanes: gang.machine.unmodelled(operation)
        try:
            return build(operation)
        except EmulatorError as error:
            return _failing(error)

    # Control.

    def _control(self, operation: Operation, condition: Reader | None, program: Program) -> control.Control:
        instruction, index = operation.instruction, operation.index
        match instruction.opcode:
            case "bra":
                target = self._target(operation, instruction.operands[0])
                if target <= index:
                    self._note_polling(program, target, index)
                return control.branch(index, target, condition)
            case "brx":
                number, labels = instruction.operands
                names = self._function.branch_targets.get(_name(labels))
                if names is None:
                    raise operation.error(f"the PTX has no list of branch targets '{_name(labels)}'")
                targets = [self._places[self._function.labels[name]] for name in names]
                for target in targets:
                    if target <= index:
                        self._note_polling(program, target, index)
                return control.branch_indexed(operation, targets, operation.reader(number, "u32"), condition)
            case opcode:
                return control.leave(index, condition, exits=opcode == "exit")

    def _target(self, operation: Operation, label: Operand) -> int:
        place = self._function.labels.get(_name(label))
        if place is None:
            raise operation.error(f"the PTX has no label '{_name(label)}'")
        return self._places[place]

    def _note_polling(self, program: Program, first: int, last: int) -> None:
        """Note a loop, of these operations, that changes nothing and looks at what others may change."""
        inside = [
            instruction
            for place, instruction in zip(self._places, self._function.instructions, strict=False)
            if first <= place <= last
        ]
        looks = [instruction for instruction in inside if _looks(instruction)]
        seen = {each.opcode for each in looks if _sees_other_blocks(each)}
        if looks and all(_only_looks(each) for each in inside):
            program.polls.add(last)
            program.awaits_blocks |= bool(seen)
        # A loop that does more, a barrier between looks, may wait as well; one with an atomic most often counts.
        program.awaits_blocks |= "ld" in seen

    # Calls.

    def _external_call(self, operation: Operation) -> Step:
        from cutecc.emulator.instructions.calls import provided

        name = _callee(operation.instruction)
        function = provided(name) if name else None
        declaration = self._module.functions.get(name or "")
        if function is None or declaration is None:
            error = operation.error(f"the emulator cannot call '{name or 'a function by its address'}'")
            return _failing(error)
        results, arguments = _lists_for(operation, declaration)
        read = [self._argument(operation, *each) for each in zip(arguments, declaration.parameters, strict=True)]
        take = [self._result(operation, *each) for each in zip(results, declaration.results, strict=True)]

        def step(gang: Gang, lanes: Lanes) -> Waiting | None:
            result = function(operation, gang, lanes, [each(gang, lanes)[0] for each in read])
            if result is not None:
                for each in take:
                    each(gang, lanes, [result])

        return step

    def _add_call(self, program: Program, operation: Operation, condition: Reader | None) -> None:
        """Copies of arguments, the jump, and behind it copies of results."""
        callee = self._decoders[_callee(operation.instruction) or ""]
        function, inner = callee._function, callee._operation(operation.index, operation.instruction)
        results, arguments = _lists_for(operation, function)
        moves = [
            (self._argument(operation, actual, formal), callee._result(inner, _symbol(formal), formal))
            for actual, formal in zip(arguments, function.parameters, strict=True)
        ]
        back = [
            (callee._argument(inner, _symbol(formal), formal), self._result(operation, actual, formal))
            for actual, formal in zip(results, function.results, strict=True)
        ]
        jump = control.call(operation, callee.start, condition, lambda gang, lanes: _move(moves, gang, lanes))
        self._add(program, operation, None, jump)
        after = self._operation(operation.index + 1, operation.instruction)
        take: Step = lambda gang, lanes: _move(back, gang, lanes)  # noqa: E731
        self._add(program, after, take if condition is None else guarded(take, condition), None)

    def _argument(self, operation: Operation, actual: Operand, formal: Variable) -> _Read:
        """Reads what is passed for a parameter, in pieces."""
        if isinstance(actual, Symbol) and self._scope.symbol(actual.name)[0] == "local":
            size, count = _pieces(formal)
            address = operation.reader(actual, "u64")
            return lambda gang, lanes: [
                gang.machine.memory.load(operation, gang, lanes, "local", place, size)[0]
                for place in _places(gang, address(gang), size, count)
            ]
        read = operation.reader(actual, formal.type)
        return lambda gang, lanes: [_everywhere(gang, read(gang))]

    def _result(self, operation: Operation, actual: Operand, formal: Variable) -> _Write:
        """Puts what is returned where it is wanted, from pieces."""
        if isinstance(actual, Symbol):
            address, size = operation.reader(actual, "u64"), _pieces(formal)[0]

            def store(gang: Gang, lanes: Lanes, values: list[Array]) -> None:
                for place, value in zip(_places(gang, address(gang), size, len(values)), values, strict=True):
                    gang.machine.memory.store(operation, gang, lanes, "local", place, [value])

            return store
        write = operation.writer(actual, formal.type)
        return lambda gang, lanes, values: write(gang, lanes, values[0])


_Read = Callable[["Gang", Lanes], list["Array"]]
_Write = Callable[["Gang", Lanes, list["Array"]], None]


def guarded(step: Step, condition: Reader) -> Step:
    """The step for those threads for which the condition holds."""

    def when(gang: Gang, lanes: Lanes) -> Waiting | None:
        mask = lanes.mask & condition(gang)
        return step(gang, Lanes(mask)) if mask.any() else None

    return when


@cache
def _find(form: Form) -> Build | None:
    return find(form)


def _failing(error: EmulatorError) -> Step:
    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        raise error

    return step


def _looks(instruction: Instruction) -> bool:
    """Whether an instruction sees what other threads do."""
    if instruction.opcode == "ld":
        return any(each in _POLLING_LOADS for each in instruction.modifiers)
    if instruction.opcode == "mbarrier":
        return instruction.modifiers[0] in ("test_wait", "try_wait")
    return instruction.opcode in _POLLING


def _only_looks(instruction: Instruction) -> bool:
    """Whether an instruction does nothing that others could wait for."""
    if instruction.opcode in ("bar", "barrier"):
        return instruction.modifiers[:1] == ("warp",)
    return _looks(instruction) or instruction.opcode in _ONLY_COMPUTE


def _sees_other_blocks(instruction: Instruction) -> bool:
    """Whether what a loop looks at may be what blocks of other clusters do."""
    in_shared = any(modifier.startswith("shared") for modifier in instruction.modifiers)
    return instruction.opcode in ("ld", "atom") and not in_shared


def _lists(operation: Operation) -> tuple[Sequence[Operand], Sequence[Operand]]:
    """What a call gives back and what it takes."""
    lists = [each.items for each in operation.operands if isinstance(each, Arguments)]
    names = [isinstance(each, Arguments) for each in operation.operands]
    if len(lists) == 2:
        return lists[0], lists[1]
    if len(lists) == 1:
        return (lists[0], ()) if names[0] else ((), lists[0])
    return (), ()


def _lists_for(operation: Operation, function: Function) -> tuple[Sequence[Operand], Sequence[Operand]]:
    """The same of a call that fits what the function is declared with."""
    results, arguments = _lists(operation)
    if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
        raise operation.error(f"the call does not fit the declaration of '{function.name}'")
    return results, arguments


def _move(moves: Sequence[tuple[_Read, _Write]], gang: Gang, lanes: Lanes) -> None:
    for read, write in moves:
        write(gang, lanes, read(gang, lanes))


def _pieces(variable: Variable) -> tuple[int, int]:
    """Size and number of the pieces in which a parameter is copied."""
    size, total = min(variable.align, 8), size_of(variable)
    while total % size:
        size //= 2
    return size, total // size


def _symbol(variable: Variable) -> Symbol | Register:
    return Register(variable.name) if variable.space == "reg" else Symbol(variable.name)


def _name(operand: Operand) -> str:
    if isinstance(operand, (Symbol, Register)):
        return operand.name
    raise EmulatorError("a branch needs a label")


def _places(gang: Gang, address: Array, size: int, count: int) -> list[Array]:
    """Where the pieces at an address are."""
    return [_everywhere(gang, address + np.uint64(size * number)) for number in range(count)]


def _everywhere(gang: Gang, value: Array) -> Array:
    return value if value.shape else np.broadcast_to(value, gang.shape)
