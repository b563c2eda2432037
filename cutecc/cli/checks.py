"""What `cutecc bisect` and `cutecc reduce` ask of a module, and the module that they ask it of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cutecc.cli.again import with_stages
from cutecc.cli.compile_options import compile_options
from cutecc.cli.device import chosen_device
from cutecc.cli.files import read_input
from cutecc.cli.inputs import ModuleFile, choose
from cutecc.cli.options import apply_all, backend_option, load_option, take_options, wheel_options
from cutecc.cli.records import read_record
from cutecc.compilation.from_file import trace_apart
from cutecc.compilation.request import CompileOptions
from cutecc.config import Settings
from cutecc.errors import RecordError, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.harness.sizes import parse_sizes
from cutecc.passes.base import Pass
from cutecc.passes.named import NAMED
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.record import ArtifactKind, Compilation, Signature
from cutecc.record.folder import MANIFEST
from cutecc.record.reproducer import MARK, read_reproducer
from cutecc.record.stages import stages_of
from cutecc.target import Target
from cutecc.workbench.checks import Check, CommandCheck, checked_pattern
from cutecc.workbench.file_checks import FileCheck
from cutecc.workbench.reproduction import subject_of
from cutecc.workbench.subjects import Subject

CODE_ARTIFACTS: dict[str, ArtifactKind] = {"llvm": "llvm-ir", "ptx": "ptx", "sass": "sass"}
"""What `--emit` asks for."""

check_options = apply_all(
    click.option("--check", metavar="COMMAND", help="Fails when this ends with a status but 0; {} is the file."),
    click.option("--check-timeout", type=click.FloatRange(0.01), default=60.0, show_default=True, metavar="SECONDS"),
    click.option("--message", metavar="REGEX", help="A failure counts only when it says this."),
    click.option("--filecheck", type=click.Path(path_type=Path), metavar="FILE", help="Fails as FileCheck does."),
    click.option("--check-prefix", "prefixes", multiple=True, metavar="NAME", help="Of --filecheck; CHECK by default."),
    click.option("--emit", type=click.Choice([*CODE_ARTIFACTS]), help="Ask --check or --filecheck of the code."),
    click.option("--ptx", is_flag=True, help="Fails when the PTX is not the same as through --against."),
    click.option("--results", is_flag=True, help="Fails when the kernel does not write the same as through --against."),
    click.option("--size", "sizes", multiple=True, metavar="NAME=N,…", help="For --results, named sizes: M=33,N=132."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For --results, of the inputs."),
    click.option("--device", metavar="NAME", help="For --results: cuda:0, or cpu, the emulator."),
)

subject_options = apply_all(
    click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'."),
    click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'."),
    click.option("--target", metavar="NAME", help="The target to compile for."),
    load_option,
    wheel_options,
    backend_option,
)
"""What to look at, and how it is compiled."""


def checked(values: dict[str, Any]) -> Check | None:
    """The check on text, if there is one. Raises `UsageError` for options that do not go together."""
    check = _text_check(values)
    given = [name for name in ("--ptx", "--results") if values[name.removeprefix("--")]]
    if check is not None:
        given.insert(0, "--check" if values["check"] is not None else "--filecheck")
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two checks", hints=["leave one out"])
    if values["emit"] and check is None:
        raise UsageError("--emit says what --check or --filecheck is asked of", hints=["name a check"])
    named = _named()
    if not values["results"] and (launching := named & {"--size", "--seed", "--device"}):
        raise UsageError(f"{min(launching)} is for --results", hints=["nothing is launched without it"])
    if values["check"] is None and "--check-timeout" in named:
        raise UsageError("--check-timeout is for --check", hints=["name the command"])
    if values["check"] is None and given and "--message" in named:
        raise UsageError(f"--message is not for {given[0]}", hints=["it is looked for in what --check prints"])
    return check


def _named() -> set[str]:
    """The options on the command line, by their first names."""
    context = click.get_current_context()
    return {
        each.opts[0]
        for each in context.command.params
        if context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
    }


def device_for_results(values: dict[str, Any]) -> str:
    """The device to compare results on, `cpu` or a GPU's name; said where the user has named none and there is no GPU.

    Raises `UsageError` for one that there is not.
    """
    with chosen_device(values["device"], quiet=values["quiet"] or values["as_json"], err=True) as device:
        return "cpu" if device.kind == "cpu" else values["device"] or "cuda:0"


def callable_with(subject: Subject, sizes: dict[str, int]) -> tuple[Signature, str | None]:
    """The subject's signature with a value for everything beside `sizes`, and in words what was chosen of it.

    Raises `UsageError` for a module that cannot be launched, before anything is compiled.
    """
    from cutecc.harness.arguments import specs_of
    from cutecc.harness.choosing import choose_values, valued_signature

    if subject.signature is None:
        raise UsageError(
            f"--results: {subject.source} does not say what arguments the kernel takes",
            hints=["name the Python file, or the folder of its record"],
        )
    chosen = choose_values(specs_of(subject.signature), sizes)
    return valued_signature(subject.signature, chosen.specs), chosen.text


def one_point(values: dict[str, Any]) -> dict[str, int]:
    """The sizes to launch with. Raises `UsageError` for a sweep."""
    points: list[dict[str, int]] = parse_sizes(values["sizes"]) if values["sizes"] else [{}]
    if len(points) > 1:
        raise UsageError("--size names one point", hints=["take one after the other"])
    return points[0]


def other_subject(subject: Subject, against: str | None) -> Subject:
    """The same module through the pipeline to compare with.

    Raises `UsageError` where that is the same, and where it does not begin with the passes that the module has behind
    it.
    """
    options = subject.options
    other = replace(options, pipeline=against or "nvidia", edits=())
    if other == options:
        raise UsageError(
            f"--pipeline and --against are both {other.pipeline}: no pass can make a difference",
            hints=["edit the pipeline (--insert-after, --without, …), or name two"],
        )
    if options.start_after and _behind(subject.target, options) != _behind(subject.target, other):
        raise UsageError(
            f"the module has the passes up to {options.start_after} behind it, "
            f"with which {other.pipeline} does not begin",
            hints=["--against a pipeline that does, or bisect the module that was traced"],
        )
    return replace(subject, options=other)


def _behind(target: str, options: CompileOptions) -> tuple[Pass, ...]:
    """The passes up to the one that a run starts after; none where the pipeline has no such pass."""
    whole = options.pipeline
    if not isinstance(whole, Pipeline):
        whole = choose_pipeline(whole, Target.parse(target), options.wheel)
    if options.start_after not in whole.selectors():
        return ()
    return whole.passes[: whole.positions(options.start_after)[0] + 1]


def _text_check(values: dict[str, Any]) -> Check | None:
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
    if text.endswith(".mlir") and not values["pipeline"]:
        data = read_input(Path(text))
        if data.startswith(MARK.encode()):
            _check_left_to_header()
            return subject_of(read_reproducer(data.decode(errors="replace")), data, text)
    chosen = choose(text, values["args"], values["entry"], values["target"], settings)
    if len(chosen.targets) > 1:
        names = ", ".join(each.name for each in chosen.targets)
        raise UsageError(f"one target at a time, not {names}", hints=[f"--target {chosen.targets[0].name}"])
    if isinstance(chosen, ModuleFile):
        return _of_module(chosen, values)
    options = compile_options(values)
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


_OF_HEADER = {
    *("--target", "--backend", "--arg", "--entry", "--insert-after", "--insert-before", "--replace", "--without"),
    *("--opt-level", "--line-info", "--enable-assertions", "--fast-math", "--ptxas-options", "--nvvm-options"),
    "--link-libraries",
}
"""What decides how a module is compiled."""


def _check_left_to_header() -> None:
    """Raise `UsageError` for an option that a reproducer's first line says already, by being silent too."""
    if given := _named() & _OF_HEADER:
        raise UsageError(
            f"{min(given)}: the first line of a reproducer says how it is compiled",
            hints=["say it all with --pipeline, and its first line does not count"],
        )


