"""What single operations of a lowered kernel do to values, by their names.

A function takes the machine and the operation, and gives a value and what it depends on (`Sample.assumed`) for each
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutecc.ir.mlir import ir
from cutecc.passes.analysis import lanes
from cutecc.passes.analysis.lanes import Value
from cutecc.passes.analysis.program import address_space, bytes_of

if TYPE_CHECKING:
    from cutecc.passes.analysis.evaluation import Machine

Known = tuple[Value, int]
"""A value, and the bits of what it depends on: as it adds to all threads alike, and from `PER_THREAD` on, as it makes
them differ."""
Semantics = Callable[["Machine", ir.Operation, list[Known]], list[Known]]

PER_THREAD = 1024
"""More than there are numbers among the arguments of any kernel."""
_ALIKE = (1 << PER_THREAD) - 1
UNKNOWN: Known = (None, 0)
_DYNAMIC = -(2**31)
"""Stands among the constant indices of a `getelementptr` for an operand."""


def width_of(type_: Any) -> int:
    """Bits of an integer or pointer; 0 for other types and widths."""
    if isinstance(type_, ir.IntegerType):
        return type_.width if type_.width in lanes.WIDTHS else 0
    if isinstance(type_, ir.IndexType) or str(type_).startswith("!llvm.ptr"):
        return lanes.POINTER
    return 0


def multiplied(value: Value, depends: int) -> Known:
    """What is more than a sum: when the threads of a warp differ, what the value depends on makes them differ."""
    if not depends or value is None or isinstance(value, int) or (value == value[:, :1]).all():
        return value, depends
    return value, depends | (depends & _ALIKE) << PER_THREAD


def _binary(name: str) -> Semantics:
    adds = name in ("addi", "subi")

    def run(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
        (a, on_a), (b, on_b) = given
        function = lanes.binary(name, width_of(operation.results[0].type))
        if a is None or b is None or function is None:
            return [UNKNOWN]
        found = function(a, b)
        return [(found, on_a | on_b) if adds else multiplied(found, on_a | on_b)]

    return run


def _constant(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    width = width_of(operation.results[0].type)
    value: Any = operation.attributes["value"].value if width else None
    return [(lanes.normalised(int(value), width), 0) if value is not None else UNKNOWN]


def _zero(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    return [(0, 0) if width_of(operation.results[0].type) else UNKNOWN]


def _compare(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    (a, on_a), (b, on_b) = given
    width = width_of(operation.operands[0].type)
    if a is None or b is None or not width:
        return [UNKNOWN]
    return [multiplied(lanes.compared(operation.attributes["predicate"].value, a, b, width), on_a | on_b)]


def _select(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    (condition, on_condition), (a, on_a), (b, on_b) = given
    if isinstance(condition, int):
        value, depends = (a, on_a) if condition else (b, on_b)
        return [(value, depends | on_condition)]
    width = width_of(operation.results[0].type)
    return [multiplied(lanes.selected(condition, a, b, width), on_condition | on_a | on_b) if width else UNKNOWN]


def _resize(*, signed: bool) -> Semantics:
    def run(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
        ((value, depends),) = given
        source, target = width_of(operation.operands[0].type), width_of(operation.results[0].type)
        if not source or not target:
            return [UNKNOWN]
        return [(lanes.resized(value, target, signed=signed, source=source), depends)]

    return run


def _same(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    if width_of(operation.operands[0].type) != width_of(operation.results[0].type):
        return [UNKNOWN]
    return given[:1]


def _product(*, signed: bool) -> Semantics:
    def run(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
        (a, on_a), (b, on_b) = given
        width = width_of(operation.operands[0].type)
        if a is None or b is None or not width:
            return [UNKNOWN, UNKNOWN]
        low, high = lanes.extended_product(a, b, width, signed=signed)
        return [multiplied(low, on_a | on_b), multiplied(high, on_a | on_b)]

    return run


def _extract(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    value = operation.operands[0]
    path = tuple(int(each) for each in operation.attributes["position"])
    found = machine.argument(value, path, operation.results[0].type)
    return [found or UNKNOWN]


def _element_pointer(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    (address, depends), *indices = given
    constants = [int(index) for index in operation.attributes["rawConstantIndices"]]
    element: Any = operation.attributes["elem_type"].value
    size = bytes_of(element)
    if address is None or not size:
        return [UNKNOWN]
    rest = iter(indices)
    for level, constant in enumerate(constants):
        if level:
            # Only arrays lie inside; members of structs are not looked for.
            element = element.element_type
            size = bytes_of(element)
        if constant != _DYNAMIC:
            address = address + constant * size
            continue
        index, on_index = next(rest)
        if index is None:
            return [UNKNOWN]
        if not isinstance(index, int):
            index = lanes.of_width(index, lanes.POINTER)
        address, depends = address + index * size, depends | on_index
    return [(address, depends)]


def _to_integer(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    ((value, depends),) = given
    return [(lanes.resized(value, width_of(operation.results[0].type) or 64, signed=False, source=64), depends)]


def _to_pointer(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    ((value, depends),) = given
    width = width_of(operation.operands[0].type)
    return [(lanes.resized(value, lanes.POINTER, signed=False, source=width), depends) if width else UNKNOWN]


def _address_of(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    if address_space(operation.results[0]) is None:
        return [UNKNOWN]
    return [(machine.variable(operation.attributes["global_name"].value), 0)]


def _allocate(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    return [(machine.allocate(operation.results[0]), 0)]


def _load(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    return [machine.load(operation, given[0][0])]


def _store(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    machine.store(operation, given[0], given[1][0])
    return []


def _thread(dimension: int) -> Semantics:
    return lambda machine, operation, given: [(machine.sample.thread(dimension), 0)]


def _block_size(dimension: int) -> Semantics:
    return lambda machine, operation, given: [(machine.sample.block[dimension], 0)]


def _block(dimension: int) -> Semantics:
    return lambda machine, operation, given: [machine.sample.block_index(dimension)]


def _grid_size(dimension: int) -> Semantics:
    return lambda machine, operation, given: [machine.sample.grid_size(dimension)]


def _shuffle(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    _, (value, on_value), (offset, on_offset), (clamp, _) = given
    if not width_of(operation.results[0].type):
        return [UNKNOWN]
    # `#nvvm<shfl_kind idx>`
    kind = str(operation.attributes["kind"]).rpartition(" ")[2].rstrip(">")
    return [multiplied(lanes.shuffled(value, kind, offset, clamp), on_value | on_offset)]


def _elect(machine: Machine, operation: ir.Operation, given: list[Known]) -> list[Known]:
    return [(lanes.first_of_warps(machine.mask), 0)]


def _per_dimension(name: str, function: Callable[[int], Semantics]) -> dict[str, Semantics]:
    return {f"nvvm.read.ptx.sreg.{name}.{axis}": function(dimension) for dimension, axis in enumerate("xyz")}


SEMANTICS: dict[str, Semantics] = {
    **{f"arith.{name}": _binary(name) for name in lanes.BINARY},
    "arith.constant": _constant,
    "llvm.mlir.constant": _constant,
    "llvm.mlir.zero": _zero,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.extsi": _resize(signed=True),
    "arith.extui": _resize(signed=False),
    "arith.trunci": _resize(signed=True),
    "arith.index_cast": _resize(signed=True),
    "arith.index_castui": _resize(signed=False),
    "arith.mului_extended": _product(signed=False),
    "arith.mulsi_extended": _product(signed=True),
    "llvm.extractvalue": _extract,
    "llvm.getelementptr": _element_pointer,
    "llvm.ptrtoint": _to_integer,
    "llvm.inttoptr": _to_pointer,
    "llvm.addrspacecast": _same,
    "llvm.bitcast": _same,
    "llvm.mlir.addressof": _address_of,
    "llvm.alloca": _allocate,
    "llvm.load": _load,
    "llvm.store": _store,
    **_per_dimension("tid", _thread),
    **_per_dimension("ntid", _block_size),
    **_per_dimension("ctaid", _block),
    **_per_dimension("nctaid", _grid_size),
    "nvvm.read.ptx.sreg.laneid": lambda machine, operation, given: [(machine.sample.lane(), 0)],
    "nvvm.read.ptx.sreg.warpid": lambda machine, operation, given: [(machine.sample.warp(), 0)],
    "nvvm.shfl.sync": _shuffle,
    "nvvm.elect.sync": _elect,
}
