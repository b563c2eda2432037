"""Several watches as one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes


class Watches(Watch):
    """Tells each of several watches. At most one of them numbers asynchronous operations: the first."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches
        self.listens = any(watch.listens for watch in watches)
        self.counts = any(watch.counts for watch in watches)

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
        for watch in self._watches:
            watch.access(gang, lanes, operation, kind, space, addresses, size)

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        for watch in self._watches:
            watch.asynchronous_access(agent, operation, kind, space, addresses, size)

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        agent, *_ = [watch.spawn(gang, lanes, operation) for watch in self._watches]
        return agent

    def finish(self, agent: Agent, key: Hashable) -> None:
        for watch in self._watches:
            watch.finish(agent, key)

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        for watch in self._watches:
            watch.release(gang, lanes, operation, key)

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        for watch in self._watches:
            watch.acquire(gang, lanes, operation, key)

    def fence(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        for watch in self._watches:
            watch.fence(gang, lanes, operation)

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        for watch in self._watches:
            watch.executed(gang, lanes, operation)

    def end(self) -> None:
        for watch in self._watches:
            watch.end()
