"""What an H200 gave for single instructions, bit for bit; approximations within the manual's bounds.

`h200.npz` holds a line for each form (the PTX, the types of its operands and of its results, separated by tabs) and, in
their order, the bits of its cases: all of the first operand, of the second …, of the first result, ….
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hand import make_operation, make_step, run_instruction
from numpy.typing import NDArray

from cutecc.emulator.numbers.compiled import together

CASES = 12
"""A form."""
WIDTHS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f16": 16, "bf16": 16}
FLOATS = {"f32": np.float32, "f64": np.float64}

# Twice the manual's, as both sides are approximations: relative, and absolute; either is enough.
BOUNDS = {
    "rcp.approx": (2**-21.9, 0),
    "rcp.approx.ftz.f64": (2**-19, 0),
    "div.approx": (2**-21, 0),
    "div.full": (2**-21, 0),
    "sqrt.approx": (2**-22, 0),
    "rsqrt.approx": (2**-21.9, 0),
    "rsqrt.approx.ftz.f64": (2**-19, 0),
    "rsqrt.approx.f64": (2**-51, 0),
    "ex2.approx": (2**-21.5, 0),
    "lg2.approx": (2**-21, 2**-21),
    "sin.approx": (0, 2**-13.7),
    "cos.approx": (0, 2**-13.7),
    "tanh.approx": (2**-10, 0),
}

Bits = NDArray[np.uint64]


def forms() -> Iterator[tuple[str, dict[str, Bits], dict[str, str], dict[str, Bits]]]:
    """PTX, operands, types of the registers, and results."""
    file = np.load(Path(__file__).with_name("h200.npz"))
    bits, at = file["bits"].reshape(-1, CASES), 0
    for line in str(file["forms"]).splitlines():
        text, *types = line.split("\t")
        operands, results = (each.split() for each in types)
        columns = bits[at : at + len(operands) + len(results)]
        at += len(columns)
        names = [f"%a{index}" for index in range(len(operands))] + [f"%d{index}" for index in range(len(results))]
        values = dict(zip(names, columns, strict=True))
        kinds = dict(zip(names, operands + results, strict=True))
        yield text, {n: values[n] for n in names if n[1] == "a"}, kinds, {n: values[n] for n in names if n[1] == "d"}


def width(type_: str) -> int:
    return WIDTHS.get(type_) or int(type_[1:])


def register(type_: str) -> str:
    return "pred" if type_ == "pred" else f"b{max(16, width(type_))}"


def array(type_: str, bits: Bits) -> NDArray[np.generic]:
    """The bits in a register, for the threads of a warp."""
    dtype = np.dtype(np.bool_) if type_ == "pred" else np.dtype(f"u{max(16, width(type_)) // 8}")
    return np.resize(bits.astype(dtype), 32)


def wrong(text: str, type_: str, ours: Bits, theirs: Bits) -> NDArray[np.bool_]:
    """Which results differ, or differ by too much."""
    name = text.split()[0]
    bound = next((value for key, value in reversed(BOUNDS.items()) if name.startswith(key)), None)
    if bound is None or type_ not in FLOATS:
        return ours != theirs
    a, b = (each.astype(f"u{width(type_) // 8}").view(FLOATS[type_]).astype(np.float64) for each in (ours, theirs))
    with np.errstate(all="ignore"):
        off = np.abs(a - b)
        close = (off <= bound[0] * np.abs(b)) | (off <= bound[1])
    return (ours != theirs) & ~close


def parts(text: str) -> list[str]:
    """Its instructions."""
    return [f"{part.strip()};" for part in text.split(";") if part.strip()]


def registers(types: dict[str, str]) -> dict[str, str]:
    return {name: register(type_) for name, type_ in types.items()}


@pytest.mark.slow
def test_as_the_h200() -> None:
    failed: list[str] = []
    count = 0
    with together():
        # Compiles all functions at once, which is faster.
        for text, _, types, _ in forms():
            for part in parts(text):
                make_step(make_operation(part, registers(types)))
    for text, operands, types, results in forms():
        inputs = {name: array(types[name], bits) for name, bits in operands.items()}
        found = run_instruction(parts(text), inputs, registers(types))
        for name, theirs in results.items():
            ours = found[name].reshape(-1)[:CASES].astype(np.uint64)
            for case in np.flatnonzero(wrong(text, types[name], ours, theirs)):
                given = ", ".join(hex(bits[case]) for bits in operands.values())
                failed.append(f"{text} of {given}: {hex(ours[case])}, on an H200 {hex(theirs[case])}")
        count += 1
    assert not failed, "\n".join(failed[:20])
    assert count > 600
