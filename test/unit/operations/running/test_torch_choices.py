"""Which operation a call of torch tensors is given."""

from __future__ import annotations

import numpy as np

from cutecc.operations.gemm import Gemm
from cutecc.operations.torch_choices import Choices


class Tensor:
    """What is looked at of one."""

    dtype, shape, device = np.float32, (8, 8), "cpu"

    def stride(self) -> tuple[int, int]:
        return 8, 1

    def data_ptr(self) -> int:
        return 0


def made() -> Gemm:
    return Gemm("f32", "f32", target="sm_80")


def test_what_is_kept_counts_for_calls_made_before() -> None:
    choices = Choices[Gemm]()
    first, loaded = choices.operation([Tensor()], (), made), made()
    assert choices.operation([Tensor()], (), made) is first
    choices.keep(loaded)
    assert choices.operation([Tensor()], (), made) is loaded
