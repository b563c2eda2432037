"""What `run` and `bench` launch: a file compiled for the right target, or the right kernel of a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_cuda import FakeCuda

from cutecc.cli.loading import load_subject
from cutecc.cli.subject import Subject, check_input
from cutecc.compilation.request import CompileOptions
from cutecc.errors import UsageError
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments
from cutecc.runtime.workspace import Workspace

ROOT = Path(__file__).parents[3]
ADD = ROOT / "examples" / "elementwise_add.py"


@pytest.fixture(scope="module")
def added() -> Subject:
    return load_subject(str(ADD), (9, 0), cache=False)


def test_a_portable_file_is_compiled_for_the_gpu(added: Subject) -> None:
    assert (added.name, added.target) == ("elementwise_add", "sm_90a")
    assert str(added.reference) == f"{ADD}:reference"
    assert [peer.name for peer in added.peers] == ["torch_add"]
    assert added.bytes_moved({"M": 10, "N": 4}) == 480
    assert added.operations({"M": 10, "N": 4}) == 40
    assert added.kernel.host_program is not None


def test_the_kernel_takes_what_is_made_for_it(added: Subject) -> None:
    accepts(added)


def accepts(subject: Subject) -> None:
    arguments = make_arguments(subject.specs, subject.workload.outputs)
    with Workspace(driver=FakeCuda()) as workspace:
        on_device = DeviceArguments(arguments, workspace)
        subject.kernel.check(**on_device.by_name, stream=workspace.stream)


def test_a_bundle_has_all_that_a_run_needs_but_the_reference(added: Subject, tmp_path: Path) -> None:
    added.kernel.save(tmp_path / "add.cutecc")
    found = load_subject(str(tmp_path / "add.cutecc"), (9, 0))
    assert (found.name, found.target) == ("elementwise_add", "sm_90a")
    assert found.workload == added.workload
    assert found.reference is None
    accepts(found)


def test_specs_for_a_bundle(added: Subject, tmp_path: Path) -> None:
    bundle = str(tmp_path / "add.cutecc")
    added.kernel.save(bundle)
    found = load_subject(bundle, (9, 0), args=["a=f32[?M, ?N{div=4}] align=64"])
    first, second, _ = make_arguments(found.specs, found.workload.outputs).tensors
    assert (first.offset % 128, second.offset % 32) == (64, 16)
    with pytest.raises(UsageError, match="--arg alpha: the kernel has no such parameter"):
        load_subject(bundle, (9, 0), args=["alpha=f64=1.5"])
    with pytest.raises(UsageError, match="--entry and --target are for Python files"):
        load_subject(bundle, (9, 0), target="sm_90a")
    with pytest.raises(UsageError, match="is compiled already: options of the compiler"):
        load_subject(bundle, (9, 0), options=CompileOptions(pipeline="canonicalize"))


def test_a_file_for_another_architecture() -> None:
    with pytest.raises(UsageError, match="the kernel is for sm_100a, and this GPU is sm_90a") as caught:
        load_subject(str(ROOT / "test" / "kernels" / "tcgen05_gemm.py"), (9, 0))
    assert caught.value.location is not None
    assert caught.value.location.line == 7


def test_a_target_that_the_gpu_does_not_run() -> None:
    with pytest.raises(UsageError, match="--target sm_80: this GPU runs code for one target, sm_90a"):
        load_subject(str(ADD), (9, 0), target="sm_80")


def test_a_module_cannot_be_called() -> None:
    with pytest.raises(UsageError, match="is a module, which does not say how to call it"):
        check_input("kernel.mlir")
