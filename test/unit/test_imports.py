"""What importing and calling loads; counted in modules, never in time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"cutlass", "numpy", "torch", "click", "rich", "msgspec", "llvmlite", "filelock", "cuda", "hypothesis"}

COMMAND_LINE = """
import sys
from cutecc.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code
"""


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The modules in `sys.modules` after `code` ran in a fresh process."""
    program = f"{code}\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def heavy(names: set[str]) -> set[str]:
    return {name for name in names if name.partition(".")[0] in HEAVY}


def test_importing_cutecc_loads_next_to_nothing() -> None:
    bare = loaded_by("pass")
    loaded = loaded_by("import cutecc")
    assert not heavy(loaded)
    assert {name for name in loaded if name.startswith("cutecc")} == {"cutecc"}
    assert len(loaded - bare) < 60, sorted(loaded - bare)


def test_names_of_the_package_load_when_used() -> None:
    import cutecc

    for name in cutecc.__all__:
        assert getattr(cutecc, name) is not None
    with pytest.raises(AttributeError, match="module 'cutecc' has no attribute 'nothing'"):
        _ = cutecc.nothing  # type: ignore[attr-defined]


def test_everything_public_has_its_home() -> None:
    import cutecc

    assert set(cutecc._HOMES) <= set(cutecc.__all__)


def test_what_loads_later_is_listed() -> None:
    import cutecc

    assert set(cutecc.__all__) <= set(dir(cutecc))
    assert issubclass(cutecc.ArgumentError, cutecc.Error) and issubclass(cutecc.LaunchError, cutecc.Error)


def test_help_loads_no_compiler() -> None:
    loaded = loaded_by(COMMAND_LINE, "--help")
    assert heavy(loaded) == {name for name in loaded if name.partition(".")[0] == "click"}
    assert not {
        name for name in loaded if name.startswith(("cutecc.passes", "cutecc.ir", "cutecc.frontend", "cutecc.driver"))
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["module", "kernel", "opt"])
def test_the_command_lines_own_process_never_loads_the_bindings(kind: str, small_kernel, tmp_path) -> None:
    arguments = {
        "module": ["compile", str(small_kernel.module), "--target=sm_80", "-o", str(tmp_path / "out"), "-q"],
        "kernel": ["compile", str(small_kernel.source), "--stop-after=cse#1", "-o", str(tmp_path / "out"), "-q"],
        "opt": ["opt", str(small_kernel.module), "-o", str(tmp_path / "out.mlir")],
    }[kind]
    loaded = loaded_by(COMMAND_LINE, *arguments)
    assert list(tmp_path.iterdir())
    assert not {name for name in loaded if name.partition(".")[0] == "cutlass"}


@pytest.mark.slow
def test_a_module_is_compiled_without_the_dsl(small_kernel, tmp_path) -> None:
    """The worker's side, in this process's child: the bindings and nothing else of the wheel."""
    code = """
import sys
from pathlib import Path
import cutecc
kernel = cutecc.compile_module(Path(sys.argv[1]).read_bytes(), target="sm_80")
assert kernel.ptx
from cutecc.ir.bindings import dsl_is_imported
assert not dsl_is_imported()
"""
    loaded = loaded_by(code, str(small_kernel.module))
    assert "cutlass._mlir.ir" in loaded
    assert not {name for name in loaded if name.startswith("cutlass.") and not name.startswith("cutlass._mlir")}
    assert not {name for name in loaded if name.partition(".")[0] in ("torch", "rich", "click")}
