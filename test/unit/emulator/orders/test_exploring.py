"""Orders that fail are found, kept and repeated; budgets and interrupts say how far it got."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from explored import Kernel, by_warp, initialised_mbarriers, orders

from cutecc.emulator.orders.budget import OrdersBudget
from cutecc.emulator.orders.kept_schedule import KeptSchedule, Step
from cutecc.emulator.orders.launches import OrdersLeft, explore
from cutecc.emulator.orders.trace import Process
from cutecc.errors import UsageError

_TICKETS = """
  mov.u32 %r10, 9;
  @%p5 atom.shared.add.u32 %r10, [%r9+64], 1;
  mov.u32 %r11, 0x1302;           // warp 0 is to be third, warp 1 first, …
  shl.b32 %r12, %r1, 2;
  shr.u32 %r11, %r11, %r12;
  and.b32 %r11, %r11, 15;
  setp.eq.and.u32 %p1, %r10, %r11, %p5;
  @%p1 red.shared.add.u32 [%r9+68], 1;
  bar.sync 0;
  ld.shared.u32 %r13, [%r9+68];
  setp.ne.u32 %p2, %r13, 4;
  @%p2 bra END;
"""
"""Warps draw tickets, and go on only where all have drawn one that they were to: in one order of 24."""
_HANG = """
L:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;
  @!%p3 bra L;
END:
"""
_RACE = """
  st.shared.u32 [%r9+72], %r0;
END:
"""


def tickets(rest: str) -> Kernel:
    return Kernel(initialised_mbarriers(1) + _TICKETS + rest, 4)


@pytest.mark.parametrize(("rest", "kind"), [(_HANG, "deadlock"), (_RACE, "race")], ids=["deadlock", "race"])
def test_one_order_of_many(rest: str, kind: str, tmp_path: Path) -> None:
    kernel = tickets(rest)
    for schedule in ("round-robin", "random", "adversarial"):
        assert kernel.run(schedule).findings == []
    run = kernel.explore()
    assert run.orders is not None
    assert (run.orders.executed, run.orders.complete) == (24, True)
    (witness,) = run.orders.witnesses
    (finding,) = run.findings
    assert (finding.kind, finding.schedule) == (kind, "order 1")
    witness.schedule.save(file := tmp_path / "kept.json")
    kept = KeptSchedule.load(file)
    assert kept == replace(witness.schedule, blocks=list(witness.schedule.blocks))
    again = kernel.repeat(kept)
    assert [replace(each, schedule="order 1") for each in again.findings] == [finding]


def test_a_schedule_is_of_one_kernel(tmp_path: Path) -> None:
    (witness,) = orders(tickets(_HANG)).witnesses
    with pytest.raises(UsageError, match="a schedule of another kernel, launch or version"):
        tickets(_RACE).repeat(witness.schedule)
    steps = [Step(Process(0, 9), "what no warp does"), *witness.schedule.steps]
    with pytest.raises(UsageError, match="does not follow kept any more from its choice 1 on"):
        tickets(_HANG).repeat(replace(witness.schedule, steps=steps))
    (bad := tmp_path / "bad.json").write_text("{}")
    with pytest.raises(UsageError, match="holds no schedule"):
        KeptSchedule.load(bad)
    bad.write_text(json.dumps({"cutecc-schedule": 99, "version": "9.9"}))
    with pytest.raises(UsageError, match=r"another version of cutecc, 9\.9"):
        KeptSchedule.load(bad)
    with pytest.raises(UsageError, match="cannot read the schedule"):
        KeptSchedule.load(tmp_path / "none.json")


def test_a_budget() -> None:
    found = orders(tickets(_HANG), "5")
    assert (found.executed, found.complete, found.ended_by, found.budget) == (5, False, "budget", "5 orders")
    found = orders(tickets(_HANG), "0.000001s")
    assert (found.executed, found.ended_by) == (0, "budget")


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("60s", OrdersBudget(60.0)),
        ("1.5 min", OrdersBudget(90.0)),
        ("2h", OrdersBudget(7200.0)),
        ("1000", OrdersBudget(None, 1000)),
        ("7 orders", OrdersBudget(None, 7)),
    ],
)
def test_budgets(text: str, budget: OrdersBudget) -> None:
    assert OrdersBudget.parse(text) == budget


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "3 days", "1.5", True])
def test_no_budgets(text: object) -> None:
    with pytest.raises(UsageError, match="is no budget"):
        OrdersBudget.parse(text)


def test_an_interrupt() -> None:
    kernel = tickets(_HANG)
    ran = iter(range(3))

    def started(run: object) -> None:
        if next(ran, None) is None:
            raise KeyboardInterrupt

    launched = replace(kernel.launched(), started=started)
    found = explore(launched, range(1), OrdersLeft(OrdersBudget()), kernel.run).orders
    assert found is not None
    assert (found.executed, found.complete, found.ended_by) == (3, False, "interrupt")


def test_what_is_left_is_of_the_usual_run() -> None:
    result = np.zeros(32, np.uint32)
    body = """
  ld.param.u64 %rd1, [a0];
  @%p5 atom.global.add.u32 %r10, [%rd1], 1;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  @%p5 st.global.u32 [%rd1+4], %r10;
"""
    assert orders(Kernel(body, 3, [result])).executed == 6
    assert result[:4].tolist() == [3, 0, 1, 2]


def test_blocks_that_share_nothing_are_not_multiplied() -> None:
    body = "  @%p5 atom.shared.add.u32 %r10, [%r9+64], 1;\n"
    found = orders(Kernel(body, 3, blocks=4))
    assert (found.executed, found.parts, found.total) == (24, 4, 4)
    shared = "  ld.param.u64 %rd1, [a0];\n  @%p5 atom.global.add.u32 %r10, [%rd1], 1;\n"
    found = orders(Kernel(shared, 1, [np.zeros(8, np.uint32)], blocks=3))
    assert (found.executed, found.parts, found.total) == (6, 1, 1)


_FLAG = """
  mov.u32 %r10, 1;
  @%p5 st.shared.u32 [%r9+128], %r10;
  @%p5 st.release.cta.shared.u32 [%r9+64], %r10;
