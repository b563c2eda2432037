"""Environments that nothing is installed in, and the two wheels to install there.

No index is asked: the packages that a distribution names are links to those of the environment which runs the tests, so
that pip finds what it would have fetched.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import wheels
from packaging.requirements import Requirement

SITE = Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


@functools.cache
def built() -> tuple[Path, Path]:
    """The wheels of cutecc-runtime and of cutecc, in a folder of their own that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="cutecc-wheels-"))
    atexit.register(shutil.rmtree, folder)
    runtime, full = wheels.build(folder)
    return runtime, full


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """The distributions that the requirements need, by name; those of ours are left to the wheels."""
    found: dict[str, Distribution] = {}
    todo = [Requirement(each) for each in requirements]
    while todo:
        requirement = todo.pop()
        extras = ["", *requirement.extras]
        if requirement.name in found or requirement.name == wheels.RUNTIME:
            continue
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        found[requirement.name] = package = distribution(requirement.name)
        for each in map(Requirement, package.requires or []):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                each.marker = None
                todo.append(each)
    return found


def link(site: Path, requirements: Iterable[str]) -> None:
    """Have `site` hold what the requirements need."""
    for package in needed(requirements).values():
        for top in {each.parts[0] for each in package.files or []} - {"..", "__pycache__"}:
            source = Path(str(package.locate_file(top)))
            if source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)


@dataclass(frozen=True)
class Environment:
    """A Python environment in a folder."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, requirements: Iterable[str]) -> Environment:
        """One that has what the requirements need, and neither pip nor anything of ours."""
        venv.create(folder, symlinks=True)
        link(folder / SITE, requirements)
        return cls(folder)

    def pip(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """What the pip of the tests says, about this environment and without an index."""
        return self._run([sys.executable, "-m", "pip", "--python", self.folder / "bin" / "python", *arguments])

    def install(self, *names: str, wheels_in: Path | None = None) -> None:
        """Install distributions of ours by name."""
        links = ("--find-links", wheels_in or built()[0].parent)
        done = self.pip("install", "--quiet", "--no-compile", "--no-index", *links, *names)
        assert done.returncode == 0, done.stdout

    def run(self, command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """What a command of the environment says, standard error among it."""
        return self._run([self.folder / "bin" / command, *arguments])

    def _run(self, line: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            line,
            cwd=self.folder,
            env=clean(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )


def clean() -> dict[str, str]:
    """The variables of the tests without what would lead to the tree, and with none of pip's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "CUTECC_"))}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1", "COLUMNS": "120", "CUTECC_CACHE": "0"}
