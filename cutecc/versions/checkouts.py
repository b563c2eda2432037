"""The files of a git revision, beside the working tree, which stays as it is."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.frontend.kernel_file import split_path

_SOURCE_FOLDERS = (".", "src")
"""Where a repository has packages that its kernels may import."""


@dataclass(frozen=True)
class Tree:
    """Where a column's sources are."""

    kernels: tuple[str, ...]
    """The kernel files as a process that starts in `folder` has to name them, with their functions."""
    folder: Path
    """Where that process starts."""
    import_folders: tuple[Path, ...] = ()
    """What goes before everything that it imports."""
    commit: str | None = None
    """The revision's hash; `None` for the working tree."""


def working_tree(kernels: Sequence[str]) -> Tree:
    """The files as they are."""
    return Tree(tuple(kernels), Path.cwd())


def check_out(revision: str, kernels: Sequence[str], folder: Path) -> Tree:
    """Write the files of `revision` of the repository of the kernels into the new folder `folder`.

    Kernels are named as from the current folder. Submodules are not there. Raises `UsageError` for a file outside of
    any repository, files of several, an unknown revision, and a file that it does not have.
    """
    here = Path.cwd()
    paths = [Path(split_path(kernel)[0]) for kernel in kernels]
    roots = dict.fromkeys(_root(path) for path in paths or [here])
    if len(roots) > 1:
        raise UsageError(f"git:{revision}: the kernels are of several repositories: {', '.join(map(str, roots))}")
    (root,) = roots
    commit = _git(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])
    if not commit:
        raise UsageError(f"git:{revision}: there is no such revision in {root}")
    folder.mkdir(parents=True)
    with subprocess.Popen(["git", "-C", str(root), "archive", commit], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(folder, filter="data")
    start = folder / here.relative_to(root) if here.is_relative_to(root) else folder
    named: list[str] = []
    for kernel, path in zip(kernels, paths, strict=True):
        inside = folder / path.resolve().relative_to(root)
        if not inside.is_file():
            raise UsageError(f"git:{revision} has no {path}")
        function = split_path(kernel)[1]
        named.append(os.path.relpath(inside, start) + (f":{function}" if function else ""))
    start.mkdir(parents=True, exist_ok=True)
    imports = tuple(found for each in _SOURCE_FOLDERS if (found := (folder / each).resolve()).is_dir())
    return Tree(tuple(named), start, imports, commit)


def _root(path: Path) -> Path:
    folder = path.resolve()
    folder = folder if folder.is_dir() else folder.parent
    root = _git(folder, ["rev-parse", "--show-toplevel"])
    if not root:
        raise UsageError(f"{path} is in no git repository, so that it has no revisions")
    return Path(root).resolve()


def _git(folder: Path, words: Sequence[str]) -> str:
    """What git prints; nothing where it fails."""
    try:
        process = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    except OSError as failure:
        raise UsageError(f"git cannot be started: {failure.strerror}") from None
    return process.stdout.strip() if process.returncode == 0 else ""
