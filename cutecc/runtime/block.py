"""Parameter blocks: the memory from which the driver copies a kernel's parameters."""

from __future__ import annotations

import ctypes

from cutecc.record.host_program import KernelEntry

_ALIGNMENT = 64
"""Bytes: that of a TMA descriptor, the strictest of parameters."""


class ParameterBlock:
    """A kernel's parameters in memory that stays where it is, and the `void **kernelParams` that points into it."""

    __slots__ = ("_pointers", "_storage", "buffer", "pointers")

    def __init__(self, kernel: KernelEntry, contents: bytes | bytearray = b"") -> None:
        size = kernel.parameter_bytes
        self._storage = bytearray(size + _ALIGNMENT)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._storage))
        start = -base % _ALIGNMENT
        self.buffer = (ctypes.c_ubyte * size).from_buffer(self._storage, start)
        """The block itself, writable."""
        self.buffer[: len(contents)] = contents
        self._pointers = (ctypes.c_void_p * max(1, len(kernel.parameters)))(
            *(base + start + parameter.offset for parameter in kernel.parameters)
        )
        self.pointers = ctypes.addressof(self._pointers)
        """The address of one pointer for each parameter."""
