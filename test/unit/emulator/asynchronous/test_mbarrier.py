"""mbarriers: their phases against a model, states, waiting, deadlocks and misuse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from async_kernels import STORE, run, stored
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.machine.machine import Machine
from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.emulator.machine.watch import Watch
from cutecc.errors import DeadlockError, EmulatorError

CHECKS = frozenset({"bounds"})
"""Any will do: misuse of an mbarrier is noticed whatever is asked for."""


def bare_machine() -> Machine:
    """What the object needs of a machine: two blocks' shared memory."""
    memory = SimpleNamespace(shared=np.zeros(2048, np.uint8), shared_stride=1024, shared_bytes=1024)
    blocks = [SimpleNamespace(state={}, cluster=None), SimpleNamespace(state={}, cluster=None)]
    machine = SimpleNamespace(memory=memory, blocks=blocks, states=0, watch=Watch())
    machine.changed = lambda cluster: setattr(machine, "states", machine.states + 1)
    return cast(Machine, machine)


@dataclass
class Model:
    """A phase, after the PTX ISA's "Phase Completion of the mbarrier object"."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase + 1, self.expected


OPERATIONS = st.one_of(
    st.tuples(st.just("arrive"), st.integers(1, 5)),
    st.tuples(st.just("drop"), st.integers(1, 2)),
    st.tuples(st.sampled_from(["expect", "complete"]), st.integers(0, 64).map(lambda count: 16 * count)),
    st.tuples(st.just("add"), st.integers(1, 3)),
)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 20), st.lists(OPERATIONS, max_size=60))
def test_phases_follow_the_model(count: int, operations: list[tuple[str, int]]) -> None:
    machine = bare_machine()
    wrong: list[str] = []
    mbarrier_object.initialise(machine, 1040, count, wrong.append)
    model = Model(count, count)
    for name, number in operations:
        match name:
            case "arrive" | "drop":
                if number > model.pending:
                    continue
                if name == "drop" and model.expected - number < 1:
                    continue
                mbarrier_object.arrive(machine, 1040, number, wrong.append, drop=name == "drop")
                model.pending -= number
                model.expected -= number * (name == "drop")
            case "expect":
                mbarrier_object.expect_bytes(machine, 1040, number, wrong.append)
                model.bytes += number
            case "complete":
                mbarrier_object.complete_bytes(machine, 1040, number, wrong.append)
                model.bytes -= number
            case _:
                mbarrier_object.add_pending(machine, 1040, number, wrong.append)
                model.pending += number
        if name != "add":
            model.settle()
        found = mbarrier_object.find(machine, 1040)
        assert found is not None
        assert (found.expected, found.pending, found.missing_bytes, found.phase) == (
            model.expected,
            model.pending,
            model.bytes,
            model.phase,
        )
        bits = int(machine.memory.shared.view(np.uint64)[130])
        assert bits & 1 == model.phase & 1
        assert bits >> 1 & 0xFFFFF == model.pending
    assert wrong == []
    assert cast(Any, machine).states == model.phase


def test_bytes_that_were_overwritten_are_no_mbarrier() -> None:
    machine = bare_machine()
    mbarrier_object.initialise(machine, 8, 1)
    assert mbarrier_object.find(machine, 8) is not None
    machine.memory.shared[9] ^= 1
    assert mbarrier_object.find(machine, 8) is None
    assert mbarrier_object.absence(machine, 8) == "an mbarrier whose bytes were overwritten"
    assert mbarrier_object.absence(machine, 16) == "an mbarrier that nobody has initialised"


def test_memory_is_free_after_invalidation() -> None:
    machine = bare_machine()
    wrong: list[str] = []
    mbarrier_object.initialise(machine, 8, 2)
    mbarrier_object.arrive(machine, 8)
    mbarrier_object.invalidate(machine, 8)
    assert mbarrier_object.find(machine, 8) is None
    assert mbarrier_object.absence(machine, 8) == "an mbarrier that nobody has initialised"
    mbarrier_object.initialise(machine, 8, 3, wrong.append)
    assert wrong == []


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda machine, wrong: mbarrier_object.arrive(machine, 8, 3, wrong), "arrives 3 times at an mbarrier whose"),
        (lambda machine, wrong: mbarrier_object.expect_bytes(machine, 8, 1 << 20, wrong), "more than it can count"),
        (lambda machine, wrong: mbarrier_object.complete_bytes(machine, 8, 1 << 20, wrong), "more than it can count"),
        (lambda machine, wrong: mbarrier_object.add_pending(machine, 8, (1 << 20) - 2, wrong), "wait for more than"),
        (lambda machine, wrong: mbarrier_object.initialise(machine, 16, 0, wrong), "for 0 arrivals"),
        (lambda machine, wrong: mbarrier_object.arrive(machine, 24, 1, wrong), "nobody has initialised"),
    ],
)
def test_misuse_is_told(act: Any, message: str) -> None:
    machine = bare_machine()
    mbarrier_object.initialise(machine, 8, 2)
    wrong: list[str] = []
    act(machine, wrong.append)
    assert len(wrong) == 1
    assert message in wrong[0]


# Instructions.

INIT = """
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared.b64 [%r9], {count};
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", ["shared", "shared::cta", "acquire.cta.shared::cta"])
def test_consumers_wait_for_a_phase_by_its_parity(form: str, schedule: str) -> None:
    body = (
        INIT.format(count=32)
        + f"""
  mov.u32 %r8, 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra CONSUMER;
  st.shared.u32 [%r9+64], 41;
  mbarrier.arrive.release.cta.shared::cta.b64 %rd9, [%r9];
  bra END;
CONSUMER:
  mbarrier.try_wait.parity.{form}.b64 %p2, [%r9], 0, 10000;
  @!%p2 bra CONSUMER;
  ld.shared.u32 %r8, [%r9+64];
END:
"""
    )
    out = stored(body, threads=96, schedule=schedule, seed=5)
    np.testing.assert_array_equal(out, np.repeat([0, 41], [32, 64]))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("test", ["test_wait", "try_wait"])
