"""The memory that a traced kernel allocates, by the names that the user's source gives it.

Shared memory lies in the order of its allocations, each at its alignment, as the pass `infer-kernel-smem-usage` lays it
out. What the source calls it stands left of the `=` in the line of the call; where a function of the user's returns it,
in the line that calls that function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cutecc.errors import Error, SourceLocation
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.ir.types.elements import AddressSpace
from cutecc.ir.types.reading import view
from cutecc.ir.types.values import IntTupleValue, MemRef, Pointer
from cutecc.ir.walking import walk
from cutecc.layout import Layout
from cutecc.layout.tuples import is_static, is_tuple, leaves
from cutecc.record.stages import CallFrame, UserLines
from cutecc.record.variables import Variable

_TARGET = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?::[^=]+)?=(?!=)")
_SOURCE = re.compile(r'^loc\("((?:[^"\\]|\\.)*)"\(')
_ALLOCATION = "cute.memref.alloca"
_SAME_PLACE = {
    "cute.get_iter",
    "cute.recast_iter",
    "cute.make_view",
    "cute.assume",
    "builtin.unrealized_conversion_cast",
}
"""Operations whose result leads to where their first operand does."""
_READS_AND_WRITES = ("cute.memref.load", "cute.memref.store", "cute.gemm", "cute.copy", "cute.mma_atom_call")


def variables_of(module: ir.Module, lines: UserLines | None) -> list[Variable]:
    """The variables of all kernels of a traced module; `lines` is what the trace knows besides."""
    with plain_values():
        return list(_variables(module, _Namer(lines or UserLines())))


def _variables(module: ir.Module, namer: _Namer) -> Iterator[Variable]:
    for kernel in walk(module, "cuda.kernel", "gpu.func"):
        symbol = ir.StringAttr(kernel.attributes["sym_name"]).value
        allocations = list(walk(kernel, _ALLOCATION))
        namer.count(allocations)
        end = 0
        for allocation in allocations:
            tensor = _view(allocation.results[0])
            if not isinstance(tensor, MemRef):
                continue
            if tensor.space is AddressSpace.SMEM:
                size = _bytes(tensor)
                if size is None:
                    break
                start = -(-end // (tensor.alignment or 1)) * (tensor.alignment or 1)
                end = start + size
                yield from _shared(symbol, allocation, namer, start, size)
            elif tensor.space is AddressSpace.RMEM:
                yield from _fragment(symbol, allocation, namer)


@dataclass(frozen=True)
class _Part:
    """A stretch of an allocation, and how it is used."""

    offset: int
    bytes: int
    name: str


def _shared(kernel: str, allocation: ir.Operation, namer: _Namer, start: int, size: int) -> Iterator[Variable]:
    name, location = namer.name(allocation)
    if name is None:
        return
    parts = _members(allocation, name) or [_Part(0, size, name)]
    views = sorted(_views(allocation), key=lambda each: isinstance(each[1], Pointer))
    for part in parts:
        inside = [tensor for offset, tensor in views if offset == part.offset]
        tensor = next((each for each in inside if each.element.bits != 8 or isinstance(each, MemRef)), None)
        bits = tensor.element.bits if tensor else 8
        modes = _modes(tensor.layout) if isinstance(tensor, MemRef) else _array(part.bytes, bits) if tensor else []
        swizzle = tensor.swizzle if tensor else None
        yield Variable(
            kernel,
            "shared",
            part.name,
            location,
            start + part.offset,
            part.bytes,
            bits,
            modes,
            (swizzle.bits, swizzle.base, swizzle.shift) if swizzle else None,
        )


def _array(size: int, bits: int) -> list[list[tuple[int, int]]]:
    """What a pointer leads to: elements one after the other, or a single one."""
    count = 8 * size // bits
    return [[(count, 1)]] if count > 1 else []


def _members(allocation: ir.Operation, name: str) -> list[_Part]:
    """Of a `cute.struct`: `full:16:0` is the member `full`, of 16 bytes, at byte 0."""
    if "smem.struct_fields" not in allocation.attributes:
        return []
    fields = (
        ir.StringAttr(each).value.rsplit(":", 2) for each in ir.ArrayAttr(allocation.attributes["smem.struct_fields"])
    )
    return [_Part(int(offset), int(size), f"{name}.{member}") for member, size, offset in fields]


def _views(allocation: ir.Operation) -> Iterator[tuple[int, MemRef | Pointer]]:
    """Tensors and pointers to its parts, with the byte that each begins at, in their order."""
    work: list[tuple[ir.Value, int]] = [(allocation.results[0], 0)]
    seen: set[Any] = set()
    while work:
        value, offset = work.pop(0)
        for use in value.uses:
            operation = getattr(use.owner, "operation", use.owner)
            for passed in _passed_on(operation, use.operand_number):
                if passed not in seen:
                    seen.add(passed)
                    work.append((passed, offset))
            if operation.name == "cute.add_offset":
                moved = _moved(operation, offset)
                if moved is None:
                    continue
            elif operation.name in _SAME_PLACE:
                moved = offset
            else:
                continue
            result = operation.results[0]
            if result in seen:
                continue
            seen.add(result)
            work.append((result, moved))
            if operation.name in ("cute.make_view", "cute.recast_iter") and (found := _view(result)) is not None:
                yield moved, found


def _passed_on(operation: ir.Operation, number: int) -> list[ir.Value]:
    """What an operand is called inside of and behind loops and branches that it goes through."""
    parent = operation.parent
    match operation.name:
        case "scf.for" if number > 2:
            return [operation.regions[0].blocks[0].arguments[number - 2], operation.results[number - 3]]
        case "scf.while":
            return [operation.regions[0].blocks[0].arguments[number]]
        case "scf.condition" if number > 0 and parent is not None:
            return [parent.operation.regions[1].blocks[0].arguments[number - 1], parent.operation.results[number - 1]]
        case "scf.yield" if parent is not None and parent.operation.name == "scf.if":
            return [parent.operation.results[number]]
        case _:
            return []


def _moved(operation: ir.Operation, offset: int) -> int | None:
    """Where a constant number of elements behind `offset` is; `None` where it is not constant."""
    pointer, by = _view(operation.operands[0]), view(operation.operands[1].type)
    if pointer is None or not isinstance(by, IntTupleValue) or not isinstance(by.value, int):
        return None
    return offset + by.value * pointer.element.bits // 8


def _view(value: ir.Value) -> MemRef | Pointer | None:
    try:
        found = view(value.type)
    except Error:
        return None
    return found if isinstance(found, MemRef | Pointer) else None


def _bytes(tensor: MemRef) -> int | None:
    layout = tensor.layout
    if not isinstance(layout, Layout) or not is_static(layout.shape):
        return None
    count = 1
    for size in leaves(layout.shape):
        count *= size
    return count * tensor.element.bits // 8


def _modes(layout: Any) -> list[list[tuple[int, int]]]:
    """Sizes and strides of each mode; none where they are not all known, or the layout is not of the plain kind."""
    if not isinstance(layout, Layout) or not is_static(layout.shape) or not is_static(layout.stride):
        return []
    shapes: Any = layout.shape if is_tuple(layout.shape) else (layout.shape,)
    strides: Any = layout.stride if is_tuple(layout.stride) else (layout.stride,)
    return [
        list(zip(map(int, leaves(shape)), map(int, leaves(stride)), strict=True))
        for shape, stride in zip(shapes, strides, strict=True)
    ]


def _fragment(kernel: str, allocation: ir.Operation, namer: _Namer) -> Iterator[Variable]:
    name, location = namer.name(allocation)
    if name is None:
        return
    uses: dict[str, None] = {}
    accumulates: dict[str, None] = {}
    work: list[ir.Value] = [allocation.results[0]]
    seen: set[Any] = set()
    while work:
        value = work.pop()
        for use in value.uses:
            operation = getattr(use.owner, "operation", use.owner)
            if operation.name in _READS_AND_WRITES:
                place = str(user_location(operation.location))
                uses[place] = None
                # The multiplication's operands are its atom, D, A, B and C.
                if operation.name in ("cute.gemm", "cute.mma_atom_call") and use.operand_number == 4:
                    accumulates[place] = None
                continue
            derived = [result for result in operation.results if _view(result) is not None]
            for each in _passed_on(operation, use.operand_number) or derived:
                if each not in seen:
                    seen.add(each)
                    work.append(each)
    yield Variable(kernel, "registers", name, location, uses=[*uses], accumulates=[*accumulates])


class _Namer:
    """What the source calls what it allocates."""

    def __init__(self, lines: UserLines) -> None:
        self._sources = lines.sources
        self._callers: dict[tuple[str, int, int], list[CallFrame]] = {}
        for chain in lines.chains:
            if len(chain) > 1:
                self._callers.setdefault((chain[0].file, chain[0].line, chain[0].column), []).append(chain[1])
        self._of: dict[str, list[ir.Operation]] = {}

    def count(self, allocations: list[ir.Operation]) -> None:
        """Those of one kernel: a function that is called twice allocates twice at one place."""
        self._of = {}
        for each in allocations:
            self._of.setdefault(str(each.location), []).append(each)

    def name(self, allocation: ir.Operation) -> tuple[str | None, str | None]:
        """The name, and where it is allocated."""
        place = user_location(allocation.location)
        if place is None:
            return None, None
        text = str(allocation.location)
        match = _SOURCE.match(text)
        name = _assigned(match[1]) if match else None
        if name is None:
            name = self._returned(allocation, place, text)
        return name, str(place)

    def _returned(self, allocation: ir.Operation, place: SourceLocation, text: str) -> str | None:
        """A function returns it: where that is called, if each call is known that allocates here."""
        callers = self._callers.get((place.file, place.line or 0, place.column or 0), [])
        here = self._of.get(text, [])
        if not callers or len(callers) not in (1, len(here)):
            return None
        caller = callers[0 if len(callers) == 1 else here.index(allocation)]
        source = self._sources.get(caller.file, "").splitlines()
        name = _assigned(source[caller.line - 1]) if 0 < caller.line <= len(source) else None
        if name is None or len(here) == len(callers):
            return name
        return f"{name}#{here.index(allocation)}" if len(here) > 1 else name


def _assigned(line: str) -> str | None:
    """The variable that a line assigns; `None` where it assigns several, or none."""
    match = _TARGET.match(line)
    return match[1].removeprefix("self.") if match else None
