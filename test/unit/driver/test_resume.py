"""Going on from any dump gives the same PTX as the uninterrupted run, with line info off and on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.driver import lower
from cutecc.passes.dumps import DumpChoice, read_stage
from cutecc.passes.nvidia.options import WheelOptions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        *((name, False) for name in ("vector_copy", "control_flow", "tma_copy", "device_print")),
        ("experimental_pipeline", True),
    ],
    ids=lambda value: {False: "plain", True: "line-info"}.get(value, value),
)
def test_every_dump_is_a_place_to_start(traced_kernels, tmp_path: Path, name: str, lines: bool) -> None:
    kernel = traced_kernels[name]
    options = CompileOptions(
        wheel=WheelOptions(preserve_line_info=lines),
        artifacts=("ptx",),
        dumps=DumpChoice(after=("all",), locations=lines),
    )
    whole = lower(CompileRequest(kernel.bytecode, kernel.target, name, options=options, output=tmp_path / "whole"))
    ptx = whole.artifact("ptx")
    assert ptx is not None
    generation = next(step.index for step in whole.steps if step.name == "cuda-to-binary")
    dumped = [step for step in whole.steps if step.dump and step.index < generation]
    assert len(dumped) >= 8
    for step in dumped:
        data = (tmp_path / "whole" / (step.dump or "")).read_bytes()
        stage = read_stage(data.decode())
        assert stage is not None
        rest = replace(options, pipeline=stage.pipeline, start_after=stage.after, dumps=DumpChoice())
        found = lower(CompileRequest(data, kernel.target, name, options=rest))
        assert [s.pass_text for s in found.steps] == [s.pass_text for s in whole.steps[step.index :]]
        assert found.artifact("ptx") == ptx, f"going on after {stage.after}"


def test_after_code_generation_there_is_the_host_side_left(small_kernel, tmp_path: Path) -> None:
    options = CompileOptions(dumps=DumpChoice(after=("cuda-to-binary",)))
    whole = lower(CompileRequest(small_kernel.bytecode, "sm_80", "k", options=options, output=tmp_path / "whole"))
    step = whole.step("cuda-to-binary")
    assert step is not None
    data = (tmp_path / "whole" / (step.dump or "")).read_bytes()
    rest = lower(CompileRequest(data, "sm_80", "k", options=CompileOptions(start_after="cuda-to-binary")))
    assert rest.status == "ok"
    assert rest.artifacts == []
    assert [s.name for s in rest.steps] == [s.name for s in whole.steps[step.index :]]
