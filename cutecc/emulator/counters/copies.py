"""What the threads of a warp ask for with `cp.async`: its accesses happen later, but are requests of the warp all the
same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.memory_rules.transfers import Found, count_past_l1, count_through_l1
from cutecc.ptx.syntax import Immediate, Register

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Mask

_SHARED_ADDRESS = np.uint64(2**32 - 1)


def is_thread_copy(operation: Operation) -> bool:
    """Whether it is a `cp.async` of 4, 8 or 16 bytes a thread."""
    form = operation.form
    return form.opcode == "cp" and form.modifiers[:1] == ("async",) and form.one_of("ca", "cg") != ""


class CopyRequest:
    """One such instruction."""

    def __init__(self, operation: Operation) -> None:
        target, source, size, *rest = operation.operands
        assert isinstance(size, Immediate)
        self._size = size.bits
        self._past_l1 = operation.form.has("cg")
        self._target = operation.address(target)
        self._source = operation.address(source)
        self._wanted = None
        if rest and not (len(rest) == 1 and operation.form.has("L2::cache_hint")):
            amount = rest[0]
            self._ignores = isinstance(amount, Register) and operation.scope.width(amount.name).kind == "b"
            self._wanted = operation.reader(amount, "pred" if self._ignores else "u32")

    def count(self, gang: Gang, mask: Mask) -> tuple[Found, Found]:
        """Its sectors and its wavefronts."""
        source, target = self._source(gang), self._target(gang) & _SHARED_ADDRESS
        reading = mask
        if self._wanted is not None:
            wanted = self._wanted(gang)
            reading = mask & (~wanted if self._ignores else wanted != 0)
        if self._past_l1:
            return count_past_l1(source, reading, target, mask)
        return count_through_l1(source, reading, target, mask, self._size)
