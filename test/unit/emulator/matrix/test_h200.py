"""What an H200 made of the same operands, bit for bit.

`h200.npz` and `h200_edges.npz` hold operands and results of instructions, assembled for sm_90a. Numbers of a matrix
vary widely in size; of the edges they are zeros of both signs, subnormals, infinities and NaNs among others. Of `mma`
these are the registers of a warp, of edges of several warps; the key is the instruction. Of `wgmma` these are matrices:
64 rows of A, C and D, 8 columns of B, C and D; without C, D is `A * B`. Of 8-bit floats with `f16` results many are
infinite.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from hand import run_instruction  # noqa: E402
from warpgroups import Tile, get_accumulator_bits, set_accumulators, text, types_for  # noqa: E402
from warps import Warps  # noqa: E402


@cache
def results(file: str) -> dict[str, dict[str, Any]]:
    """Arrays `a`, `b`, `c`, `d` and, of sparse ones, `e`, by instruction."""
    with np.load(Path(__file__).with_name(file)) as held:
        data, index = held["data"].tobytes(), json.loads(str(held["index"]))
    found: dict[str, dict[str, Any]] = {}
    first = 0
    for key, dtype, shape in index:
        name, _, operand = key.rpartition(" ")
        array = np.frombuffer(data, dtype, int(np.prod(shape)), first).reshape(shape)
        found.setdefault(name, {})[operand] = array
        first += array.nbytes
    return found


def named(start: str) -> list[tuple[str, str]]:
    """The files and keys of instructions."""
    files = ("h200.npz", "h200_edges.npz")
    return [(file, name) for file in files for name in results(file) if name.startswith(start)]


@pytest.mark.parametrize(("file", "instruction"), named("mma"))
def test_mma(file: str, instruction: str) -> None:
    held = results(file)[instruction]
    inputs = {f"%{key}{number}": word for key in "abc" for number, word in enumerate(held[key])}
    if "e" in held:
        inputs["%e"] = held["e"]
    width = "b64" if held["d"].dtype == np.uint64 else "b32"
    found = run_instruction(instruction, inputs, {f"%d{number}": width for number in range(len(held["d"]))})
    for number, word in enumerate(held["d"]):
        np.testing.assert_array_equal(found[f"%d{number}"], word.reshape(-1, 32))


@pytest.mark.parametrize(("file", "name"), named("wgmma"))
def test_wgmma(file: str, name: str) -> None:
    held, form = results(file)[name], name.split(" ")[1]
    _, d, a, b = form.split(".")
    warps = Warps(types_for(8, d))
    for register, tile, operand, type_ in (("%da", Tile(start=8192), "a", a), ("%db", Tile(start=24 << 10), "b", b)):
        tile.put(warps.memory.window(0), held[operand], type_)
        warps.set(register, np.uint64(tile.descriptor))
    warps.set("%p", "c" in held)
    set_accumulators(warps, 8, d, held.get("c", np.zeros_like(held["d"]))[None])
    constants = ", 1, 1, 0, 0" if a in ("f16", "bf16") else ", 1, 1"
    assert warps.do(text(f"sync.aligned.{form}", 8, d, rest=f", %p{constants}")) == [None]
    np.testing.assert_array_equal(get_accumulator_bits(warps, 8, d)[0], held["d"])


NEGATIVE_ZEROS = {"f16.f16.f16.f16": (4, 0x80008000, 0x80008000), "f32.f16.f16.f32": (8, 0x80000000, 0)}


@pytest.mark.parametrize("types", NEGATIVE_ZEROS)
def test_zeros_of_a_batch(types: str) -> None:
    """Products and C are all -0; so is an `f16`."""
    count, c, d = NEGATIVE_ZEROS[types]
    names = {
        key: [f"%{key}{each}" for each in range(number)]
        for key, number in zip("dabc", (count, 2, 2, count), strict=True)
    }
    values = {"a": 0x80008000, "b": 0, "c": c}
    inputs = {name: np.full((1, 32), values[key], np.uint32) for key in "abc" for name in names[key]}
    operands = ", ".join("{" + ", ".join(names[key]) + "}" for key in "dabc")
    text = f"mma.sync.aligned.m8n8k4.row.col.{types} {operands};"
    found = run_instruction(text, inputs, dict.fromkeys(names["d"], "b32"))
    for name in names["d"]:
        assert (found[name] == d).all()


@pytest.mark.parametrize(("a", "c"), [(0x80008000, 0x80008000), (0x80018001, 0x80008000)])
def test_a_zero_of_a_matrix_unit_has_no_sign(a: int, c: int) -> None:
    """Of -0, and of sums too small for `f16`."""
    values = {"%a": a, "%b": 0x00010001, "%c": c}
    inputs = {
        f"{key}{each}": np.full((1, 32), values[key], np.uint32)
        for key, number in (("%a", 4), ("%b", 2), ("%c", 2))
        for each in range(number)
    }
    text = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1};"
    found = run_instruction(text, inputs, {"%d0": "b32", "%d1": "b32"})
    assert not found["%d0"].any() and not found["%d1"].any()
