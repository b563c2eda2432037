"""Shuffles, votes, matches and reductions against a model that goes from lane to lane."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest
from hand import make_machine, run_instruction
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.instructions.warp import POISON

LANES = np.arange(32)
WORDS = st.integers(0, 2**32 - 1)


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """PTX ISA, "shfl.sync": the lane that is read, and the predicate."""
    segment, bound = c >> 8 & 31, c & 31
    highest = (lane & segment) | (bound & ~segment & 31)
    lowest = lane & segment
    b &= 31
    source, valid = {
        "up": (lane - b, lane - b >= highest),
        "down": (lane + b, lane + b <= highest),
        "bfly": (lane ^ b, lane ^ b <= highest),
        "idx": (lowest | (b & ~segment & 31), (lowest | (b & ~segment & 31)) <= highest),
    }[mode]
    return (source if valid else lane), valid


@given(
    st.sampled_from(["up", "down", "bfly", "idx"]),
    st.integers(0, 31),
    st.sampled_from([0, 31, 0x1F, 0x1800, 0x181F, 0x1C03, 0x1C1F, 0x1E1F, 0x0F1F, 0x1007]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_shuffle(mode: str, by: int, clamp: int, constant: bool) -> None:
    values = np.arange(64, dtype=np.uint32) * 3 + 1
    inputs: dict[str, Any] = {"%a": values}
    distance, bound = str(by), str(clamp)
    amounts = np.full(64, by, np.uint32)
    if not constant:
        amounts = ((by + np.arange(64) * (by + 1)) % 37).astype(np.uint32)
        inputs |= {"%b": amounts, "%c": np.full(64, clamp, np.uint32)}
        distance, bound = "%b", "%c"
    text = f"shfl.sync.{mode}.b32 %d|%p, %a, {distance}, {bound}, -1;"
    findings: list[Finding] = []
    machine = make_machine(64)
    machine.collect = findings.append
    found = run_instruction(text, inputs, {"%p": "pred"}, machine=machine)
    for thread in range(64):
        source, valid = shuffled(mode, thread % 32, int(amounts[thread]), clamp)
        source, valid = (source, valid) if 0 <= source < 32 else (thread % 32, False)
        assert found["%d"].reshape(-1)[thread] == values[thread // 32 * 32 + source]
        assert found["%p"].reshape(-1)[thread] == valid
    assert not findings


def test_shuffle_from_a_thread_that_is_not_there() -> None:
    findings: list[Finding] = []
    machine = make_machine(48)
    machine.collect = findings.append
    inputs = {"%a": np.arange(64, dtype=np.uint32)}
    found = run_instruction("shfl.sync.bfly.b32 %d, %a, 16, 31, -1;", inputs, machine=machine)
    assert found["%d"][0].tolist() == [*range(16, 32), *range(16)]
    assert found["%d"][1, :16].tolist() == [POISON] * 16
    assert [(finding.kind, finding.count, finding.place.thread) for finding in findings] == [
        ("uninitialised-register", 16, (32, 0, 0))
    ]


def test_shuffle_waits_for_the_members() -> None:
    mask = np.ones((2, 32), np.bool_)
    mask[1, 5] = False
    inputs = {"%a": np.arange(64, dtype=np.uint32), "%d": np.full(64, 99, np.uint32)}
    machine = make_machine(64)
    found = run_instruction("shfl.sync.idx.b32 %d, %a, 3, 31, -1;", inputs, machine=machine, mask=mask)
    assert found["%d"][0].tolist() == [3] * 32
    assert found["%d"][1].tolist() == [99] * 32
    assert found["waiting"].mask.tolist() == [[False] * 32, mask[1].tolist()]
    # Nobody has to wait for threads that the mask does not name.
    members = {"%m": np.full(64, 0xFFFFFFDF, np.uint32)}
    text = "shfl.sync.idx.b32 %d, %a, 3, 31, %m;"
    found = run_instruction(text, inputs | members, machine=make_machine(64), mask=mask)
    assert found["waiting"] is None
    assert found["%d"][1].tolist() == np.where(mask[1], 35, 99).tolist()


def members(data: st.DataObject) -> tuple[Any, Any]:
    """Which threads of two warps are active, and each one's member mask: groups that are complete."""
    active = np.array([data.draw(WORDS) | 1 << data.draw(st.integers(0, 31)) for _ in range(2)], np.uint32)
    halves = data.draw(st.booleans())
    mask = np.repeat(active, 32)
    if halves:
        mask &= np.where(np.tile(LANES, 2) < 16, 0xFFFF, 0xFFFF0000).astype(np.uint32)
    return (active[:, None] >> LANES & 1).astype(np.bool_), mask


