"""The simulated multiprocessor on instructions made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.errors import EstimateError
from cutecc.estimating.costs import PIPES, Cost, Kind
from cutecc.estimating.multiprocessor import Multiprocessor
from cutecc.estimating.scheduling import Item, scheduled
from cutecc.estimating.state import Outcome, Rates
from cutecc.estimating.trace import NOTHING, Access

RATES = Rates(
    read=32.0, bulk=32.0, write=32.0, partial=1.5, dram=16.0, crowding=0.0, from_dram=1.0,
    l1_bytes=1 << 16, l2_bytes=1 << 20, l1=30.0, l2=200.0, latency_dram=600.0, bulk_l2=300.0, bulk_dram=700.0,
    bulk_issue=10.0, store_read=30.0, barrier=16.0, test=28.0, wake=50.0, drain=55.0, apart=0.0, start=0.0,
)  # fmt: skip
MANY = 1 << 30


def cost(
    kind: Kind, *, slots: float = 1.0, pipe: str = "", busy: float = 0.0, latency: float = 0.0, number: int = 0
) -> Cost:
    return Cost(kind, slots, PIPES.index(pipe) if pipe else -1, busy, latency, (), (), number)


COMPUTE = cost("compute", latency=4.0)
LOAD, STORE = cost("load"), cost("store")


def run(*warps: list[Item], resident: int = 1, blocks: int = 1, rates: Rates = RATES, most: int = MANY) -> Outcome:
    """Blocks of these warps."""
    total = blocks * sum(map(len, warps))
    return Multiprocessor(rates, [list(warps)] * blocks, resident, total, most).run()


def items(*what: tuple[Cost, Access], chain: bool = False) -> list[Item]:
    """Instructions of a warp; in a `chain` each needs the one before."""
    return [(*each, (n - 1,) if chain and n else (), n) for n, each in enumerate(what)]


def sectors(count: int, first: int = 0) -> tuple[int, ...]:
    return tuple(range(first, first + count))


def test_a_chain_takes_its_latencies() -> None:
    assert run(items(*[(COMPUTE, NOTHING)] * 100, chain=True)).cycles == pytest.approx(400, abs=8)


def test_a_scheduler_issues_one_instruction_a_cycle() -> None:
    warp = items(*[(COMPUTE, NOTHING)] * 100)
    assert run(warp).cycles == pytest.approx(100, abs=4)
    assert run(*[warp] * 4).cycles == pytest.approx(100, abs=4)
    # Warps are dealt out to four schedulers.
    assert run(*[warp] * 8).cycles == pytest.approx(200, abs=4)


def test_a_pipe_takes_its_time() -> None:
    slow = cost("compute", pipe="xu", busy=8.0)
    found = run(items(*[(slow, NOTHING)] * 50))
    assert found.cycles == pytest.approx(400, abs=10)
    assert found.busy["xu"] / 1 == pytest.approx(100)  # the mean of four


def test_a_load_comes_from_where_it_is() -> None:
    load = (LOAD, Access(1, sectors(4)))
    use = (COMPUTE, NOTHING)
    cold = run(items(load, use, chain=True)).cycles
    assert cold == pytest.approx(600 + 8, abs=12)
    again = run(items(load, use, load, use, chain=True)).cycles
    assert again - cold == pytest.approx(30 + 5, abs=12)
    kept = run(items(load, use, chain=True), rates=replace(RATES, from_dram=0.0)).cycles
    assert kept == pytest.approx(200 + 4, abs=12)


def test_dram_gives_so_many_bytes_a_cycle() -> None:
    loads = [(LOAD, Access(1, sectors(16, 16 * n))) for n in range(200)]
    found = run(items(*loads))
    assert found.busy["memory"] == pytest.approx(200 * 16 * 32 / 16)


def test_what_is_stored_twice_is_written_once() -> None:
    store = (STORE, Access(1, (), sectors(4)))
    assert run(items(store, store)).busy["memory"] == run(items(store)).busy["memory"]


def test_stores_of_parts_take_longer() -> None:
    whole = run(items((STORE, Access(1, (), sectors(4))))).busy["L2 cache"]
    assert run(items((STORE, Access(1, (), sectors(4), 0.5)))).busy["L2 cache"] == pytest.approx(1.5 * whole)


def test_warps_meet_at_a_barrier() -> None:
    barrier = (cost("barrier"), Access(number=1, threads=64))
    late = items(*[(COMPUTE, NOTHING)] * 100, barrier, chain=True)
    found = run(items(barrier), late)
    assert found.cycles == pytest.approx(400 + 16, abs=8)
    assert found.waits["barriers"] == pytest.approx(400, abs=8)


def test_a_pipeline_has_a_period() -> None:
    """A producer of copies that take 1024 cycles, and a consumer of products that take 512."""
    turns = 40
    load, product = cost("bulk_load"), cost("product", latency=128.0)
    produced: list[tuple[Cost, Access]] = [
        (cost("init"), Access(barrier=0, number=1)),
        (cost("init"), Access(barrier=8, number=1)),
    ]
    consumed: list[tuple[Cost, Access]] = [(cost("compute", latency=40.0), NOTHING)]
    for turn in range(turns):
        produced += [
            (cost("mwait"), Access(barrier=8, number=(turn + 1) & 1)),
            (cost("arrive_expect"), Access(barrier=0, number=16384, threads=1)),
            (load, Access(read=sectors(512, 512 * turn), copied=16384, barrier=0)),
        ]
        consumed += [
            (cost("mwait"), Access(barrier=0, number=turn & 1)),
            *[(product, NOTHING)] * 4,
            (cost("commit_products"), NOTHING),
            (cost("wait_products"), NOTHING),
            (cost("arrive"), Access(barrier=8, number=1, threads=1)),
        ]
    found = run(items(*produced), items(*consumed))
    # One stage: the copy, what it is late by, the products, and the ways between the two.
    assert found.period == pytest.approx(1024 + 700 + 512 + 55 + 100, rel=0.1)
    assert found.waits["mbarriers"] > found.waits["products"]


def test_a_period_is_that_of_the_first_warp_that_waits() -> None:
    """One whose last instruction is a wait has no other warp's waits counted with its own."""
    init = (cost("init"), Access(barrier=0, number=1))
    ready = (cost("mwait"), Access(barrier=0, number=1))
    step = (cost("compute", latency=100.0), NOTHING)
    first = items(init, *[step, ready] * 8, chain=True)
    other = items(*[(cost("compute", latency=3.0), NOTHING)] * 2000, *[ready] * 8, chain=True)
    alone, both = run(first), run(first, other)
    assert alone.period == both.period > 100
    assert run(items(init, *[step, ready] * 5, chain=True)).period == 0


