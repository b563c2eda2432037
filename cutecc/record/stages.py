"""The stages of a compilation in one file: the module after each pass that changed it, with its places in the source.

A file of blocks, each a header (kind, stage index, length) and JSON compressed with zlib. Blocks are only ever
appended, so that a file that was cut off in the middle of one still holds all earlier ones. Kinds:

- `U`: `UserLines`, what the trace knows of the user's program; at most one.
- `P`: places that the blocks after it number, from 0 on over all `P` blocks.
- `S`: a `Stage`.
- `C`: its operations by dialect; follows it.
"""

from __future__ import annotations

import errno
import os
import shlex
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Compilation
from cutecc.record.naming import file_name
from cutecc.record.plain_file import opened
from cutecc.support.locations import Place
from cutecc.support.malformed import MALFORMED
from cutecc.support.open_folder import OpenFolder

Content = TypeVar("Content")

_MAGIC = b"cutecc stages 1\n"
KEEPING = ("--dump-after=all", "--line-info")
"""Options that have a record keep the stages, and the lines of its code."""
_HEADER = struct.Struct("<cII")
_MOST_BYTES = 1 << 28
"""Of a stage, expanded, and of all places and user lines together: a hostile file shall not fill the memory."""

_MOST_OF_COUNTS = 1 << 16
"""Bytes of a stage's operations by dialect, expanded."""


class CallFrame(NamedTuple):
    """A frame of a call chain."""

    file: str
    line: int
    column: int
    function: str


class UserLines(msgspec.Struct):
    """What only the trace knows of the user's program."""

    chains: list[list[CallFrame]] = []
    """Each way, innermost frame first, from a place in a library or in a function of the user's to the kernel. Only of
    operations that were not built in the kernel's own body."""
    sources: dict[str, str] = {}
    """By file, as places name it, the text of every Python file that the trace went through."""
    failure: str | None = None
    """Why some operations have no line; `None` when nothing failed."""
    library: list[str] = []
    """Of the files of `sources`, those of installed packages and of cutecc: the others are the user's own."""


class Stage(msgspec.Struct):
    """A module as text."""

    index: int
    """The position of the pass that left it, 0 for the traced module."""
    text: str
    """As MLIR prints it, without locations."""
    places: list[int]
    """For each line of `text`, all of which end in a newline, the number of the place of the operation that begins
    there, -1 for none: also of a line that only goes on with an operation or closes its region."""


def stages_file(kernel: str) -> str:
    """The name of the file in the record of a kernel."""
    return f"{file_name(kernel)}.stages"


def create(path: Path, lines: UserLines | None = None) -> None:
    """Begin the file of a run, with what the trace knows. Raises `OSError`."""
    with OpenFolder(path.parent) as folder:
        folder.remove(path.name)
        folder.append(path.name, _MAGIC)
        if lines is not None:
            _append(folder, path.name, b"U", 0, lines)


class StageWriter:
    """Appends stages to a file that `create` made; each call leaves a file that can be read."""

    def __init__(self, path: Path) -> None:
        """Go on with the file `path`, whatever takes the place of its folder. Raises `OSError` and `RecordError`."""
        with opened(path, follow=False) as file:
            places = Stages(file.read()).places
        self._numbers: dict[Place, int] = {place: number for number, place in enumerate(places)}
        self._name = path.name
        self._folder = OpenFolder(path.parent)

    def close(self) -> None:
        """Give up the file's folder."""
        self._folder.close()

    def add_stage(
        self, index: int, text: str, places: Sequence[Place | None], operations: Mapping[str, int] | None = None
    ) -> None:
        """Keep the module after pass `index`, and how many operations of each dialect it has.

        `places` are one for each line. Raises `OSError`.
        """
        known = len(self._numbers)
        numbers = [-1 if place is None else self._numbers.setdefault(place, len(self._numbers)) for place in places]
        if new := list(self._numbers)[known:]:
            try:
                _append(self._folder, self._name, b"P", index, new)
            except OSError:
                for place in new:
                    del self._numbers[place]
                raise
        _append(self._folder, self._name, b"S", index, Stage(index, text, numbers))
        if operations is not None:
            _append(self._folder, self._name, b"C", index, operations)


