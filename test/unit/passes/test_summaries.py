"""Every pass of the named pipelines says in one sentence what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass, Pass, PassWrapper
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.summaries import summary_of
from cutecc.passes.wheel import WheelPass

OPTIONS = WheelOptions(preserve_line_info=True)
PIPELINES = [
    pipeline(target, OPTIONS, lir=lir, pyir=lir)
    for pipeline in (nvidia_pipeline, open_pipeline)
    for target in ("sm_80", "sm_90a", "sm_100a")
    for lir in (False, True)
]


@pytest.mark.parametrize("pass_", {each.name: each for pipeline in PIPELINES for each in pipeline}.values(), ids=str)
def test_every_pass_says_what_it_does(pass_: Pass) -> None:
    summary = summary_of(pass_)
    assert 10 <= len(summary) <= 120, summary
    assert "\n" not in summary
    # One sentence, not two; `e.g.` and the like are none of ours.
    assert ". " not in summary


@dataclass(frozen=True)
class _Shown(ModulePass):
    """Does nothing.

    More about it.
    """

    name: ClassVar[str] = "shown"

    def run(self, module: ir.Module) -> None:
        pass


@dataclass(frozen=True)
class _Wrapped(PassWrapper):
    def run_in(self, module: ir.Module) -> None:
        self.pass_.run_in(module)


def test_a_wrapper_does_what_its_pass_does() -> None:
    assert summary_of(_Shown()) == summary_of(_Wrapped(_Shown())) == "Does nothing."
    cse = WheelPass(name="cse")
    assert (
        summary_of(cse)
        == summary_of(_Wrapped(cse))
        == "computes equal operations once (common subexpression elimination)"
    )


def test_of_a_pass_that_nobody_knows_nothing_is_said() -> None:
    assert summary_of(WheelPass(name="of-a-later-wheel")) == ""
