"""A few small products, compiled once for all tests of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.epilogue.functions import relu, sum
from cutecc.operations.gemm import Gemm
from cutecc.operations.operation import compile_all

F32: dict[str, Any] = {
    "a": "f32:row:1",
    "b": "f32:row:1",
    "d": "f32:row:1",
    "instruction": "simt:1x1x1:f32:f32:f32",
    "tile": "32x32x8:stages=2:warps=1x1x1",
    "swizzle": "identity1",
    "target": "sm_80",
}
"""The parts of a product of f32 that compiles quickly."""


def biased(accum: Any, bias: Any) -> Any:
    D = relu(accum + bias)
    sums = sum(D, axis=1)
    return D, sums


def describe(name: str) -> Gemm:
    """`plain` reads a source; `split` splits K, writes columns of D, and has vectors; `persistent` is
    a Hopper kernel; `array` takes lists."""
    match name:
        case "plain":
            return Gemm(**F32, c="f32:row:1")
        case "split":
            operands = {"bias": Row("f32", 1), "sums": Column("f32", 1)}
            parts = F32 | {"d": "f32:column:1"}
            return Gemm(**parts, epilogue=biased, operands=operands, mode="split_k_serial")
        case "persistent":
            tile = "128x64x64:stages=2:warps=2x1x1:cluster=2x1:cooperative"
            return Gemm("f16:row", "f16:column", "f16:row", tile=tile, target="sm_90a")
        case _:
            return Gemm(**F32, mode="array")


NAMES = ("plain", "split", "persistent", "array")


def bundles(factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The bundles of all, written by the first process of a run that asks."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    paths = {name: folder / f"{name}.operation" for name in NAMES}
    with FileLock(folder / "operations.lock"):
        if not all(path.exists() for path in paths.values()):
            operations = {name: describe(name) for name in NAMES}
            for result in compile_all(list(operations.values())):
                assert not isinstance(result, Exception), result
            for name, op in operations.items():
                op.bundle(paths[name])
    return paths
