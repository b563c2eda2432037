"""The table of passes and named pipelines that code in Python has made known; `lookup` finds them by name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cutecc.errors import UsageError
from cutecc.passes.base import ModulePass
from cutecc.passes.builtin import load_builtin_passes

if TYPE_CHECKING:
    from cutecc.passes.nvidia.options import WheelOptions
    from cutecc.passes.pipeline import Pipeline
    from cutecc.target import Target

    Builder = Callable[[Target, WheelOptions], Pipeline]

PassClass = TypeVar("PassClass", bound=type[ModulePass])


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline from outside that has a name."""

    name: str
    build: Builder
    """Makes it for a target, with the options that the user chose for the wheel's passes."""

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.build.__doc__ or "").strip().partition("\n")[0] or f"of {self.origin}"

    @property
    def origin(self) -> str:
        """The file or package that it comes from."""
        return origin(self.build)


_registry: dict[str, type[ModulePass]] = {}
_pipelines: dict[str, NamedPipeline] = {}
_loading_installed = False
_installed_modules: set[str] = set()
"""The modules of installed packages that registered something."""


def register(pass_class: PassClass) -> PassClass:
    """Make a pass known by its name; a decorator for `ModulePass` classes.

    Raises `UsageError` for a class that is no pass (`checking`), and one that names both providers when the name is
    taken.
    """
    from cutecc.passes.checking import check_pass
    from cutecc.passes.named import NAMED

    check_pass(pass_class)
    name = pass_class.name
    if name in NAMED or name in _pipelines:
        raise UsageError(f"{_qualified(pass_class)} is called '{name}', as a pipeline is", hints=[_RENAME])
    if pass_class.provider == "plugin":
        load_builtin_passes()
        if is_wheels(name):
            raise UsageError(
                f"two passes are called '{name}': the wheel's and {_qualified(pass_class)}", hints=[_RENAME]
            )
    _check_free("passes", name, pass_class, _registry.get(name))
    _registry[name] = pass_class
    return pass_class


def register_pipeline(name: str, build: Builder) -> Builder:
    """Make a named pipeline known; `build(target, options)` gives it, and its docstring says what it is.

    Raises `UsageError` that names both providers when the name is taken.
    """
    from cutecc.passes.named import NAMED

    if name in NAMED:
        raise UsageError(f"two pipelines are called '{name}': cutecc's and {_qualified(build)}", hints=[_RENAME])
    load_builtin_passes()
    if name in _registry or is_wheels(name):
        raise UsageError(f"the pipeline {_qualified(build)} is called '{name}', as a pass is", hints=[_RENAME])
    other = _pipelines.get(name)
    _check_free("pipelines", name, build, other.build if other else None)
    _pipelines[name] = NamedPipeline(name, build)
    return build


def passes_so_far() -> dict[str, type[ModulePass]]:
    """All passes registered so far, by name."""
    return dict(sorted(_registry.items()))


def pipelines_so_far() -> dict[str, NamedPipeline]:
    """All named pipelines registered so far, by name."""
    return dict(sorted(_pipelines.items()))


def registered(name: str) -> type[ModulePass] | NamedPipeline | None:
    """The pass or named pipeline called `name`, if it is registered so far."""
    return _registry.get(name) or _pipelines.get(name)


def definition_of(found: type[ModulePass] | NamedPipeline) -> type[ModulePass] | Builder:
    """The class or function that was registered."""
    return found.build if isinstance(found, NamedPipeline) else found


def disputes() -> dict[str, Dispute]:
    """Each name that two plugins want."""
    return dict(_disputes)


def registered_names() -> set[str]:
    """The names registered so far."""
    return {*_registry, *_pipelines}


def registering_modules() -> set[str]:
    """The modules that define what is registered so far."""
    return {definition.__module__ for definition in _definitions().values()}


@contextlib.contextmanager
def registering_installed() -> Generator[None]:
    """What is registered inside comes from an installed plugin, not from a file or program of the user's."""
    global _loading_installed
    before = registering_modules()
    _loading_installed = True
    try:
        yield
    finally:
        _loading_installed = False
        _installed_modules.update(registering_modules() - before)


