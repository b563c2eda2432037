"""Parity: does the `nvidia` pipeline give the same PTX, byte for byte, as the wheel's single run?"""

from __future__ import annotations

import difflib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cutecc.errors import Error, UsageError
from cutecc.passes.dumps import read_stage
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.support.isolation import ProcessDied
from cutecc.target import Target, target_in_name
from cutecc.workbench.chunks import work_apart
from cutecc.workbench.inputs import MODULES

Result = Literal["identical", "composite", "different", "failed"]
RESULTS: tuple[Result, ...] = ("identical", "composite", "different", "failed")


@dataclass(frozen=True)
class ParityTask:
    """One comparison: a module, a target, with or without line info."""

    file: str
    target: str
    line_info: bool


@dataclass(frozen=True)
class ParityRow:
    """What came of a comparison.

    `identical`: the same bytes, every pass on its own. `composite`: the same bytes, with a composite step. `different`:
    other bytes. `failed`: one of the two did not come to PTX.
    """

    file: str
    target: str
    line_info: bool
    result: Result
    function: str | None = None
    """The first function that differs."""
    diff: str | None = None
    """The first lines that differ, the single run's first."""
    message: str | None = None
    """Why it failed."""


def find_modules(paths: Sequence[str]) -> list[str]:
    """The modules among and under `paths`, text and bytecode, sorted; `UsageError` when there are none."""
    found: list[str] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(str(file) for file in path.rglob("*") if file.suffix in MODULES and file.is_file())
        elif path.is_file():
            found.append(str(path))
        else:
            raise UsageError(f"there is no file or folder {path}")
    if not found:
        raise UsageError(f"no .mlir files in {', '.join(paths)}, and no .mlirbc")
    return found


def target_of(file: str, default: Target | None) -> Target:
    """The target that a module is for: the one in its file name (`gemm-sm_90a.mlir`) or first line, else `default`.

    Raises `UsageError` without either.
    """
    if target := target_in_name(Path(file).name):
        return target
    with Path(file).open("rb") as opened:
        stage = read_stage(opened.readline(65536).decode(errors="replace"))
    if stage:
        return Target.parse(stage.target)
    if default is None:
        raise UsageError(f"{file}: which target is it for?", hints=["name it in the file name, or with --target"])
    return default


def compare_all(
    tasks: Sequence[ParityTask], *, jobs: int, on_row: Callable[[ParityRow], None] = lambda row: None
) -> list[ParityRow]:
    """Run `tasks` in `jobs` worker processes; rows in the order of the tasks. An abort is a failed row."""
    rows: dict[int, ParityRow] = {}
    begun: dict[int, str] = {}

    def told(number: int, what: str | ParityRow) -> bool:
        if isinstance(what, ParityRow):
            rows[number] = what
            on_row(what)
        else:
            begun[number] = what
        return number in rows

    def died(number: int, task: ParityTask, death: ProcessDied) -> None:
        told(number, _failed(task, f"{begun.get(number, '')}: {death.message}"))

    work_apart("cutecc.workbench.parity:compare_chunk", enumerate(tasks), jobs=jobs, told=told, died=died)
    return [rows[number] for number in range(len(tasks))]


def compare_chunk(tasks: Mapping[int, ParityTask], *, emit: Callable[[tuple[int, str | ParityRow]], None]) -> None:
    """Compare in this process, one task after the other; tells `emit` of each step that begins, and each row."""
    for number, task in tasks.items():
        try:
            row = compare(task, lambda step: emit((number, step)))  # noqa: B023
        except (Error, OSError) as failure:
            row = _failed(task, str(failure))
        emit((number, row))


def compare(task: ParityTask, entering: Callable[[str], None] = lambda step: None) -> ParityRow:
    """Compare one module in this process; `entering` is told whose run begins."""
    from cutecc.compilation.planning import uses_lir, uses_pyir
    from cutecc.compilation.request import CompileOptions, CompileRequest
    from cutecc.driver import lower
    from cutecc.ir.modules import fresh_context, parse
    from cutecc.passes.nvidia.single_run import single_run_ptx

    data = Path(task.file).read_bytes()
    wheel = WheelOptions(preserve_line_info=task.line_info)
    with fresh_context(), tempfile.TemporaryDirectory(prefix="cutecc-") as scratch:
        entering("reading the module")
        module = parse(data, task.file)
        entering("the wheel's single run")
        lir, pyir = uses_lir(module), uses_pyir(module)
        expected = single_run_ptx(module, task.target, wheel, Path(scratch), lir=lir, pyir=pyir)
    options = CompileOptions(wheel=wheel, artifacts=("ptx",), reproduce=False)
    entering("the nvidia pipeline")
    compilation = lower(CompileRequest(data, task.target, "kernel", task.file, options=options))
    found = [compilation.files[artifact.file].decode() for artifact in compilation.artifacts]
    if found != expected:
        function, diff = first_difference("\n".join(expected), "\n".join(found))
        return ParityRow(task.file, task.target, task.line_info, "different", function, diff)
    composite = any(step.provider == "composite" for step in compilation.steps)
    return ParityRow(task.file, task.target, task.line_info, "composite" if composite else "identical")


def first_difference(expected: str, found: str, *, lines: int = 12) -> tuple[str | None, str]:
    """The first function of two PTX texts that differs, and the beginning of its diff."""
    first, second = _functions(expected), _functions(found)
    for name in dict.fromkeys([*first, *second]):
        old, new = first.get(name, []), second.get(name, [])
        if old != new:
            changes = difflib.unified_diff(old, new, "single run", "pass by pass", n=1, lineterm="")
            return name or None, "\n".join(list(changes)[: lines + 2])
    return None, ""


def _functions(ptx: str) -> dict[str, list[str]]:
    """The lines of each function; those outside of any are under the empty name."""
    functions: dict[str, list[str]] = {"": []}
    current = ""
    for line in ptx.splitlines():
        if start := re.search(r"\.(?:entry|func)\b(?:\s*\([^)]*\))?\s+([\w$.]+)", line):
            current = start[1]
        functions.setdefault(current, []).append(line)
        if line.startswith("}"):
            current = ""
    return functions


def _failed(task: ParityTask, message: str) -> ParityRow:
    return ParityRow(task.file, task.target, task.line_info, "failed", message=message)
