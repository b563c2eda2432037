"""Where two records of one kernel part: the passes, and for each line of Python its pass and its machine code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from cutecc.record import Compilation
from cutecc.report.frames import Line
from cutecc.report.pair import compare_ptx
from cutecc.versions.machine_code import Differing, code_changes
from cutecc.versions.modules import PassPlace, Walk
from cutecc.versions.sources import Sources


class LineChange(msgspec.Struct, frozen=True):
    """How the machine code of a line of Python differs."""

    file: str
    line: int
    """0 of instructions without a line."""
    text: str
    """The line of Python."""
    removed: dict[str, int]
    """Instructions that the first column alone has, and how many more of them; registers, labels, addresses and
    predicates have no numbers."""
    added: dict[str, int]
    """The same of the later column."""
    since: str | None
    """The pass from which on the operations of the line differ for good; `None` where they are the same until code is
    generated: the difference is the code generator's, or comes from other lines."""


class Change(msgspec.Struct, frozen=True):
    """What is different in a column, beside the first one."""

    column: str
    first: PassPlace | None
    """The first pass after which the modules differ; `None` where all are the same."""
    since: PassPlace | None
    """The pass from which on the kernels differ for good, and where; `None` where they are the same when code is
    generated. What differs before and is the same again has no part in the code."""
    lines: list[LineChange]
    """Those with most instructions that differ first."""
    same_ptx: bool | None
    """Whether the PTX is the same but for the names of registers and labels; `None` where one has none."""
    same_code: bool | None = None
    """Whether the machine code is the same but for registers, addresses and order; `None` where one has none."""

    @property
    def cause(self) -> str | None:
        """What made other machine code: a pass, the code generator or the assembler; `None` where it is the same."""
        if not self.lines:
            return None
        return self.since.selector if self.since else "ptxas" if self.same_ptx else "code generation"


def change(a: Compilation, b: Compilation, names: tuple[str, str]) -> Change:
    """How `b` differs from `a`, both with stages and line information. Raises `RecordError`."""
    walk = Walk(a, b, names)
    code = compare_ptx(a, b, names=False)
    sources = Sources(walk.a.sources, walk.b.sources)
    different = code_changes(a, b, sources)
    found = different or []
    first, since = walk.partings()
    passes = walk.line_passes(sources) if since else {}
    if since:
        # Those of a function and its launch hold what the compiler makes of arguments.
        inside = {line: selector for line, selector in passes.items() if sources.is_statement(line)}
        line = _heaviest(found, inside or passes)
        since = (walk.parting_at(passes, line) if line else None) or since
    lines = [LineChange(*line, sources.text(line), removed, added, passes.get(line)) for line, removed, added in found]
    same_code = None if different is None else not different
    return Change(names[1], first, since, lines, None if code is None else not code.lines, same_code)


def _heaviest(found: Sequence[Differing], passes: Mapping[Line, str]) -> Line | None:
    """A line that parts with the pass that most instructions that differ come from, or, without any, most lines."""
    weights = Counter[str]()
    for line, removed, added in found:
        if line in passes:
            weights[passes[line]] += sum(removed.values()) + sum(added.values())
    weights = weights or Counter(passes.values())
    lines = [line for line, _, _ in found if line in passes] or sorted(passes)
    return next((line for line in lines if passes[line] == weights.most_common(1)[0][0]), None)
