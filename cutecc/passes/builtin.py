"""Where cutecc's own passes are: each is registered by the module of its name, which is imported when it is needed."""

from __future__ import annotations

import functools
import importlib
import pkgutil

# Packages whose modules register passes, each in the module of its name, less what all names of a package begin with.
_PACKAGES = {
    "cutecc.passes.nvidia.reimplementations": "",
    "cutecc.passes.analysis": "check-",
    "cutecc.passes.analysis.synchronisation": "check-",
    "cutecc.passes.generation": "",
    "cutecc.passes.lowering": "",
    "cutecc.passes.transforms": "",
}


@functools.cache
def load_builtin_passes() -> None:
    """Have all of them registered."""
    for package in _PACKAGES:
        for module in _modules_in(package):
            importlib.import_module(f"{package}.{module}")


def load_builtin_pass(name: str) -> None:
    """Have the one called `name` registered, if there is one."""
    for package, prefix in _PACKAGES.items():
        if not name.startswith(prefix):
            continue
        module = name.removeprefix(prefix).replace("-", "_")
        if name.replace("-", "").isalnum() and module in _modules_in(package):
            importlib.import_module(f"{package}.{module}")


@functools.cache
def _modules_in(package: str) -> tuple[str, ...]:
    """Looked up once: most of a pipeline's names are the wheel's, which no package here has."""
    return tuple(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
