"""What the watch is told of synchronisation and of asynchronous accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, map_of, run

import cutecc.emulator.launch
from cutecc.emulator.machine.machine import Machine
from cutecc.emulator.machine.watch import Watch


class Recording(Watch):
    """Writes down events: `(what, key or form, …)`, threads by their number."""

    listens = True

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.agents = 1000

    def asynchronous_access(self, agent: int, operation: Any, kind: Any, space: Any, addresses: Any, size: int) -> None:
        self.events.append(("async", agent, kind, space, [int(each) for each in addresses], size))

    def spawn(self, gang: Any, lanes: Any, operation: Any) -> int:
        self.agents += 1
        self.events.append(("spawn", self.agents, threads(gang, lanes)))
        return self.agents

    def finish(self, agent: int, key: Any) -> None:
        self.events.append(("finish", agent, key))

    def release(self, gang: Any, lanes: Any, operation: Any, key: Any) -> None:
        self.events.append(("release", key, threads(gang, lanes)))

    def acquire(self, gang: Any, lanes: Any, operation: Any, key: Any) -> None:
        self.events.append(("acquire", key, threads(gang, lanes)))

    def fence(self, gang: Any, lanes: Any, operation: Any) -> None:
        self.events.append(("fence", str(operation.form), threads(gang, lanes)))


def threads(gang: Any, lanes: Any) -> list[int]:
    return [int(each) for each in gang.agents[lanes.mask]]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    watch = Recording()
    monkeypatch.setattr(cutecc.emulator.launch, "Watch", lambda: watch)
    return watch.events


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
def test_a_barrier_releases_before_anybody_acquires(events: list[tuple[Any, ...]], schedule: str) -> None:
    run("bar.sync 2; bar.sync 2;", threads=64, blocks=2, schedule=schedule)
    for slot in (0, 1):
        for phase in (0, 1):
            key = ("barrier", slot, 2, phase)
            mine = [event for event in events if event[1] == key]
            kinds = [kind for kind, *_ in mine]
            assert kinds == sorted(kinds, key=["release", "acquire"].index)
            for kind in ("release", "acquire"):
                told = sorted(each for event in mine if event[0] == kind for each in event[2])
                assert told == list(range(64 * slot, 64 * slot + 64))


def test_warps_synchronise_each_by_itself(events: list[tuple[Any, ...]]) -> None:
    run("bar.warp.sync -1;", threads=64)
    assert events == [
        (kind, ("warp", 0, warp, 0xFFFFFFFF), list(range(32 * warp, 32 * warp + 32)))
        for kind in ("release", "acquire")
        for warp in (0, 1)
    ]


def test_a_cluster_releases_and_acquires_as_it_says(events: list[tuple[Any, ...]]) -> None:
    body = "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
    run(body, blocks=2, cluster=2)
    key = ("cluster", (0, 0, 0), 0)
    assert [event for event in events if event[1] == key] == [
        *(("release", key, list(range(start, start + 32))) for start in (0, 32)),
        *(("acquire", key, list(range(start, start + 32))) for start in (0, 32)),
    ]
    # Of relaxed arrivals too: the watch knows the form.
    assert {event[0] for event in events if event[1] == ("cluster", (0, 0, 0), 1)} == {"release", "acquire"}


def test_an_mbarriers_phases_are_its_keys(events: list[tuple[Any, ...]]) -> None:
    body = """
  setp.ne.u32 %p1, %r0, 0;
  @!%p1 mbarrier.init.shared.b64 [%r9], 32;
  mbarrier.arrive.shared.b64 _, [%r9];
  mbarrier.test_wait.parity.shared.b64 %p2, [%r9], 0;
  mbarrier.arrive.relaxed.cta.shared.b64 _, [%r9];
  mbarrier.test_wait.parity.relaxed.cta.shared.b64 %p2, [%r9], 1;
