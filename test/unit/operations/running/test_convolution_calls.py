"""Convolutions launched on a GPU that is not there: what repeats an earlier call, and what does not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedGpu, install

from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv2d

sys.path.append(str(Path(__file__).parents[1] / "convolution"))
from convolution_reference import convolve

TILE = {"tile": "32x32x8:stages=2:warps=1x1x1", "target": "sm_80"}


@pytest.fixture(scope="module")
def op() -> Any:
    op = Conv2d("wgrad", "f32:1", d="f32:1", split_k="serial", **TILE)
    op.compile()
    return op


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> EmulatedGpu:
    return install(monkeypatch)


def test_calls_like_earlier_ones_bind_nothing_anew(op: Any, gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.know(op)
    sizes = ConvolutionProblem(2, (5, 6), 3, 4, (3, 2), padding=((1, 0), (1, 1)), stride=(2, 1))
    generator = np.random.default_rng(0)
    y, x = (generator.standard_normal(shape).astype("f4") for shape in ((2, *sizes.output, 4), (2, 5, 6, 3)))
    steps: dict[str, Any] = {"padding": [[1, 0], [1, 1]], "stride": [2, 1], "slices": 2}
    bound: list[Any] = []
    bind = type(op.variants[0]).bind
    monkeypatch.setattr(
        type(op.variants[0]), "bind", lambda *args, **given: (bound.append(args), bind(*args, **given))[1]
    )
    for scale in (1, 2, 3, 4):  # evaluated, planned, repeated
        a, b = gpu.put(scale * y), gpu.put(x)
        d = gpu.put(np.full((4, 3, 2, 3), np.nan, np.float32))
        op.run(a, b, D=d, **steps)
        np.testing.assert_allclose(gpu.get(d), scale * convolve("wgrad", sizes, y, x), rtol=1e-4, atol=1e-4)
    assert len(bound) == 2
    # The same arrays with another padding are another call.
    other = ConvolutionProblem(2, (5, 6), 3, 4, (3, 2), padding=((0, 1), (1, 1)), stride=(2, 1))
    op.run(a, b, D=d, **(steps | {"padding": ((0, 1), (1, 1))}))
    np.testing.assert_allclose(gpu.get(d), 4 * convolve("wgrad", other, y, x), rtol=1e-4, atol=1e-4)
    assert len(bound) == 3
