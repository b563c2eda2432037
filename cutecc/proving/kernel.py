"""A kernel between the lowering of CuTe and that of structured control flow, as plain objects."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cutecc.errors import SourceLocation
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.passes import walk
from cutecc.proving.aggregates import Aggregate, inserted
from cutecc.proving.assembly import of_inline_ptx, written
from cutecc.proving.values import UNKNOWN

_POINTERS = {3: 32, 7: 32}
"""Bits of pointers by their address space."""


@dataclass(eq=False, slots=True)
class Block:
    """Operations that run one after another; the last one says what goes on."""

    arguments: list[int]
    operations: list[Operation]


@dataclass(eq=False, slots=True)
class Operation:
    """An operation, whose values are numbers: those of one kernel, from 0 on."""

    name: str
    operands: list[int]
    results: list[int]
    attributes: dict[str, Any]
    """Texts, but for integers."""
    blocks: list[Block]
    source: Any
    """MLIR's location; of those that matter it is looked up."""

    @property
    def location(self) -> SourceLocation | None:
        return user_location(self.source)


@dataclass(frozen=True, slots=True)
class Box:
    """What one instruction of a tensor copy moves."""

    size: int
    """Bytes; of what is multicast, those of all blocks that share it together."""
    is_shared: bool
    """Whether each block of a multicast copies its part of it."""
    reach: int
    """Bytes of shared memory; more than the size where elements of less than a byte get one each."""


@dataclass(eq=False, slots=True)
class Kernel:
    """What is known of a kernel without running it."""

    name: str
    arguments: list[int]
    body: Block
    block: tuple[int, int, int]
    """Threads."""
    cluster: tuple[int, int, int]
    grid: tuple[int | None, int | None, int | None]
    """Blocks, where every launch has as many."""
    widths: dict[int, int]
    """Bits of integers and pointers, by value."""
    types: dict[int, str]
    boxes: dict[int, Box] = field(default_factory=dict["int", "Box"])
    """What one instruction copies, by the argument that holds the tensor map."""
    constants: dict[int, Any] = field(default_factory=dict["int", "Any"])
    """Arguments that every launch gives the same."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """What copies of kernels move, by the names of kernels: their types say so, which lowering drops."""

    boxes: dict[str, list[Box]]

    @classmethod
    def of(cls, traced: ir.Module) -> Atoms:
        """Of a module whose kernels still take copies as arguments."""
        return cls({_name(each): [*_boxes(each)] for each in walk(traced, "cuda.kernel")})


def read_kernels(lowered: ir.Module, atoms: Atoms) -> Iterator[Kernel]:
    """The kernels of a module of which it is known how many threads they have."""
    launches: dict[str, ir.Operation] = {}
    several: set[str] = set()
    for each in walk(lowered, "cuda.launch_ex"):
        if launches.setdefault(_callee(each), each) is not each:
            several.add(_callee(each))
    for operation in walk(lowered, "cuda.kernel"):
        name = _name(operation)
        launch = launches.get(name)
        shape = _required(operation) if launch is None else _launch(launch)
        if shape is not None:
            if name in several:
                shape, launch = (*shape[:2], (None, None, None)), None
            yield _kernel(operation, shape, launch, atoms.boxes.get(name, []))


def _kernel(operation: ir.Operation, shape: Shape, launch: ir.Operation | None, boxes: list[Box]) -> Kernel:
    """A kernel with the arguments of its only launch, as far as they are known."""
    reader = _Reader()
    (native,) = operation.regions[0].blocks
    arguments = [reader.value(each) for each in native.arguments]
    kernel = Kernel(_name(operation), arguments, reader.block(native), *shape, reader.widths, reader.types)
    given = [_constant(each) for each in [*launch.operands][1:]] if launch is not None else []
    if len(given) == len(arguments):
        kernel.constants = {a: value for a, value in zip(arguments, given, strict=True) if value is not UNKNOWN}
    # Tensor maps are passed by value, in the order of the traced kernel's atoms.
    pointers = [each for each in native.arguments if str(each.type) == "!llvm.ptr"]
    if len(pointers) == len(boxes):
        kernel.boxes = {reader.value(each): box for each, box in zip(pointers, boxes, strict=True)}
    return kernel


def _name(kernel: ir.Operation) -> str:
    return str(kernel.attributes["sym_name"]).strip('"')


def _callee(launch: ir.Operation) -> str:
    return str(launch.attributes["callee"]).rpartition("@")[2].strip('"')


class _Reader:
    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self._fresh = itertools.count()
        self.widths: dict[int, int] = {}
        self.types: dict[int, str] = {}

    def value(self, value: ir.Value) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = next(self._fresh)
            self.types[number] = text = str(value.type)
            if found := re.fullmatch(r"i(\d+)", text):
                self.widths[number] = int(found[1])
            elif text == "index":
                self.widths[number] = 64
            elif found := re.fullmatch(r"!llvm\.ptr(?:<(\d+)>)?", text):
                self.widths[number] = _POINTERS.get(int(found[1] or 0), 64)
        return number

    def block(self, native: ir.Block) -> Block:
        arguments = [self.value(each) for each in native.arguments]
        operations: list[Operation] = []
        stored: dict[int, int] = {}
        for each in native.operations:
            operations += self.operations(each.operation)
            self._forward(each.operation, operations[-1], stored)
        return Block(arguments, operations)

    def _forward(self, native: ir.Operation, operation: Operation, stored: dict[int, int]) -> None:
        """Have what is loaded from the thread's own memory be what was stored there just before, in the same block.

        `stored` is by pointers; what else writes there, or may, makes it empty.
        """
        match operation.name:
            case "llvm.store" if self.types[operation.operands[1]] == "!llvm.ptr":
                stored.clear()
                stored[operation.operands[1]] = operation.operands[0]
            case "llvm.load":
                value = stored.get(operation.operands[0])
                if value is not None and self.types[value] == self.types[operation.results[0]]:
                    self._numbers[native.results[0]] = value
            case "llvm.call" | "llvm.inline_asm":
                stored.clear()
            case _ if operation.blocks or operation.name.startswith("llvm.intr.mem"):
                stored.clear()
            case _:
                pass

    def operations(self, native: ir.Operation) -> list[Operation]:
        """An operation; of assembly that is one of NVVM that one, behind the numbers that are written out in it."""
        operation = self._operation(native)
        if operation.name != "llvm.inline_asm" or (found := written(operation.attributes["asm_string"])) is None:
            return [operation]
        constants: list[Operation] = []
        operands: list[int] = []
        for each in found.operands:
            if not each.is_own:
                constants.append(self._constant(each.number, native.location))
            operands.append(operation.operands[each.number] if each.is_own else constants[-1].results[0])
        return [*constants, Operation(found.name, operands, [], {}, [], native.location)]

    def _constant(self, value: int, source: ir.Location) -> Operation:
        number = next(self._fresh)
        self.types[number], self.widths[number] = "i32", 32
        return Operation("arith.constant", [], [number], {"value": value}, [], source)

    def _operation(self, native: ir.Operation) -> Operation:
        blocks = [self.block(block) for region in native.regions for block in region.blocks]
        operands = [self.value(each) for each in native.operands]
        results = [self.value(each) for each in native.results]
        attributes = {name: _attribute(native.attributes[name]) for name in native.attributes}
        if native.name == "nvvm.inline_ptx":
            is_predicated = positions(attributes["operandSegmentSizes"])[-1] == 1
            text = of_inline_ptx(attributes["ptxCode"], len(operands), is_predicated=is_predicated)
            return Operation("llvm.inline_asm", operands, results, {"asm_string": text}, blocks, native.location)
        return Operation(native.name, operands, results, attributes, blocks, native.location)


def _attribute(attribute: Any) -> Any:
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else str(attribute)


def all_operations(block: Block) -> Iterator[Operation]:
    """Those of a block, and of the blocks inside."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from all_operations(inner)