def test_a_state_names_the_phase_of_its_arrival(test: str, schedule: str) -> None:
    """All threads arrive and wait ten times with one mbarrier, as `__syncthreads` does."""
    body = (
        INIT.format(count=64)
        + f"""
  mov.u32 %r6, 0;
  mov.u32 %r8, 0;
AGAIN:
  atom.shared.add.u32 %r5, [%r9+64], 1;
  mbarrier.arrive.shared.b64 %rd9, [%r9];
WAIT:
  mbarrier.{test}.shared.b64 %p2, [%r9], %rd9;
  @!%p2 bra WAIT;
  ld.shared.u32 %r5, [%r9+64];
  add.u32 %r6, %r6, 1;
  mul.lo.u32 %r4, %r6, 64;
  setp.lt.u32 %p3, %r5, %r4;
  @%p3 add.u32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r6, 10;
  @%p2 bra AGAIN;
"""
    )
    out = stored(body, threads=64, schedule=schedule, seed=6)
    np.testing.assert_array_equal(out, np.zeros(64))


def test_the_pending_count_of_each_state_is_its_own() -> None:
    body = (
        INIT.format(count=100)
        + """
  mbarrier.arrive.noComplete.shared.b64 %rd9, [%r9], 3;
  mbarrier.pending_count.b64 %r8, %rd9;
"""
    )
    out = stored(body)
    np.testing.assert_array_equal(out, 100 - 3 * np.arange(32))


def test_arrivals_beyond_a_phase_go_into_the_next_ones() -> None:
    """32 threads arrive one by one at an mbarrier for 5: 6 phases are over, and 2 arrivals are of the next."""
    body = (
        INIT.format(count=5)
        + """
  mbarrier.arrive.shared.b64 %rd9, [%r9];
  mbarrier.pending_count.b64 %r8, %rd9;
  mbarrier.arrive.shared.b64 %rd9, [%r9], 1;
"""
    )
    out = stored(body)
    np.testing.assert_array_equal(out, 5 - np.arange(32) % 5)


