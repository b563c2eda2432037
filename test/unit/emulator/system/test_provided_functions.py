"""Functions of the device runtime, and instructions that stop a kernel."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hand import make_gang, make_machine, make_operation, run_instruction

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.instructions.calls import provided
from cutecc.emulator.machine.lanes import Lanes
from cutecc.errors import EmulatorError

TEXTS = 0x1000
BUFFERS = 0x8000
STRIDE = 256
"""Bytes of each thread's buffer."""


class Bytes:
    """Memory of one array, loaded from as `Memory` does."""

    def __init__(self) -> None:
        self.data = bytearray(0x10000)
        self.heap = None

    def put(self, address: int, data: bytes) -> int:
        self.data[address : address + len(data)] = data
        return address

    def load(self, operation: Any, gang: Any, lanes: Lanes, space: str, addresses: Any, size: int, count: int) -> Any:
        assert (space, count) == ("generic", 1)
        found = np.zeros(gang.shape, f"u{size}")
        for place in np.argwhere(lanes.mask):
            address = int(addresses[tuple(place)])
            assert address % size == 0
            found[tuple(place)] = int.from_bytes(self.data[address : address + size], "little")
        return [found]


def call(
    name: str, arguments: list[Any], memory: Bytes, mask: Any = True, threads: int = 32, collect: Any = None
) -> Any:
    machine = make_machine(threads, memory=memory)
    printed: list[str] = []
    machine.print = printed.append
    machine.collect = collect
    gang = make_gang(machine)
    operation = make_operation(f"call.uni {name};", {})
    function = provided(name)
    assert function is not None
    given = [np.broadcast_to(np.asarray(each, np.uint64), gang.shape) for each in arguments]
    result = function(operation, gang, Lanes(gang.alive & mask), given)
    return SimpleNamespace(printed=printed, result=result)


def printf(text: str, data: bytes, strings: bytes = b"") -> str:
    memory = Bytes()
    memory.put(TEXTS, text.encode() + b"\0")
    memory.put(TEXTS + 0x800, strings)
    memory.put(BUFFERS, data)
    mask = np.arange(32) == 5
    return "".join(call("vprintf", [TEXTS, BUFFERS], memory, mask).printed)


@pytest.mark.parametrize(
    ("text", "data", "shown"),
    [
        ("plain 100%%\n", b"", "plain 100%\n"),
        ("%d %i %u", struct.pack("<iiI", -1, 7, 2**32 - 1), "-1 7 4294967295"),
        ("%x %X %o %#x", struct.pack("<4I", 255, 255, 8, 16), "ff FF 10 0x10"),
        ("%c%c", struct.pack("<2i", 72, 105), "Hi"),
        ("%5d|%-5d|%05d|%+d", struct.pack("<4i", 42, 42, 42, 42), "   42|42   |00042|+42"),
        ("%hhd %hd", struct.pack("<2i", 200, 70000), "-56 4464"),
        # An argument of 8 bytes begins at a multiple of 8.
        ("%d %lld %d %llu", struct.pack("<i4xqi4xQ", 1, -2, 3, 2**64 - 1), "1 -2 3 18446744073709551615"),
        ("%ld %lx", struct.pack("<qq", -5, 255), "-5 ff"),
        ("%d %f", struct.pack("<i4xd", 1, 1.5), "1 1.500000"),
        (
            "%.3f %e %g %8.2f|",
            struct.pack("<4d", 2 / 3, 12345.678, 1e-7, 3.14159),
            "0.667 1.234568e+04 1e-07     3.14|",
        ),
        ("%f %f %F", struct.pack("<3d", float("inf"), float("nan"), -float("inf")), "inf nan -INF"),
        ("%p", struct.pack("<Q", 0xABC0), "0xabc0"),
        ("%016llx", struct.pack("<Q", 0xABC0), "000000000000abc0"),
        ("%s|%6s|%-6s|%.2s", struct.pack("<4Q", *[TEXTS + 0x800] * 4), "text|  text|text  |te"),
        ("%s", struct.pack("<Q", 0), "(null)"),
    ],
)
def test_printf(text: str, data: bytes, shown: str) -> None:
    assert printf(text, data, b"text\0") == shown


@pytest.mark.parametrize("text", ["%n", "%*d", "%q", "%"])
def test_conversions_that_there_are_not(text: str) -> None:
    with pytest.raises(EmulatorError, match="not supported"):
        printf(text, bytes(8))


def test_threads_print_in_their_order() -> None:
    memory = Bytes()
    memory.put(TEXTS, b"a%d \0")
    memory.put(TEXTS + 16, b"b%d \0")
    threads = np.arange(64).reshape(2, 32)
    for thread in range(64):
        memory.put(BUFFERS + STRIDE * thread // 4, struct.pack("<i", thread))
    formats = TEXTS + 16 * (threads % 2)
    mask = (threads % 31) == 3
    called = call("vprintf", [formats, BUFFERS + STRIDE * threads // 4], memory, mask, threads=64)
    assert called.printed == ["b3 ", "a34 "]
    assert called.result[mask].tolist() == [1, 1]


def test_a_failed_assertion() -> None:
    memory = Bytes()
    memory.put(TEXTS, b"i < n\0kernel.py\0gather\0")
    arguments = [TEXTS, TEXTS + 6, 28, TEXTS + 16, 1]
    with pytest.raises(EmulatorError) as caught:
        call("__assertfail", arguments, memory, np.arange(32) >= 30)
    assert "assertion 'i < n' failed at kernel.py:28 in gather" in caught.value.message
    assert "thread (30, 0, 0) and 1 more" in caught.value.message


def test_assertions_that_fail_are_findings_each() -> None:
    memory = Bytes()
    memory.put(TEXTS, b"i < n\0kernel.py\0gather\0")
    found: list[Finding] = []
    lines = np.where(np.arange(32) < 3, 28, 30)
    call("__assertfail", [TEXTS, TEXTS + 6, lines, TEXTS + 16, 1], memory, collect=found.append)
    assert [(each.kind, each.count, each.message[-23:]) for each in found] == [
        ("trap", 3, "at kernel.py:28 in gather"[-23:]),
        ("trap", 29, "at kernel.py:30 in gather"[-23:]),
    ]


def test_no_heap_and_no_other_functions() -> None:
    with pytest.raises(EmulatorError, match="heap"):
        call("malloc", [64], Bytes())
    assert provided("cudaLaunchDevice") is None


@pytest.mark.parametrize("text", ["trap", "brkpt"])
def test_traps(text: str) -> None:
    with pytest.raises(EmulatorError, match=f"executes '{text}'"):
        run_instruction(text, {})


@pytest.mark.parametrize("text", ["pmevent 1", "pmevent.mask 0xff"])
def test_events_do_nothing(text: str) -> None:
    assert run_instruction(text, {})["waiting"] is None
