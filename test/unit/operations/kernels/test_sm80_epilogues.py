"""Epilogues on the sums of tensor cores, in each order that lanes can have rows and columns of D in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from launching import launch
from products import describe

from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import maximum
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.operand import Operand

pytestmark = pytest.mark.slow


def _epilogue(accum, C, bias, scale, alpha):
    D = maximum(alpha * accum + C, scale * bias)
    in_rows, in_columns, largest = sum(D, axis=1), sum(D, axis=0), max(D)
    return D, in_rows, in_columns, largest


@pytest.mark.parametrize(
    ("parts", "target", "tolerance"),
    [
        # Two columns a lane, every eighth; two of the warps along K only add to the others' sums.
        (
            ("tensor_op:16x8x8:tf32:tf32:f32", "16x16x32:stages=3:warps=1x1x2", "f32:row:1", "f32:column:4"),
            "sm_80",
            2e-2,
        ),
        # Eight columns in a run, of B's rows in an order of their own.
        (
            ("tensor_op:16x8x16:f16:f16:f32", "32x32x32:stages=2:warps=2x1x1", "f16:row:8", "f16:column:8"),
            "sm_80",
            2e-2,
        ),
        # Four neighbouring rows, and eight columns, as the bytes of A and B that are transposed want it.
        (
            (
                "tensor_op:16x8x32:f8E4M3FN:f8E4M3FN:f32",
                "32x32x64:stages=2:warps=1x1x1",
                "f8E4M3FN:column:4",
                "f8E4M3FN:row:4",
            ),
            *("sm_89", 2e-2),
        ),
        # Two neighbouring rows and four columns.
        (
            ("tensor_op:8x8x4:f64:f64:f64", "16x32x16:stages=2:warps=1x2x1", "f64:column:1", "f64:row:1"),
            "sm_90a",
            1e-10,
        ),
    ],
    ids=["plain", "runs", "bytes", "together"],
)
def test_operands_and_reductions(parts: tuple[str, ...], target: str, tolerance: float):
    is_double = parts[0].endswith("f64")
    full, vector = ("f64", "f64") if is_double else ("f16", "f32")
    epilogue = Epilogue.trace(
        _epilogue,
        accumulator="f64" if is_double else "f32",
        C=Full(full, alignment=1),
        bias=Row(vector, alignment=1),
        scale=Column(vector, alignment=1),
        alpha=Scalar(vector),
        D=Full(full, alignment=2),
        in_rows=Column(vector, alignment=1),
        in_columns=Row(vector, alignment=1),
        largest=Scalar(vector, in_memory=True),
    )
    plain = describe(*parts, f"{full}:row:2", target=target)
    description = replace(plain, c=Operand(full, "row", 1), epilogue=epilogue)

    found = launch(description, 20, 36, 40)

    assert {name: each.error for name, each in found.items() if not each.error < tolerance} == {}
