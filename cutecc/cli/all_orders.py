"""What `cutecc sanitize --schedule all` says of orders, and the files of those that found something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.errors import UsageError

if TYPE_CHECKING:
    from cutecc.cli.checked_runs import CheckedRun
    from cutecc.emulator.orders.result import Orders

_ENDS = {"budget": "the budget of {} ended it", "interrupt": "it was interrupted"}


def check_options(values: dict[str, Any]) -> None:
    """Raise `UsageError` for options that are of all orders where others are asked for."""
    from cutecc.cli.files import check_output
    from cutecc.emulator.options import ALL

    if values["schedule"] != ALL:
        for name, option in (("budget", "--budget"), ("keep_schedule", "--keep-schedule")):
            if values[name] is not None:
                raise UsageError(f"{option} is of all orders", hints=[f"--schedule {ALL} tries them"])
    elif values["keep_schedule"] is not None:
        check_output(values["keep_schedule"])


def keep_schedules(runs: Sequence[CheckedRun], name: str, path: Path | None) -> list[CheckedRun]:
    """The runs, whose findings name the files that their orders are in by now: `path`, and others numbered beside it.

    Without a path they are called after the kernel, in the current folder.
    """
    from cutecc.emulator.options import REPLAY
    from cutecc.emulator.orders.result import ORDER

    path, number = path or Path(f"{name}.schedule.json"), 0
    kept: list[CheckedRun] = []
    for run in runs:
        names: dict[str, str] = {}
        for place, witness in enumerate([] if run.emulation.orders is None else run.emulation.orders.witnesses, 1):
            number += 1
            file = path if number == 1 else path.with_name(_numbered(path.name, number))
            witness.schedule.save(file)
            names[f"{ORDER}{place}"] = f"{REPLAY}{file}"
        findings = [replace(each, schedule=names.get(each.schedule, each.schedule)) for each in run.emulation.findings]
        kept.append(replace(run, emulation=replace(run.emulation, findings=findings)))
    return kept


def _numbered(name: str, number: int) -> str:
    """`a-2.schedule.json` of `a.schedule.json`."""
    stem, dot, rest = name.partition(".")
    return f"{stem}-{number}{dot}{rest}"


def orders_of(runs: Sequence[CheckedRun]) -> list[Orders]:
    """Of the runs, where all orders were tried."""
    return [run.emulation.orders for run in runs if run.emulation.orders is not None]


def verdict_on(runs: Sequence[CheckedRun], problems: int, *, complete: bool) -> str | None:
    """The last line, where all orders were tried; `complete` is whether all checks came to their end."""
    tried = orders_of(runs)
    if not tried:
        return None
    executed = sum(each.executed for each in tried)
    rest = "" if complete else ", and not all was checked"
    of = "this launch" if sum(len(run.emulation.launches) for run in runs) == 1 else "these launches"
    if problems:
        found = f"{problems} problem{'' if problems == 1 else 's'} found in"
    elif "races" in runs[0].emulation.options.check:
        found = "no deadlock and no race in"
    else:
        found = "nothing found in"
    if all(each.complete for each in tried):
        number = "the only order" if executed == 1 else f"any of {executed:,} orders"
        return f"{found} {number.replace('any of', 'the') if problems else number} of {of}{rest}"
    return f"{found} {executed:,} order{'' if executed == 1 else 's'} of {of}, {'; '.join(_ends(tried))}{rest}"


def _ends(tried: Sequence[Orders]) -> Iterator[str]:
    for each in tried:
        if each.ended_by is not None:
            parts = f", with {each.total - each.parts:,} of {each.total:,} parts left" if each.total > 1 else ""
            yield f"and there may be more: {_ENDS[each.ended_by].format(each.budget)}{parts}"
            return
