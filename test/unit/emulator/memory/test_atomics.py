"""`atom` and `red` against a model that goes from thread to thread."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hand import run_instruction
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import Told, address, addresses, machine_with

from cutecc.emulator.memory.spaces import SHARED_APERTURE
from cutecc.errors import EmulatorError

LANES = np.arange(32)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


INTEGERS: dict[str, Callable[[int, int, int, int], int]] = {
    "add": lambda old, b, c, bits: old + b,
    "and": lambda old, b, c, bits: old & b,
    "or": lambda old, b, c, bits: old | b,
    "xor": lambda old, b, c, bits: old ^ b,
    "exch": lambda old, b, c, bits: b,
    "cas": lambda old, b, c, bits: c if old == b else old,
    "inc": lambda old, b, c, bits: 0 if old >= b else old + 1,
    "dec": lambda old, b, c, bits: b if old == 0 or old > b else old - 1,
    "min": lambda old, b, c, bits: min(old, b),
    "max": lambda old, b, c, bits: max(old, b),
    "min.s": lambda old, b, c, bits: min(old, b, key=lambda value: signed(value, bits)),
    "max.s": lambda old, b, c, bits: max(old, b, key=lambda value: signed(value, bits)),
}
FORMS = [
    ("add", "u32"),
    ("add", "s32"),
    ("add", "u64"),
    ("and", "b32"),
    ("or", "b64"),
    ("xor", "b32"),
    ("exch", "b32"),
    ("exch", "b64"),
    ("cas", "b16"),
    ("cas", "b32"),
    ("cas", "b64"),
    ("inc", "u32"),
    ("dec", "u32"),
    ("min", "u32"),
    ("max", "u64"),
    ("min", "s32"),
    ("max", "s64"),
]


@given(st.sampled_from(FORMS), st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from(["global", "shared", ""]))
@settings(max_examples=120, deadline=None)
def test_integers_take_turns(form: tuple[str, str], seed: int, places: int, space: str) -> None:
    """Many threads of two blocks, few places, small and huge numbers."""
    name, type_ = form
    bits = int(type_[1:])
    dtype = np.dtype(f"u{bits // 8}")
    random = np.random.default_rng(seed)

    def numbers(count: int) -> Any:
        small = random.integers(0, 4, count).astype(dtype)
        return np.where(random.random(count) < 0.7, small, ~small)

    array = numbers(40)
    mask = random.random((4, 32)) < random.choice([0.3, 1.1])
    mask[0, 0] = True
    where = random.integers(0, places, 128)
    b, c = numbers(128), numbers(128)
    machine = machine_with({"a": array}, threads=64, blocks=2)
    for slot in range(2):
        machine.memory.window(slot)[: array.nbytes] = array.view(np.uint8)
    before = array.copy()
    if space == "shared":
        place = (where * dtype.itemsize).astype(np.uint32)
    elif space == "":
        place = (where * dtype.itemsize).astype(np.uint64) | np.uint64(SHARED_APERTURE)
    else:
        place = addresses(array, where)
    turn = INTEGERS[f"{name}.s" if type_[0] == "s" and name in ("min", "max") else name]
    memories: dict[tuple[int, int], int] = {}
    expected: list[int] = []
    for thread in np.flatnonzero(mask).tolist():
        at = (0 if space == "global" else thread // 64, int(where[thread]))
        old = memories.get(at, int(before[at[1]]))
        expected.append(old)
        memories[at] = turn(old, int(b[thread]), int(c[thread]), bits) % (1 << bits)
    third = ", %c" if name == "cas" else ""
    modifiers = f"{space}.{name}" if space else name
    inputs = {"%a": place, "%b": b, "%c": c}
    found = run_instruction(
        f"atom.{modifiers}.{type_} %d, [%a], %b{third};", inputs, {"%d": f"b{bits}"}, machine=machine, mask=mask
    )
    assert found["%d"][mask].tolist() == expected
    for (block, number), value in memories.items():
        now = array if space == "global" else machine.memory.window(block)[: array.nbytes].view(dtype)
        assert int(now[number]) == value


def f32(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def test_f32_is_added_in_the_order_of_threads() -> None:
    random = np.random.default_rng(3)
    values = (random.standard_normal(64) * 10.0 ** random.integers(-6, 7, 64)).astype(np.float32)
    array = np.array([1e3, 0], np.float32)
    found = run_instruction(
        "atom.global.add.f32 %d, [%a], %b;",
        {"%a": np.full(64, address(array)), "%b": values},
        {"%b": "f32", "%d": "f32"},
        machine=machine_with({"a": array}, threads=64),
    )
    total = np.float32(1e3)
    for thread in range(64):
        assert found["%d"].reshape(-1)[thread] == total
        total = np.float32(total + values[thread])
    assert array.tolist() == [total, 0]


@pytest.mark.parametrize(("space", "kept"), [("global", False), ("shared", True)])
def test_f32_subnormals_are_flushed_in_global_memory_only(space: str, kept: bool) -> None:
    tiny = np.array([0x00000003, 0x80000005, 0x00800001, 0x80800000], np.uint32)
    array = np.zeros(4, np.uint32)
    machine = machine_with({"a": array})
    # One thread a place, then four that take turns at one.
    for places in (LANES % 32, np.zeros(32, np.int64)):
        array[:] = 0
        machine.memory.window(0)[:] = 0
        where = (places * 4).astype(np.uint32) if space == "shared" else addresses(array, places % 4)
        values = tiny[LANES % 4]
        run_instruction(f"red.{space}.add.f32 [%a], %b;", {"%a": where, "%b": values}, machine=machine, mask=LANES < 4)
        now = array if space == "global" else machine.memory.window(0)[:16].view(np.uint32)
        if places.any():
            assert now.tolist() == (tiny.tolist() if kept else [0, 0, 0x00800001, 0x80800000])
        else:
            # 3 - 5 + (2**23 + 1) - 2**23 smallest numbers are -1 of them.
            assert now[0] == (0x80000001 if kept else 0)


def test_nan_of_f32() -> None:
    array = np.array([np.inf, 1], np.float32)
    where = addresses(array, np.zeros(32, np.int64))
    values = np.full(32, -np.inf, np.float32)
    run_instruction("red.global.add.f32 [%a], %b;", {"%a": where, "%b": values}, machine=machine_with({"a": array}))
    assert array.view(np.uint32)[0] & 0x7FC00000 == 0x7FC00000 and np.isnan(array[0])


def test_f64() -> None:
    array = np.array([0.5], np.float64)
    values = LANES.astype(np.float64)
    inputs = {"%a": np.full(32, address(array)), "%b": values}
    run_instruction(
        "red.relaxed.gpu.global.add.f64 [%a], %b;", inputs, {"%b": "f64"}, machine=machine_with({"a": array})
    )
    assert array[0] == 0.5 + 31 * 16


def bf16(value: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def test_halves() -> None:
    array = np.array([1, 2, 3, 4], np.float16)
    packed = np.array([0.5, 2.0**-11], np.float16).view(np.uint32)[0]
    inputs = {"%a": addresses(array.view(np.uint32), LANES % 2), "%b": np.full(32, packed)}
    machine = machine_with({"a": array})
    run_instruction("red.global.add.noftz.f16x2 [%a], %b;", inputs, machine=machine)
    # 2 + 2**-11 is not representable: each turn rounds back.
    assert array.tolist() == [9, 2, 11, 4]
    inputs = {"%a": np.full(32, address(array)), "%b": np.full(32, np.float16(-1).view(np.uint16))}
    found = run_instruction("atom.global.min.noftz.f16 %d, [%a], %b;", inputs, {"%d": "b16"}, machine=machine)
    assert array[0] == -1 and found["%d"].view(np.float16)[0, :2].tolist() == [9, -1]


def test_bf16() -> None:
    array = np.array([bf16(1), bf16(256)], np.uint16)
    inputs = {"%a": addresses(array, LANES % 2), "%b": np.full(32, bf16(1), np.uint16)}
    machine = machine_with({"a": array})
    run_instruction("red.global.add.noftz.bf16 [%a], %b;", inputs, machine=machine)
    assert array.tolist() == [bf16(17), bf16(256)]  # 257 rounds to even
    inputs["%b"] = np.full(32, 0x7FC1, np.uint16)
    run_instruction("red.global.max.noftz.bf16 [%a], %b;", inputs, machine=machine)
    assert array.tolist() == [bf16(17), bf16(256)]
    zeros = np.array([0x80000000], np.uint32)
    inputs = {"%a": np.full(32, address(zeros)), "%b": np.zeros(32, np.uint32)}
    run_instruction("red.global.max.noftz.bf16x2 [%a], %b;", inputs, machine=machine_with({"a": zeros}))
    assert zeros[0] == 0


def test_vectors_of_floats() -> None:
    storage = np.zeros(256, np.float32)
    array = storage[-storage.ctypes.data % 16 // 4 :][:64]
    values = {f"%b{number}": np.full(32, number + 1, np.float32) for number in range(4)}
    results = {f"%d{number}": "f32" for number in range(4)}
    machine = machine_with({"a": array})
    inputs = {"%a": addresses(array, LANES % 16 * 4), **values}
    types = dict.fromkeys(values, "f32") | results
    text = "atom.global.add.v4.f32 {%d0, %d1, %d2, %d3}, [%a], {%b0, %b1, %b2, %b3};"
    found = run_instruction(text, inputs, types, machine=machine)
    assert array.tolist() == [2, 4, 6, 8] * 16
    assert [found[name][0, 20] for name in results] == [1, 2, 3, 4]
    inputs["%a"] = addresses(array, LANES % 8 * 4 + 1)
    with pytest.raises(EmulatorError, match="not a multiple of 16"):
        run_instruction("red.global.add.v4.f32 [%a], {%b0, %b1, %b2, %b3};", inputs, types, machine=machine)


def test_result_may_be_unwanted_and_operands_constant() -> None:
    array = np.zeros(1, np.uint32)
    inputs = {"%a": np.full(32, address(array))}
    run_instruction("atom.global.add.u32 _, [%a], 3;", inputs, machine=machine_with({"a": array}))
    assert array[0] == 96
    run_instruction("atom.global.cas.b32 _, [%a], 96, 1;", inputs, machine=machine_with({"a": array}))
    assert array[0] == 1


def test_thousands_of_threads_at_one_address() -> None:
    array = np.zeros(1, np.uint32)
    machine = machine_with({"a": array}, threads=1024, blocks=8)
    inputs = {"%a": np.full(8192, address(array)), "%b": np.ones(8192, np.uint32)}
    found = run_instruction("atom.global.add.u32 %d, [%a], %b;", inputs, machine=machine)
    assert found["%d"].reshape(-1).tolist() == list(range(8192))
    assert array[0] == 8192


@pytest.mark.parametrize(("places", "last"), [(1, 8191), (4096, 4096)])
def test_exchange_by_thousands_of_threads(places: int, last: int) -> None:
    """Each finds what the one before it at the same address left."""
    array = np.full(places, 9999, np.uint32)
    machine = machine_with({"a": array}, threads=1024, blocks=8)
    mine = np.arange(8192, dtype=np.uint32)
    inputs = {"%a": addresses(array, mine.astype(np.int64) % places), "%b": mine}
    found = run_instruction("atom.global.exch.b32 %d, [%a], %b;", inputs, machine=machine)
    assert found["%d"].reshape(-1).tolist() == [9999] * places + list(range(8192 - places))
    assert array[0] == last


@pytest.mark.parametrize("form", ["atom.acq_rel.gpu.global.add.u32 %d,", "red.global.add.u32"])
def test_each_instruction_is_told_as_one_access(form: str) -> None:
    """Whatever it orders: its operation says that."""
    array = np.zeros(2, np.uint32)
    told = Told()
    inputs = {"%a": addresses(array, LANES % 2)}
    run_instruction(f"{form} [%a], 1;", inputs, machine=machine_with({"a": array}, watch=told), mask=LANES < 3)
    assert told.events == [("access", "atomic", "global", [int(each) for each in inputs["%a"][:3]], 4)]


@pytest.mark.parametrize("form", ["add.b32", "inc.u64", "exch.b128", "add.noftz.v2.f64x2"])
def test_what_does_not_exist_is_refused(form: str) -> None:
    with pytest.raises(EmulatorError, match="does not model"):
        run_instruction(f"red.global.{form} [%a], %b;", {"%a": np.zeros(32, np.uint64)}, machine=machine_with())
