"""What is known of a host program before it runs: values that are constant, memory that is as good as a variable."""

from __future__ import annotations

from typing import NamedTuple

from cutecc.errors import LaunchError
from cutecc.record.host_program import Block, HostProgram, Instruction, ValueType
from cutecc.runtime.launch import TENSOR_MAP_BYTES
from cutecc.runtime.program.allocations import AddressSpace, address_of
from cutecc.runtime.program.number_expressions import ARITHMETIC, SIZES, Number, constant, function


class Slot(NamedTuple):
    """Bytes of an allocation that only one type is ever loaded from and stored to, and nothing overlaps."""

    allocation: int
    offset: int

    @property
    def name(self) -> str:
        """The variable of generated code that stands for it."""
        return f"m{self.allocation}_{self.offset}"


class Facts:
    """The constants among a verified program's values, and the slots of its memory."""

    def __init__(self, program: HostProgram) -> None:
        self.program = program
        self.space = AddressSpace(program.allocations)
        self.known: dict[int, Number] = {}
        """The values that are the same in every evaluation, by value number."""
        self._dynamic = False
        """Whether an address is not known: it could be any."""
        self._types: dict[Slot, set[ValueType]] = {}
        self._in_memory: set[int] = set()
        """Allocations that are not made of slots."""
        self._loaded: set[Slot] = set()
        self._stored: set[Slot] = set()
        self._stored_first: set[Slot] = set()
        self._walk(program.body, 0)
        self._find_overlaps()
        slots = [] if self._dynamic else [slot for slot in self._types if slot.allocation not in self._in_memory]
        self.slots: dict[Slot, ValueType] = {slot: next(iter(self._types[slot])) for slot in slots}
        """Every slot, with its type."""
        self.zero_slots = self.slots.keys() - self._stored
        """The slots that are never stored to."""
        self.initialized_slots = self.slots.keys() - self.zero_slots - self._stored_first
        """The slots that may be loaded from before they are stored to."""

    def place(self, address: int, type_: ValueType) -> Slot | None:
        """The slot of an access through the value number `address`; None if it is none."""
        found = self._locate(address, SIZES[type_])
        return found if found in self.slots else None

    def _locate(self, address: int, size: int) -> Slot | None:
        if address not in self.known:
            return None
        try:
            return Slot(*self.space.locate(int(self.known[address]), size))
        except LaunchError:
            return None

    def _walk(self, block: Block, depth: int) -> None:
        for instruction in block.instructions:
            for inner in instruction.blocks:
                self._walk(inner, depth + 1)
            self._visit(instruction, depth)

    def _visit(self, instruction: Instruction, depth: int) -> None:
        types = self.program.types
        match instruction.op:
            case "constant":
                result = instruction.results[0]
                self.known[result] = constant(types[result], instruction.immediate or 0)
            case "address":
                self.known[instruction.results[0]] = address_of(instruction.immediate or 0)
            case "load":
                slot = self._access(instruction.operands[0], types[instruction.results[0]])
                if slot is not None:
                    self._loaded.add(slot)
            case "store":
                slot = self._access(instruction.operands[0], types[instruction.operands[1]])
                if slot is not None:
                    self._stored.add(slot)
                    if depth == 0 and slot not in self._loaded:
                        self._stored_first.add(slot)
            case "encode_tensor_map":
                self._dynamic |= instruction.operands[0] not in self.known
                if (slot := self._locate(instruction.operands[0], TENSOR_MAP_BYTES)) is not None:
                    self._in_memory.add(slot.allocation)
            case op if op in ARITHMETIC:
                self._fold(instruction)
            case _:
                pass

    def _access(self, address: int, type_: ValueType) -> Slot | None:
        self._dynamic |= address not in self.known
        slot = self._locate(address, SIZES[type_])
        if slot is not None:
            self._types.setdefault(slot, set()).add(type_)
        return slot

    def _fold(self, instruction: Instruction) -> None:
        operands = [self.known.get(operand) for operand in instruction.operands]
        if any(operand is None for operand in operands):
            return
        types = self.program.types
        result = instruction.results[0]
        operand_types = tuple(types[operand] for operand in instruction.operands)
        try:
            self.known[result] = function(instruction.op, operand_types, types[result])(*operands)
        except LaunchError:
            return

    def _find_overlaps(self) -> None:
        ends: dict[int, int] = {}
        for slot in sorted(self._types, key=lambda slot: (slot.allocation, slot.offset)):
            types = self._types[slot]
            if len(types) > 1 or slot.offset < ends.get(slot.allocation, 0):
                self._in_memory.add(slot.allocation)
            end = slot.offset + max(SIZES[type_] for type_ in types)
            ends[slot.allocation] = max(end, ends.get(slot.allocation, 0))
