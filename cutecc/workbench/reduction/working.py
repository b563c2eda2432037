"""What the processes of a reduction do: edit a module, and ask whether it still fails."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from cutecc.errors import Error, ParseError
from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.ir.modules import content_hash, parse, to_text
from cutecc.passes import plugins
from cutecc.workbench.checks import Finding
from cutecc.workbench.reduction.edits import count_operations, count_sites_of, edit
from cutecc.workbench.reduction.oracles import Oracle
from cutecc.workbench.reduction.placeholders import PLACEHOLDER
from cutecc.workbench.reduction.texts import TEXT_KINDS, edit_text


@dataclass(frozen=True)
class Candidate:
    """A module that may take the place of a larger one."""

    text: str
    operations: int
    """How many it holds, placeholders for values not among them."""

    @property
    def lines(self) -> int:
        """Of its text."""
        return self.text.count("\n")


@dataclass(frozen=True)
class Manner:
    """How modules are edited."""

    locations: bool = False
    """Keep where operations come from."""
    placeholders: bool = True
    """Let them stand for values that go."""


class _Latest:
    """The module that was edited last: the next edit is mostly of the same, and copying takes less than parsing."""

    def __init__(self) -> None:
        self._hash = ""
        self._context = ir.Context()
        self._module: ir.Module | None = None

    @contextlib.contextmanager
    def copy_of(self, text: str) -> Generator[ir.Module]:
        """The module in `text`, to be changed; its context is current inside."""
        key = content_hash(text.encode())
        if key != self._hash or self._module is None:
            self._module, self._hash = None, ""
            self._context = ir.Context()
            with self._context, ir.Location.unknown():
                self._module = parse(text.encode())
            self._hash = key
        # A file with passes may have imported the DSL.
        with self._context, ir.Location.unknown(), plain_values():
            # A view of a module that nothing holds is all that is needed of one.
            yield self._module.operation.clone()  # pyright: ignore[reportReturnType]


_latest = _Latest()


def normalised(data: bytes, locations: bool, source: str = "-") -> Candidate:
    """The module in `data`, text or bytecode, as MLIR prints it. Raises `ParseError`, which names `source`."""
    context = ir.Context()
    with context, ir.Location.unknown():
        module = parse(data, source)
        return Candidate(to_text(module, locations=locations), count_operations(module))


def count_sites(text: str, kind: str) -> int:
    """How many sites a kind of edit has in a module."""
    if kind in TEXT_KINDS:
        return len(TEXT_KINDS[kind].sites(text))
    with _latest.copy_of(text) as module:
        return count_sites_of(module, kind)


def edited(text: str, kind: str, chosen: Sequence[int], manner: Manner) -> Candidate | None:
    """The module that comes of an edit to some sites; `None` when MLIR finds it invalid, or nothing changes."""
    try:
        if kind in TEXT_KINDS:
            candidate = normalised(edit_text(text, kind, chosen).encode(), manner.locations)
        else:
            with _latest.copy_of(text) as copy:
                module = edit(copy, kind, chosen)
                candidate = Candidate(to_text(module, locations=manner.locations), count_operations(module))
    except (ir.MLIRError, ParseError, ValueError, RuntimeError, IndexError):
        return None
    if not manner.placeholders and candidate.text.count(PLACEHOLDER) > text.count(PLACEHOLDER):
        return None
    return None if candidate.text == text else candidate


def ask(oracle: Oracle, text: str, seconds: float | None) -> Finding:
    """What a test says of a module, whose compiling may take so many seconds; after them this process ends."""
    plugins.load_files()
    try:
        return oracle(text.encode(), seconds)
    except Error as error:
        return Finding("unknown", error.message)
