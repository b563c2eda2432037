"""The `# cutecc:` comment lines of a kernel file: its defaults, as one TOML document."""

from __future__ import annotations

import dataclasses
import re
import tokenize
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, cast

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import size_names, unify_sizes
from cutecc.arguments.specs import Spec
from cutecc.errors import SourceLocation, UsageError
from cutecc.frontend.files import check_file
from cutecc.frontend.size_arithmetic import check
from cutecc.record import Workload
from cutecc.support.spelling import did_you_mean

_LINE = re.compile(r"[ \t]*#[ \t]*cutecc:(?P<payload>.*)")
_TOML_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "entry": ((str,), "a string"),
    "args": ((dict,), "a table of argument specs"),
    "target": ((str,), "a string"),
    "reference": ((str,), "a string"),
    "outputs": ((list,), "a list of strings"),
    "tolerance": ((int, float), "a number"),
    "ulp": ((int,), "a whole number"),
    "bytes": ((str, int, float), "a number or arithmetic over named sizes"),
    "flops": ((str, int, float), "a number or arithmetic over named sizes"),
    "peers": ((list,), "a list of strings"),
}


@dataclass(frozen=True)
class Header:
    """What a kernel file says about itself. Every part may be missing."""

    entry: str | None = None
    """The function to compile, or an expression in the file's namespace that gives it."""
    args: dict[str, Spec] = field(default_factory=dict[str, Spec])
    """Argument specs by parameter, as they are written: `unify_sizes` tells what they say together."""
    target: str | None = None
    """The target, or several separated by commas."""
    reference: str | None = None
    """The function in the file that returns the expected outputs."""
    outputs: list[str] = field(default_factory=list[str])
    """The parameters that the kernel writes."""
    tolerance: float | None = None
    """The largest relative error that counts as equal."""
    ulp: int | None = None
    """Steps of the output's type that count as equal: 0 where the kernel computes exactly what its reference does."""
    bytes: str | None = None
    """Bytes that a run moves, as arithmetic over named sizes."""
    flops: str | None = None
    """Floating-point operations of a run, as arithmetic over named sizes."""
    peers: list[str] = field(default_factory=list[str])
    """Functions in the file that do the kernel's work with torch tensors."""
    sources: dict[str, SourceLocation] = field(default_factory=dict[str, SourceLocation], compare=False)
    """Where each value stands, by key: `bytes`, `args.a`."""

    def with_args(self, texts: Mapping[str, str]) -> Header:
        """This header with other argument specs, as `--arg name=text` gives them. `SpecError` for a wrong spec."""
        places = {name: SourceLocation(f"--arg {name}", column=1, text=text) for name, text in texts.items()}
        args = {name: parse_spec(text, places[name]) for name, text in texts.items()}
        sources = {f"args.{name}": place for name, place in places.items()}
        return dataclasses.replace(self, args=self.args | args, sources=self.sources | sources)

    @property
    def arg_sources(self) -> dict[str, SourceLocation]:
        """Where each argument spec was written, by parameter."""
        return {name: self.sources[f"args.{name}"] for name in self.args if f"args.{name}" in self.sources}

    @property
    def workload(self) -> Workload | None:
        """How to run the kernel and rate it, as the record keeps it; `None` for a file that says nothing of it."""
        workload = Workload(list(self.outputs), self.tolerance, self.bytes, self.flops, self.ulp)
        return None if workload == Workload() else workload


def read_header(path: str | Path) -> Header:
    """The header of the kernel file at `path`, empty when it has none.

    Raises `UsageError` at the file's own line for TOML that does not parse, unknown keys and wrong types, `SpecError`
    for wrong argument specs, and `UsageError` when the file cannot be read.
    """
    check_file(str(path))
    try:
        # As Python reads a source file, by its coding comment.
        with tokenize.open(path) as file:
            text = file.read()
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}") from None
    return parse_header(text, str(path))


