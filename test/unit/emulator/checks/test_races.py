"""The race check against a naive one, on random events."""

from __future__ import annotations

import numpy as np
import pytest
import thread_traces as traces
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.emulator.checks.shadow import GlobalShadow


def events(threads: list[int]) -> st.SearchStrategy[list[traces.Event]]:
    some = st.lists(st.sampled_from(threads), min_size=1, max_size=5, unique=True).map(lambda each: tuple(sorted(each)))
    kinds = st.sampled_from(["read", "write", "release", "acquire"])
    return st.lists(st.tuples(kinds, some, st.integers(0, 3)), max_size=60)


@settings(max_examples=100, deadline=None)
@given(events([0, 1, 2, 3, 30, 31, 32, 34, 63, 64, 66, 97]))
def test_finds_the_first_race(events: list[traces.Event]) -> None:
    """In shared memory no reader is forgotten."""
    checked, naive = traces.Checked(), traces.Naive()
    for number, event in enumerate(events):
        races, _ = naive.step(event)
        assert checked.step(number, event) == races
        if races:
            return


@pytest.mark.parametrize("shared", [True, False])
@settings(max_examples=100, deadline=None)
@given(events=events([0, 1, 2, 31, 32, 33, 63, 64, 65, 96]))
def test_agrees_with_naive_clocks(events: list[traces.Event], shared: bool) -> None:
    """What is reported is a race; and the first race with a write is reported."""
    checked, naive = traces.Checked(shared), traces.Naive()
    clean = True
    for number, event in enumerate(events):
        found = checked.step(number, event)
        races, with_write = naive.step(event)
        assert races or not found
        if clean and with_write:
            assert found
        clean = clean and not races


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("late", [0, 1, 31, 32, 63])
@pytest.mark.parametrize("writer", [0, 1, 31, 32, 63])
def test_write_after_reads_of_everyone(late: int, writer: int, shared: bool) -> None:
    """All threads read one place, one of them does not come to the barrier, and anyone writes."""
    checked = traces.Checked(shared)
    everyone = tuple(range(traces.PER_BLOCK))
    checked.step(0, ("read", everyone, 0))
    there = tuple(thread for thread in everyone if thread != late)
    checked.step(1, ("release", there, 0))
    checked.step(2, ("acquire", there, 0))
    checked.step(3, ("read", (late,), 0))
    assert checked.step(4, ("write", (writer,), 0))


@pytest.mark.parametrize(("reader", "writer"), [(0, 64), (64, 0)])
def test_a_barrier_of_one_block_says_nothing_of_another(reader: int, writer: int) -> None:
    """The writer's whole block meets; the reader is of the other one."""
    checked = traces.Checked()
    checked.step(0, ("read", (reader,), 0))
    block = tuple(range(writer, writer + traces.PER_BLOCK))
    checked.step(1, ("release", block, 0))
    checked.step(2, ("acquire", block, 0))
    assert checked.step(3, ("write", (writer,), 0))


def test_views_are_shared_and_reused() -> None:
    """Thousands of barriers leave no more views than threads know different things."""
    checked = traces.Checked()
    everyone = tuple(range(traces.PER_BLOCK))
    for phase in range(1500):
        checked.keys.clear()
        assert not checked.step(0, ("write", everyone, 0))
        checked.step(1, ("release", everyone, phase))
        checked.step(2, ("acquire", everyone, phase))
        assert not checked.step(3, ("read", everyone, 1))
        checked.keys.clear()
        checked.step(1, ("release", everyone, phase))
        checked.step(2, ("acquire", everyone, phase))
    assert len(checked.clocks.views) <= 128
    assert len(set(checked.clocks.view_of[: traces.PER_BLOCK].tolist())) == 1


@pytest.mark.parametrize("sizes", [(16, 4), (16, 1), (8, 2), (4, 16, 2)])
def test_granules_get_smaller(sizes: tuple[int, ...]) -> None:
    """What was remembered of a large piece holds for each of its bytes."""
    shadow = GlobalShadow(256, 12, 2)
    first, *others = sizes
    granules = shadow.locate(np.array([32]), first)
    shadow.writers[granules] = 7
    for size in others:
        shadow.locate(np.array([0]), size)
        assert shadow.granule <= size
        for byte in range(256):
            inside = 32 <= byte < 32 + first
            assert shadow.writers[byte // shadow.granule] == (7 if inside else 0)
