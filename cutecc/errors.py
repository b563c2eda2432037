"""The exceptions of cutecc: every one says what happened, where, and what to try next."""

from __future__ import annotations

import itertools
import os.path
import re
import signal
from dataclasses import dataclass, field
from typing import Any

_LONGEST_LINE = 160
"""Characters of a source line that an excerpt shows."""
_MOST_READ = 1_000_000
"""Characters: a line of a file that is not source can be as long as the file."""


@dataclass(frozen=True)
class SourceLocation:
    """A place in a file of the user's: 1-based line and column, as editors count them."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str | None = None
    """The source line itself; read from `file` when it is not given."""
    length: int = 1
    """How many characters from `column` on the caret underlines; 0 where no line of `file` is to be read and shown."""
    near: bool = False
    """Whether what is meant has no line of its own, and this is the last one before it."""

    @classmethod
    def of_debug_information(cls, file: str, line: int, column: int) -> SourceLocation:
        """A place as MLIR and PTX have it: the DSL counts columns from 0, all others from 1, with 0 for none.

        Column 0 of Python is a function's, or stands for none: nothing inside of a function begins there.
        """
        return cls(file, line, column + 1 if column and file.endswith(".py") else column or None)

    @classmethod
    def parse(cls, text: str) -> SourceLocation:
        """The place that a record spells `file:line:column`, as `str` does; the last two may be missing."""
        match = re.fullmatch(r"(near )?(.*?)(?::(\d{1,9}))?(?::(\d{1,9}))?", text, re.DOTALL)
        assert match is not None
        near, file, line, column = match.groups()
        return cls(file, int(line) if line else None, int(column) if column else None, near=near is not None)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"near {place}" if self.near else place

    def excerpt(self) -> str:
        """The source line with a caret below the column; empty when the line cannot be read.

        Of a long line, what is around the column.
        """
        line = self.text if self.text is not None or not self.length else self._read_line()
        if line is None:
            return ""
        shown = line.rstrip("\r\n").expandtabs(4)
        before = len(line[: self.column - 1].expandtabs(4)) if self.column else 0
        start = max(0, min(before - _LONGEST_LINE // 2, len(shown) - _LONGEST_LINE))
        end = start + _LONGEST_LINE
        cut = f"{'…' * (start > 0)}{shown[start:end]}{'…' * (end < len(shown))}"
        if self.column is None:
            return f"  {cut}"
        indent = before - start + (start > 0)
        length = max(1, min(self.length, end - before))
        return f"  {cut}\n  {' ' * indent}{'^' * length}"

    def _read_line(self) -> str | None:
        if self.line is None or self.line < 1:
            return None
        try:
            # A location in IR can name anything; a device or a pipe would never end.
            if not os.path.isfile(self.file):
                return None
            with open(self.file, encoding="utf-8", errors="replace") as lines:
                line = next(itertools.islice(lines, self.line - 1, None), None)
                return line and line[:_MOST_READ]
        except (OSError, ValueError):
            return None


@dataclass(eq=False)
class Error(Exception):
    """The base of all exceptions of cutecc.

    `str(error)` is one message for a terminal: location, what happened, the source line with a caret,
    notes, and hints that say what to try.
    """

    message: str
    location: SourceLocation | None = None
    notes: list[str] = field(default_factory=list[str])
    """Facts that belong to the failure, such as the output of a tool."""
    hints: list[str] = field(default_factory=list[str])
    """What the user can try next."""
    reproducer: str | None = field(default=None, kw_only=True)
    """Path of the saved module that reproduces the failure, its command in the header."""
    command: str = field(default="", kw_only=True)
    """The command line that makes the saved module fail again."""

    def __post_init__(self) -> None:
        # An exception keeps its arguments, so that it survives pickling between processes.
        super().__init__(self.message)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), dict(self.__dict__))

    def __str__(self) -> str:
        head = f"{self.location}: {self.message}" if self.location else self.message
        return "\n".join([head, *(f"{label}: {text}" if label else text for label, text in self.details())])

    def details(self) -> list[tuple[str, str]]:
        """What follows the message, each with its label: the source line without one, `note`, `hint`.

        Of a failure that was saved, also `reproducer` and `reproduce`, the file and the command.
        """
        excerpt = self.location.excerpt() if self.location else ""
        saved = [("reproducer", self.reproducer), ("reproduce", self.command)] if self.reproducer else []
        return [
            *([("", excerpt)] if excerpt else []),
            *(("note", note) for note in self.notes),
            *(("hint", hint) for hint in self.hints),
            *saved,
        ]


def _rebuild(kind: type[Error], state: dict[str, object]) -> Error:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    Exception.__init__(error, state["message"])
    return error


class UsageError(Error):
    """The request itself is wrong: a file, function, option, pass or target that does not exist."""


class SpecError(UsageError):
    """An argument spec that does not parse, or does not fit its parameter."""


class NoGpuError(UsageError):
    """The GPUs of this machine were asked for, and there is none, or no driver for them."""


class NoTargetError(UsageError, KeyError):
    """A target that a set of kernels is not compiled for. A `KeyError` too: sets are mappings."""


class NotInstalledError(UsageError, ModuleNotFoundError):
    """A part of cutecc that this installation does not have, or a package that it needs; the hint installs it."""


class MissingNameError(UsageError, AttributeError):
    """A name of cutecc's that this installation does not have, as `NotInstalledError`: `hasattr` says so too."""


