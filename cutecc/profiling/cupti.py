"""CUPTI's calls through ctypes, and what their failures mean.

NVIDIA's own Python package of CUPTI has no PC sampling. Names, layouts and numbers are those of `cupti_pcsampling.h`,
`cupti_callbacks.h` and `cupti_result.h`. The `size` of a parameter structure ends with its last field, without the
padding behind it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any

from cutecc.errors import ProfilingError


class StallReason(ctypes.Structure):
    """How often a program counter was sampled while its warp waited for one reason."""

    _fields_ = (("index", c_uint32), ("samples", c_uint32))


class PcData(ctypes.Structure):
    """The samples of one program counter: 64 bytes."""

    _fields_ = (
        ("size", c_size_t),
        ("cubin_crc", c_uint64),
        ("offset", c_uint64),
        ("function_index", c_uint32),
        ("_padding", c_uint32),
        ("function_name", c_void_p),
        ("reason_count", c_size_t),
        ("reasons", POINTER(StallReason)),
        ("correlation", c_uint32),
    )


class SamplingData(ctypes.Structure):
    """A buffer of samples: 80 bytes."""

    _fields_ = (
        ("size", c_size_t),
        ("most_pcs", c_size_t),
        ("total_samples", c_uint64),
        ("dropped_samples", c_uint64),
        ("pcs", c_size_t),
        ("remaining_pcs", c_size_t),
        ("range", c_uint64),
        ("pc_data", POINTER(PcData)),
        ("other_samples", c_uint64),
        ("is_hardware_full", c_uint8),
    )


class Setting(IntEnum):
    """Of `cuptiPCSamplingSetConfigurationAttribute`."""

    PERIOD = 1
    """A sample is taken every 2 to the power of this many cycles: 5 to 31."""
    MODE = 5
    START_STOP = 6
    FORMAT = 7
    DATA_BUFFER = 8


CONTINUOUS = 1
"""The mode in which kernels run beside each other, as they would."""
PARSED = 1
"""The format of samples."""


class _Attribute(ctypes.Structure):
    _fields_ = (("kind", c_int), ("status", c_int), ("value", c_uint64 * 3))


def _parameters(*fields: tuple[str, Any]) -> type[ctypes.Structure]:
    heading = (("size", c_size_t), ("_private", c_void_p), ("context", c_void_p))
    return type("Parameters", (ctypes.Structure,), {"_fields_": (*heading, *fields)})


_Context = _parameters()
_GetData = _parameters(("data", c_void_p))
_ReasonCount = _parameters(("count", POINTER(c_size_t)))
_Reasons = _parameters(("count", c_size_t), ("indices", POINTER(c_uint32)), ("names", POINTER(c_void_p)))
_Settings = _parameters(("count", c_size_t), ("attributes", POINTER(_Attribute)))


class _CubinCrc(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("cubin_size", c_size_t), ("cubin", c_char_p), ("crc", c_uint64))


class _ResourceData(ctypes.Structure):
    _fields_ = (("context", c_void_p), ("handle", c_void_p), ("descriptor", c_void_p))


class _ModuleData(ctypes.Structure):
    _fields_ = (("module", c_uint32), ("cubin_size", c_size_t), ("cubin", c_void_p))


class Event(IntEnum):
    """What a subscriber of resources hears of."""

    CONTEXT_CREATED = 1
    CONTEXT_DESTROY_STARTING = 2
    MODULE_LOADED = 6


_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_uint32, c_void_p)
_RESOURCES = 3
"""The domain of these events."""
_REASON_BYTES = 128
_HARDWARE_BUFFER_FULL = 8

_FAILURES: Mapping[int, tuple[str, str]] = {
    26: (
        "another process profiles this GPU, which does so for one at a time",
        "end it: ncu, nsys, DCGM's profiling",
    ),
    27: ("this GPU or its driver takes no samples", "it needs compute capability 7.0 or more"),
    33: ("this GPU is virtual, and samples are taken of a whole one alone", "profile on the host"),
    34: ("the driver is older than this CUPTI", "pip install the nvidia-cuda-cupti of the driver's CUDA version"),
    35: (
        "the driver lets only administrators read the counters of a GPU (RmProfilingAdminOnly: 1)",
        "run as root, in a container with --cap-add=SYS_ADMIN, or load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0",
    ),
    39: (
        "another profiler is in this process already, and CUPTI serves one: torch.profiler, nsys, ncu",
        "leave that out for this run",
    ),
    40: ("the host of this virtual GPU does not let it be profiled", "have the host allow it"),
    41: ("this GPU computes confidentially, and takes no samples", "profile where that is off"),
    43: ("this GPU is divided (MIG), and samples are taken of a whole one alone", "profile on a whole GPU"),
    45: ("samples cannot be taken under WSL", "profile on Linux"),
}
"""By the number of a result what it means and what to do."""


class Cupti:
    """The library in a process. Contexts are `CUcontext` handles."""

    def __init__(self, path: Path | str, library: Any = None) -> None:
        """`library` stands in for the one at `path`. Raises `ProfilingError` for one that cannot be loaded."""
        self.path = str(path)
        try:
            self._library = ctypes.CDLL(self.path) if library is None else library
        except OSError as failure:
            raise ProfilingError(f"CUPTI cannot be loaded: {failure}") from None
        self._subscriber = c_void_p()
        self._callback: Any = None

    @property
    def version(self) -> int:
        """As `cuptiGetVersion` counts: 130001 for that of CUDA 13.0."""
        number = c_uint32()
        self._check("cuptiGetVersion", ctypes.byref(number))
        return number.value

    def enable(self, context: int) -> None:
        """Prepare sampling in a context, before all other calls of sampling."""
        self._call("cuptiPCSamplingEnable", _Context(), context)

    def disable(self, context: int) -> None:
        """End sampling in a context, and put what is left into the buffer that was set."""
        self._call("cuptiPCSamplingDisable", _Context(), context)

    def stall_reasons(self, context: int) -> dict[int, str]:
        """By index the names of the reasons for which warps wait, `smsp__pcsamp_warps_issue_stalled_barrier`."""
        count = c_size_t()
        self._call("cuptiPCSamplingGetNumStallReasons", _ReasonCount(count=ctypes.pointer(count)), context)
        names = [ctypes.create_string_buffer(_REASON_BYTES) for _ in range(count.value)]
        indices = (c_uint32 * count.value)()
        addresses = (c_void_p * count.value)(*map(ctypes.addressof, names))
        parameters = _Reasons(count=count.value, indices=indices, names=addresses)
        self._call("cuptiPCSamplingGetStallReasons", parameters, context)
        return {index: name.value.decode() for index, name in zip(indices, names, strict=True)}

    def configure(self, context: int, settings: Mapping[Setting, int]) -> None:
        """Change how a context is sampled."""
        attributes = (_Attribute * len(settings))()
        for attribute, (setting, value) in zip(attributes, settings.items(), strict=True):
            attribute.kind, attribute.value[0] = setting, value
        parameters = _Settings(count=len(settings), attributes=attributes)
        self._call("cuptiPCSamplingSetConfigurationAttribute", parameters, context)

    def read(self, context: int, data: SamplingData) -> bool:
        """Fill a buffer, not the one that was set, with the samples so far; False where the hardware's was full."""
        parameters = _GetData(data=ctypes.addressof(data))
        return self._call("cuptiPCSamplingGetData", parameters, context, passing=_HARDWARE_BUFFER_FULL)

    def crc(self, cubin: bytes) -> int:
        """What samples name a cubin by."""
        parameters = _CubinCrc(_CubinCrc.crc.offset + _CubinCrc.crc.size, len(cubin), cubin)
        self._check("cuptiGetCubinCrc", ctypes.byref(parameters))
        return parameters.crc

    def subscribe(self, hear: Callable[[Event, int, bytes | None], None]) -> None:
        """Call `hear` with each event, its context and the cubin of a module, on whatever thread it happens.

        Raises `ProfilingError` where another profiler has subscribed.
        """

        def heard(_data: int, _domain: int, number: int, address: int) -> None:
            if number in _HEARD:
                resource = _ResourceData.from_address(address)
                module = _ModuleData.from_address(resource.descriptor) if number == Event.MODULE_LOADED else None
                cubin = ctypes.string_at(module.cubin, module.cubin_size) if module and module.cubin else None
                hear(Event(number), resource.context or 0, cubin)

        self._callback = _CALLBACK(heard)
        self._check("cuptiSubscribe", ctypes.byref(self._subscriber), self._callback, None)
        try:
            for event in Event:
                self._check("cuptiEnableCallback", c_uint32(1), self._subscriber, c_int(_RESOURCES), c_uint32(event))
        except ProfilingError:
            self.detach()
            raise

    def detach(self) -> None:
        """Hear no more, and leave the process as it was before `subscribe`.

        Code that is loaded while nobody listens is sampled later only by one who attaches anew: CUPTI then looks at all
        that is loaded.
        """
        try:
            self._check("cuptiUnsubscribe", self._subscriber)
        finally:
            self._check("cuptiFinalize")

    def _call(self, name: str, parameters: ctypes.Structure, context: int, *, passing: int = 0) -> bool:
        last = getattr(type(parameters), parameters._fields_[-1][0])
        parameters.size, parameters.context = last.offset + last.size, context  # type: ignore[attr-defined]
        return self._check(name, ctypes.byref(parameters), passing=passing)

    def _check(self, name: str, *arguments: Any, passing: int = 0) -> bool:
        status = getattr(self._library, name)(*arguments)
        if status and status != passing:
            raise self._failure(name, status)
        return not status

    def _failure(self, name: str, status: int) -> ProfilingError:
        text = c_char_p()
        self._library.cuptiGetResultString(c_int(status), ctypes.byref(text))
        said = f"{name}: {text.value.decode() if text.value else 'an unknown failure'} ({status})"
        meaning, hint = _FAILURES.get(status, ("", ""))
        if not meaning:
            return ProfilingError(f"CUPTI failed: {said}")
        return ProfilingError(meaning, notes=[said], hints=[hint])


_HEARD = frozenset(map(int, Event))
