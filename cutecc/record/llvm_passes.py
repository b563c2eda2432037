"""What LLVM did while it generated code: its passes that changed something, each with the code after it, and what it
says that it could not do.

An artifact of the kind `llvm-passes` for each module of device code: JSON, compressed with zlib.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Compilation
from cutecc.support.locations import Place
from cutecc.support.malformed import MALFORMED

CodeKind = Literal["llvm-ir", "machine-ir"]
SUFFIXES: dict[CodeKind, str] = {"llvm-ir": ".ll", "machine-ir": ".mir"}
"""Of files that hold such code."""
SUFFIX = ".llvm-passes"
"""Of the artifact."""
GIVEN = "input"
"""What stands for what LLVM was given, as the first of its passes."""

_MOST_BYTES = 1 << 29
"""Of an artifact, expanded."""


class LlvmPass(msgspec.Struct, frozen=True):
    """A pass of LLVM that changed something."""

    name: str
    """As LLVM calls it: `InstCombine`, and of its code generator `machine-cse`."""
    selector: str
    """The same, with `#2` for the second of several with this name."""
    kind: CodeKind
    """`llvm-ir`, or, once instructions are selected, `machine-ir`."""
    function: str | None
    """The function that it ran on, `None` for all of the module."""
    seconds: float | None
    """Wall time in a run where nobody looked; `None` where it is not known."""
    text: str
    """The functions after it; once instructions are selected, the function that it ran on. Without what only numbers
    debug information and attributes."""
    places: list[int]
    """For each line of `text` the number of its place, -1 for none."""


class MissedOptimisation(msgspec.Struct, frozen=True):
    """What LLVM says that it could not do."""

    pass_name: str
    """The pass that ran, as `LlvmPass.name`; of several that say the same, all, with commas between."""
    message: str
    """In LLVM's words."""
    place: int
    """The number of its place, -1 for none."""
    times: int = 1
    """How often it was said of that place."""


class LlvmPasses(msgspec.Struct, frozen=True):
    """What LLVM did with one module of device code."""

    table: list[Place] = []
    """The places that numbers stand for."""
    passes: list[LlvmPass] = []
    """In the order in which they ran, behind what LLVM was given; empty where only what was missed is kept."""
    missed: list[MissedOptimisation] = []
    partly: bool = False
    """Whether only some of the passes were looked at, as the module is large: what others changed shows with the next
    of those."""

    def place(self, number: int) -> Place | None:
        """The place that `number` stands for."""
        return self.table[number] if number >= 0 else None

    def before(self, each: LlvmPass) -> LlvmPass | None:
        """The last of `passes` before `each` with the same code earlier: of machine instructions, of its function."""
        earlier = self.passes[: self.passes.index(each)]
        if each.kind == "machine-ir":
            earlier = [other for other in earlier if other.function == each.function]
        return next((other for other in reversed(earlier) if other.kind == each.kind), None)


def encode(passes: LlvmPasses) -> bytes:
    """The content of the artifact."""
    return zlib.compress(msgspec.json.encode(passes), 6)


def decode(data: bytes) -> LlvmPasses:
    """What an artifact holds. Raises `RecordError` for one that is damaged."""
    try:
        expander = zlib.decompressobj()
        text = expander.decompress(data, _MOST_BYTES)
        if expander.unconsumed_tail:
            raise RecordError("the record's passes of LLVM are too large to be read")
        found = msgspec.json.decode(text, type=LlvmPasses)
    except (zlib.error, *MALFORMED) as failure:
        raise RecordError(f"the record's passes of LLVM are damaged: {failure}") from None
    _check(found)
    return found


def _check(found: LlvmPasses) -> None:
    numbers = [missed.place for missed in found.missed]
    for each in found.passes:
        numbers += each.places
        if len(each.places) != each.text.count("\n"):
            raise RecordError(f"the record's passes of LLVM are damaged: {each.selector} has another number of lines")
    if not all(found.table) or (numbers and not -1 <= min(numbers) <= max(numbers) < len(found.table)):
        raise RecordError("the record's passes of LLVM are damaged: a place is not theirs")


def llvm_passes(compilation: Compilation) -> Iterator[LlvmPasses]:
    """Those of each module of device code, in order; none where the record keeps none. Raises `RecordError`."""
    for artifact in compilation.artifacts:
        if artifact.kind == "llvm-passes" and artifact.file in compilation.files:
            yield decode(compilation.files[artifact.file])
