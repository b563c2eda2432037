"""The source files of the passes of a pipeline: what decides, besides options, about what a Python pass does.

Rows of atoms from outside decide about it as well, where a pass may meet atoms.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from cutecc.passes import registrations
from cutecc.passes.base import Pass
from cutecc.passes.registrations import ATOMS, Definition

_LOWERING = "cutecc.passes.lowering."


def meets_atoms(passes: Iterable[Pass]) -> bool:
    """Whether what one of `passes` does depends on the rows of atoms that there are: of the open lowering, or a plugin.

    Which atoms a module has is known when the passes meet them, so all rows count.
    """
    return any(pass_.definition.__module__.startswith(_LOWERING) or pass_.provider == "plugin" for pass_ in passes)


def source_files(passes: Iterable[Pass]) -> set[Path] | None:
    """The files that define those of `passes`, and rows of atoms for them, that are neither the wheel's nor cutecc's.

    With the modules of the user's, and of the pass's own package, that such a file names at its top level, and so on;
    what a function imports when it runs is not seen. `None` when a pass has no file, when a file has changed since its
    module was first seen here, and for a pass made inside a function, whose variables no file tells.
    """
    passes = tuple(passes)
    modules: dict[str, Path] = {}
    rows = registrations.definitions(ATOMS).values() if meets_atoms(passes) else ()
    kinds: list[Definition] = [*(pass_.definition for pass_ in passes), *rows]
    for kind in kinds:
        if kind.__module__.startswith("cutecc."):
            continue
        if "<locals>" in kind.__qualname__ or _file(sys.modules.get(kind.__module__)) is None:
            return None
        _add(kind.__module__, modules, kind.__module__.partition(".")[0])
    return {*modules.values()} if all(_is_as_loaded(*item) for item in modules.items()) else None


def module_files(names: Iterable[str]) -> set[Path]:
    """The files of these modules that are not cutecc's own, with those that they name, as for passes."""
    modules: dict[str, Path] = {}
    for name in names:
        if not name.startswith("cutecc."):
            _add(name, modules, name.partition(".")[0])
    return {*modules.values()}


def _add(name: str, modules: dict[str, Path], package: str) -> None:
    """Add the module `name` with its file, and those that it refers to."""
    module = sys.modules.get(name)
    file = _file(module)
    if name in modules or module is None or file is None:
        return
    if name.partition(".")[0] != package and _is_installed(file):
        return
    modules[name] = file
    for value in list(vars(module).values()):
        for other in _origins(value):
            if not other.startswith("cutecc."):
                _add(other, modules, package)


_loaded: dict[str, tuple[Any, int, int]] = {}
"""Of each module: its spec, of which a reload makes a new one, and the size and time of its file, when first seen."""


def _is_as_loaded(name: str, file: Path) -> bool:
    """Whether the file still is what the module was made from, as far as this process knows."""
    spec, status = getattr(sys.modules.get(name), "__spec__", None), file.stat()
    now = (spec, status.st_size, status.st_mtime_ns)
    known = _loaded.get(name)
    if known is None or known[0] is not spec:
        _loaded[name] = known = now
    return known[1:] == now[1:]


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
