"""Command lines that the user is told to run."""

from __future__ import annotations

import shlex
from typing import Any

import click

_OF_OUTPUT = ("quiet", "as_json", "no_cache")
"""Options that change nothing of what is found."""


def command_line(command: click.Command, context: click.Context, input_: str | None, changed: dict[str, Any]) -> str:
    """The command line of another `command` for what `context` runs, or `input_`: the given options that it has too.

    `changed` options, by parameter, come last; those that are `None` are left out.
    """
    from click.core import ParameterSource

    from cutecc.cli.options import LOADED

    options = {each.name: each for each in command.params if isinstance(each, click.Option)}
    words = ["cutecc", command.name or "", input_ or context.params["input_"]]
    for name, option in options.items():
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in changed and name not in _OF_OUTPUT:
            words += _words(option, context.meta[LOADED] if name == "load" else context.params[name])
    for name, value in changed.items():
        words += [] if value is None else _words(options[name], value)
    return shlex.join(words)


def _words(option: click.Option, value: Any) -> list[str]:
    if option.is_flag:
        return [option.opts[0]] if value else []
    return [word for each in (value if option.multiple else [value]) for word in (option.opts[0], str(each))]
