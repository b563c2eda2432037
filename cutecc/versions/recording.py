"""Compiling the kernels of a column, in a process of its environment and sources."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import cutecc
from cutecc.errors import Error, UsageError
from cutecc.record import Compilation
from cutecc.record.folder import folders_of_records, read_folder
from cutecc.record.stages import KEEPING
from cutecc.support.harmless import one_line
from cutecc.versions.checkouts import Tree
from cutecc.versions.columns import Column

_PYTHONS = ("python", "python3")
"""What the interpreter is called in a command, which each column has run with its own."""
_INDEX, _KERNELS = "index.json", "kernels"


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
    """Why there are none."""


def record(column: Column, asked: Asked, tree: Tree, python: Path, folder: Path, *, jobs: int) -> Recorded:
    """Compile in a process of `python`, with `jobs` of its own, into the new folder `folder`.

    Raises `UsageError` for options that `cutecc compile` does not take.
    """
    if asked.program:
        if column.options:
            raise UsageError(f"--across '{column.name}': options are for kernel files, not for a program")
        words = ["watch", "--quiet", "--lines", "--output", str(folder), "--jobs", str(jobs)]
        words += ["--target", asked.targets] if asked.targets else []
        first, *rest = asked.program
        words += ["--", str(python) if first in _PYTHONS else first, *rest]
    else:
        words = ["compile", *tree.kernels, "--quiet", *KEEPING, "--output", str(folder), "--jobs", str(jobs)]
        words += ["--target", asked.targets] if asked.targets else []
        words += [*asked.options, *column.options]
    with tempfile.TemporaryDirectory(prefix="cutecc-") as packages:
        # A link, for the folder that holds cutecc may hold another wheel too.
        (Path(packages) / "cutecc").symlink_to(Path(cutecc.__file__).parent)
        paths = [packages, *map(str, tree.import_folders), os.environ.get("PYTHONPATH", "")]
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        try:
            process = subprocess.run(
                [str(python), "-m", "cutecc", *words],
                cwd=tree.folder,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as failure:
            raise UsageError(f"{python} cannot be started: {failure.strerror}") from None
    if process.returncode == 2 and not asked.program:
        raise UsageError(f"--across '{column.name}': {_said(process.stderr)}")
    try:
        records = _watched(folder) if asked.program else _compiled(folder)
    except (Error, OSError, ValueError, KeyError) as failure:
        return Recorded(failure=f"{failure}\n{_said(process.stderr)}")
    return Recorded(records, None if records else _said(process.stderr) or "it compiles no kernel")


def interpreter(column: Column) -> Path:
    """The interpreter of a column that needs no environment to be made."""
    return column.python or Path(sys.executable)


def _compiled(folder: Path) -> dict[str, Compilation]:
    """By the name of the folder, which `cutecc compile` makes of the file, the function and the target."""
    if not folder.is_dir():
        return {}
    # A single one is written to the folder itself, whose name is the column's.
    return {"" if each == folder else each.name: read_folder(each) for each in folders_of_records(folder, "*")}


def _watched(folder: Path) -> dict[str, Compilation]:
    """By name, target and the order in which the program compiled them."""
    index = json.loads((folder / _INDEX).read_bytes())
    seen, found = Counter[str](), dict[str, Compilation]()
    for each in index["kernels"]:
        if each["record"]:
            name = f"{each['name']}-{each['target']}"
            seen[name] += 1
            found[f"{name}#{seen[name]}"] = read_folder(folder / each["record"])
    return found


def _said(text: str) -> str:
    lines = [one_line(line) for line in text.splitlines() if line.strip()]
    return "\n".join([line for line in lines if line.startswith("error")] or lines[-3:])
