"""What `cutecc profile --json` has of a record's kernels, as measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.plain_file import read_plain
from cutecc.report.code import Code
from cutecc.report.measures import Description, Measure, Reading, points_at_offsets
from cutecc.report.same_build import check_build
from cutecc.report.stalls import stall_of
from cutecc.support.harmless import one_line
from cutecc.support.malformed import MALFORMED

_LONGEST = 1 << 28
"""Bytes of a file that is read."""
_LONGEST_TITLE = 120


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
"""What a page can show exactly."""


class _Instruction(msgspec.Struct):
    offset: Count
    text: str
    samples: Count
    reasons: dict[str, Count]


class _Line(msgspec.Struct):
    instructions: list[_Instruction]


class _Kernel(msgspec.Struct):
    symbol: str
    lines: list[_Line]

    @property
    def instructions(self) -> Iterator[_Instruction]:
        return (each for line in self.lines for each in line.instructions)

    @property
    def texts(self) -> dict[int, str]:
        """By offset."""
        return {each.offset: each.text for each in self.instructions}


_NOTHING = msgspec.Raw(b"null")


class _Profile(msgspec.Struct):
    title: str
    device: str
    period_cycles: int
    kernels: list[_Kernel]
    timeline: msgspec.Raw = _NOTHING
    """`cutecc.report.timeline_picture` reads it."""


def profile_measures(compilation: Compilation, path: str | Path) -> list[Measure]:
    """A measure for each profile in the file at `path` that has kernels of the record: samples, with their reasons.

    Raises `UsageError` where the file cannot be read, is no profile, has none of the record's kernels, or is of another
    build of one. A profile may be a timeline alone.
    """
    path, functions = Path(path), Code(compilation).functions_by_file
    profiles = _read(path)
    if _are_timelines(profiles):
        return []
    named = {each.name: each for found in functions.values() for each in found}
    if not named:
        raise UsageError(f"the record of {compilation.name} has no SASS, to which samples belong")
    measures: list[Measure] = []
    refused: list[UsageError] = []
    for profile in profiles:
        kernels: list[_Kernel] = []
        for kernel in profile.kernels:
            if (function := named.get(kernel.symbol)) is not None:
                try:
                    check_build(path, function, kernel.texts, "the profile saw", partly=True)
                    kernels.append(kernel)
                except UsageError as other_build:
                    refused.append(other_build)
        if kernels:
            points = points_at_offsets(functions, _readings(kernels))
            measures.append(Measure(_described(profile, path, _reasons(kernels)), points))
    if not measures:
        raise refused[0] if refused else _no_kernel(path, profiles)
    return measures


def _are_timelines(profiles: Sequence[_Profile]) -> bool:
    """Whether nothing was sampled, but something recorded."""
    recorded = any(bytes(each.timeline) != bytes(_NOTHING) for each in profiles)
    return recorded and not any(each.kernels for each in profiles)


def _no_kernel(path: Path, profiles: Sequence[_Profile]) -> UsageError:
    seen = ", ".join(dict.fromkeys(kernel.symbol for each in profiles for kernel in each.kernels)) or "none"
    return UsageError(f"{path} has no samples of this record's kernels", notes=[one_line(f"it has {seen}")[:1000]])


def _read(path: Path) -> list[_Profile]:
    try:
        return msgspec.json.decode(read_plain(path, _LONGEST), type=list[_Profile])
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None
    except (RecordError, *MALFORMED) as failure:
        raise UsageError(
            f"{path} is no profile: {failure}", hints=["cutecc profile … --json FILE writes one"]
        ) from None


def _reasons(kernels: Sequence[_Kernel]) -> list[str]:
    """The reasons that there are samples of."""
    return [*dict.fromkeys(name for kernel in kernels for each in kernel.instructions for name in each.reasons)]


def _readings(kernels: Sequence[_Kernel]) -> dict[str, dict[int, Reading]]:
    """By symbol and offset the samples of all of them: a process may have the same code twice."""
    found: dict[str, dict[int, Reading]] = {}
    for kernel in kernels:
        known = found.setdefault(kernel.symbol, {})
        for each in kernel.instructions:
            before = known.get(each.offset, Reading(0))
            names = [*dict.fromkeys((*before.parts, *each.reasons))]
            parts = {name: before.parts.get(name, 0) + each.reasons.get(name, 0) for name in names}
            known[each.offset] = Reading(before.value + each.samples, parts)
    return found


def _described(profile: _Profile, path: Path, reasons: Sequence[str]) -> Description:
    run = one_line(", ".join(filter(None, [f"cutecc profile, {path.name}", profile.title, profile.device])))
    return Description(
        one_line(f"samples, {profile.title}" if profile.title else "samples")[:_LONGEST_TITLE],
        f"How often a warp was seen at the instruction, every {profile.period_cycles:,} cycles, and why it waited.",
        run[: 2 * _LONGEST_TITLE],
        "samples",
        is_worse=True,
        is_sampled=True,
        parts={name: stall_of(name).waits for name in reasons},
    )
