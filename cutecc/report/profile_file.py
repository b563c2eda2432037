"""What `cutecc profile --json` wrote, as far as it is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record.naming import short_kernel_name
from cutecc.record.plain_file import read_plain
from cutecc.report.roofline import Roofline, Run, roofline
from cutecc.report.timeline_picture import Picture
from cutecc.support.harmless import one_line
from cutecc.support.malformed import MALFORMED

_LONGEST = 1 << 28
"""Bytes of a file that is read."""

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
"""What a page can show exactly."""
Rate = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class FileInstruction(msgspec.Struct):
    """An instruction that was sampled."""

    offset: Count
    text: str
    samples: Count
    reasons: dict[str, Count]


class FileWaits(msgspec.Struct):
    """What warps waited for, in words."""

    waits: str
    samples: Count


class FileLine(msgspec.Struct):
    """A line of Python, or with no `file` what belongs to none."""

    instructions: list[FileInstruction]
    file: str | None = None
    line: Count = 0
    text: str = ""
    waits: list[FileWaits] = []

    @property
    def samples(self) -> int:
        """Of all its instructions."""
        return sum(each.samples for each in self.instructions)


class FileKernel(msgspec.Struct):
    """A kernel that was sampled."""

    symbol: str
    lines: list[FileLine]
    samples: Count = 0
    """With those of instructions that are not known."""

    @property
    def name(self) -> str:
        """As people call it."""
        return short_kernel_name(self.symbol)

    @property
    def instructions(self) -> Iterator[FileInstruction]:
        """Those of all lines."""
        return (each for line in self.lines for each in line.instructions)

    @property
    def texts(self) -> dict[int, str]:
        """The text of each instruction, by offset."""
        return {each.offset: each.text for each in self.instructions}


class FileLimits(msgspec.Struct):
    """One call beside what the device reaches."""

    microseconds: Rate
    gigabytes_per_second: Rate | None = None
    percent_of_copy: Rate | None = None
    teraflops: Rate | None = None
    percent_of_matrix: Rate | None = None
    intensity: Rate | None = None
    bound: str = "unknown"


class ProfileFile(msgspec.Struct):
    """One profile of such a file."""

    title: str
    device: str
    period_cycles: Count
    kernels: list[FileKernel]
    samples: Count = 0
    limits: FileLimits | None = None
    """`None` of a program."""
    timeline: Picture | None = None
    """`None` where its warps were not recorded."""

    @property
    def microseconds(self) -> float | None:
        """Of one call, all its kernels together, without sampling; `None` where nobody timed it."""
        return self.limits.microseconds if self.limits else None


def read_profiles(path: Path) -> list[ProfileFile]:
    """The profiles of a file. Raises `UsageError` where it cannot be read, or is no such file."""
    try:
        return msgspec.json.decode(read_plain(path, _LONGEST), type=list[ProfileFile])
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None
    except (RecordError, *MALFORMED) as failure:
        raise UsageError(
            f"{path} is no profile: {failure}", hints=["cutecc profile … --json FILE writes one"]
        ) from None


def timelines_of(profiles: Sequence[ProfileFile]) -> list[Picture]:
    """The timelines in what was read, for the page to draw, each with the title of its profile."""
    return [
        msgspec.structs.replace(each.timeline, title=one_line(each.title))
        for each in profiles
        if each.timeline is not None
    ]


def roofline_of(profiles: Sequence[ProfileFile]) -> Roofline | None:
    """The roofline of what was read; `None` where nothing has a place in it."""
    return roofline([Run(each.title, each.device, each.limits) for each in profiles])
