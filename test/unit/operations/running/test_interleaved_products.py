"""Products of interleaved matrices in each pairing, against the formulas of where their elements are."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from cutecc import EmulatorOptions
from cutecc.operations import Gemm

pytestmark = pytest.mark.slow

WORDS = ("row_interleaved32", "column_interleaved32")


def laid_out(matrix: Any, layout: str) -> Any:
    """A matrix as it lies in memory, (groups, lines, 32)."""
    rows, columns = matrix.shape
    r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    if layout == "row_interleaved32":
        place, shape = r // 32 * 32 * columns + c * 32 + r % 32, (rows // 32, columns, 32)
    else:
        place, shape = c // 32 * 32 * rows + r * 32 + c % 32, (columns // 32, rows, 32)
    memory = np.empty(matrix.size, matrix.dtype)
    memory[place] = matrix
    return memory.reshape(shape)


@pytest.mark.parametrize("layouts", [*product(WORDS, repeat=3)], ids=lambda each: "-".join(word[0] for word in each))
def test_each_pairing(layouts: tuple[str, str, str]) -> None:
    a, b, d = layouts
    # What is not kept together may be of any size.
    m = 96 if "row" in a or "row" in d else 70
    n = 64 if "column" in b or "column" in d else 45
    k = 96 if "column" in a or "row" in b else 77
    op = Gemm(
        f"i8:{a}", f"i8:{b}", f"i8:{d}", f"i8:{d}", epilogue="linear_combination_clamp",
        target="sm_80", tile="32x32x64:stages=2:warps=1x1x1",
    )  # fmt: skip
    generator = np.random.default_rng(0)
    A, B, C = (generator.integers(-8, 9, shape).astype(np.int8) for shape in ((m, k), (k, n), (m, n)))
    D = laid_out(np.full((m, n), 99, np.int8), d)
    options = EmulatorOptions(check=True)
    op.run(laid_out(A, a), laid_out(B, b), laid_out(C, d), D, beta=2.0, device="cpu", emulator=options)
    expected = np.clip(A.astype(np.int32) @ B.astype(np.int32) + 2 * C.astype(np.int32), -128, 127)
    np.testing.assert_array_equal(D, laid_out(expected.astype(np.int8), d))
    assert op.description.name.split("_")[6] == "".join(word[0] for word in layouts)
