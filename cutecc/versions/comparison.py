"""Kernels in several columns, as plain data: what `cutecc versions` prints, and `--json` is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from cutecc.config import Settings
from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation, Signature, Versions
from cutecc.record.naming import file_name
from cutecc.support.malformed import MALFORMED
from cutecc.versions.changes import Change, change
from cutecc.versions.checkouts import Tree, check_out, working_tree
from cutecc.versions.columns import Column
from cutecc.versions.environments import check_environment, make_environment
from cutecc.versions.measures import Measures, measure
from cutecc.versions.modules import PassPlace
from cutecc.versions.recording import Asked, Recorded, interpreter, record
from cutecc.workbench.compared import Trial, run_all, runnable, times
from cutecc.workbench.running import Run

FORMAT = 1
"""The version of the JSON; a later one may have more keys."""
Result = Literal["reference", "same bits", "in bounds", "other bits", "differs", "fails"]
"""What a column's runs gave, the worst of them. `reference`: the others are compared with it. `in bounds`: other bits,
as near as the kernel's file allows. `other bits`: than an earlier run, of which nothing else is known."""
_RESULTS: tuple[Result, ...] = ("reference", "same bits", "in bounds", "other bits", "differs", "fails")


class ColumnFacts(msgspec.Struct, frozen=True):
    """What a column was compiled with."""

    name: str
    versions: Versions | None = None
    """`None` where nothing was compiled."""
    commit: str | None = None
    """The hash of the revision; `None` for the working tree."""
    options: list[str] = []
    failure: str | None = None
    """Why it has no kernels at all, or not all of them, or not of the flavour that it is called by."""


class Cell(msgspec.Struct, frozen=True):
    """A kernel for a target in one column."""

    functions: dict[str, Measures] = {}
    """By the user's name for the device function."""
    failure: str | None = None
    """Why it was not compiled."""
    compile_seconds: float | None = None
    """From the trace to machine code; of the run that filled the cache, where that answered."""
    microseconds: float | None = None
    """The median on a GPU, all columns taking turns."""
    results: Result | None = None
    """`None` where it was not run."""
    problems: list[str] = []
    """What was wrong with its results."""
    checksums: list[dict[str, str]] = []
    """For each run, the SHA-256 of every tensor that it may have written."""
    inputs: list[str] = []
    """For each run, where it was, its sizes, the seed of its inputs, and values: `cpu, M=5, seed 0, a=f32=0.5`."""


class KernelRow(msgspec.Struct, frozen=True):
    """A kernel for a target, in all columns."""

    kernel: str
    """Its name, numbered where several have it: `scale#2`."""
    target: str
    source: str | None
    """The file, as the user named it."""
    cells: list[Cell | None]
    """One for each column; `None` where the column has no such kernel."""
    changes: list[Change] = []
    """How columns differ from the first, those that do."""
    notes: list[str] = []
    """What was not compared, and why."""


class Comparison(msgspec.Struct, frozen=True):
    """Kernels in several columns, of which the first is what the others are compared with."""

    columns: list[ColumnFacts]
    rows: list[KernelRow]
    device: str | None = None
    """Where the kernels ran; `None` where they did not."""
    format: int = FORMAT


@dataclass(frozen=True)
class How:
    """How to fill the columns."""

    settings: Settings
    packages: Sequence[str] = ()
    """Requirements, of environments that are made."""
    trial: Trial | None = None
    """How to run the kernels; `None` where they are only compiled."""
    jobs: int = 1
    """Processes that compile at the same time."""
    on_event: Callable[[str], None] = lambda text: None
    """Is told what takes long."""
    on_step: Callable[[], None] = lambda: None
    """Is told when a column is compiled."""


@dataclass(frozen=True)
class Filled:
    """A column with its records."""

    facts: ColumnFacts
    recorded: Recorded
    checkout: tuple[str, str] | None = None
    """Of a revision, the folder that its files were in, with a `/`, and what stands for it: `git:HEAD:`."""