"""


@pytest.mark.parametrize(
    "look",
    ["ld.acquire.cta.shared.u32 %r11, [%r9+64]", "atom.acquire.cta.shared.cas.b32 %r11, [%r9+64], 7, 8"],
    ids=["load", "compare-and-swap"],
)
def test_how_often_a_loop_looks_in_vain_is_no_order(look: str) -> None:
    spin = f"""
SPIN:
  {look};
  setp.ne.u32 %p1, %r11, 1;
  @%p1 bra SPIN;
  ld.shared.u32 %r12, [%r9+128];
"""
    run = Kernel(by_warp(_FLAG, spin), 2).explore()
    assert run.findings == []
    assert run.orders is not None
    assert run.orders.complete
    assert run.orders.executed == 1


def test_a_lock() -> None:
    lock = """
LOCK{0}:
  atom.acquire.cta.shared.cas.b32 %r11, [%r9+64], 0, 1;
  setp.ne.u32 %p1, %r11, 0;
  @%p1 bra LOCK{0};
  ld.shared.u32 %r12, [%r9+128];
  add.u32 %r12, %r12, 1;
  st.shared.u32 [%r9+128], %r12;
  mov.u32 %r11, 0;
  st.release.cta.shared.u32 [%r9+64], %r11;
"""
    one = "  setp.ne.u32 %p4, %r2, 0;\n  @%p4 bra END;\n"
    run = Kernel(initialised_mbarriers() + by_warp(*(one + lock.format(warp) for warp in range(3))), 3).explore()
    assert run.findings == []
    assert run.orders is not None
    assert (run.orders.executed, run.orders.complete) == (6, True)


_PEEK = """
  mbarrier.try_wait.parity.shared.b64 %p1, [%r9], 0;
  @%p1 bra DONE{0};
  {1}
DONE{0}:
"""


def test_a_try_wait_that_is_no_loop_gives_up_unless_the_phase_is_known_to_be_over() -> None:
    arrive = "  @%p5 mbarrier.arrive.shared.b64 _, [%r9];\n"
    wait = "WAIT:\n  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;\n  @!%p2 bra WAIT;\n"
    body = initialised_mbarriers(1) + by_warp(arrive, _PEEK.format(1, "trap;"))
    assert [each.kind for each in Kernel(body, 2).explore().findings] == ["trap"]
    body = initialised_mbarriers(1) + by_warp(arrive, wait + _PEEK.format(1, "trap;"))
    assert Kernel(body, 2).explore().findings == []
    body = initialised_mbarriers(1) + by_warp(arrive, _PEEK.format(1, wait))
    assert orders(Kernel(body, 2)).executed == 1


def pipeline(consumers: int, *, tiles: int = 4, producer_parity: int = 1) -> Kernel:
    """A producer warp that copies tiles of 64 bytes to two stages, and warps that read them."""
    producer = f"""
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra END;
  mov.u32 %r10, 0;
PRODUCE:
  and.b32 %r11, %r10, 1;
  shl.b32 %r12, %r11, 3;
  add.u32 %r12, %r9, %r12;
  shr.u32 %r13, %r10, 1;
  and.b32 %r13, %r13, 1;
  xor.b32 %r13, %r13, {producer_parity};
EMPTY:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r12+16], %r13;
  @!%p2 bra EMPTY;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r12], 64;
  shl.b32 %r14, %r11, 6;
  add.u32 %r14, %r14, %r9;
  add.u32 %r14, %r14, 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd1], 64, [%r12];
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, {tiles};
  @%p3 bra PRODUCE;
"""
    consumer = """
  mov.u32 %r10, 0;
CONSUME{0}:
  and.b32 %r11, %r10, 1;
  shl.b32 %r12, %r11, 3;
  add.u32 %r12, %r9, %r12;
  shr.u32 %r13, %r10, 1;
  and.b32 %r13, %r13, 1;
FULL{0}:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r12], %r13;
  @!%p2 bra FULL{0};
  shl.b32 %r14, %r11, 6;
  add.u32 %r14, %r14, %r9;
  ld.shared.u32 %r15, [%r14+128];
  bar.warp.sync 0xffffffff;
  @%p5 mbarrier.arrive.shared.b64 _, [%r12+16];
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, {1};
  @%p3 bra CONSUME{0};
"""
    consume = [consumer.format(number, tiles) for number in range(consumers)]
    body = initialised_mbarriers(1, 1, consumers, consumers) + "  ld.param.u64 %rd1, [a0];\n"
    return Kernel(body + by_warp(producer, *consume), 1 + consumers, [np.zeros(64, np.uint32)])


@pytest.mark.parametrize("consumers", [1, 2, 4])
def test_a_pipeline_has_one_order(consumers: int) -> None:
    """All that could come otherwise commutes, so that one execution stands for all."""
    run = pipeline(consumers).explore()
    assert run.orders is not None
    assert (run.findings, run.orders.executed, run.orders.complete) == ([], 1, True)


def test_a_pipeline_with_a_wrong_parity() -> None:
    run = pipeline(2, producer_parity=0).explore()
    assert {each.kind for each in run.findings} >= {"deadlock"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NumPy has nothing to say of what kernels overflow."""
    with np.errstate(all="ignore"):
        yield
