"""`cutecc passes`: which passes there are, and what one does."""

from __future__ import annotations

import click
from rich.padding import Padding
from rich.text import Text

from cutecc.cli.console import Console
from cutecc.cli.options import load_option, warn_of_plugins
from cutecc.cli.tables import folded, plain_table
from cutecc.errors import UsageError
from cutecc.passes.catalog import PassEntry
from cutecc.support import isolation
from cutecc.support.spelling import did_you_mean


@click.command(epilog="Example: cutecc passes canonicalize")
@click.argument("name", metavar="PASS", required=False)
@load_option
def passes(name: str | None) -> None:
    """List every pass with one line, its options and who provides it; or describe PASS.

    Providers: wheel, the installed nvidia-cutlass-dsl; reimplementation, cutecc's Python version of a pass that the
    wheel runs but does not register; cutecc, a pass written for cutecc; plugin, one of a file or an installed package.
    """
    entries, failures = isolation.call("cutecc.passes.catalog:catalog_and_failures")
    warn_of_plugins(failures)
    if name is None:
        _show_list(entries)
        return
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        if name in isolation.call("cutecc.passes.pipelines:named_pipelines"):
            hints = [f"{name} is a pipeline: cutecc pipelines {name}"]
        else:
            hints = did_you_mean(name, [entry.name for entry in entries])
        raise UsageError(f"no pass is called '{name}'", hints=[*hints, "cutecc passes lists them all"])
    _show_one(found)


def _show_list(entries: list[PassEntry]) -> None:
    table = plain_table()
    table.add_column("pass", no_wrap=True)
    table.add_column("by", no_wrap=True)
    table.add_column("what it does, and its options", overflow="fold", ratio=1)
    for entry in entries:
        what = Text(entry.summary)
        if entry.options:
            what.append("\n{" + " ".join(option.name for option in entry.options) + "}", style="dim")
        table.add_row(folded(entry.name, 27), f"{entry.provider}\n{entry.origin}".rstrip(), what)
    Console().print(table)


def _show_one(entry: PassEntry) -> None:
    console = Console(highlight=False)

    def show(indentation: int, text: str | Text) -> None:
        console.print(Padding(text, (0, 0, 0, indentation)))

    by = f"{entry.provider}: {entry.origin}" if entry.origin else entry.provider
    show(0, Text.assemble((entry.name, "bold"), f" ({by})"))
    show(2, entry.summary)
    if entry.runs_on:
        show(2, f"runs on: {entry.runs_on}")
    if entry.pipelines:
        show(2, f"in pipelines: {', '.join(entry.pipelines)}")
    for what in dict.fromkeys(what for what, _ in entry.atoms):
        show(2, f"{what}s: {', '.join(kind for of, kind in entry.atoms if of == what)}")
    show(2, "options:" if entry.options else "no options")
    for option in entry.options:
        show(4, Text.assemble((option.name, "bold"), f" = {option.default}" if option.default else ""))
        show(6, option.summary)
