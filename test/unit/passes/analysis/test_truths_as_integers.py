"""Truth values of threads, made integers of more bits: 1 where the bit has no sign, -1 where it is one."""

from __future__ import annotations

import numpy as np
import pytest

from cutecc.passes.analysis import lanes


@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize(("signed", "one"), [(True, -1), (False, 1)])
def test_a_truth_that_all_threads_share(width: int, signed: bool, one: int) -> None:
    assert lanes.resized(1, width, signed=signed, source=1) == one
    assert lanes.resized(0, width, signed=signed, source=1) == 0


@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize(("signed", "one"), [(True, -1), (False, 1)])
def test_truths_of_threads_that_differ(width: int, signed: bool, one: int) -> None:
    bits = np.arange(64).reshape(2, 32) % 3 == 0
    found = lanes.resized(bits, width, signed=signed, source=1)
    assert isinstance(found, np.ndarray) and found.dtype.itemsize * 8 == width
    assert found.tolist() == [[one if bit else 0 for bit in row] for row in bits.tolist()]
