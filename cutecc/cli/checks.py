"""What `cutecc bisect` and `cutecc reduce` ask of a module, and the module that they ask it of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cutecc.cli.inputs import KernelFile, ModuleFile, choose
from cutecc.cli.options import apply_all, edits, make_wheel_options
from cutecc.cli.stage_choice import read_record
from cutecc.config import Settings
from cutecc.errors import RecordError, UsageError
from cutecc.from_file import trace_apart
from cutecc.passes.named import NAMED
from cutecc.passes.pipeline import Pipeline
from cutecc.record.folder import MANIFEST
from cutecc.record.reproducer import MARK, read_reproducer
from cutecc.record.stages import stages_of
from cutecc.request import CompileOptions
from cutecc.workbench.checks import Check, CommandCheck, FileCheck, checked_pattern
from cutecc.workbench.subjects import Subject

check_options = apply_all(
    click.option("--check", metavar="COMMAND", help="Fails when this ends with a status but 0; {} is the file."),
    click.option("--check-timeout", type=click.FloatRange(0.01), default=60.0, show_default=True, metavar="SECONDS"),
    click.option("--message", metavar="REGEX", help="A failure counts only when it says this."),
    click.option("--filecheck", type=click.Path(path_type=Path), metavar="FILE", help="Fails as FileCheck does."),
    click.option("--check-prefix", "prefixes", multiple=True, metavar="NAME", help="Of --filecheck; CHECK by default."),
)


def text_check(values: dict[str, Any]) -> Check | None:
    """The check on text that the options ask for; `None` for none. Raises `UsageError` for two, and for a wrong one."""
    command, file = values["check"], values["filecheck"]
    if command is not None and file is not None:
        raise UsageError("--check and --filecheck are two checks", hints=["leave one out"])
    if values["prefixes"] and file is None:
        raise UsageError("--check-prefix is for --filecheck", hints=["name the file with the checks"])
    if values["message"] is not None:
        checked_pattern("--message", values["message"])
    if command is not None:
        return CommandCheck.parse(command, values["check_timeout"], values["message"])
    return FileCheck.read(file, values["prefixes"]) if file else None


def find_subject(text: str, values: dict[str, Any]) -> Subject:
    """The module that `text` names: a module, a Python file whose kernel is traced, or the folder of a record.

    What the options leave open, a record says, the first line of a dump, or a reproducer's. Raises `Error`.
    """
    settings = Settings.from_environment()
    if (Path(text) / MANIFEST).is_file():
        return _of_record(Path(text), values)
    chosen = choose(text, values["args"], values["entry"], values["target"], settings)
    if len(chosen.targets) > 1:
        names = ", ".join(each.name for each in chosen.targets)
        raise UsageError(f"one target at a time, not {names}", hints=[f"--target {chosen.targets[0].name}"])
    options = _options(values)
    if isinstance(chosen, KernelFile):
        request = replace(chosen.request, target=chosen.targets[0].name, options=options.trace_options, locations=True)
        traced = trace_apart(request)
        return Subject(
            traced.bytecode,
            chosen.targets[0].name,
            traced.name,
            chosen.source,
            traced.signature,
            chosen.workload,
            traced.lines,
            options,
        )
    return _of_module(chosen, values, options)


def _options(values: dict[str, Any]) -> CompileOptions:
    return CompileOptions(
        pipeline=values["pipeline"] or "nvidia",
        edits=edits(values["insert_after"], values["insert_before"], values["replace"], values["without"]),
        backend=values["backend"],
        wheel=make_wheel_options(values),
    )


def _of_module(chosen: ModuleFile, values: dict[str, Any], options: CompileOptions) -> Subject:
    subject = Subject(chosen.data, chosen.targets[0].name, chosen.name, chosen.source, options=options)
    if values["pipeline"]:
        return subject
    if chosen.data.startswith(MARK.encode()):
        named = read_reproducer(chosen.data.decode(errors="replace")).options.get("pipeline")
        if isinstance(named, str):
            return replace(subject, options=replace(options, pipeline=_pipeline(named)))
    if chosen.stage:
        options = replace(options, pipeline=_pipeline(chosen.stage.pipeline), start_after=chosen.stage.after)
    return replace(subject, options=options)


def _pipeline(text: str) -> str | Pipeline:
    """What a file's first line names or spells; it can name no file to read."""
    return text if text in NAMED else Pipeline.parse(text)


def _of_record(path: Path, values: dict[str, Any]) -> Subject:
    if values["args"] or values["entry"]:
        raise UsageError("--arg and --entry are for Python files", hints=["a record has its types already"])
    record = read_record(path, values["target"])
    stages = stages_of(record)
    if not stages.indices:
        raise RecordError(f"{path} holds no module")
    options = _options(values)
    if not values["pipeline"]:
        options = replace(options, pipeline=Pipeline.parse(record.pipeline))
    elif stages.indices[0]:
        raise UsageError(f"{path} begins behind some passes of its pipeline: --pipeline cannot choose another")
    module = stages.after(stages.indices[0]).text.encode()
    return Subject(
        module,
        record.target,
        record.name,
        str(path),
        record.signature,
        record.workload,
        stages.user_lines,
        options,
    )
