"""What TMA asks of a tensor, asserted where its type leaves it open: whoever calls the kernel may get it wrong."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir.mlir import arith, cf, ir
from cutecc.layout.integers import Symbolic, divisibility
from cutecc.passes.lowering.values.integers import Predicate, compare, constant
from cutecc.passes.lowering.values.pointers import integer_address
from cutecc.passes.lowering.values.tma_modes import UNIT, Mode
from cutecc.passes.lowering.values.vector_accesses import Tensor


def assert_copyable(tensor: Tensor, found: Sequence[Mode]) -> None:
    """Assert that the address and the steps along modes are multiples of 16 bytes, and the innermost elements adjacent.

    TMA would take other numbers without a word, and copy other elements. Of an empty tensor it copies none, and along a
    mode of one element it makes no step.
    """
    if tensor.alignment % UNIT:
        address = integer_address(tensor.pointer, 64)
        cf.assert_(_is_multiple(address), f"the address of a tensor for TMA is no multiple of {UNIT} bytes")
    for index, mode in enumerate(found):
        if not isinstance(mode.step, Symbolic):
            continue
        if index == 0:
            if mode.box == 1:
                continue
            holds = compare(Predicate.EQUAL, tensor.arithmetic.value(mode.step, 64), constant(1, 64))
            message = f"elements along {mode.name} of a tensor for TMA, {tensor.layout}, do not lie side by side"
        else:
            if divisibility(mode.step) * tensor.element.bits % (8 * UNIT) == 0:
                continue
            assert mode.stride is not None
            holds = _is_multiple(mode.stride)
            message = f"steps along {mode.name} of a tensor for TMA, {tensor.layout}, are no multiple of {UNIT} bytes"
        cf.assert_(arith.ori(holds, _makes_no_step(mode, found)), message)


def _is_multiple(number: ir.Value) -> ir.Value:
    return compare(Predicate.EQUAL, arith.andi(number, constant(UNIT - 1, 64)), constant(0, 64))


def _makes_no_step(mode: Mode, found: Sequence[Mode]) -> ir.Value:
    """Whether nothing is copied from beyond the first element of a mode."""
    count = found[0].size
    for other in found[1:]:
        count = arith.muli(count, other.size)
    alone = compare(Predicate.EQUAL, mode.size, constant(1, 64))
    return arith.ori(alone, compare(Predicate.EQUAL, count, constant(0, 64)))
