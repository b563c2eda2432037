"""Loops with `prefetch_stages` in the open pipeline: kernels of several kinds on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_runs import EmulatedKernels

from cutecc.compilation.request import CompileOptions
from cutecc.kernel import Kernel
from cutecc.passes.dumps import DumpChoice
from cutecc.record import Remark

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "prefetched_loops.py"
EXAMPLE = Path(__file__).parents[4] / "docs" / "inputs" / "prefetched_loop.py"
IGNORED = "prefetch_stages is ignored"
AHEAD = ("own counts", "one count", "downwards", "every other", "peeks", "under a condition", "tail")
OF_A_TILE = "loads what a tile says"
"""What it decides cannot be loaded before it."""


DUMPED = CompileOptions(artifacts=("ptx", "host-program"), dumps=DumpChoice(after=("pipeline-tma-loops",)))


@pytest.mark.parametrize("kind", [*AHEAD, OF_A_TILE])
def test_the_loop_becomes_two_and_agrees_with_the_reference(
    emulated: EmulatedKernels, kind: str, tmp_path: Path
) -> None:
    kernel = emulated.compile(KERNELS, "open", entry=f"Sum('{kind}')", options=DUMPED, output=tmp_path)
    if kind in AHEAD:
        assert remarks(kernel) == []
        (module,) = tmp_path.glob("*-pipeline-tma-loops.mlir")
        text = module.read_text()
        assert (text.count("scf.for"), text.count("cp.async.bulk.tensor.shared")) == (2, 2)
    else:
        (remark,) = remarks(kernel)
        assert f"{IGNORED}: what the loads take or stand in has llvm.load in it" in remark.message
        assert "prefetched_loops.py:" in str(remark.location)
    reference = "every_other" if kind == "every other" else "every"
    # Fewer tiles than are asked for ahead, as many as that, and thrice the stages.
    for size in (1, 32, 200):
        emulated.agrees(kernel, KERNELS, reference=reference, sizes={"M": size})


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_any_number_of_stages_below_those_that_there_are(emulated: EmulatedKernels, ahead: int) -> None:
    kernel = emulated.compile(KERNELS, "open", entry=f"Sum('own counts', {ahead})")
    emulated.agrees(kernel, KERNELS, reference="every", sizes={"M": 200})


@pytest.mark.parametrize("ahead", [4, 9])
def test_as_many_stages_as_there_are_would_wait_for_ever(emulated: EmulatedKernels, ahead: int) -> None:
    kernel = emulated.compile(KERNELS, "open", entry=f"Sum('own counts', {ahead})")
    (remark,) = remarks(kernel)
    assert f"prefetch_stages={ahead} is taken for 3: of 4 stages, one is in use" in remark.message
    emulated.agrees(kernel, KERNELS, reference="every", sizes={"M": 200})


def remarks(kernel: Kernel) -> list[Remark]:
    step = kernel.compilation.step("pipeline-tma-loops")
    assert step
    return step.remarks


def test_the_example_becomes_a_cubin(cutecc, tmp_path: Path) -> None:
    cutecc("compile", EXAMPLE, "--pipeline", "open", "--target", "sm_90a", "-o", tmp_path)
    assert (tmp_path / "prefetched_loop.cubin").stat().st_size
    assert (tmp_path / "prefetched_loop.ptx").read_text().count("cp.async.bulk.tensor.2d.shared") == 2
