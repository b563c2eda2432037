"""Options of `cutecc profile` that one of its modes has no use for: given there, they are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import click
from click.core import ParameterSource

from cutecc.cli import iket
from cutecc.cli.files import is_record
from cutecc.errors import UsageError

_Mode = Literal["program", "samples", "emulator", "gpu", "iket", "record"]


class _Refused(NamedTuple):
    """What a mode does not take, by parameter."""

    why: str
    names: tuple[str, ...] = ()
    all_but: tuple[str, ...] = ()
    """Where there are no `names`: what it takes alone."""

    def has(self, name: str) -> bool:
        return name in self.names if self.names else name not in self.all_but


_SAMPLING = ("period", "top", "instructions", "roofline")
_REFUSED: dict[_Mode, _Refused] = {
    "program": _Refused(
        "for a kernel, and a program was given", all_but=("period", "top", "instructions", "json_file")
    ),
    "samples": _Refused(
        "of a timeline, and --timeline FILE is not given", ("blocks", "warps", "sites", "launches", "schedule")
    ),
    "emulator": _Refused(
        "for a GPU: the emulator samples nothing, and records one launch with all its sites",
        (*_SAMPLING, "sites", "launches"),
    ),
    "gpu": _Refused("of the emulator, and --device cpu is not given: a GPU has its own order", ("schedule",)),
    "iket": _Refused(
        "not with --timeline iket, which samples nothing and records all blocks of one launch into a folder",
        (*_SAMPLING, "json_file", "blocks", "warps", "launches", "schedule"),
    ),
    "record": _Refused("for Python files, and a record is compiled already", ("entry", "target", "sites", "no_cache")),
}


def refuse_for_program(context: click.Context) -> None:
    """Raise `UsageError` for options that are given and are not for a program."""
    _refuse(context, "program")


def refuse_for_kernel(context: click.Context, input_: str, values: dict[str, Any]) -> None:
    """Raise `UsageError` for options that are given and would be ignored, as the kernel is recorded or sampled."""
    for mode in _modes(input_, values):
        _refuse(context, mode)


def _modes(input_: str, values: dict[str, Any]) -> Iterator[_Mode]:
    """Several at a time: a record may be emulated."""
    if not values["timeline"]:
        yield "samples"
    elif values["timeline"] == iket.NAME:
        yield "iket"
    elif values["device"] == "cpu":
        yield "emulator"
    else:
        yield "gpu"
    if is_record(input_):
        yield "record"


def _refuse(context: click.Context, mode: _Mode) -> None:
    refused = _REFUSED[mode]
    given = [
        each.opts[0]
        for each in context.command.params
        if isinstance(each, click.Option)
        and refused.has(each.name or "")
        and context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(f"{', '.join(given)}: {refused.why}")
