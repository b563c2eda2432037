"""What `cutecc watch --list` prints: the kernels of a watch, with what differs between the versions of a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.cli.console import console_of_whole_lines
from cutecc.cli.tables import NAMES, NUMBERS, fitting, print_table
from cutecc.record.naming import short_kernel_name
from cutecc.watching.folder import KERNELS
from cutecc.watching.index import read_index

if TYPE_CHECKING:
    from rich.text import Text

_COLUMNS = {
    "record": NAMES,
    "function": NAMES,
    "arguments": NAMES,
    "registers": NUMBERS,
    "spills": NUMBERS,
    "remarks": NUMBERS,
}
_DISPENSABLE = ("remarks", "spills", "function")


def show_list(folder: Path) -> None:
    """Print the kernels of a watch. Raises `RecordError` where there is no list."""
    data = read_index(folder)
    console = console_of_whole_lines()
    if not data["kernels"]:
        console.say("no kernel was recorded")
        return
    print_table(fitting(_COLUMNS, [_row(each) for each in data["kernels"]], _DISPENSABLE, console), console)


def _row(kernel: Mapping[str, Any]) -> dict[str, Text | str]:
    from rich.text import Text

    record: str | None = kernel["record"]
    return {
        "record": record.removeprefix(f"{KERNELS}/") if record else f"✗ {kernel['name']} for {kernel['target']}",
        "function": kernel["function"],
        "arguments": Text("\n").join(_arguments(kernel)),
        "registers": _of_each(kernel, "registers"),
        "spills": _of_each(kernel, "spill_bytes", " B"),
        "remarks": str(len(kernel["remarks"])),
    }


def _arguments(kernel: Mapping[str, Any]) -> Iterator[Text]:
    """A line for each argument; those that another version has otherwise say in what."""
    from rich.text import Text

    differs: Mapping[str, list[str]] = kernel.get("differs", {})
    for name, spec in kernel["arguments"].items():
        if name in differs:
            yield Text.assemble((f"{name} = {spec}", "bold"), (f"  ≠ {', '.join(differs[name])}", "yellow"))
        else:
            yield Text(f"{name} = {spec}")


def _of_each(kernel: Mapping[str, Any], key: str, unit: str = "") -> str:
    """A number of each kernel that one launch has."""
    entries = kernel["resources"]
    values = ["?" if each[key] is None else f"{each[key]}{unit}" for each in entries]
    if len(entries) < 2:
        return "".join(values)
    return "\n".join(
        f"{short_kernel_name(each['kernel'])}: {value}" for each, value in zip(entries, values, strict=True)
    )
