"""What `cutecc run` found: as a table with what is wrong below it, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cutecc.cli.emulation import emulation_dict, show_emulation
from cutecc.cli.headings import points_text, seeds_text, wrapped
from cutecc.cli.sizes import sizes_text
from cutecc.cli.tables import NAMES, NUMBERS, Row, fitting, print_table
from cutecc.harness.bar import sources_text

if TYPE_CHECKING:
    import click
    from rich.table import Table

    from cutecc.cli.console import Console
    from cutecc.cli.subject import Function, Subject
    from cutecc.emulator.device import Emulation
    from cutecc.harness.comparison import Comparison

_COLUMNS: dict[str, Callable[[Sequence[Comparison]], str]] = {
    "output": lambda outputs: outputs[0].name,
    "type": lambda outputs: outputs[0].dtype,
    "shape": lambda outputs: "×".join(map(str, outputs[0].shape)) or "1",
    "abs error": lambda outputs: f"{max(output.max_absolute_error for output in outputs):.3g}",
    "rel error": lambda outputs: f"{max(output.max_relative_error for output in outputs):.3g}",
    "tolerance": lambda outputs: outputs[0].allowed,
    "differ": lambda outputs: str(max(output.wrong for output in outputs)),
}
"""What the launches at the same sizes say of one output."""
_DISPENSABLE = ("type", "abs error", "shape", "tolerance")
"""Columns that a narrow terminal does without, these first."""


@dataclass(frozen=True)
class Trial:
    """One launch and what came of it."""

    sizes: dict[str, int]
    seed: int
    comparisons: list[Comparison]
    emulation: Emulation | None = None
    """What the CPU emulator says of it."""
    unchecked: Sequence[str] = ()
    """Outputs without an element, though nobody asked for none of them: a bundle may say so."""


@dataclass(frozen=True)
class Verdict:
    """All launches of a run."""

    subject: Subject
    device: str
    reference: Function | None
    trials: list[Trial]
    sources: dict[str, str]
    """Who says what decides: `outputs`, `tolerance`, and `arguments`, which are their types and sizes."""
    outputs: dict[str, Any]
    """What the last launch wrote, by name, when that is to be saved."""

    @property
    def unchecked(self) -> bool:
        """Whether an output that was to be compared has no element, though nobody asked for that."""
        return any(trial.unchecked for trial in self.trials)

    @property
    def ok(self) -> bool | None:
        """Whether nothing is wrong; `None` when nothing was compared, or not all that was to be."""
        found = [comparison.ok for trial in self.trials for comparison in trial.comparisons]
        if False in found:
            return False
        return True if True in found and not self.unchecked else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "kernel": self.subject.name,
            "target": self.subject.target,
            "device": self.device,
            "reference": str(self.reference) if self.reference else None,
            "from": self.sources,
            "ok": self.ok,
            **self.subject.code_dict(),
            "runs": [
                {
                    "sizes": trial.sizes,
                    "seed": trial.seed,
                    "outputs": [_comparison_dict(comparison) for comparison in trial.comparisons],
                    "unchecked": [*trial.unchecked],
                    **({} if trial.emulation is None else {"emulator": emulation_dict(trial.emulation)}),
                }
                for trial in self.trials
            ],
        }


def _comparison_dict(comparison: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {**asdict(comparison), "ok": comparison.ok, "problems": comparison.problems()}
    # JSON has no infinity.
    for key in ("max_absolute_error", "max_relative_error"):
        found[key] = found[key] if math.isfinite(found[key]) else None
    if comparison.first:
        for key in ("value", "expected"):
            value = found["first"][key]
            found["first"][key] = value if math.isfinite(value) else str(value)
    return found


def show(verdict: Verdict, context: click.Context, *, quiet: bool) -> None:
    """Print a verdict; `quiet` leaves what is wrong alone."""
    from cutecc.cli.console import Console

    console = Console()
    points = [(sizes_text(sizes), list(trials)) for sizes, trials in groupby(verdict.trials, lambda each: each.sizes)]
    if not quiet:
        _show_all(verdict, [sizes for sizes, _ in points], console)
    several_seeds = len(verdict.trials) > len(points)
    for sizes, trials in points:
        for trial in trials:
            place = [sizes] if len(points) > 1 else []
            place += [f"seed {trial.seed}"] if several_seeds else []
            for comparison in trial.comparisons:
                for problem in comparison.problems():
                    text = f"{', '.join(place)}: {problem}" if place else problem
                    console.say(text, "red")
            if trial.unchecked:
                text = f"not checked: with {sizes}, there is no element of {', '.join(trial.unchecked)}"
                console.say(f"{text}; --size gives other sizes")
    if not quiet and (hint := _hint(verdict, context, console.is_terminal)):
        console.say(hint, "" if verdict.ok is False else "dim")


def _show_all(verdict: Verdict, points: Sequence[str], console: Console) -> None:
    """What ran, the table, and what the emulator says of the last launch."""
    subject, trials = verdict.subject, verdict.trials
    what = [text for text in (points_text(points), seeds_text(trials[0].seed, trials[-1].seed)) if text]
    head = f"{subject.name} for {subject.target} on {verdict.device}: {'; '.join(what)}"
    console.say(wrapped(head, console.width))
    if trials[0].comparisons:
        reference = verdict.reference
        said = [("reference", reference.path), *verdict.sources.items()] if reference else []
        console.say(wrapped(sources_text(said), console.width))
        print_table(verdict_table(trials, console), console)
    else:
        reason = (
            "it has no reference (--reference FILE.py:NAME)"
            if verdict.reference is None
            else "no outputs are named (--outputs NAME)"
        )
        console.print(f"ran; nothing was compared: {reason}", highlight=False)
    if trials[0].comparisons and verdict.ok is None and not verdict.unchecked:
        console.print("nothing was compared: no output has an element", highlight=False)
    if emulation := trials[-1].emulation:
        for line in subject.code_lines():
            console.say(line)
        show_emulation(emulation, console)


def _hint(verdict: Verdict, context: click.Context, is_terminal: bool) -> str | None:
    """Who looks for what may be wrong, or for what one order of warps does not show."""
    is_emulated = verdict.trials[0].emulation is not None
    is_wrong = verdict.ok is False
    if not is_wrong and not (is_emulated and is_terminal):
        return None
    from cutecc.cli.sanitize import sanitize_command

    command = sanitize_command(context)
    if is_wrong:
        return f"hint: {command} looks for races and bad accesses"
    return f"not checked for races and bad accesses: {command} does"


def verdict_table(trials: Sequence[Trial], console: Console) -> Table:
    """A row for each output, with the worst of all launches at the same sizes; of several sizes a section for each."""
    from rich.text import Text

    columns: dict[str, Mapping[str, Any]] = {**dict.fromkeys(_COLUMNS, NUMBERS), "type": {"no_wrap": True}}
    columns |= {**dict.fromkeys(("output", "shape"), NAMES), "": {"no_wrap": True}}
    rows: list[Row] = []
    points = [(sizes, list(same)) for sizes, same in groupby(trials, lambda trial: trial.sizes)]
    for sizes, same in points:
        rows += [sizes_text(sizes)] if len(points) > 1 else []
        for outputs in zip(*(trial.comparisons for trial in same), strict=True):
            if any(output.ok is False for output in outputs):
                verdict = Text("WRONG", style="bold red")
            else:
                verdict = Text("ok", style="green") if outputs[0].ok else Text("empty")
            rows.append({**{heading: cell(outputs) for heading, cell in _COLUMNS.items()}, "": verdict})
    return fitting(columns, rows, _DISPENSABLE, console)
