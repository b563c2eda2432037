"""Reading snapshots in a process of its own: printing a large module takes as long as compiling it.

The compiling process writes each snapshot as bytecode, which is quick; a second process parses, counts and prints it
meanwhile. It outlives an abort of the first, so that what was handed over still gets printed.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cutecc.errors import Error
from cutecc.record.stages import StageWriter
from cutecc.support import isolation
from cutecc.support.locations import Place
from cutecc.support.open_folder import OpenFolder

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


@dataclass(frozen=True)
class Request:
    """A snapshot to read."""

    key: int
    bytecode: str
    """Path of the bytecode; removed once it is read."""
    text: str | None = None
    """Where to write the printed module; `None` to count only."""
    only_if_changed: bool = True
    """Write the text only when it differs from the request's before."""
    header: str = ""
    """Comment lines to put on top."""
    locations: bool = False
    """Print locations into `text`."""
    stages: str | None = None
    """The record's file of stages (`cutecc.record.stages`), to add the module to when it changed."""
    stage: int = 0
    """The number of the stage there."""
    own_file: str | None = None
    """What places call the text that the module was parsed from; `None` when it has no name."""


@dataclass(frozen=True)
class Reading:
    """What a snapshot holds."""

    key: int
    operations: dict[str, int]
    """Operations by dialect."""
    changed: bool
    """Whether the text differs from that of the request before; true for the first."""
    text: str | None
    """The path that was written."""
    error: str | None = None
    """Why the snapshot could not be read: passes need not leave a module that MLIR verifies."""


class SnapshotReader:
    """The process that reads snapshots, in the order they are submitted."""

    def __init__(self) -> None:
        child_receiver, sender = os.pipe()
        receiver, child_sender = os.pipe()
        self._process = isolation.start_python(
            "cutecc.ir.snapshots:serve", child_receiver, child_sender, stdout=subprocess.DEVNULL
        )
        os.close(child_receiver)
        os.close(child_sender)
        self._requests = Connection(sender, readable=False)
        self._readings = Connection(receiver, writable=False)
        self._outstanding = 0

    def submit(self, request: Request) -> None:
        """Hand over a snapshot; returns at once."""
        try:
            self._requests.send(request)
            self._outstanding += 1
        except BrokenPipeError:
            # The reader died: what it did not read stays unread, and `finish` returns without it.
            Path(request.bytecode).unlink(missing_ok=True)

    def poll(self) -> list[Reading]:
        """What has been read since the last call."""
        readings: list[Reading] = []
        while self._outstanding and self._readings.poll() and (reading := self._receive()) is not None:
            readings.append(reading)
        return readings

    def finish(self) -> list[Reading]:
        """Wait until everything submitted is read, and end the process."""
        self._requests.close()
        readings: list[Reading] = []
        while self._outstanding and (reading := self._receive()) is not None:
            readings.append(reading)
        self._readings.close()
        self._process.wait()
        return readings

    def _receive(self) -> Reading | None:
        try:
            reading: Reading = self._readings.recv()
        except (EOFError, OSError):
            self._outstanding = 0
            return None
        self._outstanding -= 1
        return reading


def serve() -> None:
    """The reader process: requests in, readings out, until the requests end."""
    # An interrupt ends the compiling process; what it handed over is still worth printing.
    isolation.ignore_interrupts()
    receiver, sender = (int(argument) for argument in sys.argv[2:4])
    requests = Connection(receiver, writable=False)
    readings = Connection(sender, readable=False)
    snapshots = Snapshots()
    while True:
        try:
            request: Request = requests.recv()
        except (EOFError, OSError):
            break
        try:
            reading = snapshots.read(request)
        except Exception as failure:
            message = failure.message if isinstance(failure, Error) else f"{type(failure).__name__}: {failure}"
            reading = Reading(request.key, {}, changed=True, text=None, error=message)
        try:
            readings.send(reading)
        except (BrokenPipeError, OSError):
            # Nobody listens any more, but the files are still wanted.
            continue
    os._exit(0)


class Snapshots:
    """Reads one snapshot after the other, and writes what is asked for of each."""

    def __init__(self) -> None:
        self._previous: str | None = None
        """The hash of the last module's text."""
        self._writers: dict[str, StageWriter] = {}
        self._folders: dict[str, OpenFolder] = {}
        self._context: ir.Context | None = None
        """One for all: a context takes as long to make as a small module to read, and modules share their types."""

    def read(self, request: Request) -> Reading:
        from cutecc.ir.mlir import ir
        from cutecc.ir.modules import content_hash, count_operations, parse

        bytecode = Path(request.bytecode)
        if self._context is None:
            self._context = ir.Context()
        with self._context, ir.Location.unknown():
            module = parse(bytecode.read_bytes())
            bytecode.unlink()
            operations = count_operations(module)
            printed = _print(module, request)
        digest = content_hash(printed.text.encode())
        changed = digest != self._previous
        self._previous = digest
        if request.stages and changed:
            writer = self._writers.setdefault(request.stages, StageWriter(Path(request.stages)))
            writer.add_stage(request.stage, printed.text, printed.places, operations)
        written = None
        if request.text and (changed or not request.only_if_changed):
            text = request.header + (printed.located if request.locations else printed.text)
            folder, name = os.path.split(request.text)
            if folder not in self._folders:
                self._folders[folder] = OpenFolder(folder)
            # Named as `RecordFolder.write` does, so that the next run takes away what a killed one left.
            self._folders[folder].replace(name, lambda file: file.write(text.encode()), f".{name}.partial")
            written = request.text
        return Reading(request.key, operations, changed, written)


class _Printed(NamedTuple):
    text: str
    places: list[Place | None]
    located: str
    """With locations, as MLIR can read it; without, when nobody wants them."""


def _print(module: ir.Module, request: Request) -> _Printed:
    """Print a module once: printing is what takes the time, and with locations it says all."""
    from cutecc.ir.located_text import separate_locations
    from cutecc.ir.modules import parsable, to_text

    # The parser has verified the module, which printing would do again: a third of its time.
    plain = functools.partial(to_text, module, verified=True)
    if not request.stages and not (request.text and request.locations):
        text = plain()
        return _Printed(text, [], text)
    located = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
    text, places = separate_locations(located, plain, request.own_file)
    return _Printed(text, places, parsable(located) if request.locations else text)
