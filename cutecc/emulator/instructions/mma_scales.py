"""The scales of `mma` with `.block_scale`: how many there are, and where (PTX ISA, "Block Scaling for mma.sync").

A row of A and a column of B have one, two or four scales along K. A register of 32 bits has up to four of them. Those
of row `r` of A are in that of thread `r / 8` of a pair of quad `r % 8`: `thread-id` says which pair. Those of column
`n` of B are in that of thread `thread-id` of quad `n`. `byte-id` is the first byte that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.numbers.matrix_elements import numbers
from cutecc.emulator.numbers.scale_factors import VECTORS, count_of_scales, scale_types
from cutecc.ptx.syntax import Operand

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

Scale = Callable[["Gang", Lanes, Array, Array], tuple[Array, Array]]
"""A `(warps, 1, M, K)` and B `(warps, 1, K, N)` with their scales. Those of warps that take no part are any."""

_VECTORS: Final = tuple(each for each in VECTORS if each.startswith("scale_vec"))
"""Modifiers that say how many there are, of those that `tcgen05.mma` has."""


@dataclass(frozen=True)
class Scales:
    """The scales of a form."""

    type: str
    count: int
    """Along K."""

    @classmethod
    def parse(cls, form: Form, kind: str) -> Scales | None:
        """`None` for a form that has none, or that there is not."""
        count = count_of_scales(kind, form.one_of(*_VECTORS), deep=False)
        if count is None or not form.has("block_scale") or form.type not in scale_types(kind, count):
            return None
        return cls(form.type, count)

    def reader(self, operation: Operation, operands: tuple[Operand, ...]) -> Scale:
        """`operands` are the data and the selector of A, then those of B."""
        data_a, selector_a, data_b, selector_b = operands
        row, column = np.arange(16), np.arange(8)
        of_a = self._reader(operation, data_a, selector_a, 2, lambda pair: row % 8 * 4 + 2 * pair + row // 8)
        of_b = self._reader(operation, data_b, selector_b, 4, lambda thread: column * 4 + thread)

        def scale(gang: Gang, lanes: Lanes, left: Array, right: Array) -> tuple[Array, Array]:
            chunk = left.shape[-1] // self.count
            # An instruction with scales is one product a warp.
            rows, columns = (np.repeat(read(gang, lanes), chunk, axis=-1)[:, None] for read in (of_a, of_b))
            return left * rows, right * columns.swapaxes(-1, -2)

        return scale

    def _reader(
        self, operation: Operation, data: Operand, selector: Operand, threads: int, holders: Callable[[Array], Array]
    ) -> Callable[[Gang, Lanes], Array]:
        """Reads the scales of A or B, shape `(warps, rows or columns, count)`; `holders` are lanes by thread-id."""
        read = operation.vector_reader(data, "b32", 1)
        byte, thread = (operation.reader(each, "u16") for each in operation.in_braces(selector, 2))

        def scales(gang: Gang, lanes: Lanes) -> Array:
            # All threads of a warp say the same.
            taking = lanes.mask.any(axis=1, keepdims=True)
            first, chosen = (
                np.where(taking, np.broadcast_to(each(gang), gang.shape)[:, :1], 0).astype(np.int64)
                for each in (byte, thread)
            )
            if (first % self.count).any() or (first > 4 - self.count).any() or (chosen >= threads).any():
                bytes_ = ", ".join(map(str, range(0, 4, self.count)))
                raise operation.error(
                    f"selects scales by {{{first[0, 0]}, {chosen[0, 0]}}}: with {self.count} of them along K byte-id "
                    f"is one of {bytes_}, and thread-id is less than {threads}"
                )
            (words,) = (np.broadcast_to(each, gang.shape) for each in read(gang))
            found = numbers(np.take_along_axis(words, holders(chosen), axis=1)[..., None], self.type)
            return np.take_along_axis(found, first[..., None] + np.arange(self.count), axis=-1)

        return scales
