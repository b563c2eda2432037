"""Evaluating host programs: each becomes one generated Python function.

The code is made of names that are numbers, of decimal numbers, and of the expressions of `arithmetic`; text and floats
of the program are passed to it by reference. So nothing in a verified program can become code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from cutecc.errors import LaunchError, SourceLocation
from cutecc.record.host_program import Block, HostProgram, Instruction, LaunchSite, TensorMapSite, ValueType
from cutecc.runtime.launch import TENSOR_MAP_BYTES, Host, Launch, TensorMap
from cutecc.runtime.program.facts import Facts
from cutecc.runtime.program.number_expressions import (
    ARITHMETIC,
    FORMATS,
    NAMESPACE,
    SIZES,
    Number,
    expression,
    is_integer,
)

MAX_STEPS: Final = 10_000_000
"""Instructions inside loops that one evaluation executes before it is given up."""


@dataclass(eq=False)
class StatusError(LaunchError):
    """The host program ended with a status other than 0."""

    status: int = 0
    """The `CUresult`."""
    kernel: str = ""
    """The kernel whose launch gave the status; empty when it came from elsewhere."""


class Evaluator:
    """A verified program as a function of its leaves.

    It has no state: threads may evaluate at the same time.
    """

    def __init__(self, program: HostProgram) -> None:
        self.program = program
        writer = _Writer(program)
        self.source = writer.source()
        """The generated code."""
        scope = writer.scope
        exec(compile(self.source, f"<host program {program.function!r}>", "exec"), scope)
        self._evaluate = cast("Callable[[Sequence[Number], Host], None]", scope["evaluate"])

    def __call__(self, leaves: Sequence[Number], host: Host) -> None:
        """Evaluate the program: integers are residues of their types, floats are rounded to theirs.

        Raises `StatusError` for a status that is not 0, and `LaunchError` for a `fail` whose condition holds, an
        undefined division, an access outside the program's memory, and for more than `MAX_STEPS` steps.
        """
        if len(leaves) != len(self.program.leaves):
            raise LaunchError(f"the host program takes {len(self.program.leaves)} numbers, not {len(leaves)}")
        self._evaluate(leaves, host)


def fail(message: str, location: str | None) -> NoReturn:
    """End the program with the message of a `fail`, and its line of Python."""
    raise LaunchError(message, location=SourceLocation.parse(location) if location else None)


def fail_status(status: int, kernel: str) -> NoReturn:
    """End the program with a status that is not 0, of the launch of `kernel` where that is known."""
    what = f"launching '{kernel}' failed" if kernel else "the host program failed"
    raise StatusError(f"{what} with CUDA error {status}", status=status, kernel=kernel)


def too_long() -> NoReturn:
    """End a program that runs for too long."""
    raise LaunchError(f"the host program does not end within {MAX_STEPS:,} steps")


def encode(host: Host, tensor_map: TensorMap) -> tuple[bytes, int]:
    """The descriptor and the status: one that cannot be made is 128 zeros."""
    made = host.encode_tensor_map(tensor_map)
    if isinstance(made, int):
        return bytes(TENSOR_MAP_BYTES), made & 0xFFFFFFFF or 1
    return made, 0


def result_types(program: HostProgram, instruction: Instruction) -> tuple[tuple[ValueType, ...], ValueType]:
    """The types of an arithmetic instruction's operands and of its result."""
    return tuple(program.types[operand] for operand in instruction.operands), program.types[instruction.results[0]]


def steps_of_round(loop: Instruction) -> int:
    """What one round of a `while` counts towards `MAX_STEPS`; loops inside count their own."""
    return 1 + sum(map(_steps, loop.blocks))


def _steps(block: Block) -> int:
    """Instructions of a block and of the conditionals in it; loops count their own."""
    inner = (each for each in block.instructions if each.op == "if")
    return len(block.instructions) + sum(_steps(nested) for each in inner for nested in each.blocks)


