"""A pipeline with one number wrong: one check says so, with the numbers; right, none says anything and all is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_text import judged
from pipeline_text import BYTES, Pipeline

RIGHT = Pipeline()
CHECKS = ("check-barrier-bytes", "check-arrival-counts", "check-first-waits", "check-barrier-init")


@pytest.mark.parametrize(
    ("planted", "check", "words"),
    [
        ({"announced": 256}, "bytes", ["announces 256 bytes", "bring 512", "expect_tx(…, 512)"]),
        ({"announced": 1024}, "bytes", ["announces 1,024 bytes", "bring 512"]),
        ({"announced": BYTES + 16}, "bytes", ["announces 528 bytes", "bring 512"]),
        ({"copies": (256,)}, "bytes", ["announces 512 bytes", "bring 256"]),
        ({"copies": (256, 256, 256)}, "bytes", ["announces 512 bytes", "bring 768"]),
        ({"copies": ()}, "bytes", ["512 bytes are announced", "no copy completes"]),
        ({"empty_count": 1}, "arrival", ["counts 1 arrival,", "2 come in a phase", "mbarrier_init(…, 2)"]),
        ({"empty_count": 3}, "arrival", ["counts 3 arrivals", "2 come in a phase", "mbarrier_init(…, 2)"]),
        ({"empty_count": 64}, "arrival", ["counts 64 arrivals", "2 come in a phase"]),
        ({"elects": False}, "arrival", ["32 threads of a warp", "counts 2 arrivals", "mbarrier_init(…, 64)"]),
        ({"full_count": 2}, "arrival", ["counts 2 arrivals", "1 come in a phase"]),
        ({"releasing": 1}, "arrival", ["counts 2 arrivals", "1 come in a phase"]),
        ({"releasing": 0}, "arrival", ["counts 2 arrivals", "nobody arrives"]),
        ({"full_parity": 1}, "first", ["takes parity 1, and passes at once", "begin with parity 0"]),
        ({"empty_parity": 0}, "first", ["takes parity 0", "begin with parity 1"]),
        ({"sync": ""}, "init", ["warp 0 initialises, with no barrier between"]),
        ({"fence": ""}, "init", ["no fence before it: mbarrier_init_fence()"]),
    ],
)
@pytest.mark.parametrize("steps", ["6", "%n"])
def test_one_mistake(planted: dict[str, object], check: str, words: list[str], steps: str) -> None:
    """Said once for all stages, by the check that it is for, whether or not the number of steps is known."""
    name = next(each for each in CHECKS if check in each)
    messages, sums = judged(replace(RIGHT, steps=steps, **planted).text(), CHECKS)  # pyright: ignore[reportArgumentType]
    assert {name for name, said in messages.items() if said} == {name}
    assert all(each in messages[name][0] for each in words), messages[name]
    assert sums[name].wrong >= 1


@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(["1", "3", "7", "%n"]),
    st.lists(st.integers(1, 64).map(lambda each: 16 * each), min_size=1, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_right_ones(consumers: int, stages: int, steps: str, copies: list[int]) -> None:
    pipeline = Pipeline(consumers, stages, steps, announced=sum(copies), copies=tuple(copies))
    messages, sums = judged(pipeline.text(), CHECKS)
    assert not any(messages.values())
    filled = stages if steps == "%n" else min(stages, int(steps))
    assert sums["check-barrier-bytes"].right == filled
    assert sums["check-arrival-counts"].right == 2 * filled


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 200))
@settings(max_examples=25, deadline=None)
def test_any_other_count_is_wrong(consumers: int, stages: int, count: int) -> None:
    """And what is said instead is the number that makes it right."""
    pipeline = Pipeline(consumers, stages, "12", empty_count=count)
    messages, _ = judged(pipeline.text(), CHECKS)
    said = messages["check-arrival-counts"]
    assert bool(said) == (count != consumers)
    assert all(f"mbarrier_init(…, {consumers})" in each for each in said)


@given(st.integers(1, 4), st.integers(1, 128), st.lists(st.integers(1, 64), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_any_other_number_of_bytes_is_wrong(stages: int, announced: int, copies: list[int]) -> None:
    sizes = tuple(16 * each for each in copies)
    pipeline = Pipeline(2, stages, "12", announced=16 * announced, copies=sizes)
    messages, _ = judged(pipeline.text(), CHECKS)
    said = messages["check-barrier-bytes"]
    assert bool(said) == (16 * announced != sum(sizes))
    assert all(f"announce {sum(sizes):,} bytes" in each for each in said)
