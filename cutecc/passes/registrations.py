"""What code has made known, whatever it is: passes, pipelines, rows of atoms. Whoever loads code asks here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Protocol

Definition = Callable[..., Any]
"""A pass's class, or the function of something else."""


PASSES, ATOMS = "cutecc.passes", "cutecc.atoms"
"""Groups of entry points: those of passes and named pipelines, and those of rows of atoms."""


class Registry(Protocol):
    """Where definitions of one sort are kept."""

    @property
    def group(self) -> str:
        """The entry points of installed packages that lead to such definitions."""
        ...

    def definitions(self) -> Mapping[str, Definition]:
        """All of them, by names that are unique among all sorts."""
        ...

    def forget(self, name: str) -> None:
        """Drop one, if it is there."""
        ...


_registries: list[Registry] = []


def keep(registry: Registry) -> None:
    """Have what `registry` holds count as registered."""
    _registries.append(registry)


def definitions(group: str | None = None) -> dict[str, Definition]:
    """All that is registered so far, or what one group of entry points leads to."""
    return {
        name: each
        for registry in _registries
        if group in (None, registry.group)
        for name, each in registry.definitions().items()
    }


def modules(group: str | None = None) -> set[str]:
    """The modules that have these `definitions`."""
    return {definition.__module__ for definition in definitions(group).values()}


@contextlib.contextmanager
def undone_on_failure() -> Generator[None]:
    """What plugins register inside is forgotten when the block fails, and their modules too: they may come again."""
    before = definitions()
    try:
        yield
    except BaseException:
        for name, definition in definitions().items():
            if before.get(name) is not definition and not definition.__module__.startswith("cutecc."):
                for registry in _registries:
                    registry.forget(name)
                if definition.__module__ != "__main__":
                    sys.modules.pop(definition.__module__, None)
        raise


_installing: set[str] = set()
"""The groups of entry points of which one is being loaded."""
_installed_modules: set[str] = set()
"""The modules of installed packages that registered something."""


@contextlib.contextmanager
def registering_installed(group: str) -> Generator[None]:
    """What is registered inside comes from an installed plugin, not from a file or program of the user's."""
    before = modules()
    _installing.add(group)
    try:
        yield
    finally:
        _installing.remove(group)
        _installed_modules.update(modules() - before)


def is_registering_installed(group: str | None = None) -> bool:
    """Whether what is registered now comes from an installed plugin, by an entry point of `group` or any."""
    return bool(_installing) if group is None else group in _installing


def is_of_installed(definition: Definition) -> bool:
    """Whether something came from an installed plugin, not from a file or program of the user's."""
    return definition.__module__ in _installed_modules


_FILES = "cutecc_loaded"


def module_of_file(name: str) -> str:
    """The module that a file of `--load` becomes."""
    return f"{_FILES}.{name}"


def is_from_file(module: str) -> bool:
    """Whether a module, by its name, is a file of `--load`."""
    return module.startswith(f"{_FILES}.")


def origin(definition: Definition) -> str:
    """The file (of `--load`) or package that something comes from."""
    if is_from_file(definition.__module__):
        return Path(sys.modules[definition.__module__].__file__ or "").name
    return definition.__module__.partition(".")[0]


def qualified(definition: Definition) -> str:
    """The name of something with its module, or file."""
    if is_from_file(definition.__module__):
        return f"{definition.__qualname__} of {sys.modules[definition.__module__].__file__}"
    return f"{definition.__module__}.{definition.__qualname__}"