def test_a_drop_is_for_all_later_phases() -> None:
    body = (
        INIT.format(count=2)
        + """
  @%p1 bra END;
  mbarrier.arrive_drop.shared.b64 _, [%r9];
  mbarrier.arrive.shared.b64 _, [%r9];
  mbarrier.arrive.shared.b64 _, [%r9];
  mbarrier.test_wait.parity.shared.b64 %p2, [%r9], 1;
  selp.u32 %r8, 1, 2, %p2;
END:
"""
    )
    out = stored(body)
    assert out[0] == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_try_wait_without_a_loop_gives_up(schedule: str) -> None:
    """It looks whether a phase is over before it does what the phase is waiting for."""
    body = (
        INIT.format(count=32)
        + """
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  selp.u32 %r8, 1, 2, %p2;
  mbarrier.arrive.shared.b64 %rd9, [%r9];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
"""
    )
    out = stored(body, schedule=schedule)
    np.testing.assert_array_equal(out, np.full(32, 2))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_look_beside_threads_that_poll_memory_gives_up(schedule: str) -> None:
    """Warp 1 waits for a store that warp 0 does behind a look at a phase that never ends."""
    out, flag = np.zeros(64, np.int32), np.zeros(1, np.int32)
    body = (
        INIT.format(count=32)
        + """
  bar.sync 0;
  ld.param.u64 %rd5, [a1];
  setp.ge.u32 %p3, %r0, 32;
  @%p3 bra POLL;
  mov.u32 %r4, 1;
LOOK:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  st.release.gpu.global.u32 [%rd5], %r4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, 4;
  @%p4 bra LOOK;
  bra END;
POLL:
  ld.acquire.gpu.global.u32 %r8, [%rd5];
  setp.lt.u32 %p2, %r8, 3;
  @%p2 bra POLL;
END:
"""
    )
    run(body + STORE, out, flag, threads=64, schedule=schedule)
    assert (out[32:] == 3).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_arrivals_from_another_block_count(schedule: str) -> None:
    out = np.zeros(32, np.int32)
    body = (
        INIT.format(count=64)
        + """
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r1, %cluster_ctarank;
  mapa.shared::cluster.u32 %r2, %r9, 0;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
  mov.u32 %r8, 9;
"""
        + STORE
        + "END: barrier.cluster.arrive; barrier.cluster.wait;"
    )
    run(body, out, blocks=2, cluster=2, schedule=schedule)
    np.testing.assert_array_equal(out, np.full(32, 9))


LOOP = "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0; @!%p2 bra WAIT;"


def test_a_deadlock_says_what_the_phase_misses() -> None:
    body = INIT.format(count=3) + "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16384;" + LOOP
    with pytest.raises(DeadlockError) as caught:
        run(body)
    text = "mbarrier at shared+0: 16384 bytes and 2 arrivals missing (1 of 3 has arrived); no phase is complete so far"
    assert f"parity 0 of the {text}" in str(caught.value)
    assert "no copy completes at the mbarrier at shared+0, to which 16,384 bytes are announced" in str(caught.value)
    assert caught.value.hints == ["give a copy this mbarrier, or announce no bytes: mbarrier_arrive"]


def deadlock(body: str) -> tuple[str, str]:
    """What it comes of, and the one thing that mends it."""
    with pytest.raises(DeadlockError) as caught:
        run(body)
    (hint,) = caught.value.hints
    return caught.value.message.partition("can go on: ")[2], hint


ARRIVE = "mbarrier.arrive.shared.b64 _, [%r9];"