def _append(folder: OpenFolder, name: str, kind: bytes, index: int, content: object) -> None:
    data = zlib.compress(msgspec.json.encode(content), 6)
    with open(folder.open(name, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        block = _HEADER.pack(kind, index, len(data)) + data
        try:
            if file.write(block) < len(block):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # What comes after half a block would be lost too.
            os.truncate(file.fileno(), end)
            raise


@dataclass(frozen=True)
class Block:
    """A block as it is in the file; `data` is JSON compressed with zlib."""

    kind: str
    index: int
    data: bytes


def changed_by(index: int, stages: Collection[int]) -> bool | None:
    """Whether pass `index` changed the module, by what stages there are so far; `None` when the last may be to come."""
    return index in stages if index <= max(stages, default=-1) else None


def complete_steps(compilation: Compilation, blocks: Collection[Block]) -> None:
    """Have the steps of a run that died say what its stages show: what each changed, and how many operations it left.

    Raises `RecordError` for blocks that are damaged.
    """
    stages = {block.index for block in blocks if block.kind == "S"}
    counts = {
        block.index: _from_json(_expand(block, _MOST_OF_COUNTS), dict[str, int])
        for block in blocks
        if block.kind == "C"
    }
    if not compilation.steps:
        return
    operations = counts.get(compilation.steps[0].index - 1, compilation.traced_operations)
    compilation.traced_operations = operations
    for step in compilation.steps:
        if step.changed is None:
            step.changed = changed_by(step.index, stages)
        step.operations_before = operations
        if step.changed is not False:
            operations = counts.get(step.index)
        step.operations_after = operations


class BlockReader:
    """The blocks of a file that is being written."""

    def __init__(self, path: Path) -> None:
        """`path` need not be there yet."""
        self._path = path
        self._position = len(_MAGIC)

    def read(self) -> list[Block]:
        """The blocks that have become whole since the last call. Raises `RecordError` for what is no plain file."""
        try:
            with opened(self._path, follow=False) as file:
                file.seek(self._position)
                blocks = list(_blocks(file.read()))
        except OSError:
            return []
        self._position += sum(_HEADER.size + len(block.data) for block in blocks)
        return blocks


class Stages:
    """The stages of a record, each expanded when it is asked for."""

    def __init__(self, data: bytes) -> None:
        """Read the file's blocks; one that is cut off at the end is left out. Raises `RecordError`."""
        if not data.startswith(_MAGIC):
            raise RecordError("the record's stages are of another version of cutecc", hints=["compile again"])
        self.blocks = list(_blocks(data[len(_MAGIC) :]))
        self._stages = {block.index: block for block in self.blocks if block.kind == "S"}
        self.places: list[Place] = []
        self.user_lines = UserLines()
        room = _MOST_BYTES
        for block in self.blocks:
            if block.kind in ("P", "U"):
                expanded = _expand(block, room)
                room -= len(expanded)
                if block.kind == "P":
                    self.places += _from_json(expanded, list[Place])
                else:
                    self.user_lines = _from_json(expanded, UserLines)
        if not all(self.places) or not all(self.user_lines.chains):
            raise RecordError("the record's stages are damaged: a place has no frame")

    @property
    def indices(self) -> list[int]:
        """The positions of the passes that changed the module, 0 for the traced one first, in order.

        Of a run that went on from a dump, the first is the position of the pass that the dump was made after.
        """
        return sorted(self._stages)

    def after(self, index: int) -> Stage:
        """The module after pass `index`, which an earlier pass may have left as it is. Raises `RecordError`."""
        known = [each for each in self._stages if each <= index]
        if not known:
            raise RecordError("the record holds no module from before that pass")
        return read_stage(self._stages[max(known)], len(self.places))


def read_stage(block: Block, places: int) -> Stage:
    """The module of a block, where there are so many places by then. Raises `RecordError`."""
    stage = _from_json(_expand(block, _MOST_BYTES), Stage)
    numbers = stage.places
    if len(numbers) != stage.text.count("\n") or (numbers and not -1 <= min(numbers) <= max(numbers) < places):
        raise RecordError(f"the record's stages are damaged: the places of stage {stage.index} are not its own")
    return stage


def read_places(block: Block) -> list[Place]:
    """The places of a block. Raises `RecordError`."""
    return _from_json(_expand(block, _MOST_BYTES), list[Place])


def stages_of(compilation: Compilation) -> Stages:
    """The stages of a record. Raises `RecordError` for one that was made without, and says how to make them."""
    data = compilation.artifact("stages")
    if data is None and compilation.failure and compilation.failure.stage == "trace":
        raise RecordError(f"{compilation.name} has no module: {compilation.failure.message}")
    if data is None:
        raise RecordError(
            f"the record of {compilation.name} holds no stages: nobody asked for them when it was compiled",
            hints=[_how_to_keep(compilation.command)],
        )
    return Stages(data)


def _how_to_keep(command: Sequence[str]) -> str:
    """What to run so that a record holds its stages, by the command line that made it."""
    if [*command[:2]] != ["cutecc", "compile"]:
        return "compile with --dump-after=all or --report, and for a bundle with --bundle-dumps"
    dumps = ["--bundle-dumps"] if any(word.split("=")[0] == "--bundle" for word in command) else []
    return f"compile it so that the record has them: {shlex.join([*command, *KEEPING, *dumps])}"


def _blocks(data: bytes) -> Iterator[Block]:
    position = 0
    while position + _HEADER.size <= len(data):
        kind, index, length = _HEADER.unpack_from(data, position)
        position += _HEADER.size
        if position + length > len(data):
            return
        yield Block(kind.decode("latin-1"), index, data[position : position + length])
        position += length


def _expand(block: Block, most: int) -> bytes:
    """The JSON of a block, if it is no longer than `most` bytes."""
    expander = zlib.decompressobj()
    try:
        expanded = expander.decompress(block.data, max(most, 1))
    except zlib.error as failure:
        raise RecordError(f"the record's stages are damaged: {failure}") from None
    if not expander.eof:
        raise RecordError("the record's stages are damaged: a block is cut off, or too large")
    return expanded


def _from_json(expanded: bytes, kind: type[Content]) -> Content:
    try:
        return msgspec.json.decode(expanded, type=kind)
    except MALFORMED as failure:
        raise RecordError(f"the record's stages are damaged: {failure}") from None
