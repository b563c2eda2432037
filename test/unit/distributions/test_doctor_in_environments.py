"""`cutecc doctor` in environments that lack something."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import wheels
from environments import Environment

pytestmark = pytest.mark.slow


def run_in(environment: Environment, *arguments: str) -> tuple[int, dict[str, Any]]:
    command = [environment.folder / "bin" / "python", "-m", "cutecc", "doctor", "--json", *arguments]
    settings = {**os.environ, "PYTHONPATH": str(wheels.ROOT)}
    done = subprocess.run(command, cwd=environment.folder, env=settings, capture_output=True, text=True, timeout=300)
    assert not done.stderr
    return done.returncode, {each["subject"]: each for each in json.loads(done.stdout)["checks"]}


def test_where_nothing_is_installed_but_what_commands_begin_with(tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "environment", ["click", "msgspec"])
    status, found = run_in(environment)
    assert status == 1
    fixes = {name for name, each in found.items() if each["state"] == "fix"}
    assert {"wheel", "cuda-bindings", "llvmlite", "numpy"} <= fixes
    assert found["wheel"]["found"] == "nvidia-cutlass-dsl is not installed"
    assert "compiling" not in found and "libraries" not in found


def test_a_wheel_whose_libraries_are_not_there(tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "environment", ["click", "msgspec"])
    (site,) = (environment.folder / "lib").glob("python*/site-packages")
    for name, version in {"nvidia-cutlass-dsl": "4.8.1", "nvidia-cutlass-dsl-libs-core": "4.8.1"}.items():
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    status, found = run_in(environment, "--no-trial")
    assert status == 1
    assert found["import"]["found"] == "'import cutlass' finds nothing, though the wheel is installed"
    assert found["libraries"]["found"] == "nvidia-cutlass-dsl-libs-base missing"


def test_the_runtime_alone_needs_no_more(tmp_path: Path) -> None:
    config = wheels.runtime_config(wheels.read_project())["project"]
    needs = [*config["dependencies"], *config["optional-dependencies"]["run"]]
    environment = Environment.create(tmp_path / "environment", needs)
    environment.install("cutecc-runtime[run]")
    done = environment.run("cutecc", "doctor")
    assert done.returncode == 0, done.stdout
    assert "cutecc-runtime alone" in done.stdout
    assert "wheel          not installed, and not needed to launch what is compiled" in done.stdout
    assert "→ pip install 'cutecc-runtime[emulator]', for kernels on the CPU" in done.stdout
    assert "compiling" not in done.stdout
    assert done.stdout.splitlines()[-1] == "all in order"
