"""The table of passes and named pipelines that code in Python has made known; `lookup` finds them by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cutecc.errors import UsageError
from cutecc.passes import registrations
from cutecc.passes.base import Pass
from cutecc.passes.builtin import load_builtin_passes
from cutecc.passes.registrations import Definition, origin, qualified

if TYPE_CHECKING:
    from cutecc.passes.nvidia.options import WheelOptions
    from cutecc.passes.pipeline import Pipeline
    from cutecc.target import Target

    Builder = Callable[[Target, WheelOptions], Pipeline]

PassClass = TypeVar("PassClass", bound=type[Pass])


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline from outside that has a name."""

    name: str
    build: Builder
    """Makes it for a target, with the options that the user chose for the wheel's passes."""

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.definition.__doc__ or "").strip().partition("\n")[0] or f"of {self.origin}"

    @property
    def origin(self) -> str:
        """The file or package that it comes from."""
        return origin(self.definition)

    @property
    def definition(self) -> Definition:
        """The function or class that says what it is."""
        return _defining(self.build)


Registered = type[Pass] | NamedPipeline | Callable[..., None]
"""What goes into a worker: a pass, a pipeline, the function of an atom's row."""

_registry: dict[str, type[Pass]] = {}
_pipelines: dict[str, NamedPipeline] = {}


def register(pass_class: PassClass) -> PassClass:
    """Make a pass known by its name; a decorator for classes of `ModulePass` and `OperationPass`.

    Raises `UsageError` for a class that is no pass (`checking`), and one that names both providers when the name is
    taken.
    """
    from cutecc.passes.checking import check_pass
    from cutecc.passes.named import NAMED

    check_pass(pass_class)
    name = pass_class.name
    if name in NAMED or name in _pipelines:
        raise UsageError(f"{qualified(pass_class)} is called '{name}', as a pipeline is", hints=[_RENAME])
    if pass_class.provider == "plugin":
        load_builtin_passes()
        if is_wheels(name):
            raise UsageError(
                f"two passes are called '{name}': the wheel's and {qualified(pass_class)}", hints=[_RENAME]
            )
    _check_free("passes", name, pass_class, _registry.get(name))
    _registry[name] = pass_class
    return pass_class


def register_pipeline(name: str, build: Builder) -> Builder:
    """Make a named pipeline known; `build(target, options)` gives it, and its docstring says what it is.

    Raises `UsageError` that names both providers when the name is taken.
    """
    from cutecc.passes.named import NAMED

    definition = _defining(build)
    if name in NAMED:
        raise UsageError(f"two pipelines are called '{name}': cutecc's and {qualified(definition)}", hints=[_RENAME])
    load_builtin_passes()
    if name in _registry or is_wheels(name):
        raise UsageError(f"the pipeline {qualified(definition)} is called '{name}', as a pass is", hints=[_RENAME])
    other = _pipelines.get(name)
    _check_free("pipelines", name, definition, other.definition if other else None)
    _pipelines[name] = NamedPipeline(name, build)
    return build


def passes_so_far() -> dict[str, type[Pass]]:
    """All passes registered so far, by name."""
    return dict(sorted(_registry.items()))


def pipelines_so_far() -> dict[str, NamedPipeline]:
    """All named pipelines registered so far, by name."""
    return dict(sorted(_pipelines.items()))


def registered(name: str) -> type[Pass] | NamedPipeline | None:
    """The pass or named pipeline called `name`, if it is registered so far."""
    return _registry.get(name) or _pipelines.get(name)


def definition_of(found: type[Pass] | NamedPipeline) -> Definition:
    """The class or function that was registered."""
    return found.definition if isinstance(found, NamedPipeline) else found


def disputes() -> dict[str, Dispute]:
    """Each name that two plugins want."""
    return dict(_disputes)


def registered_names() -> set[str]:
    """The names registered so far."""
    return {*_registry, *_pipelines}


def for_worker(words: Iterable[str]) -> tuple[Registered, ...]:
    """Of the passes and pipelines that `words` name, those that this process registered and a worker can import.

    With the rows of atoms that it can import, as their functions: which are used, nobody knows yet. Raises `UsageError`
    for a pass or pipeline that it cannot.
    """
    rows = registrations.definitions(registrations.ATOMS).values()
    found: list[Registered] = [row for row in rows if not _is_known_everywhere(row) and not _is_hidden(row)]
    for word in dict.fromkeys(words):
        each = registered(word)
        if each is None or _is_known_everywhere(definition := definition_of(each)):
            continue
        if _is_hidden(definition):
            raise UsageError(
                f"'{word}' cannot go into a worker process, which cannot import {qualified(definition)}",
                hints=["define it at the top level of a module of its own", 'or leave out isolation="worker"'],
            )
        found.append(each)
    return tuple(found)


def register_all(those: Iterable[Registered]) -> None:
    """Register what `for_worker` of another process gave. Rows registered themselves when their module was imported."""
    for each in those:
        if isinstance(each, NamedPipeline):
            register_pipeline(each.name, each.build)
        elif isinstance(each, type):
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


class _Names:
    """The passes and pipelines, as `registrations` has them."""

    group = registrations.PASSES

    def definitions(self) -> dict[str, Definition]:
        return {**_registry, **{name: each.definition for name, each in _pipelines.items()}}

    def forget(self, name: str) -> None:
        _registry.pop(name, None)
        _pipelines.pop(name, None)


registrations.keep(_Names())


_RENAME = "give one of them another name"


def _defining(build: Builder) -> Definition:
    """What defines something that can be called: its function, or the class of an object of another kind."""
    found: Any = build
    while isinstance(found, functools.partial):
        found = cast("functools.partial[Any]", found).func
    return found if hasattr(found, "__qualname__") else cast("type[Any]", type(found))


def _check_free(kind: str, name: str, new: Definition, old: Definition | None) -> None:
    if old is not None and qualified(old) != qualified(new):
        message = f"two {kind} are called '{name}': {qualified(old)} and {qualified(new)}"
        if registrations.is_registering_installed() and not old.__module__.startswith("cutecc."):
            _disputes[name] = Dispute(message, of_user=not registrations.is_of_installed(old))
        raise UsageError(message, hints=[_RENAME])


def is_wheels(name: str) -> bool:
    """Whether a name is of a pass that the wheel has and nobody else, so far."""
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OTHER_REGISTERED

    return name not in _registry and (name in DESCRIPTIONS or name in OTHER_REGISTERED)


def _is_hidden(definition: Definition) -> bool:
    """Whether no other process can import it."""
    return definition.__module__ == "__main__" or "<" in definition.__qualname__


def _is_known_everywhere(definition: Definition) -> bool:
    return definition.__module__.startswith("cutecc.") or registrations.is_from_file(definition.__module__)
