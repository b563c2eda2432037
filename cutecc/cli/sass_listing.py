"""The machine code of a record as `cutecc show --sass` prints it: by source line, in columns, with its loops drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from cutecc.cli.sass_columns import choose_columns, row
from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import stages_of
from cutecc.report.annotated_sass import AnnotatedFunction, annotated_code
from cutecc.report.frames import in_own_file
from cutecc.report.loop_brackets import between, loop_brackets
from cutecc.report.paths import short_names
from cutecc.report.stage_text import Function, find_named
from cutecc.support.locations import Frame

_INDENT = "  "
"""Of instructions, below their line and label."""


def sass_listing(
    compilation: Compilation, function: str | None, *, locations: bool, width: int | None
) -> Iterator[str]:
    """The functions of a record, or one, for so many characters a line. Raises `UsageError` for one that is not there.

    With `locations` each instruction has all frames of its place behind it.
    """
    found = annotated_code(compilation)
    if function is not None:
        known = [Function(each.function.name, index, index) for index, each in enumerate(found)]
        found = [found[find_named(known, function, "in the machine code").first]]
    sources = stages_of(compilation).user_lines.sources if compilation.has_stages else {}
    for index, each in enumerate(found):
        if index:
            yield ""
        yield _heading(each, compilation.target)
        yield from _Listing(each, compilation.own_file, sources).lines(locations=locations, width=width)


def _heading(annotated: AnnotatedFunction, target: str) -> str:
    facts = [f"{len(annotated.function.instructions)} instructions"]
    if annotated.registers is not None:
        facts.append(f"{annotated.registers} registers")
    if annotated.function.instructions:
        peak = annotated.liveness.occupied.index(annotated.liveness.peak)
        facts.append(f"{annotated.liveness.peak} live at most, at {annotated.function.instructions[peak].offset:04x}")
    if annotated.spills:
        facts.append(f"{len(annotated.spills)} spill{'' if len(annotated.spills) == 1 else 's'}")
    name = click.style(short_kernel_name(annotated.function.name), bold=True)
    return f"{name} for {target}: {', '.join(facts)}"


class _Listing:
    """One function."""

    def __init__(self, annotated: AnnotatedFunction, own_file: str | None, sources: Mapping[str, str]) -> None:
        self._annotated = annotated
        self._sources = {file: text.split("\n") for file, text in sources.items()}
        places = (each.place for each in annotated.function.instructions)
        self._places = [() if place is None else in_own_file(place, own_file) for place in places]
        self._names = short_names({frame.file for place in self._places for frame in place})

    def lines(self, *, locations: bool, width: int | None) -> Iterator[str]:
        # What was asked for is there, whatever room there is.
        width = None if locations else width
        owners = [" ← ".join(map(self._name, place if locations else place[-1:])) for place in self._places]
        drawn = loop_brackets(self._annotated.flow)
        columns = choose_columns(
            self._annotated,
            range(len(owners)),
            width,
            longest_owner=max(map(len, owners), default=0),
            margin=max(map(len, drawn), default=0) + len(_INDENT),
        )
        line = None
        for number, (owner, bracket) in enumerate(zip(owners, drawn, strict=True)):
            outer = click.style(between(bracket), fg="cyan")
            if label := self._annotated.labels.get(number):
                yield f"{outer}{click.style(f'{label}:', fg='yellow')}{self._loop(number)}"
            place = self._places[number]
            if place and place[-1] != line:
                text = self._source(place[-1])
                if text or not columns.owner:
                    name = self._name(place[-1])
                    yield f"{outer}{click.style(name, fg='blue')}{_cut(text, width, len(between(bracket) + name))}"
            line = place[-1] if place else None
            yield row(self._annotated, number, columns, owner=owner, margin=bracket + _INDENT)

    def _name(self, frame: Frame) -> str:
        return f"{self._names[frame.file]}:{frame.line}"

    def _source(self, user: Frame) -> str:
        """The text of a line, where the record has it."""
        text = self._sources.get(user.file, [])[user.line - 1 : user.line]
        return "".join(f"  {each.strip()}" for each in text)

    def _loop(self, number: int) -> str:
        count = self._annotated.loop_at(number)
        return click.style(f"  loop of {count} instructions", dim=True) if count else ""


def _cut(text: str, width: int | None, taken: int) -> str:
    """Text with an ellipsis where there is no room for all of it."""
    return text if width is None or taken + len(text) <= width else f"{text[: max(width - taken - 1, 0)]}…"
