"""`docs/serving.md` is followed in an environment of its own, and its sizes are what the distributions take."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import wheels
from environments import SITE, built, clean, link, needed

sys.path.insert(0, str(wheels.ROOT / "test" / "unit" / "docs"))

from following import BLOCK, commands, matches, printed

PAGE = wheels.ROOT / "docs" / "serving.md"
MOST_OF_THE_RUNTIME = 3_000_000
"""Bytes of ours."""


def run(line: str, folder: Path) -> list[str]:
    """What a command of the page prints. pip asks no index: what is not in `dist` is there already."""
    environment = {
        **clean(),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PIP_NO_INDEX": "1",
    }
    return printed(line, folder, environment)


@pytest.mark.slow
def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    # As in a checkout: Python started here finds the whole of cutecc.
    (tmp_path / "cutecc").symlink_to(wheels.ROOT / "cutecc")
    shutil.copytree(wheels.ROOT / "examples", tmp_path / "examples")
    shutil.copytree(built()[0].parent, tmp_path / "dist")
    config = wheels.runtime_config(wheels.read_project())["project"]
    from_an_index = [*config["dependencies"], *config["optional-dependencies"]["emulator"]]
    folder, followed = tmp_path, 0
    for language, block in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            (folder / "serve.py").write_text(block)
        for command in commands(block) if language == "console" else ():
            if command.line.startswith("cd "):
                folder /= command.line.removeprefix("cd ")
                continue
            output = run(command.line, folder)
            assert matches(command.excerpt, output), f"{command.line}\n" + "\n".join(output)
            if (folder / "server").exists():
                link(folder / "server" / SITE, from_an_index)
            followed += 1
    assert followed > 5
    assert run("server/bin/python -c 'import serve; print(*serve.kernels)'", folder) == ["sm_80 sm_90a"]


def megabytes(requirements: list[str]) -> float:
    """What the packages take that the requirements need, without bytecode."""
    files = (file for package in needed(requirements).values() for file in package.files or [])
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def test_the_sizes_are_those_that_the_page_names() -> None:
    runtime, full = (wheels.installed_bytes(wheel) for wheel in built())
    assert runtime <= MOST_OF_THE_RUNTIME
    project = wheels.read_project()
    config = wheels.runtime_config(project)["project"]
    found = re.findall(r"^\| `(cutecc\S*)` \| ([\d.]+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    shown = {name: (float(ours), float(everything)) for name, ours, everything in found}
    measured = {
        "cutecc-runtime": (runtime, config["dependencies"]),
        "cutecc": (runtime + full, project["project"]["dependencies"]),
        **{
            f"cutecc-runtime[{extra}]": (runtime, [*config["dependencies"], *packages])
            for extra, packages in config["optional-dependencies"].items()
        },
    }
    assert shown.keys() == measured.keys()
    both = tuple(f"{shown[name][1]:.0f}" for name in ("cutecc-runtime", "cutecc"))
    for page in (PAGE, wheels.ROOT / "README.md"):
        assert re.search(r"(\d+) MB\s?[^.]*takes (\d+)", page.read_text()).groups() == both  # pyright: ignore
    for name, (ours, requirements) in measured.items():
        assert shown[name][0] == pytest.approx(ours / 1e6, rel=0.1), name
        # Later versions of packages take more or less.
        assert shown[name][1] == pytest.approx(ours / 1e6 + megabytes(requirements), rel=0.3), name
