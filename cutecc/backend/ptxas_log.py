"""Reading what ptxas prints: complaints with their PTX lines, and with `-v` what each kernel takes.

Two writers are read: the ptxas program, and the assembler inside the nvidia-cutlass-dsl wheel, whose log is the
attribute `cutlass.ptxas_logs` and differs in how lines of properties begin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "error"]

_MESSAGE = re.compile(
    r"ptxas\s+(?:(?P<file>\S.*?), line (?P<line>\d+); )?(?P<severity>info|warning|error|fatal)\s*:\s*(?P<text>.*)"
)
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<target>[^']+)'")
_PROPERTIES_OF = re.compile(r"Function properties for (?P<name>\S+)")
_PROPERTIES = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SEVERITIES: dict[str, Severity] = {"info": "info", "warning": "warning", "error": "error", "fatal": "error"}
_CODE = re.compile(r"\((?P<code>C\d+)\)\s*")
_STATISTICS = re.compile(r"\d+ bytes gmem|Compile time = |Processing |Overriding |For profile ")


@dataclass(frozen=True)
class Complaint:
    """One message of ptxas about the program, as against its statistics."""

    severity: Severity
    message: str
    """Without the prefix, the severity and the code."""
    line: int | None = None
    """1-based line of the PTX."""
    code: str | None = None
    """The number of an advisory, such as `C7512`."""


@dataclass
class EntryStatistics:
    """What `-v` says of one kernel; memory in bytes, per thread for stack and spills, per block for shared memory."""

    name: str
    target: str
    registers: int | None = None
    barriers: int | None = None
    stack_bytes: int | None = None
    spill_store_bytes: int | None = None
    """Of the kernel's own code: functions that it calls have lines of their own, which are not added."""
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    """Static shared memory, without what the system reserves."""


@dataclass
class PtxasLog:
    """A log of ptxas, taken apart."""

    entries: dict[str, EntryStatistics] = field(default_factory=dict[str, EntryStatistics])
    """By kernel name, in the order they were compiled; empty without `-v`."""
    complaints: list[Complaint] = field(default_factory=list[Complaint])

    @property
    def errors(self) -> list[Complaint]:
        """The complaints that made ptxas fail."""
        return [complaint for complaint in self.complaints if complaint.severity == "error"]


def parse_log(text: str) -> PtxasLog:
    """The statistics and complaints in a log of ptxas; lines that are neither are skipped."""
    log = PtxasLog()
    entry: EntryStatistics | None = None
    function = ""
    for line in text.splitlines():
        if match := _PROPERTIES.search(line):
            if owner := log.entries.get(function):
                owner.stack_bytes = int(match["stack"])
                owner.spill_store_bytes = int(match["stores"])
                owner.spill_load_bytes = int(match["loads"])
            continue
        message = _MESSAGE.search(line)
        if message is None:
            continue
        content = message["text"]
        if match := _ENTRY.match(content):
            entry = log.entries[match["name"]] = EntryStatistics(match["name"], match["target"])
        elif match := _PROPERTIES_OF.match(content):
            function = match["name"]
        elif match := _USED.match(content):
            if entry is not None:
                _read_used(entry, content)
        elif not _STATISTICS.match(content):
            log.complaints.append(_complaint(message))
    return log


def _read_used(entry: EntryStatistics, content: str) -> None:
    """Fill in from `Used 48 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]`: zeros are left out."""

    def number(pattern: str) -> int:
        match = re.search(pattern, content)
        return int(match[1]) if match else 0

    entry.registers = number(r"Used (\d+) registers")
    entry.barriers = number(r"used (\d+) barriers")
    entry.shared_bytes = number(r"(\d+) bytes smem")


def _complaint(message: re.Match[str]) -> Complaint:
    content = message["text"]
    code = _CODE.match(content)
    return Complaint(
        severity=_SEVERITIES[message["severity"]],
        message=content[code.end() :] if code else content,
        line=int(message["line"]) if message["line"] else None,
        code=code["code"] if code else None,
    )
