"""What the threads of a warp ask for with `cp.async`: its accesses happen later, but are requests of the warp all the
same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.cp_async import operands_of
from cutecc.memory_rules.transfers import Found, count_past_l1, count_through_l1

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
        self._target, self._source, self._size, self._wanted = operands_of(operation)
        self._past_l1 = operation.form.has("cg")

    def count(self, gang: Gang, mask: Mask) -> tuple[Found, Found]:
        """Its sectors and its wavefronts."""
        source, target = self._source(gang), self._target(gang) & _SHARED_ADDRESS
        reading = mask if self._wanted is None else mask & (self._wanted(gang) != 0)
        if self._past_l1:
            return count_past_l1(source, reading, target, mask)
        return count_through_l1(source, reading, target, mask, self._size)