def groups(active: Any, mask: Any) -> list[tuple[int, list[int]]]:
    """Each active thread, and the threads in its group."""
    return [
        (thread, [thread // 32 * 32 + lane for lane in range(32) if int(mask[thread]) >> lane & 1])
        for thread in np.flatnonzero(active).tolist()
    ]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_votes(data: st.DataObject) -> None:
    active, mask = members(data)
    bits = data.draw(st.sampled_from([0, 2**64 - 1]) | st.integers(0, 2**64 - 1))
    value = np.array([bits >> thread & 1 for thread in range(64)], np.bool_)
    inputs = {"%a": value, "%m": mask}
    for mode, negated in [("all", ""), ("any", ""), ("uni", ""), ("all", "!")]:
        text = f"vote.sync.{mode}.pred %p, {negated}%a, %m;"
        found = run_instruction(text, inputs, {"%p": "pred"}, mask=active)["%p"].reshape(-1)
        for thread, group in groups(active, mask):
            votes = [bool(value[each]) != bool(negated) for each in group]
            expected = {"all": all(votes), "any": any(votes), "uni": len(set(votes)) == 1}[mode]
            assert found[thread] == expected
    found = run_instruction("vote.sync.ballot.b32 %d, %a, %m;", inputs, mask=active)["%d"].reshape(-1)
    for thread, group in groups(active, mask):
        assert found[thread] == sum(1 << each % 32 for each in group if value[each])


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_matches(data: st.DataObject) -> None:
    active, mask = members(data)
    wide = data.draw(st.booleans())
    few = data.draw(st.integers(1, 4))
    value = np.random.default_rng(data.draw(WORDS)).integers(0, few, 64).astype(np.uint64) << 31
    value = value if wide else (value >> 3).astype(np.uint32)
    inputs = {"%a": value, "%m": mask}
    type_ = "b64" if wide else "b32"
    found = run_instruction(f"match.any.sync.{type_} %d, %a, %m;", inputs, mask=active)["%d"].reshape(-1)
    both = run_instruction(f"match.all.sync.{type_} %d|%p, %a, %m;", inputs, {"%p": "pred"}, mask=active)
    for thread, group in groups(active, mask):
        assert found[thread] == sum(1 << each % 32 for each in group if value[each] == value[thread])
        agree = len({int(value[each]) for each in group}) == 1
        assert both["%p"].reshape(-1)[thread] == agree
        assert both["%d"].reshape(-1)[thread] == (sum(1 << each % 32 for each in group) if agree else 0)


def test_threads_that_are_gone_need_not_match() -> None:
    inputs = {"%a": np.full(64, 7, np.uint32)}
    found = run_instruction("match.all.sync.b32 %d|%p, %a, -1;", inputs, {"%p": "pred"}, machine=make_machine(40))
    assert found["%p"][1, :8].all()
    assert found["%d"][:, 0].tolist() == [0xFFFFFFFF, 0xFF]


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_reductions(data: st.DataObject) -> None:
    active, mask = members(data)
    value = np.random.default_rng(data.draw(WORDS)).integers(0, 2**32, 64, dtype=np.uint32)
    name, type_ = data.draw(
        st.sampled_from(
            [("add", "u32"), ("add", "s32"), ("min", "u32"), ("max", "s32"), ("min", "s32"), ("max", "u32")]
            + [(name, "b32") for name in ("and", "or", "xor")]
        )
    )
    inputs = {"%a": value, "%m": mask}
    found = run_instruction(f"redux.sync.{name}.{type_} %d, %a, %m;", inputs, mask=active)["%d"].reshape(-1)
    combine: Any = {
        "add": operator.add,
        "min": min,
        "max": max,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
    }[name]
    numbers = value.view(np.int32).tolist() if type_ == "s32" else value.tolist()
    for thread, group in groups(active, mask):
        assert found[thread] == functools.reduce(combine, [numbers[each] for each in group]) % 2**32


@pytest.mark.parametrize(
    ("form", "expected"),
    [("min", -8.0), ("max", 3.0), ("min.abs", 1.0), ("max.abs", 8.0), ("max.NaN", None), ("min.abs.NaN", None)],
)
def test_reductions_of_floats(form: str, expected: float | None) -> None:
    value = np.full(32, -1, np.float32)
    value[3:6] = [3, np.nan, -8]
    text = f"redux.sync.{form}.f32 %d, %a, 0xffffffff;"
    found = run_instruction(text, {"%a": value}, {"%a": "f32", "%d": "f32"}, target="sm_100a")["%d"]
    if expected is None:
        assert (found.view(np.uint32) == 0x7FFFFFFF).all()
    else:
        assert (found == expected).all()


def test_active_threads() -> None:
    mask = np.array([[True] * 3 + [False] * 29, [False] * 31 + [True]])
    found = run_instruction("activemask.b32 %d;", {"%d": np.zeros(64, np.uint32)}, mask=mask)
    assert found["%d"][mask].tolist() == [7, 7, 7, 1 << 31]


def test_the_lowest_thread_is_elected() -> None:
    mask = np.stack([LANES >= 5, LANES >= 0])
    inputs = {"%m": np.repeat([0xFFFFFFE0, 0xFFFFFFFF], 32).astype(np.uint32)}
    found = run_instruction("elect.sync %d|%p, %m;", inputs, {"%p": "pred"}, mask=mask)
    assert np.argwhere(found["%p"]).tolist() == [[0, 5], [1, 0]]
    assert found["%d"][0, 5:].tolist() == [5] * 27 and found["%d"][1].tolist() == [0] * 32
    found = run_instruction("elect.sync _|%p, -1;", {"%x": np.zeros(32, np.uint32)}, {"%p": "pred"})
    assert np.argwhere(found["%p"]).tolist() == [[0, 0]]
