"""What checks and counters are told. `Watch` ignores it all; instructions need not ask who listens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cutecc.emulator.machine.lanes import Array, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending
    from cutecc.emulator.memory.tensor_memory import TensorAllocation

AccessKind = Literal["read", "write", "atomic"]
Space = Literal["global", "shared", "local", "tensor"]
"""Of `tensor` memory, addresses are those of `TensorMemory.cells`."""
Layout = tuple[int, int] | Literal["scales"]
"""Of a matrix in shared memory: bytes of its swizzle, and those that it leaves together. Or that cells of tensor memory
hold scale factors."""
Agent = int
"""A thread, or an asynchronous operation: what happens-before relates. Threads are `Gang.agents`."""


class Watch:
    """Observes one machine."""

    listens = False
    """Whether events are worth making: instructions may skip work for them when not."""

    def access(
        self,
        gang: Gang,
        lanes: Lanes,
        operation: Operation,
        kind: AccessKind,
        space: Space,
        addresses: Array,
        size: int,
    ) -> None:
        """Each thread of `lanes` accesses `size` bytes at its address, in the generic proxy, after all bounds checks.

        `addresses` are of `Memory.shared` for shared memory (the blocks' windows one after the other), as the kernel
        sees them for global memory, per-thread offsets for local memory. How atomics, and loads and stores that are
        not weak, order other accesses is for the watch to see from the operation: nothing else is told of that.
        """

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        """An asynchronous operation accesses `size` bytes at each address of a flat array, in the async proxy."""

    def layout(self, agent: Agent, layout: Layout) -> None:
        """How an asynchronous operation takes the memory that it accesses next."""

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        """The threads start an asynchronous operation together; it happens after what they have done so far."""
        return -1

    def finish(self, agent: Agent, key: Hashable) -> None:
        """The operation is over; who acquires `key` afterwards sees what it did."""

    def order(self, agent: Agent, key: Hashable) -> None:
        """The operation happens after what was released to `key`, which others may acquire too."""

    def multiplied(self, operation: Operation, flops: int) -> None:
        """A multiplication is issued whose shape the instruction does not say, with so many products and sums."""

    def allocated(self, address: int, size: int) -> None:
        """A thread is given memory of the heap, which nobody knows anything of."""

    def freed(self, gang: Gang, lanes: Lanes, operation: Operation, address: int, size: int) -> None:
        """A thread, the only one of `lanes`, gives such memory back."""

    def tensor_allocation(
        self, gang: Gang, lanes: Lanes, operation: Operation, number: int, allocation: TensorAllocation
    ) -> None:
        """A warp allocates columns of a multiprocessor's tensor memory, or deallocates them, as `operation` says."""

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        """What the threads have done so far is seen by who acquires `key` afterwards.

        Of an `operation` that is `.relaxed`: what they have done before a fence.
        """

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        """The threads see what was released to `key`; of an `operation` that is `.relaxed` at their next fence."""

    def fence(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        """The threads execute a fence or membar; `operation` says which."""

    def mbarrier_used(self, index: int) -> None:
        """An instruction names what is at this place of `Memory.shared`, as an mbarrier."""

    def mbarrier_reset(self, index: int) -> None:
        """An mbarrier begins at this place, or ends."""

    def mbarrier_counts(self, index: int, arrivals: int, size: int) -> None:
        """The phase of an mbarrier is about to miss so many arrivals fewer, and so many bytes more."""

    def posted(self, operation: Pending) -> None:
        """An asynchronous operation is started, and is to happen later."""

    def happens(self, operation: Pending) -> None:
        """It happens, up to `happened`; others that have to happen before it do so in between."""

    def happened(self, operation: Pending) -> None:
        """It is over."""

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        """The threads have executed an instruction. Told of every one when `counts` is set."""

    def end(self) -> None:
        """All blocks of the machine have run to their end."""

    counts = False


EVENTS = [name for name, each in vars(Watch).items() if inspect.isfunction(each)]
"""What a watch is told: its methods."""


class Watches(Watch):
    """Tells each of several watches. At most one of them numbers asynchronous operations."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches
        self.listens = any(watch.listens for watch in watches)
        self.counts = any(watch.counts for watch in watches)
        for event in EVENTS:
            if event != "spawn":
                setattr(self, event, _by_each([getattr(watch, event) for watch in watches]))

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        return max(watch.spawn(gang, lanes, operation) for watch in self._watches)


def _by_each(methods: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Calls each."""

    def call(*arguments: Any) -> None:
        for method in methods:
            method(*arguments)

    return call
