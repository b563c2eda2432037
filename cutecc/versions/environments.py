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

from cutecc.cache.folder import CacheError, environments_folder, make_folder
from cutecc.config import Settings
from cutecc.errors import UsageError
from cutecc.ir.version import PACKAGE
from cutecc.record.naming import file_name
from cutecc.support.distributions import OLDEST_PYTHON

_WHOLE = "cutecc-environment.txt"
"""The file that an environment has once everything is installed: what that is."""
_OWN = "cutecc"
_EXTRA = re.compile(r"\bextra\s*==")
_NAME = re.compile(r"[\w.-]+")
_UNREACHABLE = ("Temporary failure", "NewConnectionError", "dns error", "Connection refused", "ConnectTimeout",
                "Network is unreachable", "Name or service not known", "Could not connect", "error sending request",
                "Failed to fetch", "timed out")  # fmt: skip
"""What pip and uv say where there is no network, in their words."""
_NOT_THERE = (f"No matching distribution found for {PACKAGE}", f"no version of {PACKAGE}")
_NONE = "(from versions: none)"
"""What pip says of a package of which it finds nothing at all: this one does exist."""
_CONFLICT = ("ResolutionImpossible", "conflicting dependencies", "No solution found")
_SHOWN_LINES = 12
_TRY = "WARNING: Retrying"


class EnvironmentFailure(UsageError):
    """An environment that cannot be made."""


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
    try:
        folder = environments_folder(settings) / f"{file_name(wheel)}-{key}"
        make_folder(folder.parent)
    except CacheError as failure:
        raise EnvironmentFailure(failure.message, hints=failure.hints) from None
    python = folder / "bin" / "python"
    with _locked(folder):
        if (folder / _WHOLE).is_file() and python.is_file():
            return python
        shutil.rmtree(folder, ignore_errors=True)
        on_install(f"installing {PACKAGE} {wheel} below {folder.parent}")
        try:
            _install(folder, python, wanted, wheel)
            (folder / _WHOLE).write_text("".join(f"{each}\n" for each in wanted))
        except BaseException as failure:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(failure, OSError):
                raise _unmade(folder, failure) from None
            raise
    return python


def check_environment(name: str, python: Path) -> None:
    """Raise `UsageError` where `python`, an environment of the user's called `name`, cannot run cutecc."""
    if python.is_dir():
        inside = python / "bin" / "python"
        hints = [f"name its Python: --env {name}={inside}"] if inside.is_file() else []
        raise UsageError(f"--env {name}={python} is a folder", hints=hints)
    try:
        process = subprocess.run(
            [str(python), "-c", _LOOK, *_needed()], capture_output=True, text=True, errors="replace", timeout=120
        )
    except OSError as failure:
        raise UsageError(f"--env {name}={python} cannot be started: {failure.strerror}") from None
    except subprocess.TimeoutExpired as failure:
        raise UsageError(f"--env {name}={python} says nothing in {failure.timeout:.0f} s") from None
    lines = process.stdout.splitlines()
    version = re.fullmatch(r"(\d+)\.(\d+)", lines[0]) if lines else None
    if version and (int(version[1]), int(version[2])) < OLDEST_PYTHON:
        raise UsageError(
            f"--env {name}: its Python is {version[0]}, and cutecc needs {'.'.join(map(str, OLDEST_PYTHON))} or newer"
        )
    if process.returncode or not version:
        said = process.stderr.strip()
        raise UsageError(f"--env {name}={python} is no Python", notes=[said] if said else [])
    if missing := lines[1:] and lines[1].split():
        raise UsageError(
            f"--env {name}: the environment lacks {', '.join(missing)}",
            hints=[f"{python} -m pip install {' '.join(missing)}"],
        )


_LOOK = """\
import sys
sys.stdout.write('%d.%d\\n' % sys.version_info[:2]); sys.stdout.flush()
import importlib.metadata as m, re
def plain(name): return re.sub('[-_.]+', '-', name or '').lower()
known = {plain(d.metadata['Name']) for d in m.distributions()}
print(*[each for each in sys.argv[1:] if plain(each) not in known])
"""
"""Says what Python it is, which any can, and which of the named distributions it lacks."""


def _needed() -> list[str]:
    return sorted({match[0] for each in (PACKAGE, *own_requirements()) if (match := _NAME.match(each))})


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
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(folder.with_name(f"{folder.name}.lock"), "w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as failure:
            raise _unmade(folder, failure) from None
        yield


def _unmade(folder: Path, failure: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(f"the environment {folder} cannot be made: {failure.strerror}")


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
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=surroundings
            )
        except OSError as failure:
            raise EnvironmentFailure(f"{command[0]} cannot be started: {failure.strerror}") from None
        if process.returncode:
            raise _failure(wheel, process.stdout + process.stderr)


def _failure(wheel: str, said: str) -> EnvironmentFailure:
    if any(text in said for text in _UNREACHABLE):
        reason = ": the package index cannot be reached"
    elif _NONE in said and any(text in said for text in _NOT_THERE):
        reason = ": the package index cannot be reached, or has none for this Python"
    elif any(text in said for text in _NOT_THERE):
        reason = ": there is no such version for this Python"
    elif any(text in said for text in _CONFLICT):
        reason = ": it and the other packages need other versions of one another"
    else:
        reason = ""
    lines = said.strip().splitlines()
    # Of pip's tries the last one says why.
    last = [not all(each.startswith(_TRY) for each in pair) for pair in zip(lines, [*lines[1:], ""], strict=True)]
    shown = "\n".join([line for line, is_shown in zip(lines, last, strict=True) if is_shown][-_SHOWN_LINES:])
    return EnvironmentFailure(
        f"{PACKAGE} {wheel} cannot be installed{reason}",
        notes=[shown] if shown else [],
        hints=[f"an environment that exists can be named instead: --env '{wheel}=PATH/TO/bin/python'"],
    )
