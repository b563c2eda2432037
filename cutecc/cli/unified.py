"""What differs between two stages, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cutecc.cli.records import StageText
from cutecc.record.naming import short_kernel_name
from cutecc.report.comparing import Edit, compare
from cutecc.report.stage_text import fold_types, functions


def unified(
    before: StageText,
    after: StageText,
    context: int = 3,
    *,
    fold: bool = True,
    names: tuple[str, str] | None = None,
) -> list[str]:
    """What differs between two texts, as git prints it; no lines where nothing does. `fold` shortens equal types.

    `names` are those of their records, where there are two.
    """
    edits = compare(before.lines, after.lines, before_module=before.module, after_module=after.module)
    if all(edit.tag == "equal" for edit in edits):
        return []
    heads = [f"{text.position}" for text in (before, after)]
    if names:
        heads = [f"{name} {head}" for name, head in zip(names, heads, strict=True)]
    return [
        click.style(f"--- {heads[0]}", bold=True),
        click.style(f"+++ {heads[1]}", bold=True),
        *_printed(before, after, edits, context, fold=fold),
    ]


def _printed(before: StageText, after: StageText, edits: list[Edit], context: int, *, fold: bool) -> Iterator[str]:
    heads = functions(after.module)
    for hunk in _hunks(edits, context):
        first, last = hunk[0], hunk[-1]
        ranges = (
            f"-{_range(before.first + first.before, last.before_end - first.before)} "
            f"+{_range(after.first + first.after, last.after_end - first.after)}"
        )
        line = after.first + first.after
        within = next((short_kernel_name(each.name) for each in heads if each.first <= line <= each.last), "")
        yield click.style(f"@@ {ranges} @@", fg="cyan") + (f" {within}" if within else "")
        for edit in hunk:
            removed, added = before.lines[edit.before : edit.before_end], after.lines[edit.after : edit.after_end]
            if edit.tag == "equal":
                yield from (f" {fold_types(line) if fold else line}" for line in added)
                continue
            if fold:
                removed, added = _folded(removed, added)
            yield from (click.style(f"-{line}", fg="red") for line in removed)
            yield from (click.style(f"+{line}", fg="green") for line in added)


def _folded(removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
    """Both sides with short types, but for lines that would then look the same."""
    short = [[fold_types(line) for line in side] for side in (removed, added)]
    both = {*short[0]} & {*short[1]}
    return (
        [line if folded in both else folded for line, folded in zip(removed, short[0], strict=True)],
        [line if folded in both else folded for line, folded in zip(added, short[1], strict=True)],
    )


def _range(start: int, count: int) -> str:
    # An empty range is named by the line before it, as in git.
    start = start + 1 if count else start
    return f"{start}" if count == 1 else f"{start},{count}"


def _hunks(edits: list[Edit], context: int) -> Iterator[list[Edit]]:
    """Edits in groups, with so many equal lines around them."""
    hunk: list[Edit] = []
    for index, edit in enumerate(edits):
        if edit.tag != "equal":
            hunk.append(edit)
            continue
        size = edit.before_end - edit.before
        is_first, is_last = index == 0, index == len(edits) - 1
        if not is_first and not is_last and size <= 2 * context:
            hunk.append(edit)
            continue
        if not is_first:
            kept = min(context, size)
            hunk += [edit._replace(before_end=edit.before + kept, after_end=edit.after + kept)] if kept else []
            yield hunk
        hunk = []
        if not is_last and (kept := min(context, size)):
            hunk = [edit._replace(before=edit.before_end - kept, after=edit.after_end - kept)]
    if any(edit.tag != "equal" for edit in hunk):
        yield hunk
