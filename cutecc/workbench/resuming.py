"""Going on from a stage of a record, edited by hand or not, into a new record."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from cutecc.compilation.events import Event
from cutecc.compilation.planning import bounded_pipeline
from cutecc.compilation.request import ALL_ARTIFACTS, HOST_FORM, CompileOptions, CompileRequest
from cutecc.compilation.worker import lower_in_worker
from cutecc.errors import ParseError, RecordError, UsageError
from cutecc.kernel import Kernel
from cutecc.passes import lookup, registry
from cutecc.passes.dumps import DumpChoice, input_name
from cutecc.passes.generation.choice import PASSES
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, HostProgram, Remark, Resumed
from cutecc.record.folder import file_name, is_being_written, read_folder
from cutecc.record.naming import is_plain
from cutecc.record.plain_file import read_plain
from cutecc.record.stages import Stages, stages_of
from cutecc.report.stage_text import TRACED, Position, choose, positions
from cutecc.support import isolation
from cutecc.workbench.edited_stage import EditedStage, RecordedStage

EVERYTHING = CompileOptions(artifacts=ALL_ARTIFACTS, observe=True, dumps=DumpChoice(("all",)))
"""What is kept of a run: every artifact, and the dump of each pass that changed the module, to go on from again."""

_LONGEST_DUMP = 1 << 30
"""Bytes of a dump that is read."""


@dataclass(frozen=True)
class Resumption:
    """A run that goes on from a record, ready to begin."""

    request: CompileRequest
    notes: Sequence[str]
    """What a user should know of it: which file was read, and whether it was edited."""

    @property
    def output(self) -> Path:
        """The folder of the new record."""
        assert self.request.output is not None
        return self.request.output


def resume(
    record: str | Path,
    after: str,
    output: str | Path | None = None,
    *,
    options: CompileOptions = EVERYTHING,
    on_event: Callable[[Event], None] | None = None,
) -> Kernel:
    """Run the rest of a record's pipeline on the module after one of its passes, as the dump of it is on disk now.

    `record` is the folder of a record with dumps; `after` means the pass: a name, `cse#2` of several, its number, or
    `traced` for the module before all. The new record goes to the folder `output`, by default `RECORD-from-PASS`; an
    earlier record there is replaced. Signature, workload, target, options and places in the source are the old
    record's. So is the host program when the run begins behind the pass that it is made after, unless the host part of
    the module was edited. `options` say what else to do: edits of the pipeline, where to stop, what to keep. Their
    pipeline, `start_after` and options of the wheel are not looked at. `on_event` hears how it goes.

    Passes run in a process of their own. Needs no DSL. Raises `UsageError` for a pass that did not run, one without a
    dump and a folder that cannot be written; `ParseError`, with the line in the dump, for a wrong edit; `RecordError`
    for a record that is damaged; and as `cutecc.compile_module` does.
    """
    return Kernel(lower_in_worker(prepare(record, after, output, options=options).request, on_event))


def prepare(
    record: str | Path,
    after: str,
    output: str | Path | None = None,
    *,
    options: CompileOptions = EVERYTHING,
    command: Sequence[str] = (),
) -> Resumption:
    """The run that `resume` makes, before it begins; `command` is for the new record. Raises as `resume` does."""
    folder = Path(record)
    old = read_folder(folder)
    if old.status == "running" and is_being_written(folder):
        raise UsageError(f"another cutecc is writing to {folder}", hints=["wait for it"])
    stages = stages_of(old)
    position = choose(old, stages, after)
    pipeline = _pipeline(old, position, options)
    selector = pipeline.selectors()[position.index - 1] if position.index else None
    name = selector or TRACED
    destination = _output(folder, old.target, name, Path(output) if output else None)
    found = _find_dump(folder, old, stages, position)
    try:
        data = read_plain(found.path, _LONGEST_DUMP, follow=False)
    except OSError as failure:
        raise UsageError(f"cannot read the dump {found.path}: {failure.strerror}") from None
    edited = _read(data, str(found.path), stages, position)
    is_edited = bool(edited.removed or edited.added)
    resumed = Resumed(str(folder), name, found.path.name, is_edited, edited.removed, edited.added)
    lines = stages.user_lines
    if edited.has_own_lines:
        own = {str(found.path): data.decode(errors="replace")}
        lines = msgspec.structs.replace(lines, sources={**lines.sources, **own})
    options = _options(old, options, pipeline, selector)
    _check_known(old, pipeline, options)
    request = CompileRequest(
        edited.bytecode,
        old.target,
        old.name,
        source=old.source or str(found.path),
        signature=None if edited.arguments_edited else old.signature,
        workload=None if edited.arguments_edited else old.workload,
        options=options,
        output=destination,
        registered=registry.for_worker(options.words),
        command=command,
        warnings=_warnings(old, edited),
        lines=lines,
        resumed=resumed,
        host=_host(old, edited, pipeline, position),
    )
    return Resumption(request, _notes(resumed, position, found))


def _output(folder: Path, target: str, after: str, output: Path | None) -> Path:
    """Where the new record goes, by default named after the pass. Raises `UsageError` for the folder of the old one."""
    if output is None:
        # The current folder has no name of its own to go by. That of one target lies in a folder of records for several
        # targets of a kernel, which a second record for one of them would make unreadable.
        named = folder if folder.name not in ("", "..") else folder.resolve()
        if named.name == target and named.resolve().parent.name:
            outer = named.parent if named.parent.name not in ("", "..") else named.resolve().parent
            named = outer.with_name(f"{outer.name}-{target}")
        output = named.with_name(f"{named.name}-from-{file_name(after)}")
    if output.resolve() == folder.resolve():
        raise UsageError(
            f"the output folder {output} is that of the record to go on from, and a run first removes the earlier "
            "one's files",
            hints=["name another folder with --output"],
        )
    return output


@dataclass(frozen=True)
class _Dump:
    """The file with the module after a pass."""

    path: Path
    of: Position
    """The pass that left the module so: that which is asked for, or one before it."""


def _find_dump(folder: Path, compilation: Compilation, stages: Stages, position: Position) -> _Dump:
    """The dump of the module at `position`. Raises `UsageError`, which says which there are and how to make one."""
    known = {each.index: each for each in positions(compilation, stages)}
    holder = known.get(stages.after(position.index).index, position)
    for each in dict.fromkeys((position, holder)):
        if path := _dump_of(folder, compilation, each):
            return _Dump(path, each)
    there = [each.name for each in known.values() if _dump_of(folder, compilation, each)]
    new = folder / f"{holder.index:02d}-{file_name(_plain_name(holder))}.mlir"
    raise UsageError(
        f"{folder} has no dump of the module after {position.name}",
        notes=[f"it has those after {', '.join(there)}" if there else "it has no dumps"],
        hints=[f"make one, and edit that: cutecc show {folder} --after {holder.name} --no-fold > {new}"],
    )


def _dump_of(folder: Path, compilation: Compilation, position: Position) -> Path | None:
    """The file with the module after a pass, if it is there: the one that the record names, or one called so."""
    steps = {step.index: step.dump for step in compilation.steps}
    named = steps.get(position.index) if position.index in steps else compilation.traced
    if named and is_plain(named) and (folder / named).is_file():
        return folder / named
    pattern = re.compile(rf"0*{position.index}-{re.escape(file_name(_plain_name(position)))}\.mlir")
    return next((each for each in sorted(folder.iterdir()) if pattern.fullmatch(each.name) and each.is_file()), None)


def _plain_name(position: Position) -> str:
    """What a dump at `position` is called: the first module of a run by what it is."""
    return input_name(position.index) if position.before == position.index else position.name.partition("#")[0]


def _read(data: bytes, file: str, stages: Stages, position: Position) -> EditedStage:
    stage = stages.after(position.index)
    recorded = RecordedStage(stage.text, [stages.places[each] if each >= 0 else None for each in stage.places])
    try:
        return isolation.call("cutecc.workbench.edited_stage:read", data, file, recorded)
    except isolation.ProcessDied as death:
        raise ParseError(f"{file}: reading the module aborted: {death.message}", notes=death.notes) from None


def _pipeline(old: Compilation, position: Position, options: CompileOptions) -> Pipeline:
    """The pipeline that the record's is, or is a part of.

    Raises `UsageError` for one that needs files, which only the user names: no record chooses what is run or read.
    """
    if "ptxas" in old.options and options.ptxas is None:
        raise UsageError(
            f"the record was made with --ptxas {old.options['ptxas']}, and a record does not choose what is run",
            hints=["give --ptxas again"],
        )
    if "link-libraries" in old.options:
        raise UsageError(
            "the record was made with --link-libraries, and a record does not choose what is read",
            hints=["go on from the dump itself: cutecc compile DUMP.mlir --link-libraries …"],
        )
    try:
        pipeline = Pipeline.parse(old.whole_pipeline or old.pipeline)
    except UsageError as error:
        error.notes.append(f"it is of the pipeline of {old.name}'s record")
        raise
    names = [pass_.name for pass_ in pipeline]
    ran = {step.index: step.name for step in old.steps}
    if position.index > len(names) or any(names[index - 1 : index] != [name] for index, name in ran.items()):
        raise RecordError(
            f"the record of {old.name} does not say which pipeline it is a part of: an earlier cutecc made it",
            hints=["go on from the dump itself: cutecc compile DUMP.mlir"],
        )
    return pipeline


def _check_known(old: Compilation, pipeline: Pipeline, options: CompileOptions) -> None:
    """Raise `UsageError` for a pass that is to run again and came from a file or package that is not loaded."""
    whole, start, stop = bounded_pipeline(pipeline, options)
    of_plugins = {step.name for step in old.steps if step.provider == "plugin"}
    left = of_plugins.intersection(pass_.name for pass_ in whole.passes[start:stop])
    if unknown := sorted(name for name in left if lookup.find_pass(name) is None):
        raise UsageError(
            f"the record's pipeline has the pass {unknown[0]} of a file or another package, and it is not known here",
            hints=["name the file that registers it: --load FILE.py"],
        )


def _options(old: Compilation, options: CompileOptions, pipeline: Pipeline, after: str | None) -> CompileOptions:
    """What the user asks for, with the record's own settings."""
    given: dict[str, Any] = {}
    for entry in fields(WheelOptions):
        value = old.options.get(entry.name.replace("_", "-"))
        if type(value) is type(entry.default):
            given[entry.name] = value
    wheel = WheelOptions(**given)
    backend = next((each for each in PASSES if each == old.options.get("backend")), None)
    dumps = options.dumps
    if options.report:
        # It asks for source lines in the code, about which the record's pipeline decides.
        options = replace(options, report=False, artifacts=ALL_ARTIFACTS, observe=True)
        dumps = dumps or DumpChoice(("all",))
    return replace(
        options,
        pipeline=pipeline,
        start_after=after,
        backend=options.backend or backend,
        wheel=wheel,
        line_info=wheel.preserve_line_info,
        dumps=replace(dumps, locations=dumps.locations or wheel.preserve_line_info),
        analyses=options.analyses or (("all",) if old.analyses else ()),
    )