def test_a_deadlock_where_nobody_arrives_does_not_speak_of_parities() -> None:
    text, mend = deadlock(INIT.format(count=3) + LOOP)
    assert text == "no instruction of the kernel arrives at the mbarrier at shared+0"
    assert mend.startswith("3 arrivals have to come in each phase: mbarrier_arrive")
    text, mend = deadlock(INIT.format(count=3) + "setp.gt.u32 %p3, %r0, 99; @%p3 " + ARRIVE + LOOP)
    assert text == "no thread arrives at the mbarrier at shared+0"
    assert re.fullmatch(r"no thread comes to PTX line \d+, an mbarrier_arrive: look at the branch that it is in", mend)


def test_a_deadlock_of_a_count_that_is_too_large_says_the_right_one() -> None:
    text, mend = deadlock(INIT.format(count=48) + ARRIVE + LOOP)
    assert text == "the mbarrier at shared+0 waits for 48 arrivals, and 32 come"
    assert "mbarrier_init(…, 32)" in mend


def test_a_deadlock_at_a_phase_that_nobody_completes() -> None:
    other = LOOP.replace("[%r9], 0", "[%r9], 1").replace("WAIT", "AGAIN")
    text, mend = deadlock(INIT.format(count=32) + ARRIVE + other)
    assert text.startswith("the mbarrier at shared+0 has completed 1 phase, and the wait is for the next one")
    assert mend == "the wait for the phase that is complete takes parity 0"
    text, mend = deadlock(INIT.format(count=32) + ARRIVE + LOOP + "\n" + other)
    assert text.startswith("the mbarrier at shared+0 is waited for once more than it completes: 1 phase is complete")


@pytest.mark.parametrize(
    ("body", "text", "mend"),
    [
        (
            "@!%p1 mbarrier.complete_tx.shared.b64 [%r9], 64; @!%p1 " + ARRIVE,
            "bytes come to the mbarrier at shared+0 that nobody announces",
            "announce them before the copy: mbarrier_arrive_and_expect_tx(…, 64)",
        ),
        (
            "@!%p1 mbarrier.complete_tx.shared.b64 [%r9], 64; @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 48;",
            "the copies bring 16 bytes more than are announced to the mbarrier at shared+0",
            "announce 64 bytes: mbarrier_arrive_and_expect_tx(…, 64)",
        ),
        (
            "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 80; @!%p1 mbarrier.complete_tx.shared.b64 [%r9], 64;",
            "the copies bring 16 bytes fewer than are announced to the mbarrier at shared+0",
            "announce 64 bytes: mbarrier_arrive_and_expect_tx(…, 64)",
        ),
        (
            "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 64; mbarrier.complete_tx.shared.b64 [%r9], 64;"
            + LOOP,
            "32 threads of a warp issue it, and each brings 64 bytes: 31 × 64 bytes too many",
            "one thread of the warp is enough: put it under `with cute.arch.elect_one():`",
        ),
    ],
)
def test_a_deadlock_of_bytes_that_do_not_fit(body: str, text: str, mend: str) -> None:
    second = LOOP.replace("WAIT", "AGAIN").replace("[%r9], 0", "[%r9], 1" if "WAIT" in body else "[%r9], 0")
    assert deadlock(INIT.format(count=1) + body + second) == (text, mend)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LOOP, "uses an mbarrier that nobody has initialised at shared"),
        ("mbarrier.arrive.shared.b64 _, [%r9];", "uses an mbarrier that nobody has initialised"),
        ("mbarrier.init.shared.b64 [%r9+4], 1;", "the address of an mbarrier is not a multiple of 8"),
        ("mbarrier.init.shared.b64 [%r9+8192], 1;", "uses an mbarrier outside of the block's shared memory"),
        (
            "mbarrier.init.shared.b64 [%r9], 1; st.shared.u32 [%r9], 0; mbarrier.arrive.shared.b64 _, [%r9];",
            "uses an mbarrier whose bytes were overwritten",
        ),
    ],
)
def test_what_is_no_mbarrier_is_a_fault(body: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "mbarrier.arrive.shared.b64 _, [%r9]; mbarrier.init.shared.b64 [%r9], 2;",
            "initialises an mbarrier that is in",
        ),
        ("mbarrier.arrive.shared.b64 _, [%r9], 3;", "arrives 3 times at an mbarrier whose phase misses 2"),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 8; mbarrier.arrive.shared.b64 _, [%r9];"
            "mbarrier.arrive.shared.b64 _, [%r9];",
            "arrives once at an mbarrier, although all arrivals of its phase are there already\nthe phase still misses",
        ),
        ("mbarrier.expect_tx.relaxed.cta.shared.b64 [%r9], 1048576;", "announces 1048576 bytes"),
    ],
)
def test_misuse_is_reported(body: str, message: str) -> None:
    result = run(INIT.format(count=2) + "@%p1 exit;" + body, check=CHECKS)
    misuse, *left_over = result.findings
    assert misuse.kind == "mbarrier" and message in misuse.message and misuse.address == "shared+0"
    # Bytes that were announced and never come are left over.
    assert [each.message.partition(" with ")[0] for each in left_over] == (
        ["an mbarrier is left behind"] if "expect_tx" in body else []
    )


