"""Timelines of kernels on a GPU: what is recorded hangs together, and results stay what they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from kernels import ROOT
from test_commands import CUTECC, run

import cutecc
from cutecc.compilation.request import CompileOptions, recording_timeline
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments
from cutecc.kernel import Kernel
from cutecc.runtime.workspace import Workspace
from cutecc.timelines.recording import Recorder
from cutecc.timelines.records import timeline_of

GEMM = ROOT / "examples" / "gemm.py"


@pytest.fixture(scope="module", params=["nvidia", "open"])
def recording(request: pytest.FixtureRequest) -> Kernel:
    options = recording_timeline(CompileOptions(pipeline=request.param), "all")
    (kernel,) = cutecc.compile_many([cutecc.Job(str(GEMM), target="sm_90a", options=options)])
    assert isinstance(kernel, Kernel), kernel
    return kernel


def test_who_waits_at_a_barrier_leaves_behind_the_last(recording: Kernel) -> None:
    assert recording.signature is not None
    with Workspace() as gpu, gpu.scope():
        arguments = make_arguments(specs_of(recording.signature), ["c"], sizes={"M": 512, "N": 512, "K": 1024})
        arguments.randomize(0)
        device = DeviceArguments(arguments, gpu)
        device.upload()
        call = recording.prepare(**device.by_name, stream=gpu.stream)
        call()
        found = timeline_of(Recorder(call, gpu).record(), gpu.name)
    assert len(found.blocks) == 16 and found.lost == 0
    barriers = {number for number, site in enumerate(found.sites) if site.barrier == "named barrier 0"}
    for block in found.blocks:
        met = [lane for lane in block.lanes if barriers & {*lane.sites.tolist()}]
        at = [int(np.flatnonzero(np.isin(lane.sites, [*barriers]))[0]) for lane in met]
        last = max(lane.starts[number] for lane, number in zip(met, at, strict=True))
        # Nanoseconds, of which a few are those of reading clocks.
        assert all(lane.ends[number] > last - 20 for lane, number in zip(met, at, strict=True))
        for lane in block.lanes:
            assert (np.diff(lane.ends) >= 0).all() and (lane.starts <= lane.ends).all()


def test_the_command_writes_a_trace_and_what_recording_cost(tmp_path: Path) -> None:
    trace, profile = tmp_path / "gemm.json", tmp_path / "profile.json"
    output = run(
        *(*CUTECC, "profile", GEMM, "--size", "M=N=K=1024", "--timeline", trace, "--blocks", "0-7"),
        *("--json", profile),
    )
    assert "timeline of 8 blocks, 96 warps, " in output and "recording takes " in output
    assert len(json.loads(trace.read_text())["traceEvents"]) > 1000
    (found,) = json.loads(profile.read_text())
    assert found["timeline"]["unit"] == "ns" and found["timeline"]["slowdown"]["plain"] > 0
