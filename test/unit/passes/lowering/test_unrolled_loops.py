"""Loops of which several turns are one, on the emulator: any bounds and steps."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutecc

KERNELS = Path(__file__).with_name("kernels") / "unrolled_loops.py"
X = np.random.default_rng(0).normal(size=(24, 32)).astype(np.float32)


@functools.cache
def kernel(turns: int) -> cutecc.Kernel:
    spec = importlib.util.spec_from_file_location(KERNELS.stem, KERNELS)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[KERNELS.stem] = module
    spec.loader.exec_module(module)
    specs = ("f32[24, 32]", "i32", "i32", "i32", "f32[32]")
    return cutecc.compile(module.Unrolled(turns), *specs, target="sm_80", pipeline="open")


def expected(rows: range) -> np.ndarray:
    total = np.zeros(32, np.float32)
    for row in rows:
        total = total * np.float32(0.5) + X[row, np.arange(32) ^ 1]
    return total + np.float32(rows[-1] if len(rows) else -1)


@given(st.sampled_from([2, 3, 4]), st.integers(0, 23), st.integers(-3, 24), st.integers(1, 9))
def test_each_turn_is_done_once_and_in_order(turns: int, begin: int, end: int, step: int) -> None:
    y = np.zeros(32, np.float32)
    kernel(turns)(X, begin, end, step, y, device="cpu")
    np.testing.assert_allclose(y, expected(range(begin, end, step)), rtol=1e-6)


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_there_are_as_many_turns_in_one_as_asked_for(turns: int) -> None:
    rest = 0 if turns == 1 else 1
    assert kernel(turns).ptx.count("shfl.sync.bfly") == turns + rest
