"""A kernel between the lowering of CuTe and that of structured control flow, as plain objects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cutecc.errors import SourceLocation
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.passes import walk

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


@dataclass(eq=False, slots=True)
class Kernel:
    """What is known of a kernel without running it."""

    name: str
    arguments: list[int]
    body: Block
    block: tuple[int, int, int]
    """Threads."""
    cluster: tuple[int, int, int]
    widths: dict[int, int]
    """Bits of integers and pointers, by value."""
    types: dict[int, str]
    boxes: dict[int, Box] = field(default_factory=dict["int", "Box"])
    """What one instruction copies, by the argument that holds the tensor map."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """What copies of traced kernels move, by the kernels' names: their types say so, which lowering drops."""

    boxes: dict[str, list[Box]]

    @classmethod
    def of(cls, traced: ir.Module) -> Atoms:
        """Of a module that no pass has changed."""
        return cls({_name(each): [*_boxes(each)] for each in walk(traced, "cuda.kernel")})


def read_kernels(lowered: ir.Module, atoms: Atoms) -> Iterator[Kernel]:
    """The kernels of a module of which it is known how many threads they have."""
    launches = {_callee(each): each for each in walk(lowered, "cuda.launch_ex")}
    for operation in walk(lowered, "cuda.kernel"):
        name = _name(operation)
        shape = _launch(launches[name]) if name in launches else _required(operation)
        if shape is None:
            continue
        block, cluster = shape
        reader = _Reader()
        (native,) = operation.regions[0].blocks
        arguments = [reader.value(each) for each in native.arguments]
        kernel = Kernel(name, arguments, reader.block(native), block, cluster, reader.widths, reader.types)
        # Tensor maps are passed by value, in the order of the traced kernel's atoms.
        boxes = atoms.boxes.get(name, [])
        pointers = [each for each in native.arguments if str(each.type) == "!llvm.ptr"]
        if len(pointers) == len(boxes):
            kernel.boxes = {reader.value(each): box for each, box in zip(pointers, boxes, strict=True)}
        yield kernel


def _name(kernel: ir.Operation) -> str:
    return str(kernel.attributes["sym_name"]).strip('"')


def _callee(launch: ir.Operation) -> str:
    return str(launch.attributes["callee"]).rpartition("@")[2].strip('"')


class _Reader:
    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self.widths: dict[int, int] = {}
        self.types: dict[int, str] = {}

    def value(self, value: ir.Value) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._numbers)
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
        return Block(arguments, [self.operation(each.operation) for each in native.operations])

    def operation(self, native: ir.Operation) -> Operation:
        blocks = [self.block(block) for region in native.regions for block in region.blocks]
        operands = [self.value(each) for each in native.operands]
        results = [self.value(each) for each in native.results]
        attributes = {name: _attribute(native.attributes[name]) for name in native.attributes}
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


def _launch(launch: ir.Operation) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Threads of a block and blocks of a cluster."""
    config = launch.operands[0]
    block = _constants(list(config.owner.operands)[:3])
    cluster = (1, 1, 1)
    for use in config.uses:
        if use.owner.operation.name == "cuda.launch_cfg.cluster_dim":
            cluster = _constants(list(use.owner.operands)[1:4])
    return block, cluster


def _required(kernel: ir.Operation) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """Of a kernel that its module does not launch: what it says itself of its blocks."""
    if "nvvm.reqntid" not in kernel.attributes:
        return None
    x, y, z = ir.DenseI32ArrayAttr(kernel.attributes["nvvm.reqntid"])
    return (x, y, z), (1, 1, 1)


def _constants(values: list[ir.Value]) -> tuple[int, int, int]:
    x, y, z = (ir.IntegerAttr(each.owner.attributes["value"]).value for each in values)
    return x, y, z


_ATOM = re.compile(
    r"!cute_nvgpu\.atom\.non_exec_tiled_tma_\w+<(?:(sm_\w+), )?(\w+), copy_bits = \d+, "
    r"tma_gbasis = <\"(\([\d,]+\)|\d+):"
)
_FORMATS = re.compile(r"(?:f|bf|i|u|ui|si|tf)(\d+)")


def _boxes(kernel: ir.Operation) -> Iterator[Box]:
    for argument in kernel.regions[0].blocks[0].arguments:
        if found := _ATOM.search(str(argument.type)):
            bits = _FORMATS.match(found[2])
            elements = math.prod(int(size) for size in re.findall(r"\d+", found[3]))
            yield Box(elements * int(bits[1]) // 8 if bits else 0, "multicast" in (found[1] or ""))
