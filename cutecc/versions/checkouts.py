"""The files of a git revision, beside the working tree, which stays as it is."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
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
    """The kernel files as a process that starts in `folder` has to name them, with their functions; without those that
    the revision does not have."""
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
    any repository, files of several, an unknown revision, and where it has none of the files.
    """
    here = Path.cwd()
    paths = [Path(split_path(kernel)[0]) for kernel in kernels]
    roots = dict.fromkeys(_root(path) for path in paths or [here])
    if len(roots) > 1:
        raise UsageError(f"git:{revision}: the kernels are of several repositories: {', '.join(map(str, roots))}")
    (root,) = roots
    process = _git(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])
    if process.returncode:
        is_shallow = _git(root, ["rev-parse", "--is-shallow-repository"]).stdout.strip() == "true"
        hints = (
            ["the clone is shallow: git fetch --unshallow; of actions/checkout, fetch-depth: 0"] if is_shallow else []
        )
        raise UsageError(f"git:{revision}: there is no such revision in {root}", hints=hints)
    commit = process.stdout.strip()
    _write_files(root, commit, folder, revision)
    start = folder / here.relative_to(root) if here.is_relative_to(root) else folder
    named: list[str] = []
    for kernel, path in zip(kernels, paths, strict=True):
        inside = folder / path.resolve().relative_to(root)
        if not inside.is_file():
            continue
        function = split_path(kernel)[1]
        named.append(os.path.relpath(inside, start) + (f":{function}" if function else ""))
    if paths and not named:
        raise UsageError(f"git:{revision} has no {', '.join(map(str, paths))}")
    start.mkdir(parents=True, exist_ok=True)
    imports = tuple(place for each in _SOURCE_FOLDERS if (place := (folder / each).resolve()).is_dir())
    return Tree(tuple(named), start, imports, commit)


def _write_files(root: Path, commit: str, folder: Path, revision: str) -> None:
    """Into the new folder `folder`, without a part of the repository that knows of it.

    By an index of its own: an archive would leave out and rewrite what `.gitattributes` has for releases.
    """
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="cutecc-") as place:
        index = {"GIT_INDEX_FILE": os.path.join(place, "index")}
        for words in (["read-tree", commit], ["checkout-index", "--all", "--quiet", f"--prefix={folder}/"]):
            process = _git(root, words, index)
            if process.returncode:
                raise UsageError(f"git:{revision} cannot be checked out of {root}", notes=[process.stderr.strip()])


def _root(path: Path) -> Path:
    folder = path.resolve()
    while not folder.is_dir():
        folder = folder.parent
    process = _git(folder, ["rev-parse", "--show-toplevel"])
    if process.returncode:
        said = process.stderr.strip()
        raise UsageError(
            f"{path} is in no git repository, so that it has no revisions",
            notes=[] if "not a git repository" in said else [said],
        )
    return Path(process.stdout.strip("\n")).resolve()


def _git(
    folder: Path, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(folder), *words]
    try:
        return subprocess.run(
            command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, errors="surrogateescape"
        )
    except OSError as failure:
        raise UsageError(f"git cannot be started: {failure.strerror}") from None