def parse_header(text: str, file: str) -> Header:
    """The header in `text`, the content of `file`. Raises as `read_header` does."""
    return _Reader(text, file).read()


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._lines: list[tuple[int, str, str]] = []
        """Number in the file, whole line, and TOML of each header line."""
        for number, line in enumerate(text.split("\n"), start=1):
            if match := _LINE.match(line):
                self._lines.append((number, line, match["payload"]))

    def read(self) -> Header:
        values = self._toml()
        for key, value in values.items():
            self._check(key, value)
        sources = {key: self._source(key, value) for key, value in values.items() if key != "args"}
        texts = cast(dict[str, str], values.get("args", {}))
        places = {name: self._source(f"args.{name}", text) for name, text in texts.items()}
        args = {name: parse_spec(text, places[name]) for name, text in texts.items()}
        unify_sizes(args, places)
        header = Header(
            entry=values.get("entry"),
            args=args,
            target=values.get("target"),
            reference=values.get("reference"),
            outputs=values.get("outputs", []),
            tolerance=values.get("tolerance"),
            ulp=values.get("ulp"),
            bytes=None if "bytes" not in values else str(values["bytes"]),
            flops=None if "flops" not in values else str(values["flops"]),
            peers=values.get("peers", []),
            sources=sources | {f"args.{name}": place for name, place in places.items()},
        )
        for key, arithmetic in (("bytes", header.bytes), ("flops", header.flops)):
            if arithmetic is not None:
                with _located(sources[key]):
                    check(arithmetic, size_names(args))
        return header

    def _toml(self) -> dict[str, Any]:
        try:
            return tomllib.loads("\n".join(payload for _, _, payload in self._lines))
        except RecursionError:
            number, line, _ = self._lines[0]
            place = SourceLocation(self._file, number, text=line)
            raise UsageError("the header is nested too deeply", place) from None
        except ValueError as error:  # also of a number with too many digits
            message = str(error)
            match = _TOML_POSITION.search(message)
            index = int(match[1]) - 1 if match and match[1] else len(self._lines) - 1
            number, line, payload = self._lines[index]
            column = len(line) - len(payload) + int(match[2]) if match and match[2] else len(line) + 1
            reason = _TOML_POSITION.sub("", message)
            raise UsageError(
                f"the header is not TOML: {reason[:1].lower()}{reason[1:]}",
                SourceLocation(self._file, number, column, line),
                hints=["one 'key = value' a line, strings quoted: # cutecc: target = \"sm_90a\""],
            ) from None

    def _check(self, key: str, value: object) -> None:
        if key not in _TYPES:
            close = did_you_mean(key, _TYPES)
            self._fail(f"unknown key '{key}' in the header", key, [*close, f"known keys: {', '.join(_TYPES)}"])
        kinds, description = _TYPES[key]
        if not isinstance(value, kinds) or isinstance(value, bool):
            self._fail(f"'{key}' is {description}", key)
        if isinstance(value, int | float) and value < 0:
            self._fail(f"'{key}' is negative", key)
        if isinstance(value, list) and not all(isinstance(item, str) for item in cast(list[object], value)):
            self._fail(f"'{key}' is {description}", key)
        if isinstance(value, dict):
            for name, item in cast(dict[str, object], value).items():
                if not isinstance(item, str):
                    self._fail(f"'{key}.{name}' is an argument spec in quotes", f"{key}.{name}")

    def _source(self, key: str, value: object) -> SourceLocation:
        """Where the text of `value` stands, or the line of `key` when it is not written there as it is."""
        number, line, _ = self._line_of(key)
        column = line.find(value) if isinstance(value, str) and value else -1
        if column < 0:
            return SourceLocation(self._file, number, text=line)
        return SourceLocation(self._file, number, column + 1, line, len(str(value)))

    def _line_of(self, key: str) -> tuple[int, str, str]:
        """The header line that sets `key`: dotted as `args.a`, or a plain `a` in the table `[args]`."""
        if entry := self._setting.get(key):
            return entry
        # Written otherwise, for example in an inline table.
        parent, _, last = key.rpartition(".")
        if parent:
            return self._line_of(parent)
        return next((entry for entry in self._lines if last in entry[2]), self._lines[0])

    @cached_property
    def _setting(self) -> dict[str, tuple[int, str, str]]:
        """By key, and by each table that it is in, the first line that sets it."""
        found: dict[str, tuple[int, str, str]] = {}
        table = ""
        for entry in self._lines:
            payload = entry[2].strip()
            if section := re.fullmatch(r"\[\s*([\w.-]+)\s*\]", payload):
                table = section[1] + "."
                found.setdefault(section[1], entry)
            name = table + re.split(r"[=\s]", payload, maxsplit=1)[0].replace('"', "")
            while name:
                found.setdefault(name, entry)
                name = name.rpartition(".")[0]
        return found

    def _fail(self, message: str, key: str, hints: list[str] | None = None) -> NoReturn:
        number, line, payload = self._line_of(key)
        column = len(line) - len(payload.lstrip()) + 1
        length = len(re.split(r"[=\s]", payload.strip(), maxsplit=1)[0])
        raise UsageError(message, SourceLocation(self._file, number, column, line, length), hints=hints or [])


@contextmanager
def _located(source: SourceLocation | None) -> Generator[None]:
    """Moves the location of an error in arithmetic to where the arithmetic is written."""
    try:
        yield
    except UsageError as error:
        inner = error.location
        if source is not None and inner is not None:
            column = source.column and source.column + (inner.column or 1) - 1
            error.location = dataclasses.replace(source, column=column, length=inner.length)
        raise
