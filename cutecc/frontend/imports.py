"""Imports of a kernel file, which the next file that is traced in the same process does not see."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from types import ModuleType

from cutecc.frontend.installed import is_installed

_OWN = __name__.partition(".")[0]


@contextlib.contextmanager
def own_imports(path: str) -> Generator[None]:
    """Forget, in the end, the modules that were imported from the folder of the kernel file at `path`.

    Those of another file may have the same names. Installed packages, cutecc and the search path stay as they were.
    """
    folder = os.path.dirname(os.path.abspath(path))
    before, search_path = set(sys.modules), list(sys.path)
    try:
        yield
    finally:
        found = {
            name
            for name, module in list(sys.modules.items())
            if "." not in name and name not in before and name != _OWN and _is_in(module, folder)
        }
        for name in list(sys.modules):
            if name not in before and name.partition(".")[0] in found:
                del sys.modules[name]
        sys.path[:] = search_path


def _is_in(module: ModuleType | None, folder: str) -> bool:
    """Whether `module` is a file of Python, or a package, right in `folder`."""
    file = getattr(module, "__file__", None)
    places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
    if any(place.endswith((".so", ".pyd")) or is_installed(place) for place in places):
        return False
    tops = [os.path.dirname(place) if os.path.basename(place) == "__init__.py" else place for place in places]
    return any(os.path.dirname(os.path.abspath(top)) == folder for top in tops)
