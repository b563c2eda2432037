"""Arithmetic of structures, vectors, matrix descriptors and answers, as lines of Python."""

from __future__ import annotations

from cutecc.proving.aggregates import Aggregate, element_of, extracted, inserted, is_granted, vector_of
from cutecc.proving.kernel import Kernel, Operation, positions
from cutecc.proving.values import UNKNOWN, Value

_WORD = 32
_MASK = (1 << _WORD) - 1
_PAIR = "vector<2xi32>"
_NOTHING = ("ub.poison", "llvm.mlir.undef", "llvm.mlir.poison")


def text_of(operation: Operation, given: list[str], kernel: Kernel) -> str | None:
    """What an operation makes of its operands; `None` where that is not known."""
    name, result = operation.name, kernel.types[operation.results[0]]
    operands = ", ".join(given)
    match name:
        case "llvm.extractvalue" | "llvm.insertvalue":
            function = "extracted" if name == "llvm.extractvalue" else "inserted"
            return f"{function}({operands}, {positions(operation.attributes['position'])})"
        case "vector.from_elements" if result != _PAIR:
            return f"vector_of([{operands}])"
        case "llvm.intr.fshr" if result == "i32":
            return f"rotated({operands})"
        case "nvvm.clusterlaunchcontrol.query.cancel":
            asks = "is_canceled" in str(operation.attributes.get("query_type"))
            return f"is_granted({operands}, w.numbers)" if asks else None
        case "nvvm.tcgen05.mma_smem_desc":
            return f"descriptor({operands})"
        case _:
            return "Aggregate()" if name in _NOTHING and result.startswith("!llvm.struct") else None


def _rotated(high: Value, low: Value, by: Value) -> Value:
    """The lower word of two, moved down together."""
    if any(type(each) is not int for each in (high, low, by)):
        return UNKNOWN
    return _signed(((high & _MASK) << _WORD | low & _MASK) >> by % _WORD)


def _tensor_descriptor(*fields: Value) -> Value:
    """A matrix descriptor of `tcgen05`: start, leading and stride in units of 16 bytes, base offset, mode, swizzle."""
    if any(type(each) is not int for each in fields):
        return UNKNOWN
    start, leading, stride, base, mode, swizzle = fields
    field = 0x3FFF
    places = (start & field, (leading & field) << 16, (stride & field) << 32, 1 << 46)
    return sum(places) + ((base & 7) << 49) + ((mode & 1) << 52) + ((swizzle & 7) << 61)


def _signed(word: int) -> int:
    word &= _MASK
    return word - (1 << _WORD) if word >> (_WORD - 1) else word


FUNCTIONS = {
    **{each.__name__: each for each in (Aggregate, element_of, extracted, inserted, is_granted, vector_of)},
    "descriptor": _tensor_descriptor,
    "rotated": _rotated,
}
"""What the lines call."""
