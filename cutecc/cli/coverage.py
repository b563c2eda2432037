"""`cutecc coverage`: what the open lowering knows of what kernels need."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cutecc.cli.console import Console, console_of_whole_lines, progress_bar
from cutecc.cli.tables import NameTable, print_table
from cutecc.errors import SourceLocation
from cutecc.workbench.coverage import Failed, ModuleCoverage, Row, Use, rows, survey
from cutecc.workbench.inputs import find_inputs

_EPILOG = """\b
Examples:
  cutecc coverage examples/elementwise_add.py
  cutecc coverage examples test/kernels --target sm_80,sm_90a
  cutecc coverage traced-modules/ --missing -j 2
  cutecc coverage kernel.py --verify --json

Status 0: looked at everything; 1: something could not be traced or read, or --verify found the table wrong.
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--target", metavar="NAME,…", help="Trace kernels for these; of a module that does not say, its target.")
@click.option("--missing", is_flag=True, help="Print only what is not lowered, each at its first use.")
@click.option("--all", "every", is_flag=True, help="Print every operation that CuTe's dialects have.")
@click.option("--verify", is_flag=True, help="Say where the passes and the table do not agree.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Worker processes.")
@click.option("--json", "as_json", is_flag=True, help="Print rows and modules as JSON.")
@click.pass_context
def coverage(context: click.Context, paths: tuple[str, ...], **values: Any) -> None:
    """Say which operations and atoms kernels need, and whether the open pipeline lowers them.

    PATH is a kernel file, a traced module (.mlir, .mlirbc), or a folder of these. A kernel below a folder has a header,
    and is traced for those targets on which its code runs.
    """
    inputs = find_inputs(paths, values["target"])
    with progress_bar() as progress:
        bar = progress.add_task("looking", total=len(inputs))
        jobs, verify = min(values["jobs"], len(inputs)), values["verify"]
        modules = survey(inputs, jobs=jobs, verify=verify, on_module=lambda _: progress.advance(bar))
    table = rows(modules, every=values["every"])
    if values["as_json"]:
        click.echo(json.dumps(_as_dict(table, modules), indent=2))
    elif values["missing"]:
        _show_missing(table, modules)
    else:
        _show(table, modules)
    if any(module.unreadable or module.contradicts for module in modules):
        context.exit(1)


def _show(table: Sequence[Row], modules: Sequence[ModuleCoverage]) -> None:
    console = console_of_whole_lines()
    print_table(_needs_table(table).fitting(console.width, ("uses", "modules")), console)
    console.print()
    print_table(_modules_table(modules).fitting(console.width, ("needs", "target")), console)
    console.print()
    _show_end(modules, console)


def _needs_table(table: Sequence[Row]) -> NameTable:
    from rich.text import Text

    rows: list[list[Text] | str] = []
    kind = table[0].need.kind if table else ""
    for row in table:
        if row.need.kind != kind:
            kind = row.need.kind
            rows.append(f"{kind}s")
        by = Text(", ".join(row.lowered_by)) if row.lowered_by else Text("no", style="red")
        numbers = (f"{row.modules:,}", f"{row.count:,}") if row.modules else ("", "")
        rows.append([Text(row.need.name), *map(Text, numbers), by])
    return NameTable(("needed", "modules", "uses", "lowered by"), rows, numbers=("modules", "uses"))


def _modules_table(modules: Sequence[ModuleCoverage]) -> NameTable:
    from rich.text import Text

    rows: list[list[Text] | str] = []
    for module in modules:
        if module.unreadable:
            verdict = Text(f"failed: {_first_line(module.unreadable)}", style="red")
        elif module.covered:
            verdict = Text("yes", style="green")
        elif module.missing:
            verdict = Text(f"no: {_names(module.missing)}", style="red")
        else:
            assert module.failed is not None
            verdict = Text(f"fails: {_first_line(module.failed)}", style="bold red")
        rows.append([*map(Text, (module.file, module.target, str(len(module.uses)))), verdict])
    return NameTable(("module", "target", "needs", "lowered"), rows, numbers=("needs",))


