"""What to know of a record first, for the terminal: the facts that its page begins with."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cutecc.cli.headings import wrapped
from cutecc.record import Compilation
from cutecc.record.stages import UserLines, stages_of
from cutecc.report.mapping import mix_of_record
from cutecc.report.paths import short_names
from cutecc.report.verdict import Detail, Fact, Verdict, verdict_of

_ABOUT = 16
"""Columns of what a fact is about."""
_ENDLESS = 1 << 16


def record_verdict(compilation: Compilation) -> Verdict:
    """What to know of a record first, from what it holds. Raises `RecordError` for one that is damaged."""
    lines = stages_of(compilation).user_lines if compilation.has_stages else UserLines()
    return verdict_of(compilation, mix_of_record(compilation, lines), lines)


def verdict_lines(compilation: Compilation, columns: int | None) -> Iterator[str]:
    """The facts of a record in so many columns; with `None`, each on one line."""
    verdict = record_verdict(compilation)
    facts = [*verdict.facts, *(fact for each in verdict.kernels for fact in each.facts)]
    names = short_names({detail.line[0] for fact in facts for detail in fact.details if detail.line})
    yield click.style(compilation.name, bold=True) + f" for {compilation.target}"
    for fact in verdict.facts:
        yield from _fact(fact, names, columns)
    for kernel in verdict.kernels:
        yield ""
        yield click.style(kernel.name, bold=True)
        for fact in kernel.facts:
            yield from _fact(fact, names, columns)


def _fact(fact: Fact, names: dict[str, str], columns: int | None) -> Iterator[str]:
    label = click.style(f"{fact.about:<{_ABOUT}}", fg="red" if fact.bad else None, bold=fact.bad)
    for line in _lines_of(fact, names):
        for part in wrapped(line, columns - _ABOUT if columns else _ENDLESS).split("\n"):
            yield label + part
            label = " " * _ABOUT


def _lines_of(fact: Fact, names: dict[str, str]) -> list[str]:
    texts = [_detail(each, names) for each in fact.details]
    if not texts or fact.details[0].line:
        return [fact.text, *texts]
    first, *rest = texts
    # `91.0%` `of 312 instructions…` is one clause.
    return [f"{fact.text} {first}" if first.startswith("of ") else f"{fact.text}: {first}", *rest]


def _detail(detail: Detail, names: dict[str, str]) -> str:
    return f"{names[detail.line[0]]}:{detail.line[1]}  {detail.text}" if detail.line else detail.text
