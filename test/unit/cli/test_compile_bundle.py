"""`cutecc compile --bundle` on the real command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cutecc as package
from cutecc.kernel import Kernel, KernelSet
from cutecc.record.assembly import is_tied
from cutecc.record.folder import read_folder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "elementwise_add.py"


def test_a_kernel_for_two_targets(cutecc, tmp_path: Path) -> None:
    done = cutecc("compile", EXAMPLE, "--target=sm_80,sm_90a", "--bundle=add.cutecc")
    folders = [f"cutecc-out/elementwise_add-{target}" for target in ("sm_80", "sm_90a")]
    assert done.stdout.splitlines() == [*folders, "add.cutecc"]
    kernels = package.load(tmp_path / "add.cutecc")
    assert isinstance(kernels, KernelSet)
    assert list(kernels) == ["sm_80", "sm_90a"]
    for folder, kernel in zip(folders, kernels.values(), strict=True):
        stored = read_folder(tmp_path / folder)
        assert kernel.cubin == stored.artifact("cubin")
        assert kernel.ptx.encode() == stored.artifact("ptx")
        assert kernel.compilation.artifact("host-program") == stored.artifact("host-program")
        assert kernel.compilation.artifact("sass") is None
        assert is_tied(kernel.compilation), "the cubin is noted to be of this PTX"
        assert kernel.compilation.signature == stored.signature
        # How to run it, from the file's header.
        workload = kernel.compilation.workload
        assert workload == stored.workload
        assert workload is not None
        assert (workload.outputs, workload.tolerance) == (["c"], 1e-6)
        assert (workload.bytes, workload.flops) == ("3 * M * N * 4", "M * N")


def test_json_and_dumps(cutecc, small_kernel, tmp_path: Path) -> None:
    options = ["--dump-after=cse", "--bundle=k.cutecc", "--bundle-dumps", "--json", "-o", "out"]
    manifest = json.loads(cutecc("compile", small_kernel.module, "--target=sm_80", *options).stdout)
    assert manifest["bundle"] == "k.cutecc"
    kernel = package.load(tmp_path / "k.cutecc")
    assert isinstance(kernel, Kernel)
    stored = read_folder(tmp_path / "out")
    assert kernel.compilation == stored
    assert [step.dump for step in stored.steps if step.dump]
    assert {name: bytes(data) for name, data in kernel.compilation.files.items()} == {
        name: stored.files[name] for name in stored.files if name != "manifest.json"
    }
    assert kernel.compilation.workload is None, "a module has no header"


def test_the_terminal_says_what_was_written(cutecc, small_kernel, tmp_path: Path) -> None:
    (tmp_path / "k.cutecc").touch()
    options = ["-v", "--target=sm_80", "--bundle=k.cutecc", "-o", "out"]
    done = cutecc("compile", small_kernel.module, *options, env={"COLUMNS": "200"})
    assert "wrote k.cutecc: a bundle for sm_80, " in done.stdout
    assert isinstance(package.load(tmp_path / "k.cutecc"), Kernel)


def test_a_target_that_fails_means_no_bundle(cutecc, traced_kernels, tmp_path: Path) -> None:
    """Machine code for wgmma exists on sm_90a alone."""
    kernel = traced_kernels["wgmma_registers"]
    targets = "--target=sm_80,sm_90a"
    done = cutecc("compile", kernel.source, targets, "--bundle=k.cutecc", "-o", "out", status=1)
    assert "error:" in done.stderr
    assert "\nnote: failed for sm_80\n" in done.stderr
    assert done.stderr.endswith("1 of 2 failed\nk.cutecc was not written: it is to hold every target\n")
    assert read_folder(tmp_path / "out" / "sm_90a").status == "ok"
    assert not (tmp_path / "k.cutecc").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bundle=k.cutecc", "--stop-after=cse#1"], "--bundle needs the whole pipeline"),
        (["--bundle-dumps"], "--bundle-dumps says what --bundle FILE holds"),
        (["--bundle=notes.txt"], "the file there is not a bundle"),
        (["--bundle=no/k.cutecc"], "there is no folder no"),
        (["--bundle=."], "cannot write the bundle"),
    ],
)
def test_requests_that_are_refused_before_compiling(cutecc, tmp_path: Path, options: list[str], said: str) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = cutecc("compile", EXAMPLE, "--target=sm_80", *options, status=2)
    assert said in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "cutecc-out").exists()