def is_registering_installed() -> bool:
    """Whether what is registered now comes from an installed plugin."""
    return _loading_installed


_FILES = "cutecc_loaded"


def module_of_file(name: str) -> str:
    """The module that a file of `--load` becomes."""
    return f"{_FILES}.{name}"


def is_from_file(module: str) -> bool:
    """Whether a module, by its name, is a file of `--load`."""
    return module.startswith(f"{_FILES}.")


@contextlib.contextmanager
def undone_on_failure() -> Generator[None]:
    """What plugins register inside is forgotten when the block fails, and their modules too: they may come again."""
    before = _definitions()
    try:
        yield
    except BaseException:
        for name, definition in _definitions().items():
            if before.get(name) is not definition and not definition.__module__.startswith("cutecc."):
                _registry.pop(name, None)
                _pipelines.pop(name, None)
                if definition.__module__ != "__main__":
                    sys.modules.pop(definition.__module__, None)
        raise


def for_worker(words: Iterable[str]) -> tuple[type[ModulePass] | NamedPipeline, ...]:
    """Of the passes and pipelines that `words` name, those that this process registered and a worker can import.

    Raises `UsageError` for one that it cannot.
    """
    found: list[type[ModulePass] | NamedPipeline] = []
    for word in dict.fromkeys(words):
        each = registered(word)
        if each is None or _is_known_everywhere(definition := definition_of(each)):
            continue
        if definition.__module__ == "__main__" or "<" in definition.__qualname__:
            raise UsageError(
                f"'{word}' cannot go into a worker process, which cannot import {_qualified(definition)}",
                hints=["define it at the top level of a module of its own", 'or leave out isolation="worker"'],
            )
        found.append(each)
    return tuple(found)


def register_all(those: Iterable[type[ModulePass] | NamedPipeline]) -> None:
    """Register what `for_worker` of another process gave."""
    for each in those:
        if isinstance(each, NamedPipeline):
            register_pipeline(each.name, each.build)
        else:
            register(each)


@dataclass(frozen=True)
class Dispute:
    """A name that two plugins want."""

    message: str
    of_user: bool
    """One of the two is not an installed plugin's: the user has chosen it."""

    def error(self) -> UsageError:
        return UsageError(self.message, hints=[_RENAME])


_disputes: dict[str, Dispute] = {}


def _definitions() -> dict[str, type[ModulePass] | Builder]:
    return {**_registry, **{name: each.build for name, each in _pipelines.items()}}


def origin(definition: type[ModulePass] | Builder) -> str:
    """The file (of `--load`) or package that a pass or pipeline comes from."""
    if is_from_file(definition.__module__):
        return Path(sys.modules[definition.__module__].__file__ or "").name
    return definition.__module__.partition(".")[0]


_RENAME = "give one of them another name"


def _check_free(kind: str, name: str, new: type[ModulePass] | Builder, old: type[ModulePass] | Builder | None) -> None:
    if old is not None and _qualified(old) != _qualified(new):
        message = f"two {kind} are called '{name}': {_qualified(old)} and {_qualified(new)}"
        if _loading_installed and not old.__module__.startswith("cutecc."):
            _disputes[name] = Dispute(message, of_user=old.__module__ not in _installed_modules)
        raise UsageError(message, hints=[_RENAME])


def is_wheels(name: str) -> bool:
    """Whether a name is of a pass that the wheel has and nobody else, so far."""
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OTHER_REGISTERED

    return name not in _registry and (name in DESCRIPTIONS or name in OTHER_REGISTERED)


def _is_known_everywhere(definition: type[ModulePass] | Builder) -> bool:
    return definition.__module__.startswith("cutecc.") or is_from_file(definition.__module__)


def _qualified(definition: type[ModulePass] | Builder) -> str:
    if is_from_file(definition.__module__):
        return f"{definition.__qualname__} of {sys.modules[definition.__module__].__file__}"
    return f"{definition.__module__}.{definition.__qualname__}"
