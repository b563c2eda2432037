"""What Nsight Compute measured of a record's kernels, as measures, by kernel and offset of each instruction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.report.code import Code
from cutecc.report.measures import Combine, Description, Measure, Reading, points_at_offsets
from cutecc.report.ncu_table import NcuInstruction, NcuLaunch, read_ncu
from cutecc.report.same_build import check_build
from cutecc.report.stalls import stall_of
from cutecc.sass import SassFunction
from cutecc.support.harmless import one_line

_LONGEST_TITLE = 120
_ALIGNMENT = 128
"""Of functions, in bytes: where one begins whose first instruction a table may lack."""
_MOST_NAMED = 5


def ncu_measures(compilation: Compilation, path: str | Path) -> list[Measure]:
    """The measures in what `ncu --page source --csv` printed into the file at `path`.

    Those of several launches of a kernel are summed. Raises `UsageError` where the file cannot be read, is no such
    table, has none of the record's kernels, or was made of another build of one.
    """
    path, functions = Path(path), Code(compilation).functions_by_file
    launches = read_ncu(path)
    named = {each.name: each for found in functions.values() for each in found}
    if not named:
        raise UsageError(f"the record of {compilation.name} has no SASS, to which counters of ncu belong")
    found = [(function, each) for each in launches if (function := _function_of(each.kernel, named)) is not None]
    if not found:
        raise _no_kernel(path, launches, named)
    for function, launch in found:
        texts = {offset: each.text for offset, each in _at_offsets(function, launch).items()}
        check_build(path, function, texts, "ncu saw")
    return [*_measures(path, functions, found)]


def _function_of(name: str, named: Mapping[str, SassFunction]) -> SassFunction | None:
    """The function that ncu calls `name`: as the symbol, perhaps with the types of its arguments, or its short name."""
    plain = name.removeprefix("void ").partition("(")[0].strip()
    if (known := named.get(name) or named.get(plain)) is not None:
        return known
    short = [each for symbol, each in named.items() if short_kernel_name(symbol) == plain]
    return short[0] if len(short) == 1 else None


def _no_kernel(path: Path, launches: Iterable[NcuLaunch], named: Iterable[str]) -> UsageError:
    measured = list(dict.fromkeys(each.kernel or "one without a name" for each in launches))
    more = f", and {len(measured) - _MOST_NAMED} more" if len(measured) > _MOST_NAMED else ""
    return UsageError(
        f"{path} has no kernel of this record: it is of {', '.join(measured[:_MOST_NAMED])}{more}",
        notes=[f"the record has {', '.join(named)}"],
    )


def _at_offsets(function: SassFunction, launch: NcuLaunch) -> dict[int, NcuInstruction]:
    """What was measured of each instruction, by its offset in the function."""
    base = min(launch.instructions) // _ALIGNMENT * _ALIGNMENT
    offsets = {each.offset for each in function.instructions}
    return {address - base: each for address, each in launch.instructions.items() if address - base in offsets}


_Found = Sequence[tuple[SassFunction, NcuLaunch]]
"""Launches with the functions that ran."""


def _measures(path: Path, functions: Mapping[str, Sequence[SassFunction]], launches: _Found) -> Iterator[Measure]:
    columns = {name: unit for _, launch in launches for name, unit in launch.columns.items()}
    run = f"Nsight Compute, {path.name}" + (f", {len(launches)} launches" if len(launches) > 1 else "")
    for name in _shown(columns):
        parts = _parts(columns, name)
        described = _described(name, columns[name], run, parts)
        if points := points_at_offsets(functions, _readings(launches, name, parts, described.combine)):
            yield Measure(described, points)


def _shown(columns: Iterable[str]) -> list[str]:
    """The columns that are measures of their own: reasons are what samples are of."""
    shown = [name for name in columns if not _REASON.fullmatch(name)]
    # It is that of all samples once more.
    again = "# Samples" if sum(1 for name in shown if _SAMPLES.fullmatch(name)) > 1 else None
    return [name for name in shown if name != again]


def _parts(columns: Iterable[str], name: str) -> dict[str, str]:
    """What the samples of a column are of: the names of reasons, by the columns that have them."""
    samples = _SAMPLES.fullmatch(name)
    if samples is None:
        return {}
    reasons = [match for each in columns if (match := _REASON.fullmatch(each))]
    return {each[0]: each[1] for each in reasons if bool(each[2]) == bool(samples[1])}


def _readings(
    launches: _Found, column: str, parts: Mapping[str, str], combine: Combine
) -> dict[str, dict[int, Reading]]:
    """What a column has of each instruction, by kernel and offset, with its parts by the columns that they are in."""
    found: dict[str, dict[int, Reading]] = {}
    for function, launch in launches:
        known = found.setdefault(function.name, {})
        for offset, each in _at_offsets(function, launch).items():
            if column in each.values:
                shares = {name: each.values.get(part, 0) for part, name in parts.items()}
                reading = Reading(each.values[column], shares)
                known[offset] = _joined(known[offset], reading, combine) if offset in known else reading
    return found


def _joined(one: Reading, other: Reading, combine: Combine) -> Reading:
    if combine == "max":
        return max(one, other, key=lambda each: each.value)
    parts = {name: one.parts.get(name, 0) + part for name, part in other.parts.items()}
    return Reading(one.value + other.value, parts)


_REASON = re.compile(r"(?:stall_|smsp__pcsamp_warps_issue_stalled_)(\w+?)( \(Not Issued\)|_not_issued)?")
_SAMPLES = re.compile(r"Warp Stall Sampling \((?:All|(Not-issued)) (?:Samples|Cycles)\)|# Samples")
_AVERAGES = re.compile(r"(?i)\bavg\b|average|%|\bpct\b|ratio|efficiency|n-way|live registers|\bsize\b|\brate\b")
_COSTS = re.compile(r"(?i)excessive|conflict|stall|samples|divergent|spill|live registers|local")
_KNOWN = {
    "Instructions Executed": ("How often warps executed the instruction.", "warp instructions"),
    "Thread Instructions Executed": ("How often threads took part in it.", "thread instructions"),
    "Predicated-On Thread Instructions Executed": (
        "How often threads took part in it, and its guard held.",
        "thread instructions",
    ),
    "L2 Theoretical Sectors Global": ("Sectors of global memory, of 32 bytes, that it asks for.", "sectors"),
    "L2 Theoretical Sectors Global Excessive": ("Those beyond what its bytes need.", "sectors"),
    "L2 Theoretical Sectors Global Ideal": ("Those that its bytes need.", "sectors"),
    "L1 Wavefronts Shared": ("Passes over the banks of shared memory.", "wavefronts"),
    "L1 Wavefronts Shared Excessive": ("Those that bank conflicts add.", "wavefronts"),
    "L1 Wavefronts Shared Ideal": ("Those without bank conflicts.", "wavefronts"),
    "Divergent Branches": ("Branches where the threads of a warp part.", "branches"),
}


def _described(name: str, unit: str, run: str, parts: Mapping[str, str]) -> Description:
    sampled = _SAMPLES.fullmatch(name)
    meaning, usual = _KNOWN.get(name, ("What Nsight Compute calls so.", ""))
    if sampled:
        waiting = " while nothing was issued" if sampled[1] else ""
        meaning, usual = f"How often a warp was seen at the instruction{waiting}, and why it waited.", "samples"
    return Description(
        one_line(name)[:_LONGEST_TITLE],
        meaning,
        run,
        one_line(unit)[:_LONGEST_TITLE] or usual,
        combine="max" if _AVERAGES.search(name) else "sum",
        is_worse=_COSTS.search(name) is not None,
        is_sampled=sampled is not None,
        parts={part: stall_of(part).waits for part in parts.values()},
    )
