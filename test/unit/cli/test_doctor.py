"""`cutecc doctor` itself: its lines, its status and its JSON, here and where something is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from terminals import on_a_terminal

from cutecc.ir.version import installed_version, installed_wheel

LINE = re.compile(r"(ok|note|fix) +([\w-]+)  +(\S.*)")


def lines(text: str) -> dict[str, tuple[str, str]]:
    """By subject, what is said of it; of several lines of one, the last."""
    whole = re.sub(r"\n {8,}", " ", text)
    return {each[2]: (each[1], each[3]) for each in map(LINE.fullmatch, whole.splitlines()) if each}


def test_this_environment_is_in_order(cutecc) -> None:
    done = cutecc("doctor")
    found = lines(done.stdout)
    assert {"python", "cutecc", "wheel", "libraries", "ptxas", "driver", "gpu", "cache", "compiling"} <= found.keys()
    assert found["wheel"][1].startswith(f"nvidia-cutlass-dsl {installed_wheel()}: libNVVM of CUDA ")
    assert found["compiling"] == ("ok", "a kernel compiles, down to machine code")
    assert not [each for each, _ in found.values() if each == "fix"]
    assert done.stdout.splitlines()[-1] == "all in order"
    assert done.stderr == ""


def test_json_has_what_a_bug_report_needs(cutecc, cache_dir: Path) -> None:
    found = json.loads(cutecc("doctor", "--json", "--no-trial").stdout)
    assert {name: type(value) for name, value in found.items()} == {
        **{"version": int, "ok": bool, "cutecc": str, "checks": list, "packages": dict},
    }
    assert (found["version"], found["ok"]) == (1, True)
    assert found["packages"]["nvidia-cutlass-dsl"] == installed_version()
    assert "compiling" not in [each["subject"] for each in found["checks"]]
    for each in found["checks"]:
        assert each.keys() == {"subject", "state", "found", "do"}
        assert each["state"] in ("ok", "note", "fix")
    assert [each for each in found["checks"] if each["subject"] == "variable"]


@pytest.fixture
def mixed(tmp_path: Path) -> dict[str, str]:
    """Variables with which the libraries of another version are installed."""
    info = tmp_path / "site" / "nvidia_cutlass_dsl_libs_cu13-4.5.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cutlass-dsl-libs-cu13\nVersion: 4.5.2\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))}


def test_libraries_of_another_version(cutecc, mixed: dict[str, str]) -> None:
    done = cutecc("doctor", "--no-trial", status=1, env=mixed)
    version = installed_version()
    state, says = lines(done.stdout)["libraries"]
    assert state == "fix" and f"libs-cu13 4.5.2 beside nvidia-cutlass-dsl {version}" in says
    assert f"      → pip install --force-reinstall 'nvidia-cutlass-dsl[cu13]=={version}'\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 thing to fix"


def test_another_module_called_cutlass(tmp_path: Path) -> None:
    """In the folder where Python was started; what PYTHONPATH names comes behind the wheel."""
    (tmp_path / "cutlass.py").touch()
    command = [sys.executable, "-m", "cutecc", "doctor", "--json"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    wrong = {each["subject"]: each["found"] for each in json.loads(done.stdout)["checks"] if each["state"] == "fix"}
    assert wrong["import"] == f"'import cutlass' finds {tmp_path}/cutlass.py, which is not nvidia-cutlass-dsl's"
    assert "the module 'cutlass' here is" in wrong["compiling"]


def test_a_cache_that_is_no_folder(cutecc, tmp_path: Path) -> None:
    (tmp_path / "v1").touch()
    environment = {"CUTECC_CACHE": "1", "CUTECC_CACHE_DIR": str(tmp_path)}
    found = lines(cutecc("doctor", "--no-trial", status=1, env=environment).stdout)
    assert found["cache"] == ("fix", f"the cache {tmp_path}/v1 is not used: it is not a folder")


@pytest.mark.parametrize("columns", [80, 200])
def test_on_a_terminal(command: Path, columns: int, tmp_path: Path) -> None:
    (tmp_path / "v1").touch()
    wrong = {"CUTECC_CACHE": "1", "CUTECC_CACHE_DIR": str(tmp_path), "COLUMNS": str(columns)}
    status, shown = on_a_terminal(command, ["doctor", "--no-trial"], tmp_path, **wrong)
    assert status == 1
    assert re.search(r"\x1b\[31m\x1b\[1mfix +\x1b\[0mcache", shown)
    assert re.search(r"\x1b\[32mok +\x1b\[0mpython", shown)
    plain = re.sub(r"\x1b\[\d+m", "", shown).replace("\r", "").splitlines()
    # Commands stay in one piece, and so does the name of a file.
    assert not [line for line in plain if len(line) > min(columns, 120) and "→" not in line and "/" not in line]
    (says,) = (line for line in plain if line.startswith("fix   cache"))
    assert says.index("the cache") == plain[0].index("3.")
    without = on_a_terminal(command, ["doctor", "--no-trial"], tmp_path, NO_COLOR="1", **wrong)[1]
    assert "\x1b" not in without and "fix   cache" in without
