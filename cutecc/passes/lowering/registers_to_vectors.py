"""Register tensors whose every index is known become values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir import editing
from cutecc.ir.building import before
from cutecc.ir.mlir import ir, vector
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.lowering.values.pointers import bytes_of, constant_step
from cutecc.passes.lowering.values.vector_accesses import vector_of
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class RegistersToVectors(ModulePass):
    """Keep what is stored in a register tensor as values, where every index into it is known.

    What is stored is handed to the loads that follow, whole vectors as they are; then nobody needs the array. It is
    done for arrays that are written in one block, and read there or in what is inside of it, each element after it was
    written. All others stay arrays, which the code generator keeps in registers once it has unrolled the loops that
    index them.
    """

    name: ClassVar[str] = "registers-to-vectors"

    def run(self, module: ir.Module) -> None:
        for _, function in device_functions(module):
            places = _Places(function)
            operations = [each.operation for each in function.regions[0].blocks[0].operations]
            for array in limited([each for each in operations if each.name == "llvm.alloca"]):
                _promote(array, places)


class _Places:
    """Where the operations of a function stand."""

    def __init__(self, function: ir.Operation) -> None:
        self._order: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._holders: list[int] = []
        """Of each block the one that holds its operation; of the first, itself."""
        self._visit(function, 0)

    def _visit(self, operation: ir.Operation, block: int) -> None:
        for region in operation.regions:
            for inner in region.blocks:
                number = len(self._holders)
                self._holders.append(block if number else 0)
                for view in inner.operations:
                    each = view.operation
                    address = editing.address_of(each)
                    self._order[address], self._blocks[address] = len(self._order), number
                    if len(each.regions):
                        self._visit(each, number)

    def order(self, operation: ir.Operation) -> int:
        """The position of an operation as they are printed."""
        return self._order[editing.address_of(operation)]

    def block(self, operation: ir.Operation) -> int:
        """The number of the block that an operation stands in."""
        return self._blocks[editing.address_of(operation)]

    def is_within(self, operation: ir.Operation, block: int) -> bool:
        """Whether an operation stands in a block, or in something there."""
        inner = self.block(operation)
        while inner > block:
            inner = self._holders[inner]
        return inner == block


@dataclass(frozen=True)
class _Access:
    """A load or store of an array at a known place."""

    operation: ir.Operation
    offset: int
    """Bytes from the start of the array."""
    type: ir.Type
    """Of what is loaded or stored: an element, or a vector of them."""

    @property
    def is_store(self) -> bool:
        return self.operation.name == "llvm.store"

    @property
    def element(self) -> ir.Type:
        """The type of one element."""
        return ir.VectorType(self.type).element_type if isinstance(self.type, ir.VectorType) else self.type

    @property
    def offsets(self) -> list[int]:
        """Where each element is."""
        count = ir.VectorType(self.type).shape[0] if isinstance(self.type, ir.VectorType) else 1
        return [self.offset + index * bytes_of(self.element) for index in range(count)]


def _promote(array: ir.Operation, places: _Places) -> None:
    accesses = _accesses(array)
    if accesses is None:
        return
    accesses.sort(key=lambda access: places.order(access.operation))
    stores = [access for access in accesses if access.is_store]
    blocks = {places.block(store.operation) for store in stores}
    if len(blocks) != 1 or not _is_written_first(accesses):
        return
    (block,) = blocks
    if not all(places.is_within(access.operation, block) for access in accesses):
        return
    written: dict[int, tuple[ir.Value, int]] = {}
    for access in accesses:
        if access.is_store:
            stored = access.operation.operands[0]
            written |= {offset: (stored, index) for index, offset in enumerate(access.offsets)}
        else:
            with before(access.operation):
                value = _joined([written[offset] for offset in access.offsets], access.type)
            editing.replace(access.operation, value)
    for store in stores:
        editing.erase(store.operation)
    _erase_steps(array)


def _accesses(array: ir.Operation) -> list[_Access] | None:
    """Every access of an array, all to whole elements of one type.

    `None` where one is not at a known place, or has to stay, or something else uses the array.
    """
    found: list[_Access] = []
    pointers = [(array.result, 0)]
    while pointers:
        pointer, offset = pointers.pop()
        for use in pointer.uses:
            user: ir.Operation = use.owner.operation
            match user.name:
                case "llvm.load":
                    found.append(_Access(user, offset, user.result.type))
                case "llvm.store" if user.operands[0] != pointer:
                    found.append(_Access(user, offset, user.operands[0].type))
                case "llvm.getelementptr" if (step := constant_step(user)) is not None:
                    pointers.append((user.result, offset + step))
                case _:
                    return None
    if any("volatile_" in access.operation.attributes for access in found):
        return None
    elements = {access.element for access in found}
    if len(elements) != 1:
        return None
    size = bytes_of(elements.pop())
    return None if any(access.offset % size for access in found) else found


def _is_written_first(accesses: Sequence[_Access]) -> bool:
    """Whether each element is stored before it is loaded."""
    written: set[int] = set()
    for access in accesses:
        if access.is_store:
            written.update(access.offsets)
        elif not written.issuperset(access.offsets):
            return False
    return True


def _joined(elements: Sequence[tuple[ir.Value, int]], type: ir.Type) -> ir.Value:
    """A value of `type` out of elements of others, each with its number there."""
    first = elements[0][0]
    if first.type == type and all(value == first and at == index for index, (value, at) in enumerate(elements)):
        return first
    singles = [_element(value, index) for value, index in elements]
    return vector_of(singles) if isinstance(type, ir.VectorType) else singles[0]


def _element(value: ir.Value, index: int) -> ir.Value:
    return vector.extract(value, [], [index]) if isinstance(value.type, ir.VectorType) else value


def _erase_steps(array: ir.Operation) -> None:
    """Take away an array that nobody uses any more, and the steps into it."""
    for use in list(array.result.uses):
        _erase_steps(use.owner.operation)
    editing.erase(array)
