"""Machines with memory to run single instructions on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from hand import make_machine

from cutecc.arguments.arrays import read_array
from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.memory.allocations import Allocation, tensor_allocation
from cutecc.emulator.memory.memory import Memory, initialised


def allocation(array: Any, name: str = "a") -> Allocation:
    """The memory of a NumPy array."""
    layout = read_array(array)
    assert layout is not None
    return tensor_allocation(layout, name)


def machine_with(
    arrays: Mapping[str, Any] | None = None,
    *,
    threads: int = 32,
    blocks: int = 1,
    shared: int = 2048,
    local: int = 64,
    parameters: bytes = b"",
    module: bytes = b"",
    clustered: bool = False,
    findings: list[Finding] | None = None,
    watch: Watch | None = None,
    eager: bool = True,
    target: str = "sm_80",
) -> Machine:
    """A machine whose global memory is these arrays. With `clustered` all blocks are one cluster. With `findings`
    faults are collected there."""
    shape = Shape((blocks, 1, 1), (threads, 1, 1), target=target)
    program = Program("k", target, shared_bytes=shared, local_bytes=local)
    allocations = [allocation(array, name) for name, array in (arrays or {}).items()]
    memory = Memory(program, shape, blocks, parameters, allocations, initialised(module), shared_start="zero")
    machine = make_machine(threads, blocks, memory=memory, watch=watch, shape=shape)
    machine.eager = eager
    if clustered:
        cluster = Cluster((0, 0, 0), (blocks, 1, 1))
        machine.blocks = [Block(old.index, old.slot, threads, cluster, old.slot, {}, 1) for old in machine.blocks]
        cluster.blocks += machine.blocks
    if findings is not None:
        machine.collect = findings.append
    return machine


def address(array: Any, *index: int) -> np.uint64:
    """Of an element."""
    offset = sum(number * stride for number, stride in zip(index, array.strides, strict=False))
    return np.uint64(array.ctypes.data + offset)


def addresses(array: Any, numbers: Any) -> Any:
    """Of elements of a vector, one a thread."""
    return (array.ctypes.data + np.asarray(numbers, np.int64) * array.itemsize).astype(np.uint64)


class Told(Watch):
    """Writes down what it is told."""

    listens = True

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.agents = 100

    def access(self, gang: Any, lanes: Any, operation: Any, kind: Any, space: Any, addresses: Any, size: int) -> None:
        found = [int(each) for each in addresses[lanes.mask]]
        self.events.append(("access", kind, space, found, size))

    def asynchronous_access(self, agent: int, operation: Any, kind: Any, space: Any, addresses: Any, size: int) -> None:
        self.events.append(("asynchronous", agent, kind, space, [int(each) for each in addresses], size))

    def spawn(self, gang: Any, lanes: Any, operation: Any) -> int:
        self.agents += 1
        self.events.append(("spawn", self.agents, int(lanes.mask.sum())))
        return self.agents

    def finish(self, agent: int, key: Hashable) -> None:
        self.events.append(("finish", agent, key))

    def release(self, gang: Any, lanes: Any, operation: Any, key: Hashable) -> None:
        self.events.append(("release", np.flatnonzero(lanes.mask).tolist(), key))

    def acquire(self, gang: Any, lanes: Any, operation: Any, key: Hashable) -> None:
        self.events.append(("acquire", np.flatnonzero(lanes.mask).tolist(), key))
