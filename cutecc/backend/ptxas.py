"""PTX to cubin with the ptxas program."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecc.backend.ptxas_log import parse_log
from cutecc.backend.tools import Tool, ToolFailure, find_tool, run_tool
from cutecc.errors import SourceLocation, ToolError
from cutecc.ptx.locations import python_line
from cutecc.support.forks import TemporaryFolder
from cutecc.support.locations import InstructionPlace
from cutecc.target import Target

_OPT_LEVEL = re.compile(r"-O\d|-O=.*|--?opt-level(=.*)?")
_NEVER = ".version 99.9\n.target sm_80\n"
"""PTX of a version that ptxas rejects, naming the newest that it takes."""
_NEWEST = re.compile(r"current version is '(\d+)\.(\d+)'")


@dataclass(frozen=True)
class Assembled:
    """What ptxas made of a PTX module."""

    cubin: bytes
    log: str
    """Its output with `-v`, for `cutecc.backend.ptxas_log.parse_log`."""
    tool: Tool


def assemble(
    ptx: str,
    target: Target,
    *,
    options: Sequence[str] = (),
    opt_level: int = 3,
    line_info: bool = False,
    ptxas: Path | None = None,
    name: str = "kernel.ptx",
) -> Assembled:
    """Assemble `ptx` for `target`.

    `options` have been through `checked_options`; an optimisation level among them wins over `opt_level`. `ptxas` is a
    program that the user named, else the installed one is used. `name` is what errors call the PTX file.

    Raises `ToolError`, located in the PTX and with the user's Python line where the PTX tells it, when ptxas fails;
    `UsageError` when there is no program at `ptxas`.
    """
    tool = find_tool("ptxas", ptxas)
    arguments = ["-arch", target.name, "-v"]
    if not any(_OPT_LEVEL.fullmatch(option) for option in options):
        arguments.append(f"-O{opt_level}")
    if line_info:
        arguments.append("--generate-line-info")
    arguments += [*options, "kernel.ptx", "--output-file", "kernel.cubin"]
    with TemporaryFolder() as temporary:
        folder = Path(temporary)
        (folder / "kernel.ptx").write_text(ptx)
        try:
            output = run_tool(tool, arguments, folder=folder)
        except ToolFailure as failure:
            located = located_error(failure.stderr, ptx, name)
            if located is None:
                raise
            located.notes.append(f"the command was: {failure.command_line}")
            raise located from None
        cubin = folder / "kernel.cubin"
        if not cubin.exists():
            raise ToolError("ptxas made no cubin", notes=[f"the options were: {' '.join(arguments)}"])
        return Assembled(cubin.read_bytes(), output.stdout.decode(errors="replace") + output.stderr, tool)


@functools.cache
def newest_ptx(tool: Tool) -> int:
    """The newest PTX version that the ptxas `tool` takes, times 10; raises `ToolError` when it does not tell."""
    with TemporaryFolder() as temporary:
        (Path(temporary) / "never.ptx").write_text(_NEVER)
        try:
            run_tool(tool, ["-arch", "sm_80", "never.ptx"], folder=Path(temporary), timeout=30)
        except ToolFailure as failure:
            if match := _NEWEST.search(failure.stderr):
                return int(match[1]) * 10 + int(match[2])
            raise
    raise ToolError(f"{tool.name}: {tool.path} does not tell which PTX it takes")


def located_error(log: str, ptx: str, name: str, places: Iterable[InstructionPlace] = ()) -> ToolError | None:
    """The error that ptxas, or the assembler inside the wheel, tells of in `log`, at its line of `ptx`.

    `name` is what the error calls the PTX file. The user's Python line is in a note where the PTX tells it, or `places`
    do, which its `.loc` lines have wrong. `None` when no error in `log` names a line.
    """
    located = [error for error in parse_log(log).errors if error.line is not None]
    if not located:
        return None
    first, *others = located
    assert first.line is not None
    notes = [f"{name}:{other.line}: {other.message}" for other in others]
    own = (each.location for each in places if each.line == first.line)
    if (place := next(own, None) or python_line(ptx, first.line)) is not None:
        excerpt = place.excerpt()
        notes.append(f"this PTX was made from {place}" + (f"\n{excerpt}" if excerpt else ""))
    lines = ptx.split("\n")
    text = lines[first.line - 1] if first.line <= len(lines) else None
    return ToolError(f"ptxas: {first.message}", location=SourceLocation(name, first.line, text=text), notes=notes)
