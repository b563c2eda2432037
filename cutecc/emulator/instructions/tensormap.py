"""`tensormap.replace` and `tensormap.cp_fenceproxy`: kernels that change TMA descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tensor_copy import read_descriptors
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.tensor_map import MOST_MODES, replace

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang

_WHOLE = "{global_address,rank,elemtype,interleave_layout,swizzle_mode,swizzle_atomicity,fill_mode}"
_BY_MODE = "{box_dim,global_dim,global_stride,element_stride}"


@instruction(
    f"tensormap.replace.tile.{_WHOLE}.{{global,shared::cta}}?.b1024.{{b32,b64}}",
    f"tensormap.replace.tile.{_BY_MODE}.{{global,shared::cta}}?.b1024.{{b32,b64}}",
)
def replace_field(operation: Operation) -> Step:
    """Each thread replaces one field of the descriptor at its address."""
    form = operation.form
    place, *mode, value = operation.operands
    address, read = operation.address(place), operation.reader(value, form.type)
    number = operation.constant(mode[0]) if mode else 0
    if not 0 <= number < MOST_MODES:
        raise operation.error(f"'{form}' has mode {number}: a descriptor has modes 0 to {MOST_MODES - 1}")
    space = form.one_of("global", "shared::cta", default="generic")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        addresses, values = address(gang), np.broadcast_to(read(gang), gang.shape)
        words = read_descriptors(operation, gang, lanes, space, addresses)
        for row, lane in np.argwhere(lanes.mask):
            new = replace(words[:, row, lane].tobytes(), form.modifiers[2], number, int(values[row, lane]))
            words[:, row, lane] = np.frombuffer(new, np.uint64)
        _write(operation, gang, lanes, space, addresses, words)

    return step


@instruction("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{cta,cluster,gpu,sys}.sync.aligned")
def copy_and_fence(operation: Operation) -> Step:
    """A warp copies one descriptor from shared to global memory, and releases it to the proxy of descriptors."""
    target, source, _ = operation.operands
    to, of = operation.address(target), operation.address(source)

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        first = lanes.only(np.arange(WARP) == lanes.mask.argmax(axis=1)[:, None])
        words = read_descriptors(operation, gang, first, "shared", of(gang))
        _write(operation, gang, first, "global", to(gang), words)
        gang.machine.watch.fence(gang, lanes, operation)

    return aligned(operation, execute)


def _write(operation: Operation, gang: Gang, lanes: Lanes, space: str, addresses: Array, words: Array) -> None:
    memory = gang.machine.memory
    memory.store(operation, gang, lanes, space, addresses, list(words[:8]))
    memory.store(operation, gang, lanes, space, addresses + np.uint64(64), list(words[8:]))
