"""`ld`, `st`, and conversions of addresses, in every state space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand import make_gang, make_operation, make_step, run_instruction
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import Told, address, addresses, machine_with

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.memory.spaces import (
    CLUSTER_SHIFT,
    FIRST_RANK,
    LOCAL_APERTURE,
    MODULE_APERTURE,
    PARAM_APERTURE,
    SHARED_APERTURE,
)
from cutecc.errors import EmulatorError

LANES = np.arange(32)
EVEN = LANES % 2 == 0


def load(text: str, where: Any, machine: Any, mask: Any = None, **types: str) -> Any:
    """One load, of `%d` or of what the text says, from `[%a]`."""
    known = {f"%{name}": type_ for name, type_ in types.items()}
    return run_instruction(text, {"%a": where}, known, machine=machine, mask=mask)


@pytest.mark.parametrize("space", ["global.", ""])
def test_each_thread_loads_its_element(space: str) -> None:
    array = np.arange(100, dtype=np.uint32) * 7
    machine = machine_with({"a": array}, threads=64)
    numbers = np.arange(64) * 37 % 100
    found = load(f"ld.{space}b32 %d, [%a];", addresses(array, numbers), machine)
    assert found["%d"].reshape(-1).tolist() == array[numbers].tolist()


@pytest.mark.parametrize(
    ("type_", "width", "value"),
    [
        ("s8", "b32", 0xFFFFFFFE),
        ("u8", "b32", 0xFE),
        ("s8", "b16", 0xFFFE),
        ("b8", "b16", 0xFE),
        ("s16", "b32", 0xFFFFFFFE),
        ("u16", "b64", 0xFFFE),
        ("s32", "b64", 0xFFFFFFFFFFFFFFFE),
        ("f32", "b32", 0xFFFFFFFE),
    ],
)
def test_extension(type_: str, width: str, value: int) -> None:
    array = np.array([-2, -1], np.dtype(f"i{int(type_[1:]) // 8}"))
    found = load(f"ld.global.{type_} %d, [%a];", np.full(32, address(array)), machine_with({"a": array}), d=width)
    assert found["%d"][0, 5] == value


@pytest.mark.parametrize(("vector", "size"), [("v2", 1), ("v4", 1), ("v4", 2), ("v2", 8), ("v4", 4), ("v8", 4)])
def test_vectors_both_ways(vector: str, size: int) -> None:
    count, dtype = int(vector[1]), np.dtype(f"u{size}")
    storage = np.zeros(32 * count + 64, dtype)
    skip = (-storage.ctypes.data % 32) // size
    source = storage[skip : skip + 32 * count]
    source[:] = np.arange(32 * count) * 5 + 1
    target = np.zeros(4 * 32 * count, np.uint64).view(dtype)
    target = target[(-target.ctypes.data % 32) // size :][: 32 * count]
    machine = machine_with({"a": source, "b": target})
    width = f"b{max(16, 8 * size)}"
    names = [f"%r{number}" for number in range(count)]
    found = run_instruction(
        f"ld.global.{vector}.b{8 * size} {{{', '.join(names)}}}, [%a];",
        {"%a": addresses(source, LANES * count)},
        dict.fromkeys(names, width),
        machine=machine,
    )
    for number, name in enumerate(names):
        assert found[name][0].tolist() == source[number::count].tolist()
    values = {name: found[name].reshape(-1) for name in names}
    where = addresses(target, LANES[::-1] * count)
    text = f"st.global.{vector}.b{8 * size} [%a], {{{', '.join(names)}}};"
    run_instruction(text, {"%a": where, **values}, machine=machine, mask=EVEN)
    expected = np.zeros((32, count), dtype)
    expected[31 - LANES[EVEN]] = source.reshape(32, count)[EVEN]
    assert target.tolist() == expected.reshape(-1).tolist()


def test_threads_left_out_do_nothing() -> None:
    array = np.arange(32, dtype=np.uint32)
    where = np.where(EVEN, addresses(array, LANES), np.uint64(0xDEAD0000DEAD0001))
    found = run_instruction(
        "ld.global.b32 %d, [%a];",
        {"%a": where, "%d": np.full(32, 9, np.uint32)},
        machine=machine_with({"a": array}),
        mask=EVEN,
    )
    assert found["%d"][0].tolist() == np.where(EVEN, LANES, 9).tolist()
    run_instruction("st.global.b32 [%a], 5;", {"%a": where}, machine=machine_with({"a": array}), mask=EVEN)
    assert array.tolist() == np.where(EVEN, 5, LANES).tolist()


def test_threads_that_do_not_exist_do_nothing() -> None:
    array = np.zeros(32, np.uint32)
    run_instruction(
        "st.global.b32 [%a], 5;",
        {"%a": np.resize(addresses(array, LANES), 64)},
        machine=machine_with({"a": array}, threads=40),
    )
    assert array.tolist() == [5] * 32
    array[:] = 0
    where = np.concatenate([addresses(array, LANES), np.full(8, address(array)), np.zeros(24, np.uint64)])
    run_instruction("st.global.b32 [%a], 5;", {"%a": where}, machine=machine_with({"a": array}, threads=40))
    assert array.tolist() == [5] * 32


def test_last_thread_wins() -> None:
    array = np.zeros(4, np.uint32)
    run_instruction(
        "st.global.b32 [%a], %v;",
        {"%a": np.full(64, address(array)), "%v": np.arange(64, dtype=np.uint32)},
        machine=machine_with({"a": array}, threads=64),
    )
    assert array.tolist() == [63, 0, 0, 0]


def test_tensors_of_one_instruction_may_be_several() -> None:
    first, second = np.arange(32, dtype=np.uint32), np.arange(32, dtype=np.uint32) + 100
    machine = machine_with({"a": first, "b": second})
    where = np.where(EVEN, addresses(first, LANES), addresses(second, LANES))
    found = load("ld.global.b32 %d, [%a];", where, machine)
    assert found["%d"][0].tolist() == np.where(EVEN, LANES, LANES + 100).tolist()


def test_views_of_one_array_see_one_another() -> None:
    base = np.arange(64, dtype=np.uint32)
    machine = machine_with({"a": base[8:40], "b": base[::-2]})
    run_instruction("st.global.b32 [%a], 7;", {"%a": addresses(base, np.full(32, 11))}, machine=machine)
    found = load("ld.global.b32 %d, [%a];", addresses(base, LANES % 3 + 10), machine)
    assert found["%d"][0, :3].tolist() == [10, 7, 12]


# Bounds and alignment.


@pytest.mark.parametrize("offset", [-4, 128, 132])
@pytest.mark.parametrize("text", ["ld.global.b32 %d, [%a];", "st.global.b32 [%a], %d;", "red.global.add.u32 [%a], %d;"])
def test_out_of_bounds(text: str, offset: int) -> None:
    array = np.arange(64, dtype=np.uint32)[16:48]
    where = addresses(array, LANES)
    where[3] = array.ctypes.data + offset
    words = {
        -4: "a - 4 bytes, before its start",
        128: "a + 128 bytes, just past its end, at [32] of shape (32)",
        132: "a + 132 bytes, 4 past its end, at [33] of shape (32)",
    }
    with pytest.raises(EmulatorError, match=r"thread \(3, 0, 0\).* 4 bytes outside of all memory") as caught:
        run_instruction(text, {"%a": where, "%d": np.zeros(32, np.uint32)}, machine=machine_with({"a": array}))
    assert words[offset] in str(caught.value)


def test_checks_find_accesses_between_elements() -> None:
    """Hardware lets them pass, and so does a run without checks."""
    base = np.arange(64, dtype=np.uint32).reshape(8, 8)
    where = addresses(base, LANES)
    for findings in ([], None):
        machine = machine_with({"a": base[:, :5]}, findings=findings)
        for _ in range(2):  # the second access finds its memory by the first one's
            found = load("ld.global.b32 %d, [%a];", where, machine)
        assert found["%d"][0].tolist() == LANES.tolist()
        said = [(each.kind, each.message, each.address, each.count) for each in findings or ()]
        text = "reads 4 bytes between the elements of a"
        expected = [("out-of-bounds", text, "a[0, 4] + 4 bytes, between elements", 12)]
        assert said == ([] if findings is None else expected * 2)


def test_checks_find_accesses_to_the_shared_memory_of_the_system() -> None:
    for target, kinds in (("sm_80", []), ("sm_90a", ["out-of-bounds"])):
        findings: list[Finding] = []
        machine = machine_with(shared=4096, findings=findings, target=target, threads=32, blocks=2)
        text = "st.shared.b32 [%a], 7;"
        run_instruction(text, {"%a": np.tile(LANES * 4 + 1000, 2).astype(np.uint64)}, machine=machine)
        assert [each.kind for each in findings] == kinds
        assert all((each.count, each.address) == (12, "byte 1000 of the system's shared memory") for each in findings)
        assert machine.memory.window(1)[1000] == 7


@given(st.integers(-40, 200), st.sampled_from([1, 2, 4, 8]), st.integers(0, 15))
@settings(max_examples=150)
def test_bounds_are_exact(offset: int, size: int, start: int) -> None:
    """For tensors at any address: an access is right when all of it is inside and it is aligned."""
    storage = np.arange(256, dtype=np.uint8)
    array = storage[start + 40 : start + 40 + 101]
    findings: list[Finding] = []
    machine = machine_with({"a": array}, findings=findings)
    where = array.ctypes.data + offset
    found = load(f"ld.global.b{8 * size} %d, [%a];", np.full(32, where, np.uint64), machine, d=f"b{max(16, 8 * size)}")
    if where % size:
        assert [finding.kind for finding in findings] == ["misaligned"]
    elif 0 <= offset <= 101 - size:
        assert not findings
        assert found["%d"][0, 0] == int.from_bytes(array[offset : offset + size].tobytes(), "little")
    else:
        assert [(finding.kind, finding.count) for finding in findings] == [("out-of-bounds", 32)]
        assert found["%d"][0, 0] == 0


@given(st.integers(-40, 200), st.sampled_from([1, 2, 4, 8]), st.sampled_from([0, 1, 2, 4, 8, 16]))
@settings(max_examples=150, deadline=None)
def test_bounds_are_exact_the_second_time_too(offset: int, size: int, start: int) -> None:
    """An instruction that has found its tensor once looks there first."""
    storage = np.arange(512, dtype=np.uint8)
    first = (-storage.ctypes.data % 32) + 64 + start
    array = storage[first : first + 101]
    findings: list[Finding] = []
    machine = machine_with({"a": array}, findings=findings)
    operation = make_operation(f"ld.global.b{8 * size} %d, [%a];", {"%d": f"b{max(16, 8 * size)}", "%a": "b64"})
    step = make_step(operation)
    inside = array.ctypes.data + -array.ctypes.data % 32
    registers = [np.zeros((1, 32), f"u{max(2, size)}"), np.full((1, 32), inside, np.uint64)]
    gang = make_gang(machine, registers)
    lanes = Lanes(gang.alive, True)
    step(gang, lanes)
    where = array.ctypes.data + offset
    gang.registers[1] = np.where(LANES == 9, where, inside).astype(np.uint64).reshape(1, 32)
    step(gang, lanes)
    right = where % size == 0 and 0 <= offset <= 101 - size
    assert [finding.count for finding in findings] == ([] if right else [1])
    expected = array[offset : offset + size].tobytes() if right else bytes(size)
    assert int(gang.registers[0][0, 9]) == int.from_bytes(expected, "little")
    at = inside - array.ctypes.data
    assert int(gang.registers[0][0, 10]) == int.from_bytes(array[at : at + size].tobytes(), "little")


def test_collected_faults_leave_out_their_threads() -> None:
    array = np.zeros(32, np.uint32)
    findings: list[Finding] = []
    machine = machine_with({"a": array}, findings=findings)
    where = addresses(array, LANES + 8)
    where[0] += np.uint64(2)
    run_instruction("st.global.b32 [%a], 1;", {"%a": where}, machine=machine)
    assert [(finding.kind, finding.count, finding.place.thread) for finding in findings] == [
        ("misaligned", 1, (0, 0, 0)),
        ("out-of-bounds", 8, (24, 0, 0)),
    ]
    assert findings[0].address == "a[8] + 2 bytes"
    assert array.tolist() == [0] * 9 + [1] * 23


def test_vectors_are_aligned_as_a_whole() -> None:
    array = np.zeros(256, np.uint32)
    start = np.uint64(array.ctypes.data + -array.ctypes.data % 16 + 8)
    with pytest.raises(EmulatorError, match="reads 16 bytes at an address that is not a multiple of 16 at a"):
        load("ld.global.v4.b32 {%p, %q, %r, %s}, [%a];", np.full(32, start), machine_with({"a": array}))


def test_read_only_memory() -> None:
    array = np.zeros(32, np.uint32)
    machine = machine_with()
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.memory.global_memory import GlobalMemory

    data = array.view(np.uint8).view()
    data.flags.writeable = False
    machine.memory._global = GlobalMemory([Allocation(array.ctypes.data, data, "a", lambda offset: "a")])  # pyright: ignore[reportPrivateUsage]
    load("ld.global.b32 %d, [%a];", addresses(array, LANES), machine)
    with pytest.raises(EmulatorError, match="read-only"):
        run_instruction("st.global.b32 [%a], 1;", {"%a": addresses(array, LANES)}, machine=machine)


# Windows.


def test_shared_memory_is_each_blocks_own() -> None:
    machine = machine_with(threads=64, blocks=2)
    offsets = (np.tile(np.arange(64), 2) * 4).astype(np.uint32)
    run_instruction("st.shared.b32 [%a], %v;", {"%a": offsets, "%v": np.arange(128, dtype=np.uint32)}, machine=machine)
    assert machine.memory.window(1)[:256].view(np.uint32).tolist() == list(range(64, 128))
    found = load("ld.shared.b32 %d, [%a];", offsets[::-1].copy(), machine)
    assert found["%d"].reshape(4, 32)[:2].reshape(-1).tolist() == list(range(63, -1, -1))
    generic = offsets.astype(np.uint64) | np.uint64(SHARED_APERTURE)
    found = load("ld.b32 %d, [%a];", generic, machine)
    assert found["%d"].reshape(-1).tolist() == list(range(128))


def test_shared_memory_ends_where_it_ends() -> None:
    machine = machine_with(shared=100)
    load("ld.shared.b32 %d, [%a];", np.full(32, 96, np.uint32), machine)
    with pytest.raises(EmulatorError, match=r"outside of the block's shared memory at shared\+100"):
        load("ld.shared.b32 %d, [%a];", np.full(32, 100, np.uint32), machine)


def test_zeros_in_bulk() -> None:
    """Each thread clears what it says: 8 bytes, 40, or nothing."""
    machine = machine_with(shared=4096)
    machine.memory.shared[:] = 0xFF
    sizes = np.select([LANES == 3, LANES == 7], [40, 8], 0)
    where = (LANES * 64).astype(np.uint32)
    text = "st.bulk.weak.shared::cta [%a], %n, 0;"
    run_instruction(text, {"%a": where, "%n": sizes.astype(np.uint32)}, machine=machine)
    window = machine.memory.window(0)[:4096]
    found = np.flatnonzero(window == 0)
    assert found.tolist() == [*range(192, 232), *range(448, 456)]
    inputs = {"%a": where.astype(np.uint64) + np.uint64(SHARED_APERTURE), "%n": np.full(32, 64, np.uint64)}
    run_instruction("st.bulk [%a], %n, 0;", inputs, machine=machine, mask=EVEN)
    assert (window[:2048].reshape(32, 64) == 0).all(axis=1).tolist() == EVEN.tolist()


@pytest.mark.parametrize(
    ("offset", "size", "message"),
    [(0, 12, "not a multiple of 8"), (4, 8, "not a multiple of 8"), (0, 4104, "outside of the block's shared memory")],
)
def test_wrong_zeros_in_bulk(offset: int, size: int, message: str) -> None:
    inputs = {"%a": np.full(32, offset, np.uint32), "%n": np.full(32, size, np.uint32)}
    with pytest.raises(EmulatorError, match=message):
        run_instruction("st.bulk.shared::cta [%a], %n, 0;", inputs, machine=machine_with(shared=4096), mask=LANES == 5)


def test_shared_memory_of_the_cluster() -> None:
    machine = machine_with(threads=32, blocks=3, clustered=True)
    where = np.repeat((np.array([1, 2, 0]) + FIRST_RANK) << CLUSTER_SHIFT, 32) | np.tile(LANES * 4, 3)
    values = np.arange(96, dtype=np.uint32)
    run_instruction("st.shared::cluster.b32 [%a], %v;", {"%a": where.astype(np.uint32), "%v": values}, machine=machine)
    windows = [machine.memory.window(slot)[:128].view(np.uint32)[0] for slot in range(3)]
    assert windows == [64, 0, 32]
    index = machine.memory.shared_index(
        make_gang(machine), Lanes(np.ones((3, 32), np.bool_), True), where.reshape(3, 32).astype(np.uint64)
    )
    assert index[:, 0].tolist() == [2048, 4096, 0]
    with pytest.raises(EmulatorError, match=r"shared\+0 of the cluster's block 3"):
        load("ld.shared::cluster.b32 %d, [%a];", np.full(96, FIRST_RANK + 3 << CLUSTER_SHIFT, np.uint32), machine)


def test_local_memory_is_each_threads_own() -> None:
    machine = machine_with(threads=64, local=12)
    values = np.arange(64, dtype=np.uint32)
    run_instruction("st.local.b32 [%a], %v;", {"%a": np.full(64, 8, np.uint64), "%v": values}, machine=machine)
    generic = np.full(64, LOCAL_APERTURE | 8, np.uint64)
    assert load("ld.b32 %d, [%a];", generic, machine)["%d"].reshape(-1).tolist() == list(range(64))
    with pytest.raises(EmulatorError, match="outside of the thread's local memory"):
        load("ld.local.b32 %d, [%a];", np.full(64, 12, np.uint64), machine)


def test_parameters_and_variables() -> None:
    machine = machine_with(parameters=np.arange(4, dtype=np.uint64).tobytes(), module=bytes(range(16)))
    symbols = {"p": ("param", 16), "v": ("global", MODULE_APERTURE | 4), "c": ("const", 8), "r": ("local", 32)}
    found = run_instruction("ld.param.b64 %d, [p+8];", {}, {"%d": "b64"}, machine=machine, symbols=symbols)
    assert found["%d"][0, 0] == 3
    found = load("ld.param::entry.b64 %d, [%a];", np.full(32, PARAM_APERTURE | 8, np.uint64), machine, d="b64")
    assert found["%d"][0, 0] == 1
    found = run_instruction("ld.global.b32 %d, [v];", {}, machine=machine, symbols=symbols)
    assert found["%d"][0, 0] == 0x07060504
    found = run_instruction("ld.const.b32 %d, [c];", {}, machine=machine, symbols=symbols)
    assert found["%d"][0, 0] == 0x0B0A0908
    # What is passed to a function lies in its caller's local memory.
    run_instruction("st.param.b64 [r], %v;", {"%v": np.arange(32, dtype=np.uint64)}, machine=machine, symbols=symbols)
    found = load("ld.local.b64 %d, [%a];", np.full(32, 32, np.uint64), machine, d="b64")
    assert found["%d"][0].tolist() == list(range(32))
    with pytest.raises(EmulatorError, match="writes a kernel parameter"):
        run_instruction("st.b32 [%a], 0;", {"%a": np.full(32, PARAM_APERTURE, np.uint64)}, machine=machine)


def test_generic_addresses_of_one_instruction_may_be_of_all_spaces() -> None:
    array = np.arange(32, dtype=np.uint32) + 50
    machine = machine_with({"a": array}, module=b"\7\0\0\0")
    machine.memory.window(0)[:4] = 1
    where = np.choose(
        LANES % 3, [addresses(array, LANES), np.uint64(SHARED_APERTURE), np.uint64(MODULE_APERTURE)]
    ).astype(np.uint64)
    found = load("ld.b32 %d, [%a];", where, machine)
    assert found["%d"][0, :6].tolist() == [50, 0x01010101, 7, 53, 0x01010101, 7]


@pytest.mark.parametrize(
    ("space", "aperture"),
    [
        ("shared", SHARED_APERTURE),
        ("local", LOCAL_APERTURE),
        ("param", PARAM_APERTURE),
        ("const", MODULE_APERTURE),
        ("global", 0),
    ],
)
def test_conversions_there_and_back(space: str, aperture: int) -> None:
    found = run_instruction(f"cvta.{space}.u64 %d, %a;", {"%a": np.full(32, 64, np.uint64)}, {"%d": "b64"})
    assert found["%d"][0, 0] == 64 | aperture
    back = run_instruction(f"cvta.to.{space}.u64 %d, %a;", {"%a": found["%d"].reshape(-1)}, {"%d": "b64"})
    assert back["%d"][0, 0] == 64
    for other in ("shared", "local", "param", "global"):
        inside = run_instruction(f"isspacep.{other} %p, %a;", {"%a": found["%d"].reshape(-1)}, {"%p": "pred"})
        assert inside["%p"][0, 0] == (other == space or (other, space) == ("global", "const"))


def test_shared_of_another_block_is_not_ones_own() -> None:
    machine = machine_with(blocks=2, clustered=True)
    where = np.full(64, SHARED_APERTURE | FIRST_RANK << CLUSTER_SHIFT | 4, np.uint64)
    for space, own in [("shared", [True, False]), ("shared::cta", [True, False]), ("shared::cluster", [True, True])]:
        found = run_instruction(f"isspacep.{space} %p, %a;", {"%a": where}, {"%p": "pred"}, machine=machine)
        assert found["%p"][:, 0].tolist() == own


@pytest.mark.parametrize(
    "text",
    [
        "prefetch.global.L2 [%a];",
        "prefetch.tensormap [%a];",
        "prefetchu.L1 [%a];",
        "applypriority.global.L2::evict_normal [%a], 128;",
        "discard.global.L2 [%a], 128;",
        "createpolicy.fractional.L2::evict_first.b64 %a, 0f3F800000;",
    ],
)
def test_what_only_caches_hear_of(text: str) -> None:
    """Memory stays as it is, no access is told of, and an address that is nobody's is no fault."""
    array, told, findings = np.arange(32, dtype=np.uint32), Told(), list[Finding]()
    where = np.where(EVEN, np.uint64(array.ctypes.data), np.uint64(0))
    run_instruction(text, {"%a": where}, machine=machine_with({"a": array}, watch=told, findings=findings))
    assert array.tolist() == list(range(32))
    assert told.events == [] and findings == []