def _names(uses: Sequence[Use]) -> str:
    """The first few, and how many others there are."""
    names = [use.need.name for use in uses[:3]]
    return ", ".join(names) + (f" and {len(uses) - 3} more" if len(uses) > 3 else "")


def _first_line(failed: Failed) -> str:
    where = f"{failed.pass_name}: " if failed.pass_name else ""
    return where + failed.message.partition("\n")[0]


def _show_missing(table: Sequence[Row], modules: Sequence[ModuleCoverage]) -> None:
    console = console_of_whole_lines()
    for row in table:
        if not row.lowered_by:
            place, numbers = "", "no module needs it"
            if row.first:
                file, location = row.first
                place = f"{_place(location)}: " if location else f"{file}: "
                numbers = f"{row.count:,} use{_s(row.count)} in {row.modules:,} module{_s(row.modules)}"
            console.say(f"{place}not lowered: {row.need.kind} {row.need.name}; {numbers}")
    _show_end(modules, console)


def _show_end(modules: Sequence[ModuleCoverage], console: Console) -> None:
    """What went wrong, and the sum."""
    for module in modules:
        if module.unreadable:
            console.say(f"{_where(module, module.unreadable)}: error: {_first_line(module.unreadable)}", "red")
        elif module.failed and not module.missing:
            # The verdict is the table's to tell, and an error only where the table is looked into.
            error = "error: " if module.verified else ""
            text = f"{error}all it needs is in the table, and a pass fails: {_first_line(module.failed)}"
            console.say(f"{_where(module, module.failed)}: {text}", "red")
        elif module.contradicts:
            console.say(f"{module.file}: error: the passes run through without {_names(module.missing)}", "red")
    covered = sum(module.covered for module in modules)
    words = [f"{covered} of {len(modules)} modules ({covered / len(modules):.0%}) are lowered"]
    if any(module.verified for module in modules):
        needing = sum(not module.unreadable and not module.missing for module in modules)
        words.append(f"{needing} need only what the table has")
    console.say("; ".join(words))


def _where(module: ModuleCoverage, failed: Failed) -> str:
    if not module.target:
        return _place(failed.location) if failed.location else module.file
    named = f"{module.file} ({module.target})"
    return f"{_place(failed.location)}: {named}" if failed.location else named


def _place(location: SourceLocation) -> str:
    """A place, below the current folder by its path from there."""
    path = Path(location.file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return str(location).replace(location.file, str(path.relative_to(Path.cwd())), 1)
    return str(location)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _as_dict(table: Sequence[Row], modules: Sequence[ModuleCoverage]) -> dict[str, Any]:
    return {
        "modules": len(modules),
        "covered": sum(module.covered for module in modules),
        "needs": [
            {
                "kind": row.need.kind,
                "name": row.need.name,
                "modules": row.modules,
                "uses": row.count,
                "lowered_by": list(row.lowered_by),
                "first": _first_dict(row),
            }
            for row in table
        ],
        "results": [
            {
                "file": module.file,
                "target": module.target,
                "needs": {use.need.name: use.count for use in module.uses},
                "missing": [use.need.name for use in module.missing],
                "covered": module.covered,
                "unreadable": _failed_dict(module.unreadable),
                "verified": module.covered if module.verified else None,
                "failed": _failed_dict(module.failed),
            }
            for module in modules
        ],
    }


def _first_dict(row: Row) -> dict[str, str | None] | None:
    if row.first is None:
        return None
    file, location = row.first
    return {"module": file, "location": _place(location) if location else None}


def _failed_dict(failed: Failed | None) -> dict[str, str | None] | None:
    if failed is None:
        return None
    location = _place(failed.location) if failed.location else None
    return {"pass": failed.pass_name, "message": failed.message, "location": location}
