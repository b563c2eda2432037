"""`tcgen05.ld`, `st`, `cp` and `shift` against the independent model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

from blackwell_model.cells import Cell, encode_address  # noqa: E402
from blackwell_model.copies import Compression, CopyShape, copy, shift_down  # noqa: E402
from blackwell_model.loads_and_stores import COUNTS, Shape, columns, load, reduce, registers, store  # noqa: E402
from blackwell_model.places import Block  # noqa: E402
from blackwell_model.shared_descriptor import SharedDescriptor, Swizzle  # noqa: E402
from chips import Chip  # noqa: E402

NAMES = {
    Shape.S16X64B: "16x64b",
    Shape.S16X128B: "16x128b",
    Shape.S16X256B: "16x256b",
    Shape.S32X32B: "32x32b",
    Shape.S16X32BX2: "16x32bx2",
}
FORMS = [(shape, count) for shape in Shape for count in COUNTS if registers(shape, count)]
"""All that there are."""
WARPS = 4


def random_block(seed: int, shared: int = 1 << 15) -> Block:
    random = np.random.default_rng(seed)
    tensor = random.integers(0, 1 << 32, (128, 512), np.uint32)
    return Block(random.integers(0, 256, shared, np.uint8), tensor)


def names(number: int) -> list[str]:
    return [f"%r{each}" for each in range(number)]


def braces(number: int) -> str:
    return f"{{{', '.join(names(number))}}}"


def addresses(random: np.random.Generator, shape: Shape, width: int) -> list[int]:
    """Of each warp, in its lanes."""
    column = int(random.integers(0, 512 - width + 1))
    half = 16 * int(random.integers(0, 2)) if shape.lanes == 16 else 0
    return [encode_address(Cell(32 * warp + half, column)) for warp in range(WARPS)]


def of_all_threads(address: list[int]) -> Any:
    return np.repeat(np.array(address, np.uint32)[:, None], 32, axis=1)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("shape", "count"), FORMS)
def test_loads_and_stores(shape: Shape, count: int, packed: bool) -> None:
    width = columns(shape, count, packed=packed)
    random, number = np.random.default_rng(count), registers(shape, count)
    assert number is not None
    given = random_block(count)
    chip = Chip([given], dict.fromkeys([*names(number), "%a"], "b32"), threads=32 * WARPS)
    split = int(random.integers(0, 512 - width + 1)) if shape is Shape.S16X32BX2 else 0
    address = addresses(random, shape, width + split)
    form = f"sync.aligned.{NAMES[shape]}.x{count}"
    offset = f", {split}" if shape is Shape.S16X32BX2 else ""
    # All warps execute it; to look at one of them is faster.
    warp = int(random.integers(WARPS))
    lanes = slice(32 * warp, 32 * warp + 32)

    text = f"tcgen05.ld.{form}{'.pack::16b' * packed}.b32 {braces(number)}, [%a]{offset};"
    found = chip.do(text, {"%a": of_all_threads(address)}, alone=False)
    wanted = load(given.tensor, address[warp], shape, count, packed=packed, half_split=split)
    np.testing.assert_array_equal(np.array([found[name][warp] for name in names(number)]), wanted)

    values = random.integers(0, 1 << 32, (number, WARPS, 32), np.uint32)
    text = f"tcgen05.st.{form}{'.unpack::16b' * packed}.b32 [%a]{offset}, {braces(number)};"
    contents = {name: values[each] for each, name in enumerate(names(number))}
    chip.do(text, {"%a": of_all_threads(address), **contents}, alone=False)
    wanted = store(given.tensor, address[warp], shape, values[:, warp], packed=packed, half_split=split)
    # The manual does not say what is in the upper halves of unpacked columns.
    counts = np.uint32(0xFFFF if packed else 0xFFFFFFFF)
    np.testing.assert_array_equal(chip.tensor[0][lanes] & counts, wanted[lanes] & counts)
    assert not chip.faults


REDUCTIONS = [
    *[("min", "u32"), ("max", "u32"), ("min", "s32"), ("max", "s32")],
    *[
        (f"{which}{absolute}{nan}", "f32")
        for which in ("min", "max")
        for absolute in ("", ".abs")
        for nan in ("", ".NaN")
    ],
]


@pytest.mark.parametrize(("operation", "dtype"), REDUCTIONS)
@pytest.mark.parametrize("shape", ["32x32b", "16x32bx2"])
def test_reductions(operation: str, dtype: str, shape: str) -> None:
    random, number = np.random.default_rng(len(operation)), 4
    given = random_block(1)
    special = [0, 1 << 31, 0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 1, 0x80000001, 0x3F800000, 0xBF800000]
    given.tensor[:32, :32] = random.choice(np.array(special, np.uint32), (32, 32))
    given.tensor[:4, :32] = [[0x7FC00000], [0x80000000], [0], [0xFFC00001]]
    chip = Chip([given], dict.fromkeys([*names(number), "%a", "%least"], "b32"), target="sm_103a")
    offset = ", 6" if "bx2" in shape else ""
    text = f"tcgen05.ld.red.sync.aligned.{shape}.x4.{operation}.{dtype} {braces(number)}, %least, [%a]{offset};"
    found = chip.do(text, {"%a": 3}, alone=False)
    which, *modifiers = operation.split(".")
    options = {"absolute": "abs" in modifiers, "nan": "NaN" in modifiers}
    for thread in range(32):
        values = [found[name][0, thread] for name in names(number)]
        wanted = reduce(values, which, dtype, **options)  # pyright: ignore[reportArgumentType]
        assert found["%least"][0, thread] == wanted, (thread, [f"{each:08x}" for each in values])


FORMATS = (None, *Compression)
COPIES = [(shape, group, compression) for shape in CopyShape for group in (1, 2) for compression in FORMATS]
SWIZZLES = [Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128]


@pytest.mark.parametrize(("shape", "group", "compression"), COPIES)
def test_copies(shape: CopyShape, group: int, compression: Compression | None) -> None:
    random = np.random.default_rng(COPIES.index((shape, group, compression)))
    given = [random_block(each) for each in range(group)]
    swizzle = SWIZZLES[int(random.integers(4))]
    room = swizzle.width - shape.bytes_of_a_row
    inside = 16 * int(random.integers(0, room // 16 + 1)) if swizzle else 0
    base_offset = int(random.integers(0, 3)) if swizzle else 0
    descriptor = SharedDescriptor(512 + inside, 2048, swizzle.pattern, swizzle, base_offset)
    row = range(shape.bytes_of_a_row)
    chip = Chip(given, {"%a": "b32", "%s": "b64"})
    address = Cell(0, int(random.integers(0, 500)))
    suffix = f".b8x16.{compression.name.lower()}" if compression else ""
    text = f"tcgen05.cp.cta_group::{group}.{shape.value}{suffix} [%a], %s;"
    chip.do(text, {"%a": encode_address(address), "%s": descriptor.encode()}, block=group - 1)
    for block, found in zip(given, chip.tensor, strict=True):
        rows = [bytes(int(block.shared[descriptor.k_major(line, each)]) for each in row) for line in range(shape.rows)]
        np.testing.assert_array_equal(found, copy(block.tensor, address, shape, rows, compression))
    assert not chip.faults


@pytest.mark.parametrize("group", [1, 2])
def test_shifts(group: int) -> None:
    given = [random_block(each) for each in range(group)]
    chip, first = Chip(given, {"%a": "b32"}), Cell(64, 30)
    chip.do(f"tcgen05.shift.cta_group::{group}.down [%a];", {"%a": encode_address(first)})
    for block, found in zip(given, chip.tensor, strict=True):
        np.testing.assert_array_equal(found, shift_down(block.tensor, first))
