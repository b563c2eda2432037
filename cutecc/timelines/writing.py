"""Writing a timeline to a file, in the format that its name says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from cutecc.errors import UsageError
from cutecc.support.output_file import write_output
from cutecc.timelines.chrome import chrome_trace
from cutecc.timelines.perfetto import pftrace
from cutecc.timelines.timeline import Timeline

_FORMATS: dict[str, Callable[[Timeline], Iterator[bytes]]] = {".pftrace": pftrace, ".json": chrome_trace}


def check_name(path: str | Path) -> None:
    """Raise `UsageError` unless the name says a format."""
    if Path(path).suffix not in _FORMATS:
        raise UsageError(
            f"{path}: a timeline is written to a file that ends in {' or '.join(_FORMATS)}",
            hints=["ui.perfetto.dev opens .pftrace, chrome://tracing and others .json"],
        )


def write_timeline(timeline: Timeline, path: str | Path) -> None:
    """Write a timeline, `.pftrace` for Perfetto, `.json` as Chrome has it.

    Raises `UsageError` for another name, and as `cutecc.support.output_file.write_output` where it cannot be written.
    """
    check_name(path)
    pieces = _FORMATS[Path(path).suffix](timeline)

    def write(file: BinaryIO) -> None:
        for piece in pieces:
            file.write(piece)

    write_output(Path(path), write)
