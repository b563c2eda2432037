"""`cutecc.load`: bundles and record folders become kernels, everything else an error that names the file."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import cutecc
from cutecc.errors import RecordError, UsageError
from cutecc.kernel import Kernel, KernelSet
from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.bundle import write_bundle
from cutecc.record.folder import RecordFolder

HEAVY = {"cutlass", "numpy", "torch", "click", "rich", "llvmlite", "filelock", "cuda", "zipfile", "cupy"}


def record(target: str = "sm_80", name: str = "k") -> Compilation:
    compilation = Compilation(name, target, "cse", Versions("0", "3", "4.8.1", "built in"), status="ok")
    for kind in ("cubin", "ptx"):
        compilation.artifacts.append(Artifact(kind, f"k.{kind}"))
        compilation.files[f"k.{kind}"] = f"{kind} for {target}".encode()
    return compilation


def write_folder(path: Path, compilation: Compilation) -> None:
    folder = RecordFolder(path)
    folder.save(compilation)
    folder.close()


def test_a_bundle_for_one_target_is_a_kernel(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record()])
    kernel = cutecc.load(tmp_path / "k.cutecc")
    assert isinstance(kernel, Kernel)
    assert kernel.compilation == record()
    assert kernel.cubin == b"cubin for sm_80"
    assert kernel.ptx == "ptx for sm_80"
    assert cutecc.load(str(tmp_path / "k.cutecc")).compilation == kernel.compilation  # type: ignore[union-attr]


def test_a_bundle_for_several_is_a_set_in_its_order(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record("sm_90a"), record("sm_80")])
    kernels = cutecc.load(tmp_path / "k.cutecc")
    assert isinstance(kernels, KernelSet)
    assert list(kernels) == ["sm_90a", "sm_80"]
    assert kernels["sm_80"].cubin == b"cubin for sm_80"
    write_bundle(tmp_path / "again.cutecc", [each.compilation for each in kernels.values()])
    assert (tmp_path / "again.cutecc").read_bytes() == (tmp_path / "k.cutecc").read_bytes()


def test_a_record_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", record())
    kernel = cutecc.load(tmp_path / "out")
    assert isinstance(kernel, Kernel)
    assert kernel.cubin == b"cubin for sm_80"


def test_a_folder_of_several_targets(tmp_path: Path) -> None:
    for target in ("sm_90a", "sm_80"):
        write_folder(tmp_path / "out" / target, record(target))
    kernels = cutecc.load(tmp_path / "out")
    assert isinstance(kernels, KernelSet)
    assert list(kernels) == ["sm_80", "sm_90a"]
    assert kernels["sm_90a"].ptx == "ptx for sm_90a"


def test_folders_that_are_not_one_kernel(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", record())
    write_folder(tmp_path / "b", record("sm_90a", name="other"))
    with pytest.raises(RecordError, match="holds records of several kernels"):
        cutecc.load(tmp_path)
    write_folder(tmp_path / "b", record())
    with pytest.raises(RecordError, match="holds several records for one target"):
        cutecc.load(tmp_path)


def test_what_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("import cutlass\n")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name in ("kernel.py", "empty", "folder", "missing"):
        with pytest.raises(RecordError, match=name) as caught:
            cutecc.load(tmp_path / name)
        assert str(tmp_path / name) in caught.value.message


@pytest.mark.parametrize(
    ("status", "said"),
    [("failed", "has status failed"), ("running", "is still running"), ("interrupted", "has status interrupted")],
)
def test_a_folder_of_a_run_that_did_not_succeed(status: str, said: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "out", replace(record(), status=status))  # type: ignore[arg-type]
    with pytest.raises(RecordError, match=f"the compilation for sm_80 {said}"):
        cutecc.load(tmp_path / "out")


def test_a_damaged_one_names_the_file(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record()])
    data = (tmp_path / "k.cutecc").read_bytes()
    (tmp_path / "k.cutecc").write_bytes(data[:-10])
    with pytest.raises(RecordError, match=r"k\.cutecc is cut short") as caught:
        cutecc.load(tmp_path / "k.cutecc")
    assert caught.value.hints


def test_loading_needs_neither_the_compiler_nor_anything_heavy(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record("sm_90a"), record("sm_80")])
    code = "import sys, json, cutecc; cutecc.load(sys.argv[1]); print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "k.cutecc"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}
    ours = ("cutecc.ir", "cutecc.passes", "cutecc.driver", "cutecc.frontend", "cutecc.backend")
    assert not [name for name in loaded if name.startswith(ours)]


def test_the_c_header_is_where_include_path_says() -> None:
    assert (cutecc.include_path() / "cutecc_bundle.h").is_file()


@pytest.mark.parametrize("path", [None, 3, b"k.cutecc"])
def test_what_is_no_path(path: object) -> None:
    with pytest.raises(UsageError, match="a bundle or record folder is named by its path, not by "):
        cutecc.load(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("digest", [b"0" * 64, 3, "0"])
def test_what_is_no_digest(digest: object, tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record()])
    with pytest.raises(UsageError, match=r"^sha256=.{1,90} is no digest"):
        cutecc.load(tmp_path / "k.cutecc", sha256=digest)  # type: ignore[arg-type]


def test_a_path_is_shown_harmlessly() -> None:
    with pytest.raises(RecordError) as found:
        cutecc.load("a\0b\x1b[31m\n")
    assert found.value.message == r"cannot read the bundle a\x00b\x1b[31m\n: embedded null byte"
