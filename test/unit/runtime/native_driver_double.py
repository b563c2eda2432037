"""A CUDA driver for machine code: C functions that write down what they are called with, and do nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field

from cutecc.record.host_program import HostProgram
from cutecc.runtime.driver import ATTRIBUTE_IDS, DriverFunctions
from cutecc.runtime.launch import TensorMap

_NAMES = {number: name for name, number in ATTRIBUTE_IDS.items()}
_FORMATS = {
    "cluster": ("I", "I", "I"),
    "preferred_cluster": ("I", "I", "I"),
    "cooperative": ("i",),
    "programmatic_serialization": ("i",),
    "programmatic_event": ("Q", "i", "i"),
    "launch_completion_event": ("Q", "i"),
}
FUNCTIONS = 0x1000
"""The handle of kernel 0; that of kernel n is n more."""


class _Config(ctypes.Structure):
    _fields_ = (
        ("dimensions", ctypes.c_uint * 6),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


@dataclass
class NativeDriver:
    """`events` are those of `random_programs.Recorder`: what a host is asked for, in order."""

    program: HostProgram | None = None
    status_of: Callable[[int], int] = lambda count: 0
    """The status of launch number 1, 2, …"""
    map_status_of: Callable[[int], int] = lambda count: 0
    device: int = 0
    device_status: int = 0
    capturing: int = 0
    events: list[tuple] = field(default_factory=list)
    launches: int = 0
    maps: int = 0
    asked: list[int] = field(default_factory=list)
    """The streams that were asked whether they are captured."""

    def __post_init__(self) -> None:
        pointer, number = ctypes.c_void_p, ctypes.c_int
        kinds = (pointer, number, ctypes.c_uint, ctypes.c_uint64, *[pointer] * 4, *[number] * 4)
        self._kept = [
            ctypes.CFUNCTYPE(number, ctypes.POINTER(_Config), pointer, pointer, pointer)(self._launch),
            ctypes.CFUNCTYPE(number, ctypes.POINTER(number))(self._device),
            ctypes.CFUNCTYPE(number, *kinds)(self._encode),
            ctypes.CFUNCTYPE(number, pointer, ctypes.POINTER(number))(self._capturing),
        ]

    @property
    def functions(self) -> DriverFunctions:
        launch, device, encode, capturing = (ctypes.cast(each, ctypes.c_void_p).value for each in self._kept)
        return DriverFunctions(launch=launch, device=device, encode_tensor_map=encode, is_capturing=capturing)

    @property
    def handles(self) -> list[int]:
        return [FUNCTIONS + index for index in range(len(self.program.kernels))]

    def _launch(self, config, function: int, parameters: int, extra: int | None) -> int:
        assert extra is None
        entry = self.program.kernels[function - FUNCTIONS]
        config = config.contents
        grid, block = tuple(config.dimensions[:3]), tuple(config.dimensions[3:])
        attributes = {}
        for index in range(config.count):
            start = config.attributes + 72 * index
            name = _NAMES[ctypes.c_uint.from_address(start).value]
            attributes[name] = _members(start + 8, _FORMATS[name])
        memory = bytearray(entry.parameter_bytes)
        for index, parameter in enumerate(entry.parameters):
            place = ctypes.c_uint64.from_address(parameters + 8 * index).value
            assert place % parameter.align == 0
            memory[parameter.offset : parameter.offset + parameter.size] = ctypes.string_at(place, parameter.size)
        event = (entry.name, grid, block, config.shared_bytes, config.stream or 0, attributes, bytes(memory))
        self.events.append(event)
        self.launches += 1
        return self.status_of(self.launches)

    def _device(self, out) -> int:
        out[0] = self.device
        return self.device_status

    def _capturing(self, stream: int | None, out) -> int:
        self.asked.append(stream or 0)
        out[0] = self.capturing
        return 0

    def _encode(self, out, kind, rank, address, sizes, strides, box, steps, *settings) -> int:
        assert out % 64 == 0

        def read(type_, place: int, count: int) -> tuple[int, ...]:
            return tuple((type_ * count).from_address(place)) if count else ()

        long, short = ctypes.c_uint64, ctypes.c_uint32
        modes = (
            read(long, sizes, rank),
            read(long, strides, rank - 1),
            read(short, box, rank),
            read(short, steps, rank),
        )
        self.events.append(("map", TensorMap(kind, address, *modes, *settings)))
        self.maps += 1
        ctypes.memmove(out, descriptor(address, modes[0]), 128)
        return self.map_status_of(self.maps)


def descriptor(address: int, sizes: tuple[int, ...]) -> bytes:
    """What the double makes of a tensor's address and sizes in place of a descriptor, as the random programs' host."""
    return ((address.to_bytes(8, "little") + bytes(size & 0xFF for size in sizes)) * 16)[:128]


def _members(start: int, formats: tuple[str, ...]) -> tuple[int, ...]:
    types = {"I": ctypes.c_uint32, "i": ctypes.c_int32, "Q": ctypes.c_uint64}
    values: list[int] = []
    for each in formats:
        values.append(types[each].from_address(start).value)
        start += ctypes.sizeof(types[each])
    return tuple(values)
