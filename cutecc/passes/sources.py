"""The source files of the passes of a pipeline: what decides, besides options, about what a Python pass does."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from cutecc.passes.base import ModulePass


def source_files(passes: Iterable[ModulePass]) -> set[Path] | None:
    """The files that define those of `passes` that are neither the wheel's nor cutecc's own.

    With the modules of the user's, and of the pass's own package, that such a file names at its top level, and so on;
    what a function imports when it runs is not seen. `None` when a pass has no file, or was made inside a function,
    whose variables no file tells.
    """
    files: set[Path] = set()
    for pass_ in passes:
        kind = type(pass_)
        if kind.__module__.startswith("cutecc."):
            continue
        if "<locals>" in kind.__qualname__ or _file(sys.modules.get(kind.__module__)) is None:
            return None
        _add(kind.__module__, files, set(), kind.__module__.partition(".")[0])
    return files


def _add(name: str, files: set[Path], seen: set[str], package: str) -> None:
    """Add the file of the module `name`, and of those that it refers to."""
    module = sys.modules.get(name)
    file = _file(module)
    if name in seen or module is None or file is None:
        return
    seen.add(name)
    if name.partition(".")[0] != package and _is_installed(file):
        return
    files.add(file)
    for value in list(vars(module).values()):
        for other in _origins(value):
            if not other.startswith("cutecc."):
                _add(other, files, seen, package)


def _origins(value: Any) -> Iterable[str]:
    if isinstance(value, ModuleType):
        return (value.__name__,)
    if inspect.isclass(value):
        return tuple(base.__module__ for base in value.__mro__)
    return (value.__module__,) if inspect.isfunction(value) else ()


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) and Path(file).is_file() else None


def _is_installed(file: Path) -> bool:
    """Whether a file belongs to Python or to an installed package, whose version says enough."""
    return any(part in ("site-packages", "dist-packages") for part in file.parts) or file.is_relative_to(_LIBRARY)


_LIBRARY = Path(inspect.__file__).parent