def _host(old: Compilation, edited: EditedStage, pipeline: Pipeline, position: Position) -> HostProgram | Remark | None:
    """The old host program, or why it does not hold; `None` where the run makes its own."""
    names = [pass_.name for pass_ in pipeline]
    if HOST_FORM not in names[: position.index]:
        return None
    again = f"resume from before {HOST_FORM}, after which it is made"
    if edited.host_edited:
        return _not_launchable(f"the host part of the module was edited, and the host program is of before; {again}")
    try:
        program = old.host_program
    except RecordError as failure:
        return _not_launchable(f"{failure.message}; {again}")
    if program is None:
        return _not_launchable("the record that it was resumed from has no host program")
    return program


def _not_launchable(why: str) -> Remark:
    return Remark("warning", f"cutecc cannot launch this kernel: {why}")


def _warnings(old: Compilation, edited: EditedStage) -> list[Remark]:
    if old.signature and edited.arguments_edited:
        return [Remark("warning", "what the host function takes was edited: the record does not say how to call it")]
    return []


def _notes(resumed: Resumed, position: Position, found: _Dump) -> list[str]:
    notes: list[str] = []
    if found.of != position:
        notes.append(f"{position.name} changed nothing: going on from the dump after {found.of.name}, {found.path}")
    if resumed.edited:
        notes.append(f"{found.path} differs from the record: -{resumed.lines_removed} +{resumed.lines_added} lines")
    else:
        notes.append(f"{found.path} is as the record has it: nothing was edited")
    return notes
