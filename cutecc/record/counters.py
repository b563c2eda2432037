"""What the emulator counted of a run, kept in the record of the kernel that ran."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Artifact, Compilation
from cutecc.record.folder import RecordFolder, read_folder
from cutecc.record.naming import file_name
from cutecc.support.malformed import MALFORMED

_SUFFIX = ".counters.json"


class LineCounts(msgspec.Struct):
    """What the instructions of one line of the user's did."""

    kernel: str
    """The kernel's symbol."""
    file: str
    line: int
    counts: dict[str, int | float]
    """By what was counted, as `cutecc run --counters --json` calls it; what is not there is zero."""


class PtxCounts(msgspec.Struct):
    """What one instruction of PTX did."""

    kernel: str
    line: int
    """Of the PTX, from 1."""
    counts: dict[str, int | float]
    """As `LineCounts` has them, without ratios."""


class KeptCounters(msgspec.Struct):
    """One run."""

    title: str
    """How it was made, for people."""
    lines: list[LineCounts]
    instructions: list[PtxCounts] = []
    """Those that were executed. Records of an earlier cutecc have none."""


def keep_counters(folder: Path, counters: KeptCounters) -> None:
    """Put what was counted into the record in `folder`, in the place of what an earlier run counted.

    Raises `RecordError`.
    """
    try:
        record = RecordFolder.reopen(folder)
    except BlockingIOError:
        raise RecordError(f"another cutecc is writing to {folder}", hints=["wait for it, and run again"]) from None
    except OSError as failure:
        raise RecordError(f"cannot write to {folder}: {failure.strerror}") from None
    try:
        compilation = read_folder(folder)
        name = f"{file_name(compilation.name)}{_SUFFIX}"
        compilation.artifacts = [each for each in compilation.artifacts if each.kind != "counters"]
        compilation.artifacts.append(Artifact("counters", name))
        record.write(name, msgspec.json.format(msgspec.json.encode(counters), indent=1) + b"\n")
        record.save(compilation)
    finally:
        record.close()


def read_counters(compilation: Compilation) -> KeptCounters | None:
    """What was counted, `None` when nothing was. Raises `RecordError`."""
    data = compilation.artifact("counters")
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=KeptCounters)
    except MALFORMED as failure:
        raise RecordError(f"the record's counters are damaged: {failure}") from None
