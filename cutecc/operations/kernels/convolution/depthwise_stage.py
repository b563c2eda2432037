# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Pixels of a depthwise convolution on their way to a thread: from global to shared memory, and to registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.access import vector_copy
from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.digits import quotient
from cutecc.operations.kernels.convolution.multistage_copies import is_within
from cutecc.operations.kernels.sm80_copies import async_copy


class Stage:
    """A rectangle of a plane of a tensor in shared memory, (lines, columns, channels of the block)."""

    def __init__(self, kernel, memory, tensor: cute.Tensor, alignment: int, extents: Sequence[Any], channel, thread):
        """`memory` points to shared memory; `extents` are those of a plane of the `tensor`, of which the block has the
        channels from `channel` on."""
        self.kernel, self.memory, self.tensor, self.extents = kernel, memory, tensor, extents
        self.channel, self.thread = channel, thread
        self.width = depthwise.staged_width(kernel.convolution, alignment)
        self.bits = self.width * kernel.element.width
        self.vectors = kernel.channels // self.width
        self.strides = tensor.stride[-3:-1]
        """Between lines and columns."""

    @cute.jit
    def fill(self, offset, is_inside, first, seen, divisor):
        """Begin to copy what is `seen` of a plane from the line and column `first` on; zeros where there is nothing.

        The plane is at `offset`, if it `is_inside`; `divisor` is the number of columns.
        """
        lines, columns = seen
        at_once = self.kernel.threads // self.vectors
        vector, number = self.thread % self.vectors, self.thread // self.vectors
        inside = is_inside & (self.channel + vector * self.width < self.tensor.shape[self.kernel.rank + 1])
        # As many whole lines at a time as there are threads for, of a long one as much: a step is an addition.
        begin, first_column = quotient(number, divisor)
        lines_at_once = cutlass.max(quotient(at_once, divisor)[0], 1)
        is_idle = (number >= at_once) | (begin >= lines_at_once)
        first_column = cutlass.select_(is_idle, columns, first_column)
        offset = offset + (self.channel + vector * self.width) + cutlass.Int64(first[0] + begin) * self.strides[0]
        step = cutlass.Int64(lines_at_once) * self.strides[0]
        for column in range(first_column, columns, at_once):
            along = first[1] + column
            is_there = inside & is_within(along, self.extents[1])
            source = offset + cutlass.Int64(along) * self.strides[1]
            target = (begin * columns + column) * self.kernel.channels + vector * self.width
            for line in cutlass.range(begin, lines, lines_at_once, unroll=4):
                self.copy(source, target, is_there & is_within(first[0] + line, self.extents[0]))
                source = source + step
                target = target + lines_at_once * (columns * self.kernel.channels)

    def copy(self, source, target, is_there) -> None:
        """Copy a vector, or begin to."""
        layout = cute.make_layout(((self.width, 1), 1))
        pointer = self.tensor.iterator + cute.assume(source, divby=self.width)
        source = cute.make_tensor(pointer, layout)
        target = cute.make_tensor(self.memory + cute.assume(target, divby=self.width), layout)
        inside = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
        inside[0] = is_there
        if self.bits >= 32:
            atom = cute.make_copy_atom(async_copy(self.bits), self.kernel.element, num_bits_per_copy=self.bits)
            cute.copy(atom, source, target, pred=inside)
            return
        held = cute.make_rmem_tensor(((self.width, 1), 1), self.kernel.element)
        held.fill(0)
        cute.copy(vector_copy(self.kernel.element, self.width), source, held, pred=inside)
        cute.autovec_copy(held, target)

    def load(self, place, count: int, step: int = 1) -> cute.Tensor:
        """The thread's channels of some pixels, `step` columns apart, as accumulators: (channel, pixel)."""
        kernel = self.kernel
        found = cute.make_rmem_tensor((kernel.vector, count), kernel.accumulator)
        pointer = self.memory + cute.assume(place, divby=kernel.vector)
        for i in range(count):
            own = cute.make_tensor(pointer + i * step * kernel.channels, cute.make_layout(kernel.vector))
            found[None, i].store(own.load().to(kernel.accumulator))
        return found


def wait() -> None:
    """Wait until what all threads have begun to copy is there."""
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
