"""Which passes there are, by name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TypeVar

from cutecc.errors import UsageError
from cutecc.passes.base import ModulePass

PassClass = TypeVar("PassClass", bound=type[ModulePass])

_registry: dict[str, type[ModulePass]] = {}

# Packages whose every module registers one pass.
_BUILTIN_PACKAGES = ("cutecc.passes.nvidia.standins",)


def register(pass_class: PassClass) -> PassClass:
    """Make a pass known by its name; a decorator for `ModulePass` classes.

    Raises `UsageError` that names both providers when the name is taken.
    """
    other = _registry.get(pass_class.name)
    if other is not None and _qualified(other) != _qualified(pass_class):
        raise UsageError(
            f"two passes are called '{pass_class.name}': {_qualified(other)} and {_qualified(pass_class)}",
            hints=["give one of them another name"],
        )
    _registry[pass_class.name] = pass_class
    return pass_class


def registered_passes() -> dict[str, type[ModulePass]]:
    """All passes written in Python, by name."""
    _load_builtin_passes()
    return dict(sorted(_registry.items()))


def find_pass(name: str) -> type[ModulePass] | None:
    """The Python pass called `name`; `None` when the wheel is the only one who may know it."""
    _load_builtin_passes()
    return _registry.get(name)


@functools.cache
def _load_builtin_passes() -> None:
    for package_name in _BUILTIN_PACKAGES:
        package = importlib.import_module(package_name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package_name}.{module.name}")


def _qualified(pass_class: type[ModulePass]) -> str:
    return f"{pass_class.__module__}.{pass_class.__qualname__}"
