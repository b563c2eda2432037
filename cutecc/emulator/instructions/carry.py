"""Extended-precision integer arithmetic, whose carry flag goes from one instruction to the next.

The flag is a value of each thread: `gang.state["carry"]`, bool, of shape `(warps, 32)`. After a subtraction it is the
borrow (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.elementwise import bits_reader, bits_writer, function_of
from cutecc.emulator.instructions.integer import high_half, is_signed
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.numbers.code import Value
from cutecc.emulator.numbers.compiled import merger

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes

_TYPES = "{u32,s32,u64,s64}"


@instruction(f"add.cc.{_TYPES}", f"sub.cc.{_TYPES}", f"mad.{{lo,hi}}.cc.{_TYPES}")
@instruction(f"addc.cc?.{_TYPES}", f"subc.cc?.{_TYPES}", f"madc.{{lo,hi}}.cc?.{_TYPES}")
def extended(operation: Operation) -> Step:
    form = operation.form
    takes, gives = form.opcode.endswith("c"), form.has("cc")
    destination, *sources = operation.operands

    def body(carry: Value, *operands: Value) -> tuple[Value, Value]:
        a, b = operands[:2]
        if form.opcode.startswith("mad"):
            a, b = high_half(a, b, is_signed(form)) if form.has("hi") else a * b, operands[2]
        wide = f"i{2 * a.width}"
        whole, other = a.resize(wide), b.resize(wide) + (carry.resize(wide) if takes else 0)
        whole = whole - other if form.opcode.startswith("sub") else whole + other
        return whole.resize(a.type), ((whole >> a.width) & 1).differs(0)

    types = [form.type] * len(sources)
    function = function_of(form, body, [form.type, "pred"], ["pred", *types])
    readers = [bits_reader(operation, each, form.type) for each in sources]
    write = bits_writer(operation, destination, form.type)
    merge = merger(np.dtype(np.bool_))

    def step(gang: Gang, lanes: Lanes) -> None:
        before = gang.state.get("carry")
        if before is None:
            before = np.zeros(gang.shape, np.bool_)
        result, carry = function(before, *[read(gang) for read in readers])
        write(gang, lanes, result)
        if gives:
            gang.state["carry"] = merge(lanes.mask, carry, before)

    return step
