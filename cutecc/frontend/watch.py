"""What a trace reads: files, modules and where they were looked for, variables, so that a later run can skip it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any

from cutecc.frontend.installed import OWN, is_installed
from cutecc.frontend.traced import Inputs
from cutecc.frontend.variables import VariableReads

_UNSEEN = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect"})
"""Audit events of a program that asks others: what they answer, no file tells."""
_SYSTEM = ("/dev/", "/proc/", "/sys/")
_watching: Watch | None = None
_hooked = False


class Watch:
    """Watches this process from `with` on; modules imported before count too."""

    def __init__(self, path: str) -> None:
        """`path` is the kernel file."""
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._unseen: list[str] = []
        self._finder = _LastFinder()
        self._variables = VariableReads(path)

    def __enter__(self) -> Watch:
        global _hooked, _watching
        if not _hooked:
            # A hook stays for the life of the process.
            sys.addaudithook(_hook)
            _hooked = True
        sys.meta_path.append(self._finder)
        _watching = self
        self._variables.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _watching
        _watching = None
        self._variables.__exit__()
        sys.meta_path.remove(self._finder)

    def saw(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit event of this process."""
        if event in _UNSEEN:
            self._unseen.append(event)
        elif event == "open":
            path, _, flags = arguments
            if isinstance(path, bytes):
                path = os.fsdecode(path)
            if isinstance(path, str) and isinstance(flags, int):
                opened = self._written if flags & (os.O_WRONLY | os.O_RDWR) else self._read
                opened.add(os.path.abspath(path))

    def _files(self) -> set[str]:
        """The files of others that were read, modules too."""
        opened = {
            path
            for path in self._read - self._written
            if not path.startswith(_SYSTEM) and not path.endswith(".pyc") and not os.path.isdir(path)
        }
        modules = {file for module in list(sys.modules.values()) if (file := _file(module))}
        return {path for path in opened | modules if not is_installed(path) and not path.startswith(OWN)}

    def inputs(self) -> Inputs | None:
        """What was read so far, without Python's and installed packages' files; `None` when that cannot be told."""
        if self._unseen or self._variables.all:
            return None
        paths = self._files()
        folders = [path for path in map(os.path.abspath, sys.path) if not is_installed(path)]
        names = {name.partition(".")[0] for name in list(sys.modules)} | self._finder.missing
        return Inputs(
            files=tuple(sorted(path for path in paths if os.path.exists(path))),
            absent=tuple(sorted(path for path in paths if not os.path.exists(path))),
            folders=tuple(dict.fromkeys(path for path in (*folders, *self._finder.folders) if os.path.isdir(path))),
            names=tuple(sorted(names)),
            variables=tuple(sorted(self._variables.names)),
        )


class _LastFinder:
    """Comes last among Python's finders, so that it sees what the others did not find."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self.folders: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self.missing.add(name.rpartition(".")[2])
        self.folders += [os.path.abspath(folder) for folder in path or () if not is_installed(folder)]
        return None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching is not None and (event == "open" or event in _UNSEEN):
        _watching.saw(event, arguments)


def _file(module: ModuleType | None) -> str | None:
    """The file that a module was read from; the archive, when it is inside of one."""
    archive = getattr(getattr(module, "__loader__", None), "archive", None)
    file = archive if isinstance(archive, str) else getattr(module, "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) else None