def fill(columns: Sequence[Column], asked: Asked, folder: Path, how: How) -> list[Filled]:
    """Compile what is asked for in every column, below `folder`.

    What cannot be compiled is a failure of its column. Raises `UsageError` for options, revisions and environments that
    do not exist, and `EnvironmentFailure` for an environment that cannot be made.
    """
    # Two columns may have names that are one as names of files.
    names = ["working-tree" if each.name == "." else file_name(each.name) for each in columns]
    folders = [f"{number}-{name}" for number, name in enumerate(names)]
    trees = [_tree(each, asked, folder / "sources" / name) for each, name in zip(columns, folders, strict=True)]
    # These take a minute to make: after all else that may be refused.
    pythons = [_python(each, how) for each in columns]
    each_jobs = max(1, how.jobs // len(columns))

    def one(number: int) -> Recorded | UsageError:
        records = folder / "records" / folders[number]
        try:
            return record(columns[number], asked, trees[number], pythons[number], records, jobs=each_jobs)
        except UsageError as failure:
            return failure
        finally:
            how.on_step()

    with ThreadPoolExecutor(max(1, min(how.jobs, len(columns)))) as pool:
        tried = list(pool.map(one, range(len(columns))))
    recorded = _accepted(columns, tried)
    checkouts = [
        None if each.revision is None else (f"{(folder / 'sources' / name).resolve()}/", f"git:{each.revision}:")
        for each, name in zip(columns, folders, strict=True)
    ]
    facts = [_facts(*each) for each in zip(columns, trees, recorded, strict=True)]
    return [Filled(*each) for each in zip(facts, recorded, checkouts, strict=True)]


def _accepted(columns: Sequence[Column], tried: Sequence[Recorded | UsageError]) -> list[Recorded]:
    """What came of the columns. What one version does not take, such as a target, others may: that is its failure."""
    refused = {number: each for number, each in enumerate(tried) if isinstance(each, UsageError)}
    for number, failure in refused.items():
        if columns[number].options or len(refused) == len(columns):
            raise failure
    return [Recorded(failure=each.message) if isinstance(each, UsageError) else each for each in tried]


def compare_columns(filled: Sequence[Filled], how: How) -> Comparison:
    """Measure, compare and run what the columns have. Raises `LaunchError` for a fault on a GPU."""
    keys = dict.fromkeys(key for each in filled for key in each.recorded.records)
    names = [each.facts.name for each in filled]
    rows = [_row(key, filled, names, how) for key in keys]
    seen = Counter[tuple[str, str]]()
    for number, row in enumerate(rows):
        seen[row.kernel, row.target] += 1
        if (count := seen[row.kernel, row.target]) > 1:
            rows[number] = msgspec.structs.replace(row, kernel=f"{row.kernel}#{count}")
    return Comparison([each.facts for each in filled], rows, how.trial.device.name if how.trial else None)


def _python(column: Column, how: How) -> Path:
    if column.wheel:
        return make_environment(column.wheel, how.packages, how.settings, how.on_event)
    if column.python:
        check_environment(column.name, column.python)
    return interpreter(column)


def _tree(column: Column, asked: Asked, folder: Path) -> Tree:
    if column.revision is None:
        return working_tree(asked.kernels)
    return check_out(column.revision, asked.kernels, folder)


def _facts(column: Column, tree: Tree, recorded: Recorded) -> ColumnFacts:
    first = next(iter(recorded.records.values()), None)
    versions = first.versions if first else None
    failure = recorded.failure
    if versions and versions.flavour and column.flavour not in (None, versions.flavour):
        # The wheel says nothing of it, nor does pip of an extra that there is not.
        other = f"it compiles as {versions.flavour}: there is no {column.flavour}, or the driver does not support it"
        failure = "\n".join(filter(None, [other, failure]))
    return ColumnFacts(column.name, versions, tree.commit, [*column.options], failure)


def _row(key: str, filled: Sequence[Filled], names: Sequence[str], how: How) -> KernelRow:
    records = [each.recorded.records.get(key) for each in filled]
    known = next(each for each in records if each)
    notes: list[str] = []
    cells = [None if each is None else _cell(each, notes) for each in records]
    cells = [cells[0], *(each and _named_as(cells[0], each) for each in cells[1:])]
    checkouts = dict(each.checkout for each in filled if each.checkout)
    changes = [_renamed(each, checkouts) for each in _changes(records, names, notes)]
    if how.trial:
        cells = _run(records, cells, names, how.trial, notes)
    return KernelRow(known.name, known.target, known.source, cells, changes, list(dict.fromkeys(notes)))


def _cell(compilation: Compilation, notes: list[str]) -> Cell:
    if compilation.status != "ok":
        said = compilation.failure
        return Cell(failure=f"{said.stage}: {said.message}" if said else compilation.status)
    try:
        functions = measure(compilation)
    except (RecordError, OSError) as failure:
        notes.append(str(failure))
        functions = {}
    return Cell(functions, compile_seconds=sum(compilation.seconds.values()))


def _named_as(norm: Cell | None, cell: Cell) -> Cell:
    """The cell, its device functions called as the first column has them where only their names differ, in order."""
    if norm is None or len(norm.functions) != len(cell.functions):
        return cell
    left = [name for name in norm.functions if name not in cell.functions]
    functions = {name if name in norm.functions else left.pop(0): each for name, each in cell.functions.items()}
    return msgspec.structs.replace(cell, functions=functions)


def _changes(records: Sequence[Compilation | None], names: Sequence[str], notes: list[str]) -> list[Change]:
    norm, found = records[0], list[Change]()
    for each, name in zip(records[1:], names[1:], strict=True):
        if norm is None or each is None:
            continue
        # Until a pass failed there are modules.
        if any(one.status != "ok" and not one.has_stages for one in (norm, each)):
            continue
        try:
            differing = change(norm, each, (names[0], name))
        except RecordError as failure:
            notes.append(str(failure))
            continue
        if differing.first or differing.lines:
            found.append(differing)
    return found


def _renamed(change: Change, checkouts: Mapping[str, str]) -> Change:
    """The change, in which files of revisions are not where they were for a while."""

    def name(path: str) -> str:
        start = next((each for each in checkouts if path.startswith(each)), "")
        return checkouts.get(start, "") + path[len(start) :]

    def named(place: PassPlace | None) -> PassPlace | None:
        return place and msgspec.structs.replace(place, location=place.location and name(place.location))

    lines = [msgspec.structs.replace(each, file=name(each.file)) for each in change.lines]
    return msgspec.structs.replace(change, first=named(change.first), since=named(change.since), lines=lines)


def _run(
    records: Sequence[Compilation | None],
    cells: Sequence[Cell | None],
    names: Sequence[str],
    trial: Trial,
    notes: list[str],
) -> list[Cell | None]:
    good = {
        _key(name): each for name, each in zip(names, records, strict=True) if each is not None and each.status == "ok"
    }
    if not good:
        return [*cells]
    try:
        subject = runnable(good, trial)
        runs = list(run_all(subject, trial))
        medians = times(subject, trial) or {}
    except UsageError as failure:
        # Sizes are the user's own: what is wrong with them is wrong with what was asked for.
        if trial.sizes:
            raise
        notes.append(f"not run: {failure.message}")
        return [*cells]
    by_name: dict[str, list[Run]] = {}
    for point in runs:
        for each in point:
            by_name.setdefault(each.variant, []).append(each)
    return [
        _with_runs(cell, by_name[key], medians.get(key), trial.device.kind, _values(subject.kernels[key].signature))
        if cell and (key := _key(name)) in by_name
        else cell
        for cell, name in zip(cells, names, strict=True)
    ]


def _key(name: str) -> str:
    """What runs call a column: what follows a `/` would be taken for a code generator."""
    return name.replace("/", ":")


def _values(signature: Signature | None) -> str:
    """The arguments that are no tensors, as specs have their values."""
    known = signature.parameters if signature else []
    return "".join(f", {each.name}={each.spec}" for each in known if "=" in each.spec and "[" not in each.spec)


def _with_runs(cell: Cell, runs: Sequence[Run], microseconds: float | None, device: str, values: str) -> Cell:
    verdicts = {run.verdict for run in runs}
    problems = [f"{_sizes(run)}{problem}" for run in runs for problem in run.problems]
    return msgspec.structs.replace(
        cell,
        microseconds=microseconds,
        results=next(each for each in reversed(_RESULTS) if each in verdicts),
        problems=problems,
        checksums=[run.checksums for run in runs],
        inputs=[f"{device}, {_sizes(run, ', ')}seed {run.seed}{values}" for run in runs],
    )


def _sizes(run: Run, end: str = ": ") -> str:
    text = ", ".join(f"{name}={size}" for name, size in run.sizes.items())
    return f"{text}{end}" if text else ""


def read_comparison(file: Path) -> Comparison:
    """What `cutecc versions --json` wrote earlier. Raises `UsageError`."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Comparison)
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}") from None
    except MALFORMED as failure:
        raise UsageError(
            f"{file} is no comparison: {failure}", hints=["make it with cutecc versions … --json > FILE"]
        ) from None
    if found.format != FORMAT:
        raise UsageError(f"{file} is of another version of cutecc: its format is {found.format}, not {FORMAT}")
    if not found.columns or any(len(each.cells) != len(found.columns) for each in found.rows):
        raise UsageError(f"{file} is no comparison: it has no columns, or a kernel has not one cell for each")
    return found


def with_baseline(now: Comparison, earlier: Comparison) -> Comparison:
    """The comparison with an earlier one's column before all others: that of the first one's name, else its last.

    What is not known of it any more, modules and code, is not compared. Of its kernels, those are missed whose files
    are compared now.
    """
    names = [each.name for each in earlier.columns]
    position = names.index(now.columns[0].name) if now.columns[0].name in names else len(names) - 1
    known = {_identity(each): each for each in earlier.rows}
    rows: list[KernelRow] = []
    for row in now.rows:
        found = known.pop(_identity(row), None)
        rows.append(_row_beside(row, found and found.cells[position]))
    files = {_identity(row)[0] for row in now.rows}
    for identity, row in known.items():
        if identity[0] in files and (before := row.cells[position]):
            rows.append(KernelRow(row.kernel, row.target, row.source, [before, *[None] * len(now.columns)]))
    facts = msgspec.structs.replace(earlier.columns[position], name=f"baseline ({names[position]})")
    return msgspec.structs.replace(now, columns=[facts, *now.columns], rows=rows)


def _identity(row: KernelRow) -> tuple[str, str, str]:
    """What a kernel is known by in another run, which may name its file otherwise."""
    return Path(row.source or "").name, row.kernel, row.target


def _row_beside(row: KernelRow, before: Cell | None) -> KernelRow:
    """The row with the cell of an earlier run before all others."""
    notes = [] if before else ["the baseline does not have it"]
    if before and any(cell and _of_other_inputs(cell, before) for cell in row.cells):
        notes = ["results are not compared with the baseline's: it ran on other inputs, or elsewhere"]
    cells = [before, *(cell and _beside(cell, before) for cell in row.cells)]
    return msgspec.structs.replace(row, cells=cells, notes=[*row.notes, *notes])


def _of_other_inputs(cell: Cell, before: Cell) -> bool:
    return bool(before.checksums and cell.checksums) and before.inputs != cell.inputs


def _beside(cell: Cell, before: Cell | None) -> Cell:
    """The cell, its results compared with those of an earlier one on the same inputs."""
    if before is None or not before.checksums or not cell.checksums or cell.results == "fails":
        return cell
    if _of_other_inputs(cell, before):
        return msgspec.structs.replace(cell, results="reference")
    same = before.checksums == cell.checksums
    results: Result = "same bits" if same else "differs" if cell.results == "differs" else "other bits"
    return msgspec.structs.replace(cell, results=results)
