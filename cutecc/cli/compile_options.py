"""What a compilation is asked to do, from the values of the command line's options (`cutecc.cli.options`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cutecc.cli.option_texts import split_names
from cutecc.compilation.request import CompileOptions, Edit
from cutecc.errors import UsageError
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.nvidia.options import WheelOptions


def compile_options(values: dict[str, Any]) -> CompileOptions:
    """How to compile, from the values of `compiler_options`."""
    return CompileOptions(
        pipeline=values["pipeline"] or "nvidia",
        edits=edits(values),
        backend=values["backend"],
        wheel=make_wheel_options(values),
    )


def edits(values: dict[str, Any]) -> tuple[Edit, ...]:
    """The edits that `change_options` ask for, in their order."""
    return (
        *(Edit("insert-after", *_pair("--insert-after", text)) for text in values["insert_after"]),
        *(Edit("insert-before", *_pair("--insert-before", text)) for text in values["insert_before"]),
        *(Edit("replace", *_pair("--replace", text)) for text in values["replace"]),
        *(Edit("without", selector) for text in values["without"] for selector in text.split(",")),
    )


def dump_choice(values: dict[str, Any], *, locations: bool) -> DumpChoice:
    """The dumps to write, from the values of `dump_options`; with `locations` these hold locations in any case."""
    return DumpChoice(
        (*split_names(values["dump_after"]), *([values["stop_after"]] if values["stop_after"] else [])),
        split_names(values["dump_before"]),
        values["dump_unchanged"],
        values["dump_locations"] or locations,
    )


def make_wheel_options(values: dict[str, Any]) -> WheelOptions:
    """The wheel's options from the values of `wheel_options`; `UsageError` for a library that is not there."""
    for library in filter(None, values["link_libraries"].split(",")):
        if not Path(library).is_file():
            raise UsageError(f"--link-libraries: there is no file {library}")
    return WheelOptions(
        opt_level=values["opt_level"],
        preserve_line_info=values["preserve_line_info"],
        enable_assertions=values["enable_assertions"],
        fast_math=values["fast_math"],
        ptx_options=values["ptxas_options"],
        nvvm_options=values["nvvm_options"],
        link_libraries=values["link_libraries"],
    )


def _pair(option: str, text: str) -> tuple[str, str]:
    selector, equals, new = text.partition("=")
    if not equals or not selector or not new:
        raise UsageError(f"{option} takes PASS=NEW, not '{text}'")
    return selector.strip(), new.strip()
