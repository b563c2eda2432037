"""The CUDA driver as launching needs it: one small interface, and what its numbers mean.

`cutecc.runtime.cuda_bindings` is the real one. Handles (contexts, libraries, kernels, streams) are integers.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from cutecc.errors import LaunchError
from cutecc.record.host_program import AttributeName
from cutecc.runtime.block import ParameterBlock
from cutecc.runtime.launch import Launch, TensorMap

INVALID_VALUE, INVALID_CONTEXT = 1, 201
"""`CUresult` of a parameter that is not allowed, and of a thread without a context."""


class DeviceAttribute(enum.IntEnum):
    """`CUdevice_attribute`."""

    MULTIPROCESSORS = 16
    CAPABILITY_MAJOR = 75
    CAPABILITY_MINOR = 76
    SHARED_BYTES_OPT_IN = 97
    """Shared memory that a block may have when its kernel asks for it."""


class KernelAttribute(enum.IntEnum):
    """`CUfunction_attribute`."""

    STATIC_SHARED_BYTES = 1
    MAX_DYNAMIC_SHARED_BYTES = 8
    NON_PORTABLE_CLUSTER = 14


ATTRIBUTE_IDS: dict[AttributeName, int] = {
    "cluster": 4,
    "preferred_cluster": 11,
    "cooperative": 2,
    "programmatic_serialization": 6,
    "programmatic_event": 7,
    "launch_completion_event": 12,
}
"""`CUlaunchAttributeID`."""


class Caller:
    """Who launches: a thread, and the stream that it means by 0."""

    __slots__ = ("stream",)

    def __init__(self) -> None:
        self.stream = 0


@dataclass(frozen=True)
class DriverFunctions:
    """Addresses of the driver's functions, for callers from machine code."""

    launch: int
    """`cuLaunchKernelEx`."""
    device: int
    """`cuCtxGetDevice`."""
    encode_tensor_map: int
    """`cuTensorMapEncodeTiled`."""
    is_capturing: int
    """`cuStreamIsCapturing`."""


class DriverError(LaunchError):
    """A call of the driver failed."""


class Driver(Protocol):
    """CUDA's driver API. Every method but those that give a status raises `DriverError`."""

    def device_count(self) -> int: ...

    def device_name(self, device: int) -> str: ...

    def device_attribute(self, device: int, attribute: DeviceAttribute) -> int: ...

    def current_device(self) -> int | None:
        """The device of the calling thread's context; `None` without one."""
        ...

    def retain_primary_context(self, device: int) -> int: ...

    def set_context(self, context: int) -> None: ...

    def push_context(self, context: int) -> None: ...

    def pop_context(self) -> None: ...

    def load_library(self, image: bytes) -> int:
        """Load a cubin, or PTX that ends in a zero byte, for every context of the process."""
        ...

    def unload_library(self, library: int) -> None: ...

    def find_kernel(self, library: int, name: str) -> int: ...

    def find_variable(self, library: int, name: str) -> tuple[int, int] | None:
        """The address and bytes of a variable of the device's in the current context; `None` where there is none."""
        ...

    def load_kernel(self, kernel: int) -> None:
        """Bring a kernel's code into the current context, which else happens at its first launch."""
        ...

    def kernel_attribute(self, kernel: int, attribute: KernelAttribute, device: int) -> int: ...

    def set_kernel_attribute(self, kernel: int, attribute: KernelAttribute, value: int, device: int) -> None: ...

    def prepare(self, kernel: int, launch: Launch, block: ParameterBlock, caller: Caller) -> Callable[[int], int]:
        """`run(stream)`, which launches with the parameters that are in `block` then, and returns the status.

        Stream 0 is `caller.stream`. Not to be called from two threads at once.
        """
        ...

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        """The 128 bytes of a descriptor, or the status of the failure."""
        ...

    def order(self, first: int, then: int) -> None:
        """Make stream `then` wait for the work that is in stream `first` now."""
        ...

    def is_capturing(self, stream: int) -> bool:
        """Whether a CUDA graph is being captured from `stream`."""
        ...

    def relaxed_capture(self) -> AbstractContextManager[None]:
        """Lets the calling thread load code while a CUDA graph is being captured."""
        ...

    def describe(self, status: int) -> str:
        """`CUDA_ERROR_INVALID_VALUE (1): invalid argument`."""
        ...

    def functions(self) -> DriverFunctions: ...


_HINTS = {
    3: "a process that is forked after CUDA has been used cannot use it: start processes by 'spawn' or 'forkserver'",
    2: "free device memory, or use a smaller problem",
    100: "the driver sees no GPU: compare CUDA_VISIBLE_DEVICES with nvidia-smi -L",
    209: "compile the kernel for this GPU, target 'native'",
    218: "the PTX does not assemble for this GPU; compile the kernel for it, target 'native'",
    222: "the driver is older than the compiler: update it, or compile for this GPU, so that no PTX is needed",
    700: "an earlier kernel used a bad address; compute-sanitizer finds it, and the process has to be restarted",
    701: "the launch takes more registers or shared memory than a block can have",
    716: "an earlier kernel used a misaligned address; compute-sanitizer finds it",
    719: "an earlier kernel failed; compute-sanitizer finds it",
    720: "a cooperative launch needs all its blocks on the GPU at once: use a smaller grid",
    802: "the GPU's fabric is not ready: see that nvidia-fabricmanager runs",
    803: "the loaded driver and libcuda.so.1 are of different versions: reboot, or reload the driver",
    900: "this is not allowed while a CUDA graph is being captured",
    901: "the capture of a CUDA graph has been broken by an earlier call",
    912: "the GPU does not allow clusters of this size for this kernel",
}


def failure(what: str, status: int, description: str, hints: Sequence[str] = ()) -> DriverError:
    """The error of a driver call: what was tried, CUDA's name for the failure, and what to do."""
    known = [_HINTS[status]] if status in _HINTS else []
    return DriverError(f"{what}: {description}", hints=[*hints, *known])
