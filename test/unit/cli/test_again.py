"""Commands that read stages, of a record that keeps none: its kernel is compiled again, where that runs nothing new."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCALE = """\
from pathlib import Path

import cutlass
from cutlass import cute

Path("ran").touch()


@cute.kernel
def scale_kernel(x: cute.Tensor, factor: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = x[thread] * factor


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Float32):
    scale_kernel(x, factor).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
COMPILE = ("compile", "scale.py", "--arg", "x=f32[32]", "--arg", "factor=f32", "--target", "sm_80,sm_90a", "-o", "out")
AGAIN = (
    "the record of scale holds no stages: compiling scale.py again, as it was; --dump-after=all --line-info keeps them"
)


@pytest.fixture
def record(cutecc: Any, cache_dir: Path, tmp_path: Path) -> Path:
    """A folder with the records of a kernel for two targets, without stages."""
    (tmp_path / "scale.py").write_text(SCALE)
    cutecc(*COMPILE, "-q")
    (tmp_path / "ran").unlink()
    return tmp_path / "out" / "sm_90a"


def refused(cutecc: Any, tmp_path: Path, *arguments: object, status: int = 2, **options: Any) -> list[str]:
    """The lines of an error; the kernel's file is left alone."""
    found = cutecc(*arguments, status=status, **options).stderr.splitlines()
    assert not (tmp_path / "ran").exists()
    return found


def test_each_command_compiles_again_and_says_so(cutecc: Any, record: Path) -> None:
    done = cutecc("explain", "out/sm_90a", "scale.py:12")
    assert done.stderr.splitlines() == [AGAIN]
    assert "FMUL" in done.stdout
    assert "scale.py:12  scale for sm_90a" in done.stdout
    done = cutecc("show", "out", "--target", "sm_80")
    assert done.stderr.splitlines() == [AGAIN]
    assert "traced" in done.stdout
    assert cutecc("diff", "out/sm_90a", "cse#1").stdout.startswith("--- ")
    page = cutecc("report", "out/sm_90a")
    assert (page.stdout, page.stderr.splitlines()) == ("scale-sm_90a.html\n", [AGAIN])
    done = cutecc("check", "out/sm_90a")
    assert "compiling scale.py again, as it was; --report scale.html keeps them" in done.stderr
    assert "checks ran" in done.stdout
    assert cutecc("compare", "out/sm_80", "out/sm_80", "--stage", "cse#1").stdout == ""
    # Code is in the record.
    assert cutecc("show", "out/sm_90a", "--ptx").stderr == ""


def test_a_file_that_has_changed_or_is_gone_is_not_compiled(cutecc: Any, record: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(SCALE.replace("* factor", "+ factor"))
    lines = refused(cutecc, tmp_path, "explain", "out/sm_90a", "scale.py:12")
    assert lines[0].startswith("error: the record of scale holds no stages")
    assert lines[1] == (
        "note: it is not compiled again: scale.py has changed since: line 12 is 'x[thread] = x[thread] + factor', "
        "and was 'x[thread] = x[thread] * factor'"
    )
    assert lines[2] == (
        "hint: compile it so that the record has them: cutecc compile scale.py --arg 'x=f32[32]' --arg factor=f32 "
        "--target sm_80,sm_90a -o out -q --dump-after=all --line-info"
    )
    # A page shows what there is.
    assert "scale.py has changed since" in "\n".join(refused(cutecc, tmp_path, "report", "out/sm_90a", status=0))
    (tmp_path / "scale.py").unlink()
    assert "note: it is not compiled again: scale.py is gone" in refused(cutecc, tmp_path, "show", "out/sm_90a")


def test_what_this_user_has_not_run_here_is_not_run(cutecc: Any, record: Path, tmp_path: Path) -> None:
    unknown = "note: it is not compiled again: nobody knows that you compiled {} so, in this folder"
    # Somebody else's record, with a file beside it.
    other = {"CUTECC_CACHE_DIR": str(tmp_path / "other-cache")}
    assert unknown.format("scale.py") in refused(cutecc, tmp_path, "show", "out/sm_90a", env=other)
    # A manifest that names another file, and one that names another program for a file that was compiled.
    manifest = json.loads((record / "manifest.json").read_text())
    (tmp_path / "evil.py").write_text(SCALE)
    evil = [word.replace("scale.py", "evil.py") for word in manifest["command"]]
    for changed, name, more in (
        ({"source": "evil.py", "command": evil}, "evil.py", ""),
        ({"source": "evil.py"}, "evil.py", ""),
        ({"command": [*manifest["command"], "--load", "evil.py"]}, "scale.py", ", with evil.py as now"),
    ):
        (record / "manifest.json").write_text(json.dumps({**manifest, **changed}))
        assert f"{unknown.format(name)}{more}" in refused(cutecc, tmp_path, "show", "out/sm_90a")
    # The same in a folder that has come from elsewhere.
    (record / "manifest.json").write_text(json.dumps(manifest))
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / "out", elsewhere / "out")
    shutil.copy(tmp_path / "scale.py", elsewhere)
    done = cutecc("show", "elsewhere/out/sm_90a", env={"CUTECC_CACHE_DIR": str(tmp_path / "other-cache")}, status=2)
    assert unknown.format("scale.py") in done.stderr.splitlines()


def test_a_bundle_is_not_compiled_again(cutecc: Any, record: Path, tmp_path: Path) -> None:
    cutecc(*COMPILE, "--bundle", "scale.cutecc", "-q")
    (tmp_path / "ran").unlink(missing_ok=True)
    lines = refused(cutecc, tmp_path, "show", "scale.cutecc", "--target", "sm_80")
    assert lines[1:] == [
        "hint: compile it so that the record has them: cutecc compile scale.py --arg 'x=f32[32]' --arg factor=f32 "
        "--target sm_80,sm_90a -o out --bundle scale.cutecc -q --dump-after=all --line-info --bundle-dumps"
    ]
    # Which works.
    cutecc(*COMPILE, "--bundle", "scale.cutecc", "-q", "--dump-after=all", "--line-info", "--bundle-dumps")
    assert cutecc("show", "scale.cutecc", "--target", "sm_80").stderr == ""


PASSES = """\
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from cutecc.passes import ModulePass, register

Path("{}").touch()


@register
@dataclass(frozen=True)
class Nothing(ModulePass):
    \"\"\"Changes nothing.\"\"\"

    name: ClassVar[str] = "nothing-of-mine"

    def run(self, module):
        pass
"""


def test_a_file_of_passes_that_has_changed_is_not_run(cutecc: Any, cache_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "passes.py").write_text(PASSES.format("first"))
    cutecc(*COMPILE, "--load", "passes.py", "-q")
    (tmp_path / "ran").unlink()
    (tmp_path / "passes.py").write_text(PASSES.format("second"))
    lines = refused(cutecc, tmp_path, "show", "out/sm_90a")
    assert not (tmp_path / "second").exists()
    assert lines[1] == (
        "note: it is not compiled again: nobody knows that you compiled scale.py so, in this folder, with passes.py as "
        "now"
    )
    (tmp_path / "passes.py").write_text(PASSES.format("first"))
    assert "compiling scale.py again" in cutecc("show", "out/sm_90a").stderr
