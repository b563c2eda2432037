"""The CUDA driver through cuda-python's `cuda.bindings.driver`, which is imported when the first GPU is asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from cutecc.errors import LaunchError
from cutecc.runtime.block import ParameterBlock
from cutecc.runtime.driver import (
    ATTRIBUTE_IDS,
    INVALID_CONTEXT,
    INVALID_VALUE,
    Caller,
    DeviceAttribute,
    DriverFunctions,
    KernelAttribute,
    failure,
)
from cutecc.runtime.launch import TENSOR_MAP_BYTES, Launch, TensorMap
from cutecc.support import forks

OLDEST = 12000
"""The driver version, as `cuDriverGetVersion` counts, from which libraries and `cuLaunchKernelEx` are there."""
_DISABLE_TIMING = 2
"""`CU_EVENT_DISABLE_TIMING`."""
_NOT_FOUND = 500
"""`CUDA_ERROR_NOT_FOUND`."""

_lock = forks.lock()
_driver: CudaBindings | None = None


def cuda_driver() -> CudaBindings:
    """The driver of this machine.

    Raises `LaunchError`, which says what to do, when cuda-python or the driver is missing or too old, or sees no GPU.
    """
    global _driver
    if _driver is None:
        with _lock:
            if _driver is None:
                try:
                    _driver = CudaBindings(load_bindings())
                except LaunchError as error:
                    error.hints.append('kernel(…, device="cpu") runs a kernel without a GPU, on the CPU emulator')
                    error.hints.append(
                        "kernels compile without a GPU: kernel.save(FILE) writes a bundle, which cutecc.load reads "
                        "where there is one; kernel.check(…) tests arguments here"
                    )
                    raise
    return _driver


def load_bindings() -> Any:
    """The module `cuda.bindings.driver`, its `cuInit` called. Raises as `cuda_driver` does."""
    import importlib

    try:
        cuda: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise LaunchError(
            f"launching a kernel needs cuda-python, and cuda.bindings cannot be imported: {error}",
            hints=["pip install 'cuda-bindings>=13'"],
        ) from None
    try:
        (status,) = cuda.cuInit(0)
    except (RuntimeError, OSError) as error:
        raise LaunchError(
            "this machine has no CUDA driver: libcuda.so.1 cannot be loaded",
            notes=[str(error)],
            hints=["install NVIDIA's driver; in a container, start it with the GPUs (--gpus all)"],
        ) from None
    if status:
        raise failure("the CUDA driver does not start", int(status), describe_status(cuda, int(status)))
    version = int(cuda.cuDriverGetVersion()[1])
    if version < OLDEST:
        raise LaunchError(
            f"the CUDA driver is for CUDA {_version(version)}; launching needs one for {_version(OLDEST)} or newer",
            hints=["update NVIDIA's driver: 525.60 is the oldest for CUDA 12"],
        )
    return cuda


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _signed(number: int) -> int:
    """32 bits as a C `int`."""
    return ctypes.c_int(number).value


def describe_status(cuda: Any, status: int) -> str:
    """`CUDA_ERROR_INVALID_VALUE (1): invalid argument`."""
    try:
        result = cuda.CUresult(status)
        name, text = cuda.cuGetErrorName(result)[1], cuda.cuGetErrorString(result)[1]
    except ValueError:  # a number that these bindings do not know
        return f"CUDA error {status}"
    return f"{name.decode()} ({status}): {text.decode()}" if name and text else f"CUDA error {status}"


class CudaBindings:
    """The `Driver` of `cuda.bindings.driver`."""

    def __init__(self, cuda: Any) -> None:
        """`cuda` is the module, its `cuInit` called."""
        self._cuda = cuda

    def device_count(self) -> int:
        return self._call("counting the GPUs", self._cuda.cuDeviceGetCount)

    def device_name(self, device: int) -> str:
        name: bytes = self._call(f"naming GPU {device}", self._cuda.cuDeviceGetName, 128, device)
        return name.split(b"\0")[0].decode(errors="replace")

    def device_attribute(self, device: int, attribute: DeviceAttribute) -> int:
        which = self._cuda.CUdevice_attribute(int(attribute))
        return self._call(f"asking GPU {device} for {attribute.name}", self._cuda.cuDeviceGetAttribute, which, device)

    def current_device(self) -> int | None:
        status, device = self._cuda.cuCtxGetDevice()
        if status:
            if status == INVALID_CONTEXT:
                return None
            raise failure("asking for the current GPU", int(status), self.describe(int(status)))
        return int(device)

    def retain_primary_context(self, device: int) -> int:
        return int(self._call(f"using GPU {device}", self._cuda.cuDevicePrimaryCtxRetain, device))

    def set_context(self, context: int) -> None:
        self._call("changing the current context", self._cuda.cuCtxSetCurrent, self._cuda.CUcontext(context))

    def push_context(self, context: int) -> None:
        self._call("changing the current context", self._cuda.cuCtxPushCurrent, self._cuda.CUcontext(context))

    def pop_context(self) -> None:
        self._call("restoring the current context", self._cuda.cuCtxPopCurrent)

    def load_library(self, image: bytes) -> int:
        library = self._call(
            "loading a kernel's code", self._cuda.cuLibraryLoadData, image, None, None, 0, None, None, 0
        )
        return int(library)

    def unload_library(self, library: int) -> None:
        self._call("unloading a kernel's code", self._cuda.cuLibraryUnload, self._cuda.CUlibrary(library))

    def find_kernel(self, library: int, name: str) -> int:
        handle = self._cuda.CUlibrary(library)
        return int(self._call(f"finding kernel {name}", self._cuda.cuLibraryGetKernel, handle, name.encode()))

    def find_variable(self, library: int, name: str) -> tuple[int, int] | None:
        status, *found = self._cuda.cuLibraryGetGlobal(self._cuda.CUlibrary(library), name.encode())
        if int(status) == _NOT_FOUND:
            return None
        if int(status):
            raise failure(f"finding variable {name}", int(status), self.describe(int(status)))
        return int(found[0]), int(found[1])

    def load_kernel(self, kernel: int) -> None:
        function = self._call(
            "bringing a kernel into the context", self._cuda.cuKernelGetFunction, self._cuda.CUkernel(kernel)
        )
        try:
            self._call("bringing a kernel into the context", self._cuda.cuFuncLoad, function)
        except RuntimeError:  # drivers before CUDA 12.4 have no such function: the first launch loads
            return

    def kernel_attribute(self, kernel: int, attribute: KernelAttribute, device: int) -> int:
        which = self._cuda.CUfunction_attribute(int(attribute))
        handle = self._cuda.CUkernel(kernel)
        return self._call(f"asking for {attribute.name}", self._cuda.cuKernelGetAttribute, which, handle, device)

    def set_kernel_attribute(self, kernel: int, attribute: KernelAttribute, value: int, device: int) -> None:
        which = self._cuda.CUfunction_attribute(int(attribute))
        handle = self._cuda.CUkernel(kernel)
        what = f"setting a kernel's {attribute.name} to {value}"
        self._call(what, self._cuda.cuKernelSetAttribute, which, value, handle, device)

    def prepare(self, kernel: int, launch: Launch, block: ParameterBlock, caller: Caller) -> Callable[[int], int]:
        cuda = self._cuda
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes = launch.shared_bytes
        attributes = self._attributes(launch)
        config.attrs = attributes
        config.numAttrs = len(attributes)
        function, parameters = cuda.CUfunction(kernel), block.pointers
        start, handle, last = cuda.cuLaunchKernelEx, cuda.CUstream, 0

        def run(stream: int) -> int:
            nonlocal last
            stream = stream or caller.stream
            if stream != last:
                config.hStream = handle(stream)
                last = stream
            return start(config, function, parameters, 0)[0]

        # Closures hold what they use: `parameters` is an address in `block`.
        run.__dict__["block"] = block
        return run

    def _attributes(self, launch: Launch) -> list[Any]:
        attributes: list[Any] = []
        for name, operands in launch.attributes.items():
            attribute = self._cuda.CUlaunchAttribute()
            attribute.id = self._cuda.CUlaunchAttributeID(ATTRIBUTE_IDS[name])
            value = attribute.value
            match name, operands:
                case "cluster", (x, y, z):
                    value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = x, y, z
                case "preferred_cluster", (x, y, z):
                    value.preferredClusterDim.x, value.preferredClusterDim.y, value.preferredClusterDim.z = x, y, z
                case "cooperative", (flag,):
                    value.cooperative = _signed(flag)
                case "programmatic_serialization", (flag,):
                    value.programmaticStreamSerializationAllowed = _signed(flag)
                case "programmatic_event", (event, flags, at_start):
                    value.programmaticEvent.event = self._cuda.CUevent(event)
                    value.programmaticEvent.flags = _signed(flags)
                    value.programmaticEvent.triggerAtBlockStart = _signed(at_start)
                case "launch_completion_event", (event, flags):
                    value.launchCompletionEvent.event = self._cuda.CUevent(event)
                    value.launchCompletionEvent.flags = _signed(flags)
                case _:
                    raise LaunchError(f"the launch attribute {name} with {len(operands)} numbers")
            attributes.append(attribute)
        return attributes

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        cuda = self._cuda
        try:
            status, encoded = cuda.cuTensorMapEncodeTiled(
                cuda.CUtensorMapDataType(tensor_map.data_type),
                len(tensor_map.sizes),
                tensor_map.address,
                [cuda.cuuint64_t(size) for size in tensor_map.sizes],
                [cuda.cuuint64_t(stride) for stride in tensor_map.strides],
                [cuda.cuuint32_t(size) for size in tensor_map.box],
                [cuda.cuuint32_t(stride) for stride in tensor_map.element_strides],
                cuda.CUtensorMapInterleave(tensor_map.interleave),
                cuda.CUtensorMapSwizzle(tensor_map.swizzle),
                cuda.CUtensorMapL2promotion(tensor_map.l2_promotion),
                cuda.CUtensorMapFloatOOBfill(tensor_map.fill),
            )
        except (ValueError, OverflowError):  # a number that is none of the enumeration's, or too wide
            return INVALID_VALUE
        return int(status) if status else ctypes.string_at(int(encoded.getPtr()), TENSOR_MAP_BYTES)

    def order(self, first: int, then: int) -> None:
        cuda = self._cuda
        event = self._call("making an event", cuda.cuEventCreate, _DISABLE_TIMING)
        try:
            self._call("recording an event", cuda.cuEventRecord, event, cuda.CUstream(first))
            self._call("waiting for an event", cuda.cuStreamWaitEvent, cuda.CUstream(then), event, 0)
        finally:
            self._call("freeing an event", cuda.cuEventDestroy, event)

    def is_capturing(self, stream: int) -> bool:
        cuda = self._cuda
        found = self._call("asking a stream for its state", cuda.cuStreamIsCapturing, cuda.CUstream(stream))
        return int(found) != 0

    @contextmanager
    def relaxed_capture(self) -> Generator[None]:
        exchange, modes = self._cuda.cuThreadExchangeStreamCaptureMode, self._cuda.CUstreamCaptureMode
        before = self._call("relaxing the capture mode", exchange, modes.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            yield
        finally:
            self._call("restoring the capture mode", exchange, before)

    def describe(self, status: int) -> str:
        return describe_status(self._cuda, status)

    def functions(self) -> DriverFunctions:
        return DriverFunctions(
            launch=self._address(b"cuLaunchKernelEx"),
            device=self._address(b"cuCtxGetDevice"),
            encode_tensor_map=self._address(b"cuTensorMapEncodeTiled"),
            is_capturing=self._address(b"cuStreamIsCapturing"),
        )

    def _address(self, symbol: bytes) -> int:
        what = f"finding {symbol.decode()}"
        flags = self._cuda.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
        status, address, *_ = self._cuda.cuGetProcAddress(symbol, OLDEST, flags)
        if status or not address:
            raise failure(what, int(status), self.describe(int(status)))
        return int(address)

    def _call(self, what: str, function: Any, *arguments: Any) -> Any:
        """What `function` returns besides its status, which has to be success."""
        status, *results = function(*arguments)
        if status:
            raise failure(what, int(status), self.describe(int(status)))
        return results[0] if results else None
