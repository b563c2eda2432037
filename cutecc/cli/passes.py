"""`cutecc passes`: which passes there are, and what one does."""

from __future__ import annotations

import click
from rich import box
from rich.console import Console
from rich.table import Table

from cutecc import isolation
from cutecc.errors import UsageError
from cutecc.passes.catalog import PassEntry


@click.command(epilog="Example: cutecc passes canonicalize")
@click.argument("name", metavar="PASS", required=False)
def passes(name: str | None) -> None:
    """List every pass with one line, its options and who provides it; or describe PASS.

    Providers: wheel, the installed nvidia-cutlass-dsl; stand-in, cutecc's Python version of a pass that the wheel runs
    but does not register; cutecc, a pass of cutecc's own; plugin, another package.
    """
    entries: list[PassEntry] = isolation.call("cutecc.passes.catalog:catalog")
    if name is None:
        _show_list(entries)
        return
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        import difflib

        close = difflib.get_close_matches(name, [entry.name for entry in entries], n=1)
        hints = [*([f"did you mean {close[0]}?"] if close else []), "cutecc passes lists them all"]
        raise UsageError(f"no pass is called '{name}'", hints=hints)
    _show_one(found)


def _show_list(entries: list[PassEntry]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("pass", overflow="fold", min_width=24)
    table.add_column("by", no_wrap=True)
    table.add_column("what it does", overflow="fold", ratio=1)
    table.add_column("options", overflow="fold", style="dim", max_width=40)
    for entry in entries:
        table.add_row(entry.name, entry.provider, entry.summary, " ".join(option.name for option in entry.options))
    Console().print(table)


def _show_one(entry: PassEntry) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{entry.name}[/] ({entry.provider})\n  {entry.summary}")
    if entry.anchors:
        console.print(f"  runs on: {' in '.join(reversed(entry.anchors))}")
    if entry.pipelines:
        console.print(f"  in pipelines: {', '.join(entry.pipelines)}")
    if not entry.options:
        console.print("  no options")
        return
    console.print("  options:")
    for option in entry.options:
        default = f" = {option.default}" if option.default else ""
        console.print(
            f"    [bold]{option.name}[/]{default}", f"      {option.summary}" if option.summary else "", sep="\n"
        )
