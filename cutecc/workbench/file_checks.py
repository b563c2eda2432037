"""FileCheck files as checks of modules and code."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filecheck.compiler import compile_uops
from filecheck.error import CheckError, ParseError
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.ops import CheckOp, NumSubst
from filecheck.options import DumpInputKind, Options
from filecheck.parser import Parser, pattern_for_opts

from cutecc.errors import RecordError, UsageError, describe
from cutecc.record.plain_file import read_plain
from cutecc.workbench.checks import Finding

_LONGEST_FILE = 16 << 20
"""Bytes."""
_AFTER_ANOTHER = ("NEXT", "SAME", "EMPTY")
_SETS_NONE = ("NOT", "LABEL")
"""Checks of which no variable is known behind them."""
_MALFORMED = re.compile(r":(\d+): error: (Malformed regex expression: .*|Variable \S+ referenced before assignment)")


@dataclass(frozen=True)
class FileCheck:
    """The checks of a FileCheck file, on the text of a module or of code."""

    file: str
    checks: str
    """The content of the file."""
    prefixes: tuple[str, ...] = ("CHECK",)

    @classmethod
    def read(cls, path: Path, prefixes: Sequence[str] = ()) -> FileCheck:
        """The checks in a file. Raises `UsageError` for a file without any, or with one that is malformed."""
        try:
            text = read_plain(path, _LONGEST_FILE).decode()
        except (OSError, ValueError, RecordError) as failure:
            raise UsageError(f"cannot read {path}: {failure}") from None
        check = cls(str(path), text, tuple(prefixes) or ("CHECK",))
        check._look_through()
        return check

    def __call__(self, data: bytes, suffix: str) -> Finding:
        """What the checks say of `data`.

        Raises `UsageError` for a pattern that what was matched makes malformed, or that the package cannot match.
        """
        text = data.decode(errors="replace")
        matcher = _Matcher(self._options, _Input("-", FInput.canonicalize_line_ends(text)), self._parser())
        matcher.stderr = log = io.StringIO()
        try:
            passes = matcher.run() == 0
        except (AssertionError, IndexError, NotImplementedError, ValueError) as failure:
            # Such as a group that captures nothing, before one that does, which the package counts too.
            raise UsageError(
                f"{self.file}: the package filecheck cannot match it: {describe(failure)}",
                hints=["write it without groups in {{…}}"],
            ) from failure
        # Behind the first line comes where it was.
        line = _plain(log.getvalue()).partition("\n")[0]
        if malformed := _MALFORMED.fullmatch(line.removeprefix(self.file)):
            raise self._wrong(int(malformed[1]), malformed[2])
        return Finding("passes" if passes else "fails", line)

    @property
    def _options(self) -> Options:
        return Options(self.file, check_prefixes=list(self.prefixes), allow_empty=True, dump_input=DumpInputKind.FAIL)

    def _parser(self) -> Parser:
        options = self._options
        return Parser(options, io.StringIO(self.checks), *pattern_for_opts(options))

    def _look_through(self) -> None:
        """Find now what is wrong with the file: when it is matched, it would look like a check that fails."""
        parser = self._parser()
        try:
            operations = list(parser)
        except ParseError as failure:
            raise self._wrong(failure.line_no, failure.message) from None
        except ValueError as failure:
            raise self._wrong(parser.line_no, str(failure)) from None
        if not operations:
            names = ", ".join(f"{each}:" for each in self.prefixes)
            raise UsageError(f"{self.file} has no lines with {names}", hints=["--check-prefix names another prefix"])
        if operations[0].name in _AFTER_ANOTHER:
            first = operations[0]
            raise self._wrong(first.source_line, f"{first.check_name} stands behind no other check")
        known: dict[str, str | int] = {}
        for operation in operations:
            if any(isinstance(part, NumSubst) for part in operation.uops):
                raise self._wrong(operation.source_line, "numeric substitutions are not supported")
            try:
                # Labels are looked for before anything else.
                before = {} if operation.name == "LABEL" else known
                _, captured = compile_uops(operation, before, self._options)
            except CheckError as failure:
                raise self._wrong(operation.source_line, failure.message) from None
            if operation.name not in _SETS_NONE:
                known.update(dict.fromkeys(captured, ""))

    def _wrong(self, line: int, message: str) -> UsageError:
        return UsageError(
            f"{self.file}:{line}: {message}", hints=["mend that line: as it is, it says nothing of a module"]
        )


class _Matcher(Matcher):
    """Says that a check fails, and does not look for what may have been meant, of which nothing is told."""

    def find_prefix_match_for(self, op: CheckOp) -> None:
        return None


class _Input(FInput):
    """Text to match, of which the last line may have no end, and without what the package prints for CHECK-DAG."""

    def skip_to_end_of_line(self) -> None:
        if self.range.start == 0:
            return
        end = min(len(self.content), self.range.end)
        line_end = self.content.find("\n", self.range.start, end)
        self.move_to(line_end if line_end >= 0 else max(self.range.start, end))

    def advance_to_last_hole(self) -> None:
        region = self.is_discontigous()
        assert region is not None
        rest = region.remainder_to_normal_range()
        self.move_to(rest.start)
        self.range = rest


def _plain(text: str) -> str:
    """Without what colours it on a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