@pytest.mark.parametrize(
    "modifiers",
    [
        "global.nc",
        "global.L1::evict_last.L2::128B",
        "volatile.global",
        "relaxed.gpu.global",
        "acquire.sys.global",
        "global.cs",
        "weak.global.ca",
        "global.nc.L1::no_allocate.L2::256B",
    ],
)
def test_hints_change_nothing(modifiers: str) -> None:
    array = np.arange(32, dtype=np.uint32)
    found = load(f"ld.{modifiers}.u32 %d, [%a];", addresses(array, LANES), machine_with({"a": array}))
    assert found["%d"][0].tolist() == array.tolist()


def test_cache_policy_is_an_operand_more() -> None:
    array = np.zeros(32, np.uint32)
    inputs = {"%a": addresses(array, LANES), "%v": np.arange(32, dtype=np.uint32), "%c": np.zeros(32, np.uint64)}
    run_instruction("st.global.L2::cache_hint.b32 [%a], %v, %c;", inputs, machine=machine_with({"a": array}))
    assert array.tolist() == list(range(32))


def test_refused() -> None:
    with pytest.raises(EmulatorError, match="does not model"):
        run_instruction("ld.global.b128 %d, [%a];", {"%a": np.zeros(32, np.uint64)}, machine=machine_with())


# What is told.


def test_accesses_are_told_of() -> None:
    array = np.arange(32, dtype=np.uint32)
    told = Told()
    machine = machine_with({"a": array}, blocks=2, watch=told, parameters=bytes(8))
    where = np.tile(addresses(array, LANES), 2)
    load("ld.global.b32 %d, [%a];", where, machine, np.tile(LANES == 3, 2).reshape(2, 32))
    run_instruction("st.shared.b16 [%a], 0;", {"%a": np.full(64, 6, np.uint32)}, machine=machine, mask=LANES == 4)
    run_instruction("st.local.b64 [%a], 0;", {"%a": np.full(64, 8, np.uint64)}, machine=machine, mask=LANES == 4)
    run_instruction("ld.param.b64 %d, [p];", {}, {"%d": "b64"}, machine=machine, symbols={"p": ("param", 0)})
    assert told.events == [
        ("access", "read", "global", [int(where[3])] * 2, 4),
        ("access", "write", "shared", [6, 2048 + 6], 2),
        ("access", "write", "local", [8, 8], 8),
    ]
