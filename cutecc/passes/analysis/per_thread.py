"""Values that follow from a thread's index alone, computed for each thread of a block."""

from __future__ import annotations

from collections.abc import Callable

from cutecc.ir.mlir import ir

_WARP = 32
_LARGEST_CLUSTER = 16
_MOST_DEEP = 100
"""Operations between an index and what is made of it; longer ways are not followed."""

Values = tuple[int, ...]
"""One for each thread, by linear index."""


def _divided(left: int, right: int) -> int:
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": int.__add__,
    "arith.subi": int.__sub__,
    "arith.muli": int.__mul__,
    "arith.andi": int.__and__,
    "arith.ori": int.__or__,
    "arith.xori": int.__xor__,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.shli": int.__lshift__,
    "arith.shrui": int.__rshift__,
    "arith.shrsi": int.__rshift__,
    "arith.floordivsi": int.__floordiv__,
    "arith.divsi": _divided,
    "arith.divui": int.__floordiv__,
    "arith.remsi": lambda left, right: left - right * _divided(left, right),
    "arith.remui": int.__mod__,
}
_COMPARISONS = ("eq", "ne", *("lt", "le", "gt", "ge") * 2)
"""By the number of the predicate: signed ones, then unsigned."""
_SAME = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
_AXES = "xyz"


def _compared(predicate: int, left: int, right: int) -> bool:
    match _COMPARISONS[predicate]:
        case "eq":
            return left == right
        case "ne":
            return left != right
        case "lt":
            return left < right
        case "le":
            return left <= right
        case "gt":
            return left > right
        case _:
            return left >= right


class ThreadValues:
    """What values of a kernel are in each thread, where the shape of its block is known."""

    def __init__(self, shape: tuple[int, int, int], rank: int | None = None) -> None:
        """`shape` is that of the block, x first; `rank` the block's in its cluster, where that may count too."""
        self._shape = shape
        self._rank = rank
        self.threads = shape[0] * shape[1] * shape[2]
        self._known: dict[ir.Value, Values | None] = {}

    def of(self, value: ir.Value, depth: int = 0) -> Values | None:
        """What `value` is in each thread; `None` when more than the thread's index decides."""
        if value not in self._known:
            try:
                self._known[value] = None if depth > _MOST_DEEP else self._computed(value, depth + 1)
            except (ZeroDivisionError, ValueError, OverflowError):
                self._known[value] = None
        return self._known[value]

    def in_cluster(self, value: ir.Value) -> list[Values] | None:
        """What `value` is in each thread of the block of each rank; `None` when more decides."""
        found: list[Values] = []
        for rank in range(_LARGEST_CLUSTER):
            known = ThreadValues(self._shape, rank).of(value)
            if known is None:
                return None
            found.append(known)
        return found

    def _computed(self, value: ir.Value, depth: int) -> Values | None:
        if isinstance(value.owner, ir.Block):
            return None
        operation = value.owner.operation
        name = operation.name
        if name == "arith.constant":
            attribute = operation.attributes["value"]
            known = isinstance(attribute, ir.IntegerAttr | ir.BoolAttr)
            # A bit that is set reads as -1.
            return (self._constant(attribute, value),) * self.threads if known else None
        if name.startswith("nvvm.read.ptx.sreg."):
            return self._register(name.removeprefix("nvvm.read.ptx.sreg."))
        if name not in _OPERATIONS and name not in _SAME and name not in _OTHERS:
            return None
        operands = [self.of(operand, depth) for operand in operation.operands]
        if any(each is None for each in operands):
            return None
        known_operands = [each for each in operands if each is not None]
        if name in _SAME:
            return known_operands[0]
        if name == "cute_nvgpu.arch.make_warp_uniform":
            return tuple(known_operands[0][thread - thread % _WARP] for thread in range(self.threads))
        if name == "arith.select":
            return tuple(yes if chosen else no for chosen, yes, no in zip(*known_operands, strict=True))
        if name == "arith.cmpi":
            predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
            return tuple(int(_compared(predicate, *pair)) for pair in zip(*known_operands, strict=True))
        compute = _OPERATIONS[name]
        return tuple(compute(left, right) for left, right in zip(*known_operands, strict=True))

    def _constant(self, attribute: ir.Attribute, value: ir.Value) -> int:
        if isinstance(attribute, ir.BoolAttr):
            return int(attribute.value)
        found = ir.IntegerAttr(attribute).value
        return found & 1 if str(value.type) == "i1" else found

    def _register(self, name: str) -> Values | None:
        width, height, _ = self._shape
        match name.partition("."):
            case "tid", _, axis:
                steps = (1, width, width * height)
                place = _AXES.index(axis)
                return tuple(thread // steps[place] % self._shape[place] for thread in range(self.threads))
            case "ntid", _, axis:
                return (self._shape[_AXES.index(axis)],) * self.threads
            case "cluster", _, "ctarank" if self._rank is not None:
                return (self._rank,) * self.threads
            case "laneid", _, _:
                return tuple(thread % _WARP for thread in range(self.threads))
            case _:
                return None


_OTHERS = ("arith.cmpi", "arith.select", "cute_nvgpu.arch.make_warp_uniform")


def block_shape(kernel: ir.Operation) -> tuple[int, int, int] | None:
    """The shape of the block that `kernel` is always launched with, x first; `None` when it says of none."""
    if "nvvm.reqntid" not in kernel.attributes:
        return None
    sizes = list(ir.DenseI32ArrayAttr(kernel.attributes["nvvm.reqntid"]))
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
