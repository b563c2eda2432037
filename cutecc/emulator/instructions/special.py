"""Special registers (PTX ISA, "Special Registers")."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.grid import Dim3, clusters_of
from cutecc.emulator.machine.lanes import WARP, Array
from cutecc.emulator.machine.program import reserved_shared_bytes
from cutecc.errors import EmulatorError
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine

_TICK = 1000
"""Cycles, and nanoseconds, from one reading of a clock to the next: the emulator has no other time."""
_SHARED_GRANULARITY = 128
"""Bytes that shared memory is handed out in."""

_ticks: WeakKeyDictionary[Machine, int] = WeakKeyDictionary()


def read_special(gang: Gang, name: str) -> tuple[Array, bool]:
    """The value of a special register, unsigned and of shape `(warps, 32)`, and whether it always stays the same."""
    register = name.removeprefix("%")
    if clock := _CLOCKS.get(register):
        return _spread(gang, clock(_tick(gang.machine))), False
    vector, _, component = register.partition(".")
    if (of_vector := _VECTORS.get(vector)) and component in ("x", "y", "z", "w"):
        # The fourth component is unused.
        value = np.uint32(0) if component == "w" else of_vector(gang, "xyz".index(component))
        return _spread(gang, value), True
    if of_gang := _REGISTERS.get(register):
        return _spread(gang, of_gang(gang)), True
    if re.fullmatch(r"envreg([0-9]|[12][0-9]|3[01])", register):
        return _spread(gang, np.uint32(0)), True
    raise EmulatorError(f"the emulator does not model the special register '{name}'")


def _spread(gang: Gang, value: Array | np.generic) -> Array:
    return np.broadcast_to(value, gang.shape)


def _by_block(value: Callable[[Block], int]) -> Callable[[Gang], Array]:
    """A register that the threads of a block have in common."""
    return lambda gang: np.array([[value(block)] for block in gang.blocks], np.uint32)


def _of_shape(size: Callable[[Machine], int], dtype: type[np.unsignedinteger] = np.uint32) -> Callable[[Gang], Array]:
    """A register that all threads have in common."""
    return lambda gang: np.array(size(gang.machine), dtype)


# Indices and sizes of three dimensions.


def _thread_index(gang: Gang, axis: int) -> Array:
    x, y, _ = gang.machine.shape.block
    index = (gang.threads % x, gang.threads // x % y, gang.threads // (x * y))[axis]
    return index.astype(np.uint32)


def _block_vector(value: Callable[[Block], Dim3]) -> Callable[[Gang, int], Array]:
    return lambda gang, axis: np.array([[value(block)[axis]] for block in gang.blocks], np.uint32)


def _shape_vector(value: Callable[[Machine], Dim3]) -> Callable[[Gang, int], np.generic]:
    return lambda gang, axis: np.uint32(value(gang.machine)[axis])


def _index_in_cluster(block: Block) -> Dim3:
    (x, y, z), (width, height, depth) = block.index, block.cluster.shape
    return x % width, y % height, z % depth


_VECTORS: dict[str, Callable[[Gang, int], Array | np.generic]] = {
    "tid": _thread_index,
    "ntid": _shape_vector(lambda machine: machine.shape.block),
    "ctaid": _block_vector(lambda block: block.index),
    "nctaid": _shape_vector(lambda machine: machine.shape.grid),
    "clusterid": _block_vector(lambda block: block.cluster.index),
    "nclusterid": _shape_vector(lambda machine: clusters_of(machine.shape.grid, machine.shape.cluster)),
    "cluster_ctaid": _block_vector(_index_in_cluster),
    "cluster_nctaid": _shape_vector(lambda machine: machine.shape.cluster),
}


# Single values.


def _lane_mask(mask: Callable[[int], int]) -> Callable[[Gang], Array]:
    masks = np.array([mask(lane) for lane in range(WARP)], np.uint32)
    return lambda gang: masks


def _all_shared_bytes(machine: Machine) -> int:
    return -(-machine.memory.shared_bytes // _SHARED_GRANULARITY) * _SHARED_GRANULARITY


def _own_shared_bytes(machine: Machine) -> int:
    return max(0, _all_shared_bytes(machine) - reserved_shared_bytes(machine.shape.target))


_REGISTERS: dict[str, Callable[[Gang], Array]] = {
    "laneid": lambda gang: np.arange(WARP, dtype=np.uint32),
    "warpid": lambda gang: gang.warp_numbers.astype(np.uint32),
    "nwarpid": _of_shape(lambda machine: Target.of_ptx(machine.shape.target).limits.warps_per_sm),
    # Each resident block has an SM of its own, or two share one.
    "smid": _by_block(lambda block: block.processor),
    "nsmid": _of_shape(lambda machine: max(1, len(machine.blocks))),
    "gridid": _of_shape(lambda machine: 1, np.uint64),
    "lanemask_eq": _lane_mask(lambda lane: 1 << lane),
    "lanemask_lt": _lane_mask(lambda lane: (1 << lane) - 1),
    "lanemask_le": _lane_mask(lambda lane: (2 << lane) - 1),
    "lanemask_gt": _lane_mask(lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1)),
    "lanemask_ge": _lane_mask(lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1)),
    "is_explicit_cluster": lambda gang: np.array(gang.machine.shape.cluster != (1, 1, 1)),
    "cluster_ctarank": _by_block(lambda block: block.rank),
    "cluster_nctarank": _of_shape(lambda machine: math.prod(machine.shape.cluster)),
    "dynamic_smem_size": _of_shape(lambda machine: machine.shape.dynamic_shared_bytes),
    "total_smem_size": _of_shape(_own_shared_bytes),
    "aggr_smem_size": _of_shape(_all_shared_bytes),
    # Where cooperative groups find what the blocks of a grid meet by: the upper and the lower half of its address.
    "envreg1": _of_shape(lambda machine: machine.shape.grid_workspace >> 32),
    "envreg2": _of_shape(lambda machine: machine.shape.grid_workspace & 0xFFFFFFFF),
    "current_graph_exec": _of_shape(lambda machine: 0, np.uint64),
}


# Time.


def _tick(machine: Machine) -> int:
    time = _ticks.get(machine, 0) + _TICK
    _ticks[machine] = time
    # Threads that give up waiting may do so until a time has passed.
    machine.state += 1
    return time


_CLOCKS: dict[str, Callable[[int], np.generic]] = {
    "clock": lambda time: np.uint32(time & 0xFFFFFFFF),
    "clock_hi": lambda time: np.uint32(time >> 32),
    "clock64": lambda time: np.uint64(time),
    "globaltimer": lambda time: np.uint64(time),
    "globaltimer_lo": lambda time: np.uint32(time & 0xFFFFFFFF),
    "globaltimer_hi": lambda time: np.uint32(time >> 32),
}