def operations_inside(operation: Operation) -> Iterator[Operation]:
    """Those in the blocks of an operation."""
    for block in operation.blocks:
        yield from all_operations(block)


Shape = tuple[tuple[int, int, int], tuple[int, int, int], tuple[int | None, int | None, int | None]]
"""Threads of a block, blocks of a cluster, and those of the grid that are known."""


def _launch(launch: ir.Operation) -> Shape:
    """Threads of a block, blocks of a cluster, and those of the grid that are known."""
    config = launch.operands[0]
    given = list(config.owner.operands)
    block = _constants(given[:3])
    x, y, z = (each if isinstance(each := _constant(value), int) else None for value in given[4:7])
    cluster = (1, 1, 1)
    for use in config.uses:
        if use.owner.operation.name == "cuda.launch_cfg.cluster_dim":
            cluster = _constants(list(use.owner.operands)[1:4])
    return block, cluster, (x, y, z)


def _required(kernel: ir.Operation) -> Shape | None:
    """Of a kernel that its module does not launch: what it says itself of its blocks."""
    if "nvvm.reqntid" not in kernel.attributes:
        return None
    x, y, z = ir.DenseI32ArrayAttr(kernel.attributes["nvvm.reqntid"])
    return (x, y, z), (1, 1, 1), (None, None, None)


def _constants(values: list[ir.Value]) -> tuple[int, int, int]:
    x, y, z = (ir.IntegerAttr(each.owner.attributes["value"]).value for each in values)
    return x, y, z


def _constant(value: ir.Value) -> Any:
    """What the host gives to a kernel: a number, a structure of numbers, or something unknown."""
    if isinstance(value.owner, ir.Block):
        return UNKNOWN
    owner = value.owner.operation
    match owner.name:
        case "arith.constant":
            return number_of(_attribute(owner.attributes["value"]), str(value.type))
        case "llvm.insertvalue":
            whole, part = (_constant(each) for each in owner.operands)
            if whole is UNKNOWN or part is UNKNOWN:
                return UNKNOWN
            return inserted(whole, part, positions(str(owner.attributes["position"])))
        case "ub.poison" | "llvm.mlir.undef" | "llvm.mlir.poison":
            return Aggregate()
        case _:
            return UNKNOWN


def number_of(value: Any, type_: str) -> Any:
    """What a constant is: an integer, or a vector whose elements are all the same one."""
    if isinstance(value, int):
        return value & 1 if type_ == "i1" else value
    found = re.match(r"dense<(-?\d+)> : vector<\d+xi\d+>$", str(value))
    return int(found[1]) if found else UNKNOWN


def positions(attribute: str) -> tuple[int, ...]:
    """The numbers in an array attribute."""
    return tuple(int(each) for each in re.findall(r"-?\d+", attribute.split(":", 1)[-1]))


_ATOM = re.compile(
    r"!cute_nvgpu\.atom\.non_exec_\w*tma_\w+<(?:(\w+), )?\w+, copy_bits = (\d+), "
    r'tma_gbasis = <"[^"]*">, tma_format = (\w+)'
)
_UNPACKED = re.compile(r"U(\d)_UNPACK_U8")


def _boxes(kernel: ir.Operation) -> Iterator[Box]:
    for argument in kernel.regions[0].blocks[0].arguments:
        if found := _ATOM.search(str(argument.type)):
            size = int(found[2]) // 8
            unpacked = _UNPACKED.match(found[3])
            reach = size * 8 // int(unpacked[1]) if unpacked else size
            yield Box(size, "multicast" in (found[1] or ""), reach)
