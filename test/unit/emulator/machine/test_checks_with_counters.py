"""Checks and counters at the same time."""

from __future__ import annotations

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.emulator.checks.selection import CHECK_NAMES


@pytest.mark.parametrize("check", CHECK_NAMES)
def test_each_check_goes_with_counters(check: str) -> None:
    body = PROLOGUE + "  bar.sync 0;\n  st.global.u32 [%rd3], %r4;\n"
    out = np.zeros(64, np.uint32)
    found = run(body, out, block=(64, 1, 1), check=frozenset({check}), counters=True)
    assert found.counters is not None
    assert found.counters.total().warps
    assert not found.findings
    assert np.array_equal(out, np.arange(64))
