"""What a host program asks of the outside world: launches, TMA descriptors, printed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cutecc.record.host_program import AttributeName, KernelEntry

Dim3 = tuple[int, int, int]

TENSOR_MAP_BYTES = 128
"""Of a TMA descriptor."""


@dataclass(slots=True)
class Launch:
    """One launch of a kernel, its parameters computed."""

    kernel: KernelEntry
    grid: Dim3
    block: Dim3
    shared_bytes: int
    """Dynamic shared memory per block."""
    stream: int
    """A `CUstream`; 0 is the caller's current one."""
    attributes: dict[AttributeName, tuple[int, ...]]
    parameters: bytearray
    """The parameter block: each parameter at its offset, `KernelEntry.parameter_bytes` long."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What `cuTensorMapEncodeTiled` is to make a descriptor of; the fields of `TensorMapSite`, with numbers."""

    data_type: int
    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int
    swizzle: int
    l2_promotion: int
    fill: int


class Host(Protocol):
    """The outside world of a host program. A status is a `CUresult`: 0 for success."""

    def launch(self, launch: Launch) -> int:
        """Launch a kernel; returns the status."""
        ...

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        """The 128 bytes of the descriptor, or the status of the failure."""
        ...

    def print(self, text: str) -> None:
        """Show what the host function printed."""
        ...
