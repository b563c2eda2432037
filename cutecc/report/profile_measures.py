"""What `cutecc profile --json` has of a record's kernels, as measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.plain_file import read_plain
from cutecc.report.code import Code
from cutecc.report.measures import Description, Measure, Reading, points_at_offsets
from cutecc.report.same_build import check_build
from cutecc.report.stalls import stall_of
from cutecc.sass import SassFunction
from cutecc.support.harmless import one_line
from cutecc.support.malformed import MALFORMED

_LONGEST = 1 << 28
"""Bytes of a file that is read."""
_LONGEST_TITLE = 120


class _Instruction(msgspec.Struct):
    offset: int
    text: str
    samples: int
    reasons: dict[str, int]


class _Line(msgspec.Struct):
    instructions: list[_Instruction]


class _Kernel(msgspec.Struct):
    symbol: str
    lines: list[_Line]

    @property
    def instructions(self) -> Iterator[_Instruction]:
        return (each for line in self.lines for each in line.instructions)


class _Profile(msgspec.Struct):
    title: str
    device: str
    period_cycles: int
    kernels: list[_Kernel]


def profile_measures(compilation: Compilation, path: str | Path) -> list[Measure]:
    """A measure for each profile in the file at `path` that has kernels of the record: samples, with their reasons.

    Raises `UsageError` where the file cannot be read, is no profile, has none of the record's kernels, or is of another
    build of one.
    """
    path, functions = Path(path), Code(compilation).functions_by_file
    profiles = _read(path)
    named = {each.name: each for found in functions.values() for each in found}
    if not named:
        raise UsageError(f"the record of {compilation.name} has no SASS, to which samples belong")
    measures = [
        Measure(_described(each, path, reasons), points_at_offsets(functions, _readings(kernels)))
        for each in profiles
        if (kernels := [kernel for kernel in each.kernels if kernel.symbol in named])
        if (reasons := _checked(path, kernels, named))
    ]
    if not measures:
        seen = ", ".join(dict.fromkeys(kernel.symbol for each in profiles for kernel in each.kernels)) or "none"
        raise UsageError(f"{path} has no samples of this record's kernels", notes=[one_line(f"it has {seen}")[:1000]])
    return measures


def _read(path: Path) -> list[_Profile]:
    try:
        return msgspec.json.decode(read_plain(path, _LONGEST), type=list[_Profile])
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None
    except (RecordError, *MALFORMED) as failure:
        raise UsageError(
            f"{path} is no profile: {failure}", hints=["cutecc profile … --json FILE writes one"]
        ) from None


def _checked(path: Path, kernels: Sequence[_Kernel], named: dict[str, SassFunction]) -> list[str]:
    """The reasons that there are samples of. Raises `UsageError` for another build."""
    for kernel in kernels:
        texts = {each.offset: each.text for each in kernel.instructions}
        check_build(path, named[kernel.symbol], texts, "the profile", partly=True)
    return [*dict.fromkeys(name for kernel in kernels for each in kernel.instructions for name in each.reasons)]


def _readings(kernels: Sequence[_Kernel]) -> dict[str, dict[int, Reading]]:
    return {
        kernel.symbol: {each.offset: Reading(each.samples, each.reasons) for each in kernel.instructions}
        for kernel in kernels
    }


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
