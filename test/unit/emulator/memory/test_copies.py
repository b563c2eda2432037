"""`cp.async`: what is copied, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand import make_gang, make_operation, make_step
from memories import Told, addresses, machine_with

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.machine.lanes import Lanes
from cutecc.errors import EmulatorError

LANES = np.arange(32)
NAMES = ("%to", "%from", "%n", "%p", "%policy")
TYPES = {"%to": "b32", "%from": "b64", "%n": "b32", "%p": "pred", "%policy": "b64"}
WIDTHS = (np.uint32, np.uint64, np.uint32, np.bool_, np.uint64)


class Threads:
    """The threads of a block that copy from an array to shared memory, 64 bytes apart from one another."""

    def __init__(self, **options: Any) -> None:
        storage = np.arange(32 * 64 + 64, dtype=np.uint64).astype(np.uint8) | np.uint8(1)
        self.array = storage[-storage.ctypes.data % 16 :][: 32 * 64]
        self.machine = machine_with({"a": self.array}, **options)
        self.gang = make_gang(self.machine, [np.zeros((1, 32), width) for width in WIDTHS])
        self.set(**{"to": LANES * 64, "from": addresses(self.array, LANES * 64)})

    def set(self, **registers: Any) -> None:
        for name, value in registers.items():
            number = NAMES.index(f"%{name}")
            self.gang.registers[number] = np.broadcast_to(np.asarray(value, WIDTHS[number]), (1, 32))

    def do(self, text: str, mask: Any = None) -> None:
        step = make_step(make_operation(text, TYPES))
        lanes = Lanes(np.ones((1, 32), np.bool_), True) if mask is None else Lanes(np.asarray(mask).reshape(1, 32))
        assert step(self.gang, lanes) is None

    def shared(self, thread: int, size: int = 16) -> list[int]:
        return self.machine.memory.window(0)[thread * 64 :][:size].tolist()

    def source(self, thread: int, size: int = 16) -> list[int]:
        return self.array[thread * 64 :][:size].tolist()


@pytest.mark.parametrize(("modifiers", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
@pytest.mark.parametrize("hints", ["", ".L2::128B"])
def test_copy(modifiers: str, size: int, hints: str) -> None:
    threads = Threads()
    threads.do(f"cp.async.{modifiers}.shared.global{hints} [%to], [%from], {size};", LANES != 3)
    for thread in (0, 31):
        assert threads.shared(thread, 20) == threads.source(thread, size) + [0] * (20 - size)
    assert threads.shared(3) == [0] * 16


def test_fewer_bytes_are_filled_with_zeros() -> None:
    threads = Threads()
    threads.machine.memory.window(0)[:] = 255
    counts = np.array([0, 16, 5, 1, 12, 99, 16, 16] * 4)
    # What is not read needs no address.
    where = np.where(counts == 0, np.uint64(0), addresses(threads.array, LANES * 64))
    threads.set(n=counts, **{"from": where})
    threads.do("cp.async.cg.shared.global.L2::cache_hint [%to], [%from], 16, %n, %policy;")
    for thread in range(32):
        count = min(int(counts[thread]), 16)
        assert threads.shared(thread, 17) == [*threads.source(thread, count), *[0] * (16 - count), 255]


def test_predicate_says_what_to_ignore() -> None:
    threads = Threads()
    threads.machine.memory.window(0)[:] = 255
    threads.set(p=LANES == 2)
    threads.do("cp.async.ca.shared.global [%to], [%from], 8, %p;")
    assert threads.shared(2, 9) == [0] * 8 + [255]
    assert threads.shared(1, 9) == [*threads.source(1, 8), 255]


def test_faults_are_those_of_the_instruction() -> None:
    threads = Threads()
    threads.set(**{"from": addresses(threads.array, LANES * 64 + 60)})
    with pytest.raises(EmulatorError, match="reads 16 bytes at an address that is not a multiple of 16"):
        threads.do("cp.async.cg.shared.global [%to], [%from], 16;")
    threads.set(n=8, **{"from": addresses(threads.array, LANES * 64 + 64)})
    with pytest.raises(EmulatorError, match=r"thread \(31, 0, 0\): reads 8 bytes outside .* just past its end"):
        threads.do("cp.async.cg.shared.global [%to], [%from], 16, %n;")
    threads.set(to=LANES * 64 + 56, **{"from": addresses(threads.array, LANES * 64)})
    with pytest.raises(EmulatorError, match=r"writes 16 bytes at an address .* shared\+56"):
        threads.do("cp.async.cg.shared.global [%to], [%from], 16;")


def test_lazy_copies_read_when_they_happen() -> None:
    threads = Threads(eager=False)
    threads.do("cp.async.cg.shared.global [%to], [%from], 16;")
    threads.do("cp.async.commit_group;")
    assert threads.shared(1) == [0] * 16
    threads.array[64] = 77
    threads.do("cp.async.wait_group 0;")
    assert threads.shared(1) == [77, *threads.source(1)[1:]]
    assert not threads.machine.pending


def test_groups_are_each_threads_own() -> None:
    threads = Threads(eager=False)
    text = "cp.async.ca.shared.global [%to], [%from], 4;"
    threads.do(text)
    threads.do("cp.async.commit_group;")
    threads.set(to=LANES * 64 + 4)
    threads.do(text)
    threads.do("cp.async.commit_group;", LANES == 0)
    threads.set(to=LANES * 64 + 8)
    threads.do(text)
    threads.do("cp.async.commit_group;")
    assert len(threads.machine.pending) == 3
    # For thread 5 the newest of its two groups may go on, and the oldest copy is over.
    threads.do("cp.async.wait_group 1;", LANES == 5)
    assert [threads.shared(5)[number] > 0 for number in (0, 4, 8)] == [True, False, False]
    # Thread 0 has a group more.
    threads.do("cp.async.wait_group 2;", LANES == 0)
    assert len(threads.machine.pending) == 2
    threads.do("cp.async.wait_group 1;", LANES == 0)
    assert [threads.shared(0)[number] > 0 for number in (0, 4, 8)] == [True, True, False]
    threads.set(to=LANES * 64 + 12)
    threads.do(text)
    threads.do("cp.async.wait_group 0;")
    assert len(threads.machine.pending) == 1
    threads.do("cp.async.wait_all;")
    assert not threads.machine.pending


def test_what_is_told() -> None:
    told = Told()
    threads = Threads(watch=told)
    threads.do("cp.async.ca.shared.global [%to], [%from], 4;", LANES < 2)
    threads.do("cp.async.commit_group;")
    start = threads.array.ctypes.data
    assert told.events[:3] == [
        ("spawn", 101, 2),
        ("asynchronous", 101, "read", "global", [start, start + 64], 4),
        ("asynchronous", 101, "write", "shared", [0, 64], 4),
    ]
    assert told.events[3][:2] == ("finish", 101)
    key = told.events[3][2]
    told.events.clear()
    threads.do("cp.async.wait_group 0;", LANES == 1)
    threads.do("cp.async.wait_group 0;")
    threads.do("cp.async.wait_group 0;")
    assert told.events == [("acquire", [1], key), ("acquire", [0], key)]


def test_reads_are_told_of_the_threads_that_read() -> None:
    told = Told()
    threads = Threads(watch=told)
    threads.set(n=LANES == 1)
    threads.do("cp.async.ca.shared.global [%to], [%from], 4, %n;", LANES < 2)
    start = threads.array.ctypes.data
    assert told.events[:4] == [
        ("spawn", 101, 2),
        ("spawn", 102, 1),
        ("asynchronous", 102, "read", "global", [start + 64], 1),
        ("asynchronous", 101, "write", "shared", [0, 64], 4),
    ]
    assert sorted(event[1] for event in told.events[4:]) == [101, 102]


@pytest.mark.parametrize("eager", [True, False])
def test_mbarrier_tracks_copies(eager: bool) -> None:
    told = Told()
    threads = Threads(eager=eager, watch=told, shared=4096)
    machine = threads.machine
    mbarrier_object.initialise(machine, 2048, 32)
    threads.do("cp.async.cg.shared.global [%to], [%from], 16;")
    threads.set(to=2048)
    threads.do("cp.async.mbarrier.arrive.noinc.shared.b64 [%to];")
    barrier = mbarrier_object.find(machine, 2048)
    assert barrier is not None
    assert barrier.phase == (1 if eager else 0)
    while machine.pending:
        machine.finish(machine.pending[-1])
    assert barrier.phase == 1 and threads.shared(7) == threads.source(7)
    assert ("finish", 101, ("mbarrier", 2048, 0)) in told.events
    # Without .noinc the phase waits for these threads beside the 32 others.
    threads.do("cp.async.mbarrier.arrive.shared.b64 [%to];")
    while machine.pending:
        machine.finish(machine.pending[-1])
    assert (barrier.phase, barrier.pending) == (1, 32)


def test_mbarrier_that_is_none() -> None:
    findings: list[Finding] = []
    threads = Threads(findings=findings)
    threads.set(to=64)
    threads.do("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%to];")
    assert [(finding.kind, finding.address) for finding in findings] == [("mbarrier", "shared+64")]