def check_spares_input(folder: Path, text: str) -> None:
    """Raise `UsageError` for an output folder that is, or holds, the input, which a run would remove first."""
    named = Path(split_path(text)[0]).resolve()
    if folder.resolve() in (named, named.parent):
        raise UsageError(f"the output folder {folder} holds the input", hints=["name another folder with --output"])


def _of_module(chosen: ModuleFile, values: dict[str, Any]) -> Subject:
    going_on = chosen.stage is not None and not values["pipeline"]
    if chosen.stage and going_on:
        take_options(click.get_current_context(), values, chosen.stage.options)
    options = compile_options(values)
    if chosen.stage and going_on:
        options = replace(options, pipeline=_pipeline(chosen.stage.pipeline), start_after=chosen.stage.after)
    return Subject(chosen.data, chosen.targets[0].name, chosen.name, chosen.source, options=options)


def _pipeline(text: str) -> str | Pipeline:
    """What a file's first line names or spells; it can name no file to read."""
    return text if text in NAMED else Pipeline.parse(text)


def _of_record(path: Path, values: dict[str, Any]) -> Subject:
    if values["args"] or values["entry"]:
        raise UsageError("--arg and --entry are for Python files", hints=["a record has its types already"])
    record = with_stages(read_record(path, values["target"]), path)
    stages = stages_of(record)
    if not stages.indices:
        raise RecordError(f"{path} holds no module")
    if not values["pipeline"]:
        take_options(click.get_current_context(), values, record.options)
    options = compile_options(values)
    if not values["pipeline"]:
        options = _of_run(record, stages.indices[0], options)
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


def _of_run(record: Compilation, behind: int, options: CompileOptions) -> CompileOptions:
    """To run what a record ran, of which the first module has so many passes behind it."""
    whole = Pipeline.parse(record.whole_pipeline or record.pipeline)
    ran = Pipeline(whole.passes[: behind + len(Pipeline.parse(record.pipeline))])
    return replace(options, pipeline=ran, start_after=ran.selectors()[behind - 1] if behind else None)
