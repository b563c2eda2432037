"""Matrices in the shared memory of a block that `tcgen05.mma` and `tcgen05.cp` read, by their descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer
from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.watch import Agent


def matrix_descriptor(issuer: Issuer, bits: int) -> MatrixDescriptor | None:
    """What 64 bits say; `None`, after a fault, where they cannot be a descriptor."""
    found = MatrixDescriptor.decode_tcgen05(bits)
    if isinstance(found, MatrixDescriptor):
        if not found.is_absolute or has_depth_96(issuer):
            return found
        found = "has an absolute leading offset, which sm_103a alone has\n"
        found += "clear bit 52, and give the distance instead; or compile for sm_103a"
    issuer.fault("tensor-memory", f"its shared memory descriptor {found}")
    return None


def has_depth_96(issuer: Issuer) -> bool:
    """Whether the target has K = 96, and the descriptors for it."""
    return issuer.machine.shape.target.startswith("sm_103")


def read_chunks(
    issuer: Issuer,
    agent: Agent,
    block: Block,
    descriptor: MatrixDescriptor,
    shape: tuple[Literal["k", "mn"], int, int],
) -> Array:
    """Words `(outer, 4 * inner)` of chunks of 16 bytes, for the shape see `MatrixDescriptor.chunks`.

    Zeros, after a fault, when not all of the matrix is inside of the block's shared memory.
    """
    memory = issuer.machine.memory
    start, offsets = descriptor.chunks(*shape)
    if start + int(offsets.min()) < 0 or start + int(offsets.max()) + CHUNK > memory.shared_bytes:
        message = f"reads a matrix of {offsets.size * CHUNK} bytes that reaches outside of the block's shared memory"
        issuer.fault("out-of-bounds", message, memory.describe("shared", descriptor.start))
        return np.zeros((offsets.shape[0], offsets.shape[1] * CHUNK // 4), np.uint32)
    places = start + block.slot * memory.shared_stride + offsets
    watch = issuer.machine.watch
    if watch.listens:
        watch.layout(agent, (descriptor.width, descriptor.atom))
        watch.asynchronous_access(agent, issuer.operation, "read", "shared", places.reshape(-1), CHUNK)
    return memory.shared.view(np.complex128)[places // CHUNK].view(np.uint32)
