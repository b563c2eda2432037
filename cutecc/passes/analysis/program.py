"""A lowered kernel, cut down to what its accesses of memory depend on: addresses, and who executes them.

Works on the form with structured control flow over the `arith`, `llvm` and `nvvm` dialects, between
`convert-cute-to-core` and `convert-scf-to-cf`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from cutecc.ir.mlir import ir

Kind = Literal["load", "store", "atomic", "copy", "matrix load", "matrix store"]

GLOBAL, SHARED = 1, 3
"""Address spaces."""
_ROW = 16
"""Bytes of a row of a matrix."""
_POINTER = re.compile(r"!llvm\.ptr(?:<(\d+)>)?")
_ATOMS = re.compile(r"\b(?:ld|st|red|atom|ldmatrix|stmatrix)\.[\w.:]*(?:global|shared)")
"""In assembly, accesses that are not looked into."""
_ACCESSES = (
    *("llvm.load", "llvm.store", "llvm.atomicrmw", "nvvm.atomicrmw"),
    *("nvvm.cp.async.shared.global", "nvvm.ldmatrix", "nvvm.stmatrix"),
)
_STRUCTURED = ("scf.for", "scf.if", "scf.while")


@dataclass(eq=False)
class Block:
    """Operations that run one after another."""

    arguments: list[ir.Value]
    parent: Node | None
    nodes: list[Node] = field(default_factory=list["Node"])

    @property
    def last(self) -> Node:
        """`scf.yield` or `scf.condition`."""
        return self.nodes[-1]


@dataclass(eq=False)
class Node:
    """An operation."""

    operation: ir.Operation
    name: str
    block: Block
    blocks: list[Block] = field(default_factory=list[Block])
    is_needed: bool = False

    @property
    def operands(self) -> list[ir.Value]:
        return list(self.operation.operands)


@dataclass(frozen=True, eq=False)
class Access:
    """An operation by which the threads of a warp access global or shared memory."""

    node: Node
    kind: Kind
    size: int
    """Bytes that a thread accesses in a request."""
    pieces: int = 1
    """Requests, one behind another: what is less aligned than it is wide is accessed in pieces."""
    source: ir.Value | None = None
    """The address in global memory."""
    target: ir.Value | None = None
    """The address in shared memory."""
    amount: ir.Value | None = None
    """Of a copy, the bytes that are read; the rest is zeros."""
    past_l1: bool = False
    rows: int = 32
    """Of a matrix: the threads that give an address each, the first of the warp."""
    is_increment: bool = False
    """An atomic addition of 1 that nothing reads the result of."""


class KernelProgram:
    """What is needed of a kernel to know the addresses of its accesses."""

    def __init__(self, kernel: ir.Operation, known_operations: Container[str]) -> None:
        """Nothing is needed for results of operations that are not among the known ones: they are unknown."""
        self.kernel = kernel
        self._known_operations = known_operations
        regions = [list(region.blocks) for region in kernel.regions]
        self.accesses: list[Access] = []
        self.unreadable: list[ir.Operation] = []
        """Accesses in a form that is not looked into: in inline assembly, or in a graph of basic blocks."""
        self.stores: dict[ir.Value, list[Node]] = {}
        """Into local memory, by the `llvm.alloca`."""
        self._definitions: dict[ir.Value, tuple[Node | None, Block | None, int]] = {}
        self._needed: set[ir.Value] = set()
        self._due: list[ir.Value] = []
        self.body = Block([], None)
        if len(regions) == 1 and len(regions[0]) == 1:
            self.body = self._block(regions[0][0], None)
            for node, values in self._wanted():
                self._need_node(node)
                self._need(*values)
            while self._due:
                self._follow(self._due.pop())
        else:
            self.unreadable = [each for each in _all_operations(kernel) if _access_of(Node(each, each.name, self.body))]

    def _wanted(self) -> Iterator[tuple[Node, tuple[ir.Value | None, ...]]]:
        """What is to be executed, and which values are to be known there."""
        for access in self.accesses:
            yield access.node, (access.source, access.target, access.amount)

    def root(self, pointer: ir.Value) -> ir.Value:
        """What a pointer was made of by adding to it."""
        while True:
            node = self.definition(pointer)
            if node is None or node.name not in ("llvm.getelementptr", "llvm.addrspacecast", "llvm.bitcast"):
                return pointer
            pointer = node.operation.operands[0]

    def definition(self, value: ir.Value) -> Node | None:
        """The operation that it is a result of."""
        node, block, _ = self._definitions[value]
        return node if block is None else None

    def depends_on(self, value: ir.Value, name: str) -> bool:
        """Whether a value is made of the result of an operation `name`, as far as no loop or branch is between."""
        waiting, seen = [value], {value}
        while waiting:
            node = self.definition(waiting.pop())
            if node is None:
                continue
            if node.name == name:
                return True
            operands = {*node.operands} - seen
            seen |= operands
            waiting.extend(operands)
        return False

    def is_needed(self, value: ir.Value) -> bool:
        return value in self._needed

    def _block(self, native: ir.Block, parent: Node | None) -> Block:
        block = Block(list(native.arguments), parent)
        for index, argument in enumerate(block.arguments):
            self._definitions[argument] = (parent, block, index)
        for view in native.operations:
            operation = view.operation
            node = Node(operation, operation.name, block)
            block.nodes.append(node)
            for index, result in enumerate(operation.results):
                self._definitions[result] = (node, None, index)
            if node.name in _STRUCTURED:
                node.blocks = [self._block(inner, node) for region in operation.regions for inner in region.blocks]
            else:
                self._look_at(node)
        return block

    def _look_at(self, node: Node) -> None:
        if node.name == "llvm.store":
            pointer = node.operation.operands[1]
            if address_space(pointer) == 0:
                root = self.root(pointer)
                defined = self.definition(root)
                if defined is not None and defined.name == "llvm.alloca":
                    self.stores.setdefault(root, []).append(node)
                    return
        if node.name in _ACCESSES:
            if access := _access_of(node, self):
                self.accesses.append(access)
        elif node.name == "llvm.inline_asm" and _ATOMS.search(node.operation.attributes["asm_string"].value):
            self.unreadable.append(node.operation)

    def _need(self, *values: ir.Value | None) -> None:
        for value in values:
            if value is not None and value not in self._needed:
                self._needed.add(value)
                self._due.append(value)

    def _need_node(self, node: Node) -> None:
        """Have it executed, and with it whatever it is inside of."""
        inside: Node | None = node
        while inside is not None and not inside.is_needed:
            inside.is_needed = True
            match inside.name:
                case "scf.for":
                    self._need(*inside.operands[:3])
                case "scf.if":
                    self._need(inside.operands[0])
                case "scf.while":
                    self._need(inside.blocks[0].last.operands[0])
                case _:
                    pass
            inside = inside.block.parent

    def _follow(self, value: ir.Value) -> None:
        """Have what a value depends on."""
        node, block, index = self._definitions[value]
        if node is None:
            return
        self._need_node(node)
        if block is not None:
            self._follow_argument(node, block, index)
            return
        match node.name:
            case "scf.for":
                self._need(node.blocks[0].arguments[1 + index])
            case "scf.if":
                self._need(*(each.last.operands[index] for each in node.blocks))
            case "scf.while":
                self._need(node.blocks[0].last.operands[1 + index])
            case "llvm.load":
                self._follow_load(node)
            case name if name in self._known_operations:
                self._need(*node.operands)
            case _:
                pass

    def _follow_argument(self, node: Node, block: Block, index: int) -> None:
        if node.name == "scf.for":
            if index:
                self._need(node.operands[2 + index], block.last.operands[index - 1])
        elif block is node.blocks[0]:
            self._need(node.operands[index], node.blocks[1].last.operands[index])
        else:
            self._need(node.blocks[0].last.operands[1 + index])

    def _follow_load(self, node: Node) -> None:
        root = self.root(node.operation.operands[0])
        for store in self.stores.get(root, ()):
            self._need_node(store)
            self._need(*store.operands)
        if root in self.stores:
            self._need(node.operation.operands[0])


def address_space(pointer: ir.Value) -> int | None:
    """The number of a pointer's address space; `None` for what is no pointer of LLVM's."""
    return _address_space_of(str(pointer.type))


@functools.cache
def _address_space_of(text: str) -> int | None:
    found = _POINTER.fullmatch(text)
    return int(found[1] or 0) if found else None


def bytes_of(type_: Any) -> int:
    """The size of a value in memory, 0 for a type that is not made of numbers and pointers."""
    if isinstance(type_, ir.IntegerType):
        return -(-type_.width // 8)
    if isinstance(type_, ir.FloatType):
        return -(-type_.width // 8)
    if isinstance(type_, ir.VectorType):
        elements = 1
        for size in type_.shape:
            elements *= size
        element: Any = type_.element_type
        return -(-elements * (element.width if hasattr(element, "width") else 8 * bytes_of(element)) // 8)
    text = str(type_)
    if found := _POINTER.fullmatch(text):
        return 4 if found[1] in ("3", "7") else 8
    if found := re.fullmatch(r"!llvm\.array<(\d+) x (.+)>", text):
        return int(found[1]) * bytes_of(type_.element_type)
    return 0


def _access_of(node: Node, program: KernelProgram | None = None) -> Access | None:
    operation, name = node.operation, node.name
    match name:
        case "llvm.load":
            return _plain(node, "load", operation.operands[0], operation.results[0].type, program)
        case "llvm.store":
            return _plain(node, "store", operation.operands[1], operation.operands[0].type, program)
        case "nvvm.atomicrmw" | "llvm.atomicrmw":
            return _plain(node, "atomic", operation.operands[0], operation.operands[1].type, program)
        case "nvvm.cp.async.shared.global":
            target, source, *rest = operation.operands
            cache = str(operation.attributes["modifier"])
            size = operation.attributes["size"].value
            amount = rest[0] if rest else None
            return Access(node, "copy", size, 1, source, target, amount, past_l1="cg" in cache)
        case "nvvm.ldmatrix":
            rows = 8 * operation.attributes["num"].value
            return Access(node, "matrix load", _ROW, target=operation.operands[0], rows=rows)
        case "nvvm.stmatrix":
            rows = 8 * (len(operation.operands) - 1)
            return Access(node, "matrix store", _ROW, target=operation.operands[0], rows=rows)
        case _:
            return None


def _plain(node: Node, kind: Kind, pointer: ir.Value, type_: ir.Type, program: KernelProgram | None) -> Access | None:
    space = address_space(pointer)
    if space == 0 and program is not None:
        # A generic pointer that was made of one into a known space.
        space = address_space(program.root(pointer))
    if space not in (GLOBAL, SHARED):
        return None
    size, pieces = bytes_of(type_), 1
    attributes = node.operation.attributes
    if not size or size & (size - 1):
        return None
    if "alignment" in attributes and 0 < attributes["alignment"].value < size:
        pieces = size // attributes["alignment"].value
    increment = kind == "atomic" and _is_increment(node.operation, program)
    source, target = (pointer, None) if space == GLOBAL else (None, pointer)
    return Access(node, kind, size // pieces, pieces, source, target, is_increment=increment)


def _is_increment(operation: ir.Operation, program: KernelProgram | None) -> bool:
    value = program.definition(operation.operands[1]) if program else None
    is_one = (
        value is not None and value.name == "arith.constant" and str(value.operation.attributes["value"]) == "1 : i32"
    )
    used = next(iter(operation.results[0].uses), None) is not None
    return (
        is_one and not used and "add" in str(operation.attributes["op" if "op" in operation.attributes else "bin_op"])
    )


def _all_operations(root: ir.Operation) -> Iterator[ir.Operation]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _all_operations(view.operation)