"""
    run(body)
    # Of relaxed ones too: the watch knows the form.
    assert events == [
        (kind, ("mbarrier", 1024, phase), list(range(32))) for phase in (0, 1) for kind in ("release", "acquire")
    ]


def test_a_tensor_copy_is_told_from_start_to_end(events: list[tuple[Any, ...]]) -> None:
    a = aligned((8, 64), np.float16)
    body = """
  mov.b64 %rd3, m0;
  cvta.param.u64 %rd3, %rd3;
  setp.ne.u32 %p1, %r0, 5;
  @%p1 exit;
  mbarrier.init.shared.b64 [%r9], 1;
  mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 _, [%r9], 1024;
  mov.u32 %r1, 32;
  mov.u32 %r2, 6;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r9+1024], [%rd3, {%r1, %r2}], [%r9];
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r1, %r2}], [%r9+1024];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
"""
    run(body, a, maps=[map_of(a, (64, 8))])
    # Half of two rows lies inside of the tensor.
    rows = [a.ctypes.data + 6 * 128 + 64, a.ctypes.data + 7 * 128 + 64]
    group = ("group", "bulk", 0, 5, 0)
    assert events == [
        ("release", ("mbarrier", 1024, 0), [5]),
        ("spawn", 1001, [5]),
        ("async", 1001, "read", "global", rows, 64),
        ("async", 1001, "write", "shared", [2048], 1024),
        ("finish", 1001, ("mbarrier", 1024, 0)),
        ("spawn", 1002, [5]),
        ("async", 1002, "read", "shared", [2048], 1024),
        ("async", 1002, "write", "global", rows, 64),
        ("finish", 1002, group),
        ("acquire", group, [5]),
    ]


@pytest.mark.parametrize(("what", "op", "kind"), [("", "", "write"), ("reduce.", ".add.u32", "atomic")])
def test_a_copy_within_a_cluster_reads_and_writes_shared_memory(
    events: list[tuple[Any, ...]], what: str, op: str, kind: str
) -> None:
    body = f"""
  setp.ne.u32 %p1, %r0, 3;
  @%p1 exit;
  mbarrier.init.shared.b64 [%r9], 1;
  mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 _, [%r9], 16;
  cp.{what}async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{op} [%r9+1024], [%r9+2048], 16, [%r9];
"""
    run(body)
    assert events == [
        ("release", ("mbarrier", 1024, 0), [3]),
        ("spawn", 1001, [3]),
        ("async", 1001, "read", "shared", [3072], 16),
        ("async", 1001, kind, "shared", [2048], 16),
        ("finish", 1001, ("mbarrier", 1024, 0)),
    ]


LOOP = """
  ld.param.u64 %rd1, [a0];
  mov.u32 %r1, 0;
  AGAIN:
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group{read} 1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 40;
  @%p1 bra AGAIN;
  cp.async.bulk.wait_group 0;
  cp.async.bulk.wait_group{read} 0;
"""


@pytest.mark.parametrize(("read", "told"), [("", [*range(40)]), (".read", [*range(39), *range(40)])])
@pytest.mark.parametrize("schedule", ["round-robin", "adversarial"])
def test_each_group_is_waited_for_once(
    events: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, schedule: str, read: str, told: list[int]
) -> None:
    """However many there have been before; after waits for reads alone, a full one tells of all."""
    finished: list[int] = []
    finish = Machine.finish
    monkeypatch.setattr(Machine, "finish", lambda self, pending: [finished.append(id(pending)), finish(self, pending)])
    run(LOOP.format(read=read), aligned((4,), np.int32), threads=1, schedule=schedule)
    assert [key[-1] for what, key, *_ in events if what == "acquire"] == told
    assert len(finished) == (40 if schedule == "adversarial" else 0)


def test_fences_are_told_by_their_form(events: list[tuple[Any, ...]]) -> None:
    run("fence.proxy.async.shared::cta; membar.gl; fence.mbarrier_init.release.cluster;", threads=1)
    assert [event[1] for event in events] == [
        "fence.proxy.async.shared::cta",
        "membar.gl",
        "fence.mbarrier_init.release.cluster",
    ]


def test_a_store_by_a_whole_warp_happens_once(events: list[tuple[Any, ...]]) -> None:
    """Each of its threads waits for it in a group of its own. A reduction happens 32 times."""
    a = aligned((64,), np.int32)
    a[:] = 0
    body = """
  ld.param.u64 %rd1, [a0];
  st.shared.u32 [%r9], 7;
  cp.{what}async.bulk.global.shared::cta.bulk_group{op} [%rd1], [%r9], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
    run(body.format(what="", op=""), a)
    assert [event for event in events if event[0] == "spawn"] == [("spawn", 1001, list(range(32)))]
    keys = [("group", "bulk", 0, thread, 0) for thread in range(32)]
    assert [event for event in events if event[0] == "finish"] == [("finish", 1001, key) for key in keys]
    assert [event for event in events if event[0] == "acquire"] == [
        ("acquire", key, [thread]) for thread, key in enumerate(keys)
    ]
    assert a[0] == 7
    run(body.format(what="reduce.", op=".add.u32"), a)
    assert a[0] == 7 + 32 * 7
