"""Which passes and named pipelines there are, by name."""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cutecc.errors import UsageError
from cutecc.passes.base import ModulePass

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

# Packages whose modules register passes, each in the module of its name, less what all names of a package begin with.
_BUILTIN_PACKAGES = {
    "cutecc.passes.nvidia.reimplementations": "",
    "cutecc.passes.analysis": "check-",
    "cutecc.passes.generation": "",
    "cutecc.passes.lowering": "",
    "cutecc.passes.transforms": "",
}


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
        _load_builtin_passes()
        if _is_wheels(name):
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
    _load_builtin_passes()
    if name in _registry or _is_wheels(name):
        raise UsageError(f"the pipeline {_qualified(build)} is called '{name}', as a pass is", hints=[_RENAME])
    other = _pipelines.get(name)
    _check_free("pipelines", name, build, other.build if other else None)
    _pipelines[name] = NamedPipeline(name, build)
    return build


def registered_passes() -> dict[str, type[ModulePass]]:
    """All passes written in Python, by name, installed plugins' too.

    Raises `UsageError` when one of the user's own has the name of an installed plugin's.
    """
    _load_everything()
    for dispute in _disputes.values():
        if dispute.of_user:
            raise dispute.error()
    return dict(sorted(_registry.items()))


def registered_pipelines() -> dict[str, NamedPipeline]:
    """All named pipelines from outside, by name."""
    _load_everything()
    return dict(sorted(_pipelines.items()))


def registered_names() -> set[str]:
    """The names registered so far."""
    return {*_registry, *_pipelines}


def all_names() -> set[str]:
    """The name of every pass and pipeline there is: cutecc's, the wheel's, plugins'."""
    from cutecc.passes.named import NAMED
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OTHER_REGISTERED

    _load_everything()
    return {*registered_names(), *NAMED, *DESCRIPTIONS, *OTHER_REGISTERED}


def registering_modules() -> set[str]:
    """The modules that define what is registered so far."""
    return {definition.__module__ for definition in _definitions().values()}


def find_pass(name: str) -> type[ModulePass] | None:
    """The Python pass called `name`; `None` when the wheel is the only one who may know it.

    Raises `UsageError` when two plugins have one of that name.
    """
    _load_for(name)
    return _registry.get(name)


def find_pipeline(name: str) -> NamedPipeline | None:
    """The named pipeline from outside called `name`; errors as `find_pass`."""
    _load_for(name)
    return _pipelines.get(name)


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
        each = _registry.get(word) or _pipelines.get(word)
        definition = each.build if isinstance(each, NamedPipeline) else each
        if each is None or definition is None or _is_known_everywhere(definition):
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
class _Dispute:
    """A name that two plugins want."""

    message: str
    of_user: bool
    """One of the two is not an installed plugin's: the user has chosen it."""

    def error(self) -> UsageError:
        return UsageError(self.message, hints=[_RENAME])


_disputes: dict[str, _Dispute] = {}


def _definitions() -> dict[str, type[ModulePass] | Builder]:
    return {**_registry, **{name: each.build for name, each in _pipelines.items()}}


def origin(definition: type[ModulePass] | Builder) -> str:
    """The file (of `--load`) or package that a pass or pipeline comes from."""
    from cutecc.passes.plugins import is_from_file

    if is_from_file(definition.__module__):
        return Path(sys.modules[definition.__module__].__file__ or "").name
    return definition.__module__.partition(".")[0]


def _load_everything() -> None:
    from cutecc.passes.plugins import load_files, load_installed

    _load_builtin_passes()
    load_files()
    load_installed()


def _load_for(name: str) -> None:
    """Load whatever may define `name`."""
    from cutecc.passes.plugins import load_installed

    _load_chosen(name)
    definition = _definitions().get(name)
    if definition is None and not _is_wheels(name):
        _load_everything()
    elif definition is not None and not definition.__module__.startswith("cutecc."):
        # An installed plugin may want the name too.
        load_installed()
    if dispute := _disputes.get(name):
        raise dispute.error()


def _load_chosen(name: str) -> None:
    """Load what may define `name` without a look at installed packages: its own module here, and the user's files."""
    from cutecc.passes.plugins import load_files

    for package, prefix in _BUILTIN_PACKAGES.items():
        if not name.startswith(prefix):
            continue
        module = name.removeprefix(prefix).replace("-", "_")
        if name not in _registry and name.replace("-", "").isalnum() and module in _modules_in(package):
            importlib.import_module(f"{package}.{module}")
    if ":" in name:
        # A composite is named after the passes that it stands for.
        _load_builtin_passes()
    load_files()


@functools.cache
def _load_builtin_passes() -> None:
    for package in _BUILTIN_PACKAGES:
        for module in _modules_in(package):
            importlib.import_module(f"{package}.{module}")


@functools.cache
def _modules_in(package: str) -> tuple[str, ...]:
    """Looked up once: most of a pipeline's names are the wheel's, which no package here has."""
    return tuple(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))


_RENAME = "give one of them another name"


def _check_free(kind: str, name: str, new: type[ModulePass] | Builder, old: type[ModulePass] | Builder | None) -> None:
    from cutecc.passes.plugins import is_loading_installed, is_of_installed

    if old is not None and _qualified(old) != _qualified(new):
        message = f"two {kind} are called '{name}': {_qualified(old)} and {_qualified(new)}"
        if is_loading_installed() and not old.__module__.startswith("cutecc."):
            _disputes[name] = _Dispute(message, of_user=not is_of_installed(old))
        raise UsageError(message, hints=[_RENAME])


def _is_wheels(name: str) -> bool:
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OTHER_REGISTERED

    return name not in _registry and (name in DESCRIPTIONS or name in OTHER_REGISTERED)


def _is_known_everywhere(definition: type[ModulePass] | Builder) -> bool:
    from cutecc.passes.plugins import is_from_file

    return definition.__module__.startswith("cutecc.") or is_from_file(definition.__module__)


def _qualified(definition: type[ModulePass] | Builder) -> str:
    from cutecc.passes.plugins import is_from_file

    if is_from_file(definition.__module__):
        return f"{definition.__qualname__} of {sys.modules[definition.__module__].__file__}"
    return f"{definition.__module__}.{definition.__qualname__}"