def test_warps_that_never_finish_are_refused() -> None:
    """Of a block that has begun, by the line where the first of them waits."""
    init = (cost("init"), Access(barrier=0, number=1))
    wait = (replace(cost("mwait"), line=42), Access(barrier=0, number=0))
    with pytest.raises(EstimateError, match="one waits at line 42 for what never comes"):
        run(items(init, wait, (COMPUTE, NOTHING)))
    barrier = (replace(cost("barrier"), line=7), Access(number=1, threads=64))
    with pytest.raises(EstimateError, match="one waits at line 7 "):
        run(items(barrier), items((COMPUTE, NOTHING)))
    # What is not simulated may still come.
    assert run(items(init, wait), items(*[(COMPUTE, NOTHING)] * 100), most=50).cycles > 0


def test_what_is_not_simulated_goes_on_at_the_same_pace() -> None:
    warp = items(*[(COMPUTE, NOTHING)] * 4000, chain=True)
    whole, part = run(warp), run(warp, most=1000)
    assert part.steps < whole.steps == part.total_steps
    assert part.cycles == pytest.approx(whole.cycles, rel=0.02)


def test_blocks_follow_one_another() -> None:
    warp = items(*[(COMPUTE, NOTHING)] * 100, chain=True)
    assert run(warp, blocks=6, resident=2).cycles == pytest.approx(3 * 400, rel=0.05)


LOADS = st.lists(st.tuples(st.integers(1, 16), st.booleans()), min_size=1, max_size=30)


def _loads(chosen: list[tuple[int, bool]], more: int = 0) -> list[Item]:
    at, what = 0, list[tuple[Cost, Access]]()
    for count, stores in chosen:
        count += more
        access = Access(count, (), sectors(count, at)) if stores else Access(count, sectors(count, at))
        what.append((STORE if stores else LOAD, access))
        at += 64
    return items(*what, chain=True)


@given(LOADS, st.integers(1, 16))
@settings(max_examples=40, deadline=None)
def test_more_bytes_are_never_faster(chosen: list[tuple[int, bool]], more: int) -> None:
    assert run(_loads(chosen, more)).cycles >= run(_loads(chosen)).cycles


@given(LOADS, st.floats(1.0, 8.0))
@settings(max_examples=40, deadline=None)
def test_faster_memory_is_never_slower(chosen: list[tuple[int, bool]], times: float) -> None:
    faster = replace(RATES, dram=RATES.dram * times, read=RATES.read * times, write=RATES.write * times)
    assert run(_loads(chosen), rates=faster).cycles <= run(_loads(chosen)).cycles + 1e-6


@given(st.integers(1, 40), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_more_instructions_are_never_faster(one: int, more: int) -> None:
    def of(count: int) -> float:
        return run(items(*[(COMPUTE, NOTHING)] * count, chain=True)).cycles

    assert of(one + more) > of(one)


def test_an_assembler_loads_first() -> None:
    load = Cost("load", 1.0, -1, 0.0, 0.0, (0,), (1,))
    add = Cost("compute", 1.0, -1, 0.0, 4.0, (1,), (2,))
    other = Cost("load", 1.0, -1, 0.0, 0.0, (0,), (3,))
    wait = Cost("barrier", 1.0, -1, 0.0, 0.0, (), ())
    costs = [load, add, other, wait, other]
    order = [item[3] for item in scheduled([(n, NOTHING) for n in range(5)], costs, 64, MANY)]
    assert order == [0, 2, 1, 3, 4]
    needs = {item[3]: item[2] for item in scheduled([(n, NOTHING) for n in range(5)], costs, 64, MANY)}
    assert needs[1] == (0,)


def test_loads_do_not_pass_stores() -> None:
    load = Cost("load", 1.0, -1, 0.0, 0.0, (0,), (1,))
    add = Cost("compute", 1.0, -1, 0.0, 4.0, (1,), (2,))
    store = Cost("store", 1.0, -1, 0.0, 0.0, (2,), ())
    steps = [(0, NOTHING), (1, NOTHING), (2, NOTHING), (0, NOTHING)]
    assert [item[3] for item in scheduled(steps, [load, add, store], 64, MANY)] == [0, 1, 2, 3]
