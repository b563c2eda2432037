"""Autotuning of convolutions, with a GPU and a compiler that stand in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from emulated_gpu import Cuda

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.autotuning import autotune
from cutecc.operations.convolution.contest import ConvolutionContest
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv2d
from cutecc.operations.convolution.rules import check_sizes
from cutecc.operations.epilogue.declarations import Row
from cutecc.runtime.timing import Samples
from cutecc.runtime.workspace import Workspace

LAYER = ConvolutionProblem(8, (28, 28), 32, 64, 3, padding=1)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> list[Any]:
    """What is timed; nothing is compiled."""
    monkeypatch.setattr(
        "cutecc.operations.compiling.compile_descriptions", lambda listed, **_: [object() for _ in listed]
    )
    return []


def tune(timed: list[Any], op: Any, **options: Any) -> Any:
    def timer(operations: Sequence[Any], problem: Any) -> list[Samples]:
        timed.append([each.description for each in operations])
        # The narrowest tile is the fastest.
        return [Samples([float(each.description.gemm.tile.threadblock[1])] * 3, "events", 1) for each in operations]

    return autotune(op, timer=timer, device_name="Imaginary", progress=False, **options)


def test_a_convolution_is_tuned_for_its_sizes(timed: list[Any]) -> None:
    op = Conv2d("fprop", "f16", target="sm_80", problem=LAYER)
    found = tune(timed, op)
    first, second = timed
    assert {each.iterator for each in first} == {"optimized", "few_channels"}
    assert len({each.gemm.tile for each in first}) > 3
    assert {each.gemm.tile for each in second} == {found.operation.description.gemm.tile}
    assert type(found.operation) is Conv2d and found.operation.problem == LAYER
    assert found.problem == LAYER.product(op.description)
    # Sizes that are the same rounded up to powers of two have the same winner, others have not.
    again = tune(timed, op, problem=ConvolutionProblem(7, (27, 28), 31, 60, 3, padding=1))
    assert again.is_remembered and again.operation.description == found.operation.description
    assert not tune(timed, op, problem=ConvolutionProblem(8, (28, 28), 32, 64, 1)).is_remembered
    assert not tune(timed, Conv2d("fprop", "bf16", target="sm_80"), problem=LAYER).is_remembered


@pytest.mark.parametrize(
    "sizes",
    [
        ConvolutionProblem(8, (224, 224), 8, 64, 16, stride=16),  # TMA steps over 8 pixels
        ConvolutionProblem(8, (64, 64), 64, 64, (33, 1)),  # more taps than the optimized iterator has
    ],
)
def test_sizes_that_the_default_does_not_serve_are_tuned_by_others(timed: list[Any], sizes: Any) -> None:
    op = Conv2d("fprop", "f16", target="sm_90a")
    found = tune(timed, op, problem=sizes)
    assert timed[0]
    for each in timed[0]:
        check_sizes(each, sizes)
    assert found.operation.problem == sizes


def test_gradients_of_filters_are_tuned_with_k_split(timed: list[Any]) -> None:
    op = Conv2d("wgrad", "tf32", target="sm_80")
    tune(timed, op, problem=LAYER)
    assert {each.gemm.mode for each in timed[0]} & {"split_k_serial", "split_k_parallel"}
    assert {each.gemm.instruction.a for each in timed[0]} == {"tf32"}


def test_what_cannot_be_tuned(timed: list[Any]) -> None:
    op = Conv2d("fprop", "f16", target="sm_80")
    with pytest.raises(UsageError, match="autotune needs the sizes of the convolution"):
        tune(timed, op)
    with pytest.raises(UsageError, match=r"are a ConvolutionProblem, not \(4, 4, 4\)"):
        tune(timed, op, problem=(4, 4, 4))
    with pytest.raises(UsageError, match="a ConvolutionProblem is of a convolution"):
        tune(timed, "f16", problem=LAYER)
    with pytest.raises(ArgumentError, match="2 groups, and the convolution is of a single one"):
        tune(timed, op, problem=ConvolutionProblem(8, (28, 28), 32, 64, 3, groups=2))


@pytest.mark.parametrize(
    ("kind", "dtype"), [("fprop", "f16"), ("dgrad", "f16"), ("wgrad", "f16"), ("fprop", "i8:interleaved32")]
)
def test_all_arguments_are_timed_on_random_data(kind: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def biased(accum: Any, bias: Any, C: Any) -> Any:
        return accum + bias + C

    groups = 1 if kind == "wgrad" or "interleaved" in dtype else 2
    sizes = ConvolutionProblem(2, (9, 8), 32, 64, (3, 2), padding=((1, 0), (1, 1)), stride=2, groups=groups)
    epilogue: dict[str, Any] = {} if kind == "wgrad" else {"epilogue": biased, "operands": {"bias": Row("f32")}}
    op = Conv2d(kind, dtype, c=dtype, d=dtype, target="sm_80", split_k="none", problem=sizes, **epilogue)
    cuda = Cuda()

    def run(op: Any, **arguments: Any) -> None:
        assert (status := op.supports(**arguments)), status
        cuda.work("convolution", 5.0)

    monkeypatch.setattr(Conv2d, "run", run)
    with Workspace(0, cuda) as gpu:
        (found,) = ConvolutionContest(op, None).time([op], gpu)
    assert isinstance(found, Samples), found
