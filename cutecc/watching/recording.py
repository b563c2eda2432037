"""Reading what watched processes have written."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cutecc.errors import RecordError
from cutecc.frontend.call_site import CallSite
from cutecc.record.plain_file import read_plain
from cutecc.record.stages import UserLines
from cutecc.support.malformed import MALFORMED
from cutecc.watching.journal import JOURNAL, LINES, MODULE, RECORDED

_LONGEST = 1 << 31
"""Bytes of a file that is read."""
_MOST_OF_LINES = 1 << 28
"""Bytes, expanded."""
_KEY = re.compile(r"[0-9a-f]{32}")


class _Event(msgspec.Struct, tag_field="event"):
    time: float


class Process(_Event, tag="process"):
    """A process that compiled kernels."""

    pid: int
    command: list[str]
    folder: str


class KernelEvent(_Event, tag="kernel"):
    """A kernel, when a process traces it first; the fields are those of `TracedKernel`."""

    key: str
    name: str
    function: str
    symbol: str
    kernels: list[str]
    parameters: list[tuple[str, str, str | None]]
    target: str
    options: str
    locations: bool
    called_from: CallSite
    file: str | None = None
    line: int | None = None


class Traced(_Event, tag="traced"):
    """A kernel was traced on its way to the DSL's compiler."""

    key: str
    seconds: float


class Compiled(_Event, tag="compiled"):
    """The program's own compile has ended."""

    key: str
    seconds: float
    error: str | None = None


class Repeated(_Event, tag="repeated"):
    """Traces that the DSL answered from memory."""

    key: str
    times: int


class Failed(_Event, tag="failed"):
    """A kernel that does not trace."""

    name: str
    function: str
    target: str
    called_from: CallSite
    error: str
    file: str | None = None
    line: int | None = None
    times: int = 1


class Note(_Event, tag="note"):
    """What could not be recorded."""

    message: str


_EVENTS = msgspec.json.Decoder(Process | KernelEvent | Traced | Compiled | Repeated | Failed | Note)


@dataclass
class WatchedKernel:
    """A kernel that the program has compiled, however often."""

    event: KernelEvent
    traces: int = 0
    """How often it was traced, in all processes."""
    trace_seconds: float | None = None
    """The program's first trace of it."""
    compile_seconds: float | None = None
    """The program's first compile of it, after tracing; `None` when that has not ended."""
    error: str | None = None
    """How the program's own compile failed."""
    processes: set[int] = field(default_factory=set[int])


@dataclass
class Recording:
    """Everything that the processes of a watch have written so far."""

    folder: Path
    kernels: dict[str, WatchedKernel] = field(default_factory=dict[str, WatchedKernel])
    """By key, in the order in which they were traced."""
    failures: list[Failed] = field(default_factory=list[Failed])
    """Traces that failed; the same failure once."""
    processes: list[Process] = field(default_factory=list[Process])
    notes: list[str] = field(default_factory=list[str])

    def module(self, key: str) -> bytes:
        """The traced module. Raises `RecordError`."""
        try:
            return read_plain(self.folder / RECORDED / f"{key}{MODULE}", _LONGEST, follow=False)
        except OSError as failure:
            raise RecordError(f"a watched kernel's module is missing: {failure}") from None

    def lines(self, key: str) -> bytes | None:
        """What the trace knows of the user's program, as it was written. Raises `RecordError`."""
        try:
            return read_plain(self.folder / RECORDED / f"{key}{LINES}", _LONGEST, follow=False)
        except OSError:
            return None


def is_recorded(folder: Path) -> bool:
    """Whether a process has written anything into the folder of a watch."""
    return (folder / RECORDED).is_dir() and not (folder / RECORDED).is_symlink()


def read(folder: Path) -> Recording:
    """What is recorded in the folder of a watch, which may still go on. Raises `RecordError` when it is none."""
    if not is_recorded(folder):
        raise RecordError(f"no watch was recorded in {folder}", hints=["cutecc watch -o DIR -- python program.py"])
    recording = Recording(folder)
    journals = sorted((folder / RECORDED).glob(f"*{JOURNAL}"))
    events = [(event, index) for index, path in enumerate(journals) for event in _events(path, recording)]
    for event, process in sorted(events, key=lambda each: each[0].time):
        _add(recording, event, process)
    return recording


def _events(path: Path, recording: Recording) -> list[_Event]:
    events: list[_Event] = []
    try:
        lines = read_plain(path, _LONGEST, follow=False).split(b"\n")
    except (OSError, RecordError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else failure.message
        recording.notes.append(f"{path.name} cannot be read: {reason}")
        return []
    for line in lines[:-1]:  # what follows the last line's end was cut off
        try:
            events.append(_EVENTS.decode(line))
        except MALFORMED as failure:
            recording.notes.append(f"{path.name} has a line that cannot be read: {failure}")
    return events


def _add(recording: Recording, event: _Event, process: int) -> None:
    match event:
        case Process():
            recording.processes.append(event)
        case Note():
            if event.message not in recording.notes:
                recording.notes.append(event.message)
        case Failed():
            same = (event.function, event.target, event.error, event.called_from)
            for each in recording.failures:
                if (each.function, each.target, each.error, each.called_from) == same:
                    each.times += 1
                    return
            recording.failures.append(event)
        case KernelEvent():
            if _KEY.fullmatch(event.key):
                recording.kernels.setdefault(event.key, WatchedKernel(event)).processes.add(process)
        case Traced() | Compiled() | Repeated():
            if kernel := recording.kernels.get(event.key):
                _count(kernel, event)
        case _:
            pass


def _count(kernel: WatchedKernel, event: Traced | Compiled | Repeated) -> None:
    match event:
        case Traced():
            kernel.traces += 1
            if kernel.trace_seconds is None:
                kernel.trace_seconds = event.seconds
        case Compiled():
            if kernel.compile_seconds is None:
                kernel.compile_seconds, kernel.error = event.seconds, event.error
        case Repeated():
            kernel.traces += event.times


def encode_lines(lines: UserLines) -> bytes:
    """What a trace knows of the user's program, for a file."""
    return zlib.compress(msgspec.json.encode(lines), 1)


def decode_lines(data: bytes) -> UserLines:
    """The reverse of `encode_lines`. Raises `RecordError` for a file that is damaged."""
    try:
        return msgspec.json.decode(zlib.decompressobj().decompress(data, _MOST_OF_LINES), type=UserLines)
    except (zlib.error, *MALFORMED) as failure:
        raise RecordError(f"the lines of a watched kernel cannot be read: {failure}") from None
