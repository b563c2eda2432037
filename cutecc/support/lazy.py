"""Packages whose names load what they need when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of `package`, whose names are those of other modules: `homes` has them by module.

    They are listed whether they are loaded or not, as completion wants them.
    """
    import sys

    modules = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        import importlib

        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return load, listed
