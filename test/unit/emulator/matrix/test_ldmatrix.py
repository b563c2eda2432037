"""`ldmatrix`, `stmatrix` and `movmatrix`, element by element."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.machine.watch import Watch
from cutecc.errors import EmulatorError

sys.path[:0] = [str(Path(__file__).parent)]

from warps import Warps  # noqa: E402

NAMES = [f"%r{number}" for number in range(4)]
TYPES = dict.fromkeys(["%address", *NAMES], "b32")


def element(row: int, column: int, trans: bool) -> tuple[int, int]:
    """Lane, and half of its register, that hold an element of a matrix."""
    row, column = (column, row) if trans else (row, column)
    return row * 4 + column // 2, column % 2


def rows(count: int, warps: int) -> Any:
    """Addresses of rows, in no order, for the threads whose addresses count; nonsense in the others."""
    addresses = np.random.default_rng(5).permutation(np.arange(warps * 32)).reshape(warps, 32) * 16
    addresses[:, 8 * count :] = 0x7FFFFFF1
    return addresses


@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
@pytest.mark.parametrize(("count", "trans"), list(itertools.product((1, 2, 4), (False, True))))
def test_load(count: int, trans: bool, space: str) -> None:
    warps = Warps(TYPES, threads=64, shared=1024)
    halves = np.arange(512, dtype=np.uint16)
    warps.memory.window(0)[:] = halves.view(np.uint8)
    addresses = rows(count, 2)
    warps.set("%address", addresses)
    names = ", ".join(NAMES[:count])
    if not space:
        warps = with_generic_addresses(warps, addresses)
    warps.do(f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' * trans}{space}.b16 {{{names}}}, [%address];")
    for warp, matrix, row, column in itertools.product(range(2), range(count), range(8), range(8)):
        lane, half = element(row, column, trans)
        register = int(warps.get(NAMES[matrix])[warp, lane])
        assert register >> (16 * half) & 0xFFFF == halves[addresses[warp, 8 * matrix + row] // 2 + column]


def with_generic_addresses(warps: Warps, addresses: Any) -> Warps:
    found = Warps(TYPES | {"%address": "b64"}, threads=64, shared=1024)
    found.memory.window(0)[:] = warps.memory.window(0)
    found.set("%address", addresses.astype(np.uint64) | np.uint64(1 << 56))
    return found


@pytest.mark.parametrize(("count", "trans"), list(itertools.product((1, 2, 4), (False, True))))
def test_store_is_the_inverse_of_load(count: int, trans: bool) -> None:
    warps = Warps(TYPES, threads=64, shared=2048)
    registers = np.random.default_rng(6).integers(0, 2**32, (count, 2, 32), dtype=np.uint32)
    addresses = rows(count, 2)
    warps.set("%address", addresses)
    for name, register in zip(NAMES, registers, strict=False):
        warps.set(name, register)
    modifiers = f"m8n8.x{count}{'.trans' * trans}.shared.b16"
    names = ", ".join(NAMES[:count])
    warps.do(f"stmatrix.sync.aligned.{modifiers} [%address+1024], {{{names}}};")
    halves = warps.memory.window(0)[1024:].view(np.uint16)
    for warp, matrix, row, column in itertools.product(range(2), range(count), range(8), range(8)):
        lane, half = element(row, column, trans)
        assert (
            halves[addresses[warp, 8 * matrix + row] // 2 + column]
            == registers[matrix, warp, lane] >> (16 * half) & 0xFFFF
        )
    for name in NAMES[:count]:
        warps.set(name, 0)
    warps.do(f"ldmatrix.sync.aligned.{modifiers} {{{names}}}, [%address+1024];")
    for name, register in zip(NAMES, registers, strict=False):
        np.testing.assert_array_equal(warps.get(name), register)


def unpacked(row: bytes, bits: int, signed: bool = False) -> list[int]:
    """16 elements of so many bits, the lowest first."""
    whole = int.from_bytes(row, "little")
    found = [whole >> (bits * each) & ((1 << bits) - 1) for each in range(16)]
    return [each - (1 << bits) if signed and each >> (bits - 1) else each for each in found]


FORMATS = {"b8": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4, "s8.s4": 4}
NARROW = [
    *[("m8n16", count, each) for count, each in zip((1, 2, 4), list(FORMATS)[1:], strict=True)],
    *[
        ("m16n16", count, each)
        for count, each in ((1, "b8"), (2, "b8"), (1, "b8x16.b6x16_p32"), (2, "b8x16.b4x16_p64"))
    ],
]


@pytest.mark.parametrize(("shape", "count", "format_"), NARROW)
def test_load_of_narrow_elements(shape: str, count: int, format_: str) -> None:
    warps = Warps(TYPES, threads=64, shared=1024)
    memory = np.random.default_rng(8).integers(0, 256, 1024, dtype=np.uint8)
    warps.memory.window(0)[:] = memory
    large = shape == "m16n16"
    registers = count * (2 if large else 1)
    addresses = rows(registers, 2)
    warps.set("%address", addresses)
    warps.do(
        f"ldmatrix.sync.aligned.{shape}.x{count}{'.trans' * large}.shared.{format_} "
        f"{{{', '.join(NAMES[:registers])}}}, [%address];"
    )
    for warp, register, lane, each in itertools.product(range(2), range(registers), range(32), range(4)):
        if large:  # by columns: the column is that of the lane, the rows follow one another in the register
            row = 16 * (register // 2) + 4 * (lane % 4) + each
            column = lane // 4 + 8 * (register % 2)
        else:
            row, column = 8 * register + lane // 4, 4 * (lane % 4) + each
        start = int(addresses[warp, row])
        want = unpacked(memory[start : start + 16].tobytes(), FORMATS[format_], format_ == "s8.s4")[column]
        assert int(warps.get(NAMES[register])[warp, lane]) >> (8 * each) & 0xFF == want & 0xFF


@pytest.mark.parametrize("count", [1, 2, 4])
def test_store_of_bytes(count: int) -> None:
    """As a product of `mma` lies in registers: rows `lane / 4` and 8 below, columns from `2 * (lane % 4)` on."""
    warps = Warps(TYPES, threads=64, shared=1024)
    registers = np.random.default_rng(9).integers(0, 2**32, (count, 2, 32), dtype=np.uint32)
    addresses = rows(count, 2)
    warps.set("%address", addresses)
    for name, register in zip(NAMES, registers, strict=False):
        warps.set(name, register)
    warps.do(f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%address], {{{', '.join(NAMES[:count])}}};")
    for warp, matrix, lane, each in itertools.product(range(2), range(count), range(32), range(4)):
        row, column = lane // 4 + 8 * (each // 2), 2 * (lane % 4) + each % 2
        stored = warps.memory.window(0)[int(addresses[warp, 8 * matrix + column]) + row]
        assert stored == int(registers[matrix, warp, lane]) >> (8 * each) & 0xFF


def test_transpose_in_registers() -> None:
    warps = Warps(TYPES, threads=64)
    register = np.random.default_rng(7).integers(0, 2**32, (2, 32), dtype=np.uint32)
    warps.set("%r0", register)
    warps.do("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;")
    for warp, row, column in itertools.product(range(2), range(8), range(8)):
        (lane, half), (to_lane, to_half) = element(row, column, False), element(column, row, False)
        moved = int(warps.get("%r1")[warp, to_lane]) >> (16 * to_half) & 0xFFFF
        assert moved == register[warp, lane] >> (16 * half) & 0xFFFF


def test_rows_are_aligned() -> None:
    warps = Warps(TYPES, threads=32)
    warps.set("%address", np.arange(32) * 16 + 8)
    with pytest.raises(EmulatorError, match="not a multiple of 16"):
        warps.do("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%address];")


def test_rows_are_in_bounds() -> None:
    warps = Warps(TYPES, threads=32, shared=1024)
    warps.set("%address", np.arange(32) * 16 + 1024 - 7 * 16)
    with pytest.raises(EmulatorError, match="outside of the block's shared memory"):
        warps.do("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%address], {%r0};")


def test_checks_are_told_of_the_rows_only() -> None:
    seen: list[tuple[str, Any, Any, int]] = []

    class Seeing(Watch):
        listens = True

        def access(
            self, gang: Any, lanes: Any, operation: Any, kind: Any, space: Any, addresses: Any, size: int
        ) -> None:
            seen.append((kind, lanes.mask.sum(), addresses[lanes.mask].tolist(), size))

    warps = Warps(TYPES, threads=32, watch=Seeing())
    warps.set("%address", np.arange(32) * 16)
    warps.do("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%address];")
    warps.do("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%address], {%r0};")
    warps.do("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 {%r0, %r1}, [%address];")
    assert seen == [
        ("read", 16, [16 * row for row in range(16)], 16),
        ("write", 8, [16 * row for row in range(8)], 16),
        ("read", 16, [16 * row for row in range(16)], 12),
    ]


def test_only_warps_that_execute_change() -> None:
    warps = Warps(TYPES, threads=64, shared=1024)
    warps.memory.window(0)[:] = 1
    warps.set("%address", np.arange(32) * 16)
    warps.do("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r0, [%address];", mask=np.array([[True], [False]]))
    assert (warps.get("%r0") == [[0x01010101], [0]]).all()
