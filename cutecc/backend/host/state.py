"""What is known while a host function is translated; one file per family of operations works on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutecc.backend.host.building import ProgramBuilder
from cutecc.backend.host.failure import untranslatable
from cutecc.backend.host.layouts import Layout, Layouts
from cutecc.ir.mlir import ir
from cutecc.record.host_program import Allocation, Block, KernelEntry, LaunchAttribute, ValueType


@dataclass
class Configuration:
    """A launch configuration: value numbers, and the block of the program that it is made in."""

    block: Block
    block_size: tuple[int, int, int]
    shared_bytes: int
    grid: tuple[int, int, int]
    stream: int
    attributes: dict[str, LaunchAttribute] = field(default_factory=dict[str, LaunchAttribute])


@dataclass
class Translation:
    """A host function half translated."""

    symbols: Mapping[str, ir.Operation]
    """The module's functions, globals and modules of kernels, by name."""
    layout: Layouts = field(default_factory=Layouts)
    build: ProgramBuilder = field(default_factory=ProgramBuilder)
    numbers: dict[ir.Value, Sequence[int]] = field(default_factory=dict[Any, Sequence[int]])
    """The value numbers of every value: one for a number, those of all members for a struct."""
    configurations: dict[ir.Value, Configuration] = field(default_factory=dict[Any, Configuration])
    text_addresses: dict[ir.Value, str] = field(default_factory=dict[Any, str])
    """Values that are the address of a string, and the string."""
    kernels: list[KernelEntry] = field(default_factory=list[KernelEntry])
    kernel_numbers: dict[str, int] = field(default_factory=dict[str, int])
    allocations: list[Allocation] = field(default_factory=list[Allocation])
    strings: list[str] = field(default_factory=list[str])

    def of(self, operation: ir.Operation, value: ir.Value) -> Sequence[int]:
        """The value numbers of an operand."""
        try:
            return self.numbers[value]
        except KeyError:
            raise untranslatable(operation, f"gives `{operation.name}` an operand that is no number") from None

    def one(self, operation: ir.Operation, value: ir.Value) -> int:
        """The value number of an operand that is a single number."""
        numbers = self.of(operation, value)
        if len(numbers) != 1:
            raise untranslatable(operation, f"gives `{operation.name}` a struct")
        return numbers[0]

    def operands(self, operation: ir.Operation) -> list[int]:
        """The value numbers of all operands, each a single number."""
        return [self.one(operation, value) for value in operation.operands]

    def result(self, operation: ir.Operation) -> ir.Value:
        """The only result."""
        return operation.results[0]

    def result_type(self, operation: ir.Operation) -> ValueType:
        """The type of the only result, a single number."""
        layout = self.layout(operation.results[0].type)
        if len(layout.numbers) != 1:
            raise untranslatable(operation, f"computes a struct with `{operation.name}`")
        return layout.numbers[0][1]

    def constant(self, operation: ir.Operation, value: ir.Value) -> int:
        """What an operand is, which must be a constant."""
        found = self.build.constants.get(self.one(operation, value))
        if found is None:
            raise untranslatable(operation, f"gives `{operation.name}` a computed number where only a constant will do")
        return found

    def string(self, text: str) -> int:
        """The index of `text` in the program's strings."""
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def zeros(self, layout: Layout) -> list[int]:
        """What stands for a value that is not defined."""
        return [self.build.constant(type_, 0) for type_ in layout.types]


Handler = Callable[[Translation, ir.Operation], None]