class ArgumentError(UsageError):
    """An argument that a compiled kernel does not take: its type, shape, strides, alignment or device."""


class EpilogueError(UsageError):
    """A function over a product's accumulators that is no epilogue, or operands that do not fit it."""


class LayoutError(Error):
    """A layout expression that CuTe does not define: sizes that do not divide, ranks that differ, text that is none."""


class TraceError(Error):
    """The kernel could not be imported or traced."""


class ParseError(Error):
    """A module that MLIR cannot parse or verify."""


@dataclass(eq=False)
class PassError(Error):
    """A pass failed, or aborted the process it ran in."""

    pass_name: str = ""


class InternalError(Error):
    """A mistake of cutecc's own."""


class ToolError(Error):
    """An external tool (ptxas, nvdisasm, cuobjdump) is missing or failed."""


class RecordError(Error):
    """A record on disk that cannot be read: damaged, incomplete, or of a newer major version."""


class LaunchError(Error):
    """The CUDA driver is missing or refused, or the host program ended with an error."""


class ProfilingError(LaunchError):
    """No samples of a kernel can be taken here: there is no CUPTI, or the driver or another profiler refuses."""


class EstimateError(Error):
    """A kernel whose time the model cannot tell: it depends on data, or on what is not measured."""


class EmulatorError(LaunchError):
    """A kernel did on the emulator what would be a fault on a GPU, or what the emulator cannot do."""


class FaultError(EmulatorError):
    """An emulated kernel did what hardware answers with a fault."""


class LimitError(EmulatorError):
    """An emulated kernel would take more than its limits allow: time, instructions, memory, blocks, registers, PTX."""


class DeadlockError(EmulatorError):
    """No thread of an emulated kernel can go on."""


@dataclass(eq=False)
class SanitizerError(EmulatorError):
    """The emulator has found something wrong with a kernel; the message lists it."""

    findings: list[Any] = field(default_factory=list[Any])
    """Every `cutecc.emulator.checks.finding.Finding`, in the order of blocks."""


class UnsupportedVersionError(Error):
    """The installed nvidia-cutlass-dsl is not one that this cutecc knows, or it does not load."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hints = [*self.hints, "cutecc doctor says what is installed, and what of it does not fit"]


def describe(failure: BaseException) -> str:
    """An exception's type and message, `ValueError: no such axis`; the type alone when it has no message."""
    message = message_of(failure)
    return f"{type(failure).__name__}: {message}" if message else type(failure).__name__


def message_of(failure: BaseException) -> str:
    """`str(failure)`, also of an exception whose class, from anybody, fails at that."""
    try:
        return str(failure)
    except foreign_failures():
        return "an exception that has no text"


def line_in(file: str | None, failure: BaseException) -> SourceLocation | None:
    """The line of `file` that `failure` came through last, if it came through any."""
    found, trace = None, failure.__traceback__
    while trace is not None:
        if file and trace.tb_frame.f_code.co_filename == file:
            found = SourceLocation(file, trace.tb_lineno)
        trace = trace.tb_next
    return found


def foreign_failures() -> tuple[type[BaseException], ...]:
    """What to catch around code that is not ours. It may call `sys.exit`; only the user's own interrupt goes through.

    Where interrupts are ignored, as in worker processes, a `KeyboardInterrupt` is the code's own.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return (BaseException,)
    return (Exception, SystemExit, GeneratorExit)
