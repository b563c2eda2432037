"""Passes and named pipelines by their names: what may define one is loaded first, and no more than that."""

from __future__ import annotations

from cutecc.passes import plugins, registry
from cutecc.passes.base import Pass
from cutecc.passes.builtin import load_builtin_pass, load_builtin_passes
from cutecc.passes.registry import NamedPipeline


def registered_passes() -> dict[str, type[Pass]]:
    """All passes written in Python, by name, installed plugins' too.

    Raises `UsageError` when one of the user's own has the name of an installed plugin's.
    """
    _load_everything()
    for dispute in registry.disputes().values():
        if dispute.of_user:
            raise dispute.error()
    return registry.passes_so_far()


def registered_pipelines() -> dict[str, NamedPipeline]:
    """All named pipelines from outside, by name."""
    _load_everything()
    return registry.pipelines_so_far()


def all_names() -> set[str]:
    """The name of every pass and pipeline there is: cutecc's, the wheel's, plugins'."""
    from cutecc.passes.named import NAMED
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS, OTHER_REGISTERED

    _load_everything()
    return {*registry.registered_names(), *NAMED, *DESCRIPTIONS, *OTHER_REGISTERED}


def find_pass(name: str) -> type[Pass] | None:
    """The Python pass called `name`; `None` when the wheel is the only one who may know it.

    Raises `UsageError` when two plugins have one of that name.
    """
    found = _found(name)
    return None if isinstance(found, NamedPipeline) else found


def find_pipeline(name: str) -> NamedPipeline | None:
    """The named pipeline from outside called `name`; errors as `find_pass`."""
    found = _found(name)
    return found if isinstance(found, NamedPipeline) else None


def _found(name: str) -> type[Pass] | NamedPipeline | None:
    _load_chosen(name)
    found = registry.registered(name)
    if found is None and not registry.is_wheels(name):
        _load_everything()
    elif found is not None and not registry.definition_of(found).__module__.startswith("cutecc."):
        # An installed plugin may want the name too.
        plugins.load_installed()
    if dispute := registry.disputes().get(name):
        raise dispute.error()
    return registry.registered(name)


def _load_everything() -> None:
    load_builtin_passes()
    plugins.load_files()
    plugins.load_installed()


def _load_chosen(name: str) -> None:
    """Load what may define `name` without a look at installed packages: its own module here, and the user's files."""
    if registry.registered(name) is None:
        load_builtin_pass(name)
    if ":" in name:
        # A composite is named after the passes that it stands for.
        load_builtin_passes()
    plugins.load_files()
