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
    assert seen == [
        ("read", 16, [16 * row for row in range(16)], 16),
        ("write", 8, [16 * row for row in range(8)], 16),
    ]


def test_only_warps_that_execute_change() -> None:
    warps = Warps(TYPES, threads=64, shared=1024)
    warps.memory.window(0)[:] = 1
    warps.set("%address", np.arange(32) * 16)
    warps.do("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r0, [%address];", mask=np.array([[True], [False]]))
    assert (warps.get("%r0") == [[0x01010101], [0]]).all()
