"""Environments with a version of nvidia-cutlass-dsl, made once and kept beside the cache.

Each has the wheel, what cutecc depends on and the packages that the user asks for; cutecc itself is not installed there
but found by `PYTHONPATH` (`recording`), so that every environment runs the cutecc that asked for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from cutecc.cache.folder import cache_folder, make_folder
from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.ir.version import PACKAGE
from cutecc.record.naming import file_name

_FOLDER = "environments"
_WHOLE = "cutecc-environment.txt"
"""The file that an environment has once everything is installed: what that is."""
_OWN = "cutecc"
_EXTRA = re.compile(r"\bextra\s*==")
_NAME = re.compile(r"[\w.-]+")
_UNREACHABLE = ("Temporary failure", "NewConnectionError", "dns error", "Connection refused", "ConnectTimeout",
                "Network is unreachable", "Name or service not known", "Could not connect", "error sending request",
                "Failed to fetch", "timed out")  # fmt: skip
"""What pip and uv say where there is no network, in their words."""
_NOT_THERE = ("No matching distribution", "no version of", "No solution found")
_SHOWN_LINES = 12


class EnvironmentFailure(Error):
    """An environment that cannot be made."""


def environments_folder(settings: Settings) -> Path:
    """The folder that holds all environments. Raises `CacheError` where there is no home for it."""
    return cache_folder(settings).parent / _FOLDER


def make_environment(
    wheel: str, packages: Sequence[str], settings: Settings, on_install: Callable[[str], None] = lambda text: None
) -> Path:
    """The Python of an environment with nvidia-cutlass-dsl of version `wheel`, such as `4.8.1[cu13]`.

    `packages` are requirements of pip's; `on_install` is told before anything is installed, which takes a minute. An
    environment that is there is used as it is; two processes that want the same one wait for each other. Made by uv
    where it is installed, else by venv and pip. Raises `EnvironmentFailure` when it cannot be made: without a network,
    for a version that does not exist, and for packages that need another one.
    """
    wanted = [_requirement(wheel), *own_requirements(), *packages]
    key = hashlib.sha256("\n".join([sys.version, *wanted]).encode()).hexdigest()[:12]
    folder = environments_folder(settings) / f"{file_name(wheel)}-{key}"
    make_folder(folder.parent)
    python = folder / "bin" / "python"
    with _locked(folder):
        if (folder / _WHOLE).is_file() and python.is_file():
            return python
        shutil.rmtree(folder, ignore_errors=True)
        on_install(f"installing {PACKAGE} {wheel} below {folder.parent}")
        try:
            _install(folder, python, wanted, wheel)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        (folder / _WHOLE).write_text("".join(f"{each}\n" for each in wanted))
    return python


def check_environment(name: str, python: Path) -> None:
    """Raise `UsageError` where `python`, an environment of the user's called `name`, cannot run cutecc."""
    needed = sorted({match[0] for each in (PACKAGE, *own_requirements()) if (match := _NAME.match(each))})
    program = (
        "import importlib.metadata as m, sys\n"
        "known = {(d.metadata['Name'] or '').lower().replace('_', '-') for d in m.distributions()}\n"
        "print(*sys.version_info[:2], sep='.'); print(*[each for each in sys.argv[1:] if each not in known])"
    )
    try:
        process = subprocess.run([str(python), "-c", program, *needed], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise UsageError(f"--env {name}={python} cannot be started: {failure}") from None
    lines = process.stdout.splitlines()
    if process.returncode or not lines:
        raise UsageError(f"--env {name}={python} is no Python", notes=[process.stderr.strip()])
    if missing := lines[1:] and lines[1].split():
        raise UsageError(
            f"--env {name}: the environment lacks {', '.join(missing)}",
            hints=[f"{python} -m pip install {' '.join(missing)}"],
        )


def own_requirements() -> list[str]:
    """What cutecc depends on, as its distributions say, without the wheel and without extras.

    Raises `EnvironmentFailure` where cutecc is not installed as a distribution, which alone says it.
    """
    waiting, known, found = [_OWN], set[str](), list[str]()
    while waiting:
        name = waiting.pop()
        known.add(name)
        try:
            requirements = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            raise EnvironmentFailure(
                "cutecc cannot tell what it depends on: it is not installed", hints=["pip install it, or -e of a clone"]
            ) from None
        for each in requirements:
            match = _NAME.match(each)
            if match is None or _EXTRA.search(each) or match[0] == PACKAGE:
                continue
            if match[0].startswith(_OWN):
                waiting += [match[0]] if match[0] not in known else []
            else:
                found.append(each)
    return sorted(set(found))


def _requirement(wheel: str) -> str:
    version, bracket, flavour = wheel.partition("[")
    return f"{PACKAGE}{bracket}{flavour}=={version}"


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Alone with a folder that may not be there yet, among all processes and threads."""
    with open(folder.with_name(f"{folder.name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(folder: Path, python: Path, wanted: Sequence[str], wheel: str) -> None:
    if uv := shutil.which("uv"):
        commands = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(python), *wanted],
        ]
    else:
        commands = [
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted],
        ]
    # Folders that cutecc was started with are not the new environment's.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    for command in commands:
        try:
            process = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=surroundings
            )
        except OSError as failure:
            raise EnvironmentFailure(f"{command[0]} cannot be started: {failure.strerror}") from None
        if process.returncode:
            raise _failure(wheel, process.stdout + process.stderr)


def _failure(wheel: str, said: str) -> EnvironmentFailure:
    notes = ["\n".join(said.strip().splitlines()[-_SHOWN_LINES:])]
    offline = f"an environment that exists can be named instead: --env '{wheel}=PATH/TO/bin/python'"
    if any(text in said for text in _UNREACHABLE):
        return EnvironmentFailure(
            f"{PACKAGE} {wheel} cannot be installed: the package index cannot be reached", notes=notes, hints=[offline]
        )
    if any(text in said for text in _NOT_THERE) and PACKAGE in said:
        return EnvironmentFailure(
            f"{PACKAGE} {wheel} cannot be installed: there is no such version, or a package does not allow it",
            notes=notes,
            hints=[offline],
        )
    return EnvironmentFailure(f"{PACKAGE} {wheel} cannot be installed", notes=notes, hints=[offline])
