"""Compiling the kernels of a column, in a process of its environment and sources."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import cutecc
from cutecc.errors import Error, UsageError, message_of
from cutecc.frontend.kernel_file import split_path
from cutecc.record import Compilation
from cutecc.record.folder import folders_of_records, read_folder
from cutecc.record.naming import record_stem
from cutecc.record.stages import KEEPING
from cutecc.support.harmless import one_line
from cutecc.support.malformed import MALFORMED
from cutecc.versions.checkouts import Tree
from cutecc.versions.columns import Column

_PYTHONS = ("python", "python3")
"""What the interpreter is called in a command, which each column has run with its own."""
_INDEX = "index.json"
_FAILED, _REFUSED = 1, 2
"""The status of a command with kernels that do not compile, and of one whose request is wrong."""
_ERROR = re.compile(r"(?!note: |hint: )(?:error: )?((?<=error: ).*|[^ ].*?: error: .*)", re.IGNORECASE)
_SHOWN_LINES = 3


@dataclass(frozen=True)
class Asked:
    """What is compiled in every column: kernel files, or all that a program compiles."""

    kernels: tuple[str, ...] = ()
    targets: str | None = None
    """As `--target` has them; without, each kernel file's own, or the program's."""
    options: tuple[str, ...] = ()
    """For `cutecc compile`, before those of the column."""
    program: tuple[str, ...] = ()
    """A command line, recorded as `cutecc watch` does."""


@dataclass(frozen=True)
class Recorded:
    """What came of a column."""

    records: dict[str, Compilation] = field(default_factory=dict[str, Compilation])
    """By a key that the same kernel for the same target has in all columns; also those that failed."""
    failure: str | None = None
    """Why there are none, or some are missing."""


def record(column: Column, asked: Asked, tree: Tree, python: Path, folder: Path, *, jobs: int) -> Recorded:
    """Compile in a process of `python`, with `jobs` of its own, into the new folder `folder`.

    Raises `UsageError` for what `cutecc compile` does not take, and for an interpreter that does not start.
    """
    process = _run(python, _command(column, asked, tree, python, folder, jobs), tree)
    errors, hints = _errors(process.stderr)
    said = "\n".join(errors or _end(process.stderr))
    if process.returncode == _REFUSED and not asked.program:
        raise UsageError(f"--across '{column.name}': {said}" if column.options else said, hints=hints)
    try:
        records, failure = _watched(folder) if asked.program else (_compiled(folder, asked, tree), None)
    except (Error, OSError, *MALFORMED) as damage:
        return Recorded(failure=f"{message_of(damage)}\n{said}".rstrip())
    if process.returncode < 0:
        failure = f"the process ended with {_signal(-process.returncode)}"
    if not records:
        failure = failure or "it compiles no kernel"
    elif process.returncode == _FAILED and len(errors) > sum(each.status != "ok" for each in records.values()):
        # Files that are not there, say, of which nothing is recorded.
        failure = failure or "not all kernels were compiled"
    return Recorded(records, "\n".join(filter(None, [failure, said])) if failure else None)


def _command(column: Column, asked: Asked, tree: Tree, python: Path, folder: Path, jobs: int) -> list[str]:
    target = ["--target", asked.targets] if asked.targets else []
    shared = ["--quiet", "--output", str(folder), "--jobs", str(jobs), *target]
    if not asked.program:
        return ["compile", *shared, *KEEPING, *asked.options, *column.options, "--", *tree.kernels]
    if column.options:
        raise UsageError(f"--across '{column.name}': options are for kernel files, not for a program")
    first, *rest = asked.program
    return ["watch", "--lines", *shared, "--", str(python) if first in _PYTHONS else first, *rest]


def _run(python: Path, words: Sequence[str], tree: Tree) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="cutecc-") as packages:
        # A link, for the folder that holds cutecc may hold another wheel too.
        (Path(packages) / "cutecc").symlink_to(Path(cutecc.__file__).parent)
        paths = [packages, *map(str, tree.import_folders), os.environ.get("PYTHONPATH", "")]
        try:
            return subprocess.run(
                # Modules beside the kernels are not in the place of cutecc's own and Python's.
                [str(python), "-P", "-m", "cutecc", *words],
                cwd=tree.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as failure:
            raise UsageError(f"{python} cannot be started: {failure.strerror}") from None


def interpreter(column: Column) -> Path:
    """The interpreter of a column that needs no environment to be made."""
    return column.python or Path(sys.executable)


def _compiled(folder: Path, asked: Asked, tree: Tree) -> dict[str, Compilation]:
    """By target, and of several files by what `cutecc compile` makes of each one's name, its function and target."""
    found = folders_of_records(folder, "*") if folder.is_dir() else []
    records = {each: read_folder(each) for each in found}
    if len(asked.kernels) == 1:
        return {each.target: each for each in records.values()}
    if len(tree.kernels) > 1:
        return {place.name: each for place, each in records.items()}
    # Of several the revision has only this one, which is called so beside others.
    kernel = next(iter(tree.kernels))
    return {f"{record_stem(*split_path(kernel))}-{each.target}": each for each in records.values()}


class _Kernel(msgspec.Struct):
    name: str
    target: str
    record: str | None


class _Program(msgspec.Struct):
    status: int
    ended: str | None = None


class _Index(msgspec.Struct):
    """What is read of the index of a watch."""

    kernels: list[_Kernel]
    program: _Program


def _watched(folder: Path) -> tuple[dict[str, Compilation], str | None]:
    """By name, target and the order in which the program compiled them; and how it ended, where that was not well."""
    try:
        index = msgspec.json.decode((folder / _INDEX).read_bytes(), type=_Index)
    except FileNotFoundError:
        return {}, None
    seen, found = Counter[str](), dict[str, Compilation]()
    for each in index.kernels:
        if each.record:
            name = f"{each.name}-{each.target}"
            seen[name] += 1
            found[f"{name}#{seen[name]}"] = read_folder(folder / each.record)
    return found, f"the program ended with {index.program.ended}" if index.program.status else None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _errors(text: str) -> tuple[list[str], list[str]]:
    """The errors in what a process printed, and its hints."""
    lines = [one_line(line) for line in text.splitlines()]
    errors = [match[1] for line in lines if (match := _ERROR.match(line))]
    return errors, [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]


def _end(text: str) -> list[str]:
    """The last of what a process printed."""
    return [one_line(line) for line in text.splitlines() if line.strip()][-_SHOWN_LINES:]
