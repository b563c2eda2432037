"""`tcgen05.cp`: a matrix of shared memory into tensor memory, through the tensor pipe; and `tcgen05.shift` of rows.

A shape is rows by bits; rows are laid out in shared memory as those of a K-major operand. With a multicast the rows go
to the lanes of several warps. With `.cta_group::2` each block of the pair copies its own memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer, issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tcgen05_pipe import COPY, PRODUCT, SHIFT, blocks_of, issue
from cutecc.emulator.instructions.tcgen05_shared import matrix_descriptor, read_chunks
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.tensor_memory import (
    CELL,
    LANES,
    MEND_OF_COLUMNS,
    WARP_LANES,
    describe,
    lane_and_column,
    tensor_memory_of,
)
from cutecc.emulator.numbers.swizzle import CHUNK
from cutecc.emulator.numbers.unpacking import UNPACKED, unpack

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import Agent

_GROUP: Final = "{cta_group::1,cta_group::2}"
_FORMATS: Final = f"b8x16?.{{{','.join(UNPACKED)}}}?"


def _warps(*numbers: int) -> Array:
    """The lanes of these warps, one below the other."""
    return (np.array(numbers)[:, None] * WARP_LANES + np.arange(WARP_LANES)).reshape(-1)


_ALL: Final = _warps(0, 1, 2, 3)
_TARGETS: Final[dict[str, tuple[Array, ...]]] = {
    "128x256b": (_ALL,),
    "128x128b": (_ALL,),
    "4x256b": (np.arange(4) * WARP_LANES,),
    "64x128b.warpx2::02_13": (_warps(0, 1), _warps(2, 3)),
    "64x128b.warpx2::01_23": (_warps(0, 2), _warps(1, 3)),
    "32x128b.warpx4": tuple(_warps(each) for each in range(4)),
}
"""By shape and multicast: the lanes that the rows go to, once or several times."""


@instruction(
    f"tcgen05.cp.{_GROUP}.{{128x256b,4x256b,128x128b}}.{_FORMATS}",
    f"tcgen05.cp.{_GROUP}.64x128b.{{warpx2::02_13,warpx2::01_23}}.{_FORMATS}",
    f"tcgen05.cp.{_GROUP}.32x128b.warpx4.{_FORMATS}",
)
def copy(operation: Operation) -> Step:
    place, descriptor = operation.operands
    read_place, read_descriptor = operation.address(place), operation.reader(descriptor, "b64")
    shape = next(each for each in _TARGETS if all(operation.form.has(part) for part in each.split(".")))
    source_format = operation.form.one_of(*UNPACKED)

    def step(gang: Gang, lanes: Lanes) -> None:
        places, descriptors = (np.broadcast_to(read(gang), gang.shape) for read in (read_place, read_descriptor))
        for issuer in issuers(operation, gang, lanes):
            blocks = blocks_of(issuer)
            if blocks is not None:
                where, what = int(places[issuer.at]), int(descriptors[issuer.at])
                _start(issuer, blocks, shape, source_format, where, what)

    return step


def _start(
    issuer: Issuer, blocks: tuple[Block, ...], shape: str, source_format: str, address: int, descriptor: int
) -> None:
    targets = _TARGETS[shape]
    chunks = 2 if "x256b" in shape else 1
    lane, column = lane_and_column(address)
    stop = column + chunks * CHUNK // CELL
    for block in blocks:
        if not tensor_memory_of(issuer.machine, block).has(block, column, stop):
            text = f"copies to columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
            issuer.fault("tensor-memory", f"{text}\n{MEND_OF_COLUMNS}", describe(address))
            return
    if lane + max(int(each.max()) for each in targets) >= LANES:
        text = f"copies to lanes of tensor memory from {lane} on, beyond the last\n"
        text += f"what is copied by .{shape} begins at lane 0" if shape != "4x256b" else "begin at one of the first 32"
        issuer.fault("tensor-memory", text)
        return
    decoded = matrix_descriptor(issuer, descriptor)
    if decoded is None:
        return
    rows = len(targets[0])

    def action(agent: Agent) -> None:
        machine = issuer.machine
        for block in blocks:
            data = read_chunks(issuer, agent, block, decoded, ("k", rows, chunks))
            if source_format:
                data = unpack(data, source_format)
            memory = tensor_memory_of(machine, block)
            for lanes in targets:
                if machine.watch.listens:
                    cells = memory.cells((lanes + lane)[:, None], np.arange(column, stop)[None, :])
                    machine.watch.asynchronous_access(agent, issuer.operation, "write", "tensor", cells, CELL)
                memory.words[lanes + lane, column:stop] = data

    # That it comes after other copies nobody promises. Kernels count on it where scale factors of the next products
    # come in the place of others, which those before them read.
    issue(issuer, blocks, action, (COPY,), after=(COPY, SHIFT) if shape == "4x256b" else (COPY,))


@instruction(f"tcgen05.shift.{_GROUP}.down")
def shift(operation: Operation) -> Step:
    """Rows of 32 bytes go down by one lane, of 32 lanes from the address on; the last one stays as well."""
    read_place = operation.address(operation.operands[0])
    width = 2 * CHUNK // CELL

    def step(gang: Gang, lanes: Lanes) -> None:
        places = np.broadcast_to(read_place(gang), gang.shape)
        for issuer in issuers(operation, gang, lanes):
            blocks = blocks_of(issuer)
            if blocks is not None:
                _shift(issuer, blocks, int(places[issuer.at]), width)

    return step


def _shift(issuer: Issuer, blocks: tuple[Block, ...], address: int, width: int) -> None:
    lane, column = lane_and_column(address)
    stop = column + width
    for block in blocks:
        if lane % WARP_LANES or lane >= LANES:
            text = f"shifts lanes of tensor memory from {lane} on: it has to be a multiple of {WARP_LANES}\n"
            text += "begin at the first lane of a warp: those of others take another tcgen05.shift"
            issuer.fault("tensor-memory", text, describe(address))
            return
        if not tensor_memory_of(issuer.machine, block).has(block, column, stop):
            text = f"shifts columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
            issuer.fault("tensor-memory", f"{text}\n{MEND_OF_COLUMNS}", describe(address))
            return
    upper, lower = np.arange(lane, lane + WARP_LANES - 1), np.arange(lane + 1, lane + WARP_LANES)

    def action(agent: Agent) -> None:
        watch = issuer.machine.watch
        for block in blocks:
            memory = tensor_memory_of(issuer.machine, block)
            if watch.listens:
                columns = np.arange(column, stop)[None, :]
                read, written = (memory.cells(each[:, None], columns) for each in (lower, upper))
                watch.asynchronous_access(agent, issuer.operation, "read", "tensor", read, CELL)
                watch.asynchronous_access(agent, issuer.operation, "write", "tensor", written, CELL)
            memory.words[upper, column:stop] = memory.words[lower, column:stop]

    issue(issuer, blocks, action, (SHIFT,), after=(PRODUCT,))
