"""What an H200 made of the same operands, bit for bit.

`h200.npz` holds operands and results of instructions, assembled for sm_90a. Numbers of a matrix vary widely in size.
Of `mma` these are the registers of a warp; the key is the instruction. Of `wgmma` these are matrices: 64 rows of A, C
and D, 8 columns of B, C and D. Of 8-bit floats with `f16` results many are infinite.
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

from formulas import decoded  # noqa: E402
from hand import run_instruction  # noqa: E402
from warpgroups import Tile, get_accumulators, set_accumulators, text, types_for  # noqa: E402
from warps import Warps  # noqa: E402


@cache
def results() -> dict[str, dict[str, Any]]:
    """Arrays `a`, `b`, `c`, `d` and, of sparse ones, `e`, by instruction."""
    file = np.load(Path(__file__).with_name("h200.npz"))
    data, found, first = file["data"].tobytes(), {}, 0
    for key, dtype, shape in json.loads(str(file["index"])):
        name, _, operand = key.rpartition(" ")
        array = np.frombuffer(data, dtype, int(np.prod(shape)), first).reshape(shape)
        found.setdefault(name, {})[operand] = array
        first += array.nbytes
    return found


@pytest.mark.parametrize("instruction", [name for name in results() if name.startswith("mma")])
def test_mma(instruction: str) -> None:
    held = results()[instruction]
    inputs = {f"%{key}{number}": word[None] for key in "abc" for number, word in enumerate(held[key])}
    if "e" in held:
        inputs["%e"] = held["e"][None]
    width = "b64" if held["d"].dtype == np.uint64 else "b32"
    found = run_instruction(instruction, inputs, {f"%d{number}": width for number in range(len(held["d"]))})
    for number, word in enumerate(held["d"]):
        np.testing.assert_array_equal(found[f"%d{number}"][0], word)


@pytest.mark.parametrize("name", [name for name in results() if name.startswith("wgmma")])
def test_wgmma(name: str) -> None:
    held, form = results()[name], name.removeprefix("wgmma ")
    _, d, a, b = form.split(".")
    warps = Warps(types_for(8, d))
    for register, tile, operand, type_ in (("%da", Tile(start=8192), "a", a), ("%db", Tile(start=24 << 10), "b", b)):
        tile.put(warps.memory.window(0), held[operand], type_)
        warps.set(register, np.uint64(tile.descriptor))
    warps.set("%p", True)
    set_accumulators(warps, 8, d, held["c"][None])
    constants = ", 1, 1, 0, 0" if a in ("f16", "bf16") else ", 1, 1"
    assert warps.do(text(f"sync.aligned.{form}", 8, d, rest=f", %p{constants}")) == [None]
    np.testing.assert_array_equal(get_accumulators(warps, 8, d)[0], decoded(held["d"], d))


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
