"""What a module of copies with static layouts does, for tests: executed operation by operation on lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.ir.types import CoordValue, CopyAtom, MemRef, view
from cutecc.layout import Layout


@dataclass(frozen=True)
class Tensor:
    """A tensor: whose memory, where in it, and which layout."""

    memory: list[Any]
    begin: int
    layout: Layout

    def place(self, number: int) -> int:
        offset = self.layout(number)
        assert isinstance(offset, int)
        return self.begin + offset


class Interpreter:
    """Executes a function of tensors; `wide` counts the vectors that were copied."""

    def __init__(self) -> None:
        self._values: dict[ir.Value, Any] = {}
        self.wide = 0

    def call(self, function: ir.Operation, *memories: list[Any], begins: tuple[int, ...]) -> None:
        """Run `function` with tensors that begin at `begins` of `memories`."""
        block = function.regions[0].blocks[0]
        for argument, memory, begin in zip(block.arguments, memories, begins, strict=True):
            self._values[argument] = Tensor(memory, begin, layout_of(argument))
        self._run(block)

    def _run(self, block: ir.Block) -> None:
        for each in block.operations:
            operation = each.operation
            operands = [self._values.get(operand) for operand in operation.operands]
            match operation.name:
                case "cute.composition":
                    # Of what the type says, as nothing is dynamic.
                    self._set(operation, Tensor(operands[0].memory, operands[0].begin, layout_of(operation.result)))
                case "cute.make_coord":
                    coordinate = view(operation.result.type)
                    assert isinstance(coordinate, CoordValue)
                    self._set(operation, operands[0] if operands else coordinate.coordinate)
                case "cute.slice":
                    # The only coordinate that is not `_` is the last.
                    tensor = operands[0]
                    moved = tensor.begin + tensor.layout[len(tensor.layout) - 1](operands[1])
                    self._set(operation, Tensor(tensor.memory, moved, layout_of(operation.result)))
                case "cute.memref.load":
                    self._set(operation, operands[0].memory[operands[0].place(operands[1])])
                case "arith.constant":
                    self._set(operation, ir.IntegerAttr(operation.attributes["value"]).value)
                case "arith.cmpi":
                    self._set(operation, operands[0] != operands[1])
                case "arith.andi":
                    self._set(operation, operands[0] and operands[1])
                case "scf.if":
                    self._run(operation.regions[0 if operands[0] else 1].blocks[0])
                case "scf.for":
                    body = operation.regions[0].blocks[0]
                    for number in range(*operands):
                        self._values[body.arguments[0]] = number
                        self._run(body)
                case "cute.copy":
                    self._copy(view(operation.operands[0].type), *operands[1:])
                case "cute.make_atom" | "cute.make_layout" | "scf.yield" | "func.return":
                    pass
                case name:
                    raise AssertionError(f"{name} is not interpreted")

    def _copy(self, atom: Any, source: Tensor, destination: Tensor, predicates: Tensor | None = None) -> None:
        assert isinstance(atom, CopyAtom)
        at_once = atom.parameters.get("copy_bits", 32) // 32
        size = source.layout.size
        assert isinstance(size, int)
        for number in range(0, size, at_once):
            if predicates and not predicates.memory[predicates.place(number)]:
                continue
            for tensor in (source, destination):
                places = [tensor.place(number + index) for index in range(at_once)]
                assert places == list(range(places[0], places[0] + at_once)) and places[0] % at_once == 0
            for index in range(at_once):
                value = source.memory[source.place(number + index)]
                destination.memory[destination.place(number + index)] = value
            self.wide += at_once > 1

    def _set(self, operation: ir.Operation, value: Any) -> None:
        self._values[operation.result] = value


def layout_of(value: ir.Value) -> Layout:
    type_view = view(value.type)
    assert isinstance(type_view, MemRef) and isinstance(type_view.layout, Layout)
    return type_view.layout
