"""Operations of every family and mode on shapes, factors and numbers of slices that hypothesis chooses."""

from __future__ import annotations

from typing import Any

import pytest
from covering_set import cases
from device_products import check, fitting, prepare, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecc.operations.description import SPLIT_K_MODES

EXAMPLES = {"cuda": 25, "cpu": 2}
MOST = {"cuda": (420, 420, 700), "cpu": (80, 80, 200)}
"""M, N and K."""


@pytest.mark.parametrize("name", [name for name, case in cases().items() if case.is_representative])
def test_any_shape(name: str, load: Any, device: str) -> None:
    case, op = cases()[name], load(name)
    description = op.description
    m, n, k = MOST[device]
    factors = st.sampled_from((0.0, 1.0, 0.75, -1.5, 3.0))
    has_batch = description.mode in ("batched", "array")

    @settings(
        max_examples=EXAMPLES[device],
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(
        m=st.integers(1, m),
        n=st.integers(1, n),
        k=st.integers(1, k),
        batches=st.integers(1, 5 if has_batch else 1),
        alpha=factors,
        beta=factors,
        slices=st.integers(1, 9),
        seed=st.integers(0, 1000),
    )
    def holds(m: int, n: int, k: int, batches: int, alpha: float, beta: float, slices: int, seed: int) -> None:
        sizes = fitting(description, m, n, k, batches)
        options: dict[str, Any] = {"device": device} if device == "cpu" else {}
        if description.mode in SPLIT_K_MODES:
            options["slices"] = min(slices, sizes.k)
        prepared = prepare(case, op, sizes, device, seed)
        check(prepared, run(prepared, alpha, beta, **options), alpha, beta)

    holds()
