"""Loops with `prefetch_stages` in the open pipeline: kernels of several kinds on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).with_name("kernels") / "prefetched_loops.py"
EXAMPLE = Path(__file__).parents[4] / "docs" / "inputs" / "prefetched_loop.py"
IGNORED = "warning: prefetch_stages is ignored"
AHEAD = ("own counts", "one count", "downwards", "every other", "peeks", "under a condition", "tail")


# Fewer tiles than are asked for ahead, as many as that, and thrice the stages.
@pytest.mark.parametrize("kind", [*AHEAD, "loads what a tile says"])
def test_it_agrees_with_the_reference(cutecc, kind: str) -> None:
    name = "every_other" if kind == "every other" else "every"
    chosen = ("--entry", f"Sum('{kind}')", "--reference", f"{KERNELS}:{name}", "--size", "M=1,32,200")
    ran = cutecc("run", KERNELS, "--device", "cpu", "--pipeline", "open", *chosen)
    results = [line.split() for line in ran.stdout.splitlines() if line.startswith("y ")]
    assert [result[-1] for result in results] == ["ok"] * 3
    assert (IGNORED in ran.stderr) == (kind not in AHEAD)


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_any_number_of_stages_below_those_that_there_are(cutecc, ahead: int) -> None:
    chosen = ("--entry", f"Sum('own counts', {ahead})", "--reference", f"{KERNELS}:every", "--size", "M=200")
    printed = cutecc("run", KERNELS, "--device", "cpu", "--pipeline", "open", *chosen).stdout
    assert printed.splitlines()[-1].split()[-1] == "ok"


@pytest.mark.parametrize("ahead", [4, 9])
def test_as_many_stages_as_there_are_would_wait_for_ever(cutecc, ahead: int) -> None:
    chosen = ("--entry", f"Sum('own counts', {ahead})", "--reference", f"{KERNELS}:every", "--size", "M=200")
    ran = cutecc("run", KERNELS, "--device", "cpu", "--pipeline", "open", *chosen)
    assert ran.stdout.splitlines()[-1].split()[-1] == "ok"
    assert f"warning: prefetch_stages={ahead} is taken for 3: of 4 stages, one is in use" in ran.stderr


@pytest.mark.parametrize("kind", AHEAD)
def test_the_loop_becomes_two(cutecc, kind: str, tmp_path: Path) -> None:
    dumped = ("--dump-after=pipeline-tma-loops", "-o", tmp_path)
    compiled = cutecc("compile", KERNELS, "--pipeline", "open", "--entry", f"Sum('{kind}')", *dumped)
    assert IGNORED not in compiled.stderr
    (module,) = tmp_path.glob("*-pipeline-tma-loops.mlir")
    text = module.read_text()
    assert (text.count("scf.for"), text.count("cp.async.bulk.tensor.shared")) == (2, 2)


def test_what_a_tile_decides_is_not_loaded_before_it(cutecc, tmp_path: Path) -> None:
    chosen = ("--entry", "Sum('loads what a tile says')", "-o", tmp_path)
    compiled = cutecc("compile", KERNELS, "--pipeline", "open", *chosen)
    assert f"{IGNORED}: what the loads take or stand in has llvm.load in it" in compiled.stderr
    assert "prefetched_loops.py:" in compiled.stderr


def test_the_example_becomes_a_cubin(cutecc, tmp_path: Path) -> None:
    cutecc("compile", EXAMPLE, "--pipeline", "open", "--target", "sm_90a", "-o", tmp_path)
    assert (tmp_path / "prefetched_loop.cubin").stat().st_size
    assert (tmp_path / "prefetched_loop.ptx").read_text().count("cp.async.bulk.tensor.2d.shared") == 2