@pytest.mark.parametrize(
    ("brought", "found"), [("", []), ("mbarrier.complete_tx.relaxed.cta.shared.b64 [%r9], 4;", [1])]
)
def test_a_producer_that_acquires_once_more_announces_what_does_not_come(brought: str, found: list[int]) -> None:
    """Nobody waits for it: unless a part of it has come."""
    announce = "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 8;"
    body = f"@%p1 exit; {announce} mbarrier.complete_tx.relaxed.cta.shared.b64 [%r9], 8; {announce} {brought}"
    findings = run(INIT.format(count=1) + body, check=CHECKS).findings
    assert ["left behind with 4 bytes" in each.message for each in findings] == found


def test_a_run_goes_on_behind_a_finding() -> None:
    out = np.zeros(32, np.int32)
    result = run("mov.u32 %r8, 3;" + LOOP + STORE, out, check=CHECKS)
    assert [each.kind for each in result.findings] == ["mbarrier"]
    np.testing.assert_array_equal(out, np.full(32, 3))


REMOTE = """
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared.b64 [%r9], 1;
  {fence}
INITIALISED:
  barrier.cluster.arrive{how};
  barrier.cluster.wait;
  @%p1 bra END;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r1, %r1, 1;
  mapa.shared::cluster.u32 %r2, %r9, %r1;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_block_uses_an_mbarrier_that_nobody_announced(schedule: str) -> None:
    def found(fence: str, how: str) -> set[str]:
        body = REMOTE.format(fence=fence, how=how)
        result = run(body, blocks=2, cluster=2, schedule=schedule, check=CHECKS)
        return {each.message for each in result.findings}

    text = "uses an mbarrier of another block that nobody has announced: behind mbarrier.init belongs a "
    assert found("", ".relaxed") == {text + "fence.mbarrier_init by the same thread"}
    assert found("membar.cta;", ".relaxed") == found("", ".relaxed"), "a fence for the own block is none for another"
    assert not found("fence.mbarrier_init.release.cluster;", ".relaxed")
    assert not found("", "")


def test_an_asynchronous_copy_completes_at_an_mbarrier_that_nobody_announced() -> None:
    def found(fence: str) -> list[str]:
        body = f"""
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra END;
  mbarrier.init.shared.b64 [%r9], 1;
  {fence}
  ld.param.u64 %rd1, [a0];
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9+16], [%rd1], 16, [%r9];
{LOOP}
END:
"""
        return [each.message for each in run(body, np.zeros(4, np.int32), check=CHECKS).findings]

    (message,) = found("")
    assert message.startswith("completes at an mbarrier that nobody has announced")
    assert found("fence.proxy.async.shared::cta;") == []