class _Writer:
    """Writes the function `evaluate(leaves, host)`."""

    def __init__(self, program: HostProgram) -> None:
        self.program = program
        self.facts = Facts(program)
        self.scope: dict[str, object] = {
            "__builtins__": {"bytearray": bytearray, "float": float},
            **NAMESPACE,
            **{function.__name__: function for function in (fail, fail_status, too_long, encode)},
            "Launch": Launch,
            "TensorMap": TensorMap,
            "at": self.facts.space.offset,
        }
        self.lines: list[str] = []
        self.kernel_of: dict[int, int] = {}
        """The kernel whose launch gave a status."""
        self.uses_memory = False
        self.has_loops = False

    def source(self) -> str:
        self.block(self.program.body, 1)
        status = self.program.body.yields[0]
        if self.text(status) != "0":
            self.return_if_error(status, 1)
        head = ["def evaluate(leaves, host):"]
        leaves = self.program.leaves
        if leaves:
            head.append(f" {', '.join(f'v{number}' for number in range(len(leaves)))}, = leaves")
        for number, leaf in enumerate(leaves):
            if leaf.type in ("f16", "bf16", "f32"):
                head.append(f" v{number} = round_{leaf.type}(v{number})")
        for slot in self.facts.initialized_slots:
            head.append(f" {slot.name} = {0 if is_integer(self.facts.slots[slot]) else 'float(0)'}")
        if self.uses_memory:
            head.append(f" memory = bytearray({self.facts.space.total})")
        if self.has_loops:
            head.append(f" steps = {MAX_STEPS}")
        return "\n".join([*head, *self.lines, " return", ""])

    # Names and text

    def constant(self, value: object) -> str:
        """A name for an object of the program or of ours."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def struct(self, form: str, method: str) -> str:
        """A name for a method of a `struct.Struct`."""
        name = f"{method}_{form}"
        if name not in self.scope:
            self.scope[name] = getattr(struct.Struct(f"<{form}"), method)
        return name

    def text(self, value: int) -> str:
        """A value as an expression: a name or a decimal number."""
        if value not in self.facts.known:
            return f"v{value}"
        number = self.facts.known[value]
        return str(number) if isinstance(number, int) else self.constant(number)

    def tuple(self, values: Sequence[int]) -> str:
        return f"({''.join(f'{self.text(value)}, ' for value in values)})"

    def stored(self, value: int) -> str:
        """A value as `struct` takes it."""
        return f"bits_bf16({self.text(value)})" if self.program.types[value] == "bf16" else self.text(value)

    def emit(self, depth: int, line: str) -> None:
        self.lines.append(" " * depth + line)

    # Structure

    def block(self, block: Block, depth: int) -> None:
        for instruction in block.instructions:
            self.instruction(instruction, depth)

    def instruction(self, instruction: Instruction, depth: int) -> None:
        op, results = instruction.op, instruction.results
        if op in ARITHMETIC:
            if results[0] not in self.facts.known:
                operands, result = result_types(self.program, instruction)
                texts = [self.text(operand) for operand in instruction.operands]
                self.emit(depth, f"v{results[0]} = {expression(op, texts, operands[-1], result)}")
            return
        match op:
            case "constant" | "address":
                pass
            case "load":
                self.load(instruction.operands[0], results[0], depth)
            case "store":
                self.store(instruction.operands[0], instruction.operands[1], depth)
            case "if":
                self.conditional(instruction, depth)
            case "while":
                self.loop(instruction, depth)
            case "return_if_error":
                self.return_if_error(instruction.operands[0], depth)
            case "fail":
                message = self.constant(self.program.strings[instruction.immediate or 0])
                location = self.constant(instruction.location)
                self.emit(depth, f"if {self.text(instruction.operands[0])}: fail({message}, {location})")
            case "print":
                self.print(instruction.operands, self.program.strings[instruction.immediate or 0], depth)
                self.emit(depth, f"v{results[0]} = 0")
            case "launch":
                assert instruction.launch is not None
                self.kernel_of[results[0]] = instruction.launch.kernel
                self.emit(depth, f"v{results[0]} = host.launch({self.launch(instruction.launch)}) & 4294967295")
            case "encode_tensor_map":
                assert instruction.tensor_map is not None
                self.tensor_map(instruction.operands[0], instruction.tensor_map, results[0], depth)
            case _:
                raise AssertionError(op)

    def assign(self, targets: Sequence[int], values: Sequence[int], depth: int) -> None:
        """Give the values to the targets, all at once."""
        if targets:
            names = ", ".join(f"v{target}" for target in targets)
            self.emit(depth, f"{names} = {', '.join(map(self.text, values))}")

    def conditional(self, instruction: Instruction, depth: int) -> None:
        heads = (f"if {self.text(instruction.operands[0])}:", "else:")
        for head, block in zip(heads, instruction.blocks, strict=True):
            self.emit(depth, head)
            self.block(block, depth + 1)
            self.assign(instruction.results, block.yields, depth + 1)
            self.emit(depth + 1, "pass")

    def loop(self, instruction: Instruction, depth: int) -> None:
        self.has_loops = True
        condition, body = instruction.blocks
        self.assign(condition.parameters, instruction.operands, depth)
        self.emit(depth, "while True:")
        self.emit(depth + 1, f"steps -= {steps_of_round(instruction)}")
        self.emit(depth + 1, "if steps < 0: too_long()")
        self.block(condition, depth + 1)
        self.emit(depth + 1, f"if not {self.text(condition.yields[0])}: break")
        self.assign(body.parameters, condition.yields[1:], depth + 1)
        self.block(body, depth + 1)
        self.assign(condition.parameters, body.yields, depth + 1)
        self.assign(instruction.results, condition.yields[1:], depth)

    def return_if_error(self, status: int, depth: int) -> None:
        kernel = self.program.kernels[self.kernel_of[status]].name if status in self.kernel_of else ""
        self.emit(depth, f"if {self.text(status)}: fail_status({self.text(status)}, {self.constant(kernel)})")

    # Memory

    def place(self, address: int, size: int) -> str:
        """Where `size` bytes at an address lie in the buffer."""
        self.uses_memory = True
        if address in self.facts.known:
            known = int(self.facts.known[address])
            try:
                return str(self.facts.space.offset(known, size))
            except LaunchError:
                pass
        return f"at({self.text(address)}, {size})"

    def load(self, address: int, result: int, depth: int) -> None:
        type_ = self.program.types[result]
        slot = self.facts.place(address, type_)
        if slot is None:
            value = f"{self.struct(FORMATS[type_], 'unpack_from')}(memory, {self.place(address, SIZES[type_])})[0]"
            value = f"{value} & 1" if type_ == "i1" else f"float_bf16({value})" if type_ == "bf16" else value
        elif slot in self.facts.zero_slots:
            value = "0" if is_integer(type_) else "float(0)"
        else:
            value = slot.name
        self.emit(depth, f"v{result} = {value}")

    def store(self, address: int, value: int, depth: int) -> None:
        type_ = self.program.types[value]
        if slot := self.facts.place(address, type_):
            self.emit(depth, f"{slot.name} = {self.text(value)}")
        else:
            place = self.place(address, SIZES[type_])
            packed = self.struct(FORMATS[type_], "pack_into")
            self.emit(depth, f"{packed}(memory, {place}, {self.stored(value)})")

    # The outside world

    def launch(self, site: LaunchSite) -> str:
        kernel = self.program.kernels[site.kernel]
        attributes = ", ".join(
            f"{self.constant(attribute.name)}: {self.tuple(attribute.operands)}" for attribute in site.attributes
        )
        return (
            f"Launch({self.constant(kernel)}, {self.tuple(site.grid)}, {self.tuple(site.block)}, "
            f"{self.text(site.shared_bytes)}, {self.text(site.stream)}, {{{attributes}}}, {self.parameters(site)})"
        )

    def parameters(self, site: LaunchSite) -> str:
        """The parameter block, packed in one call."""
        kernel = self.program.kernels[site.kernel]
        form, values, end = "", list[str](), 0
        for write in sorted(site.parameters, key=lambda write: write.offset):
            if self.facts.known.get(write.value) == 0 and is_integer(self.program.types[write.value]):
                continue
            type_ = self.program.types[write.value]
            form += f"{write.offset - end}x{FORMATS[type_]}" if write.offset > end else FORMATS[type_]
            values.append(self.stored(write.value))
            end = write.offset + SIZES[type_]
        form += f"{kernel.parameter_bytes - end}x"
        return f"bytearray({self.struct(form, 'pack')}({', '.join(values)}))"

    def print(self, operands: Sequence[int], text: str, depth: int) -> None:
        # Few programs print.
        from cutecc.runtime.program.printing import formatter

        types: list[ValueType] = [self.program.types[operand] for operand in operands]
        shown = self.constant(formatter(text, types))
        self.emit(depth, f"host.print({shown}({', '.join(map(self.text, operands))}))")

    def tensor_map(self, address: int, site: TensorMapSite, result: int, depth: int) -> None:
        modes = ", ".join(map(self.tuple, (site.sizes, site.strides, site.box, site.element_strides)))
        settings = f"{site.interleave}, {site.swizzle}, {site.l2_promotion}, {site.fill}"
        place = self.place(address, TENSOR_MAP_BYTES)
        made = f"encode(host, TensorMap({site.data_type}, {self.text(site.address)}, {modes}, {settings}))"
        self.emit(depth, f"place = {place}")
        self.emit(depth, f"memory[place:place + {TENSOR_MAP_BYTES}], v{result} = {made}")
