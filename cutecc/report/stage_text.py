"""The stages of a record as text: finding the one that a user names, a function in it, and shorter types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from cutecc.errors import UsageError
from cutecc.record import Compilation, Step
from cutecc.record.naming import short_kernel_name
from cutecc.record.pipeline_text import pass_names, selectors_of
from cutecc.record.stages import Stages
from cutecc.support.spelling import close_names, did_you_mean

TRACED = "traced"
"""What the first module of a record is called."""


@dataclass(frozen=True)
class Position:
    """A place between two passes."""

    index: int
    """The position of the pass that ran last, 0 for the traced module."""
    name: str
    """Of that pass, as selectors have it."""
    before: int
    """The position before that pass."""

    def __str__(self) -> str:
        return f"{self.index:02d} {self.name}"


def positions(compilation: Compilation, stages: Stages) -> list[Position]:
    """The positions that a module of the record can be asked for: the first one, and after each pass that ran."""
    start = stages.indices[0] if stages.indices else 0
    found = [Position(start, TRACED if start == 0 else "input", start)]
    ran = [step for step in compilation.steps if step.status == "ok"]
    for step, name in zip(ran, selectors_of_steps(compilation, ran), strict=True):
        found.append(Position(step.index, name, found[-1].index))
    return found


def selectors_of_steps(compilation: Compilation, steps: Sequence[Step]) -> list[str]:
    """What each of these steps of the record is called in the whole pipeline, of which it may have run a part."""
    names = pass_names(compilation.whole_pipeline or compilation.pipeline)
    selectors = selectors_of(names)
    if all(0 < step.index <= len(names) and names[step.index - 1] == step.name for step in steps):
        return [selectors[step.index - 1] for step in steps]
    # A record of an earlier version, of a run that went on from a dump: it knows its own passes alone.
    return selectors_of([step.name for step in steps])


def _input_selector(compilation: Compilation, start: int) -> str | None:
    """What the pass is called that a run began behind; `None` where the record does not say."""
    whole = selectors_of(pass_names(compilation.whole_pipeline or ""))
    return whole[start - 1] if 0 < start <= len(whole) else None


def choose(compilation: Compilation, stages: Stages, selector: str) -> Position:
    """The position that `selector` means: a pass's name, `cse#2` of several, its number, `traced` or `last`.

    Of a run that began behind a pass, that pass means its input. Raises `UsageError` when there is none, and when there
    are several.
    """
    known = positions(compilation, stages)
    if selector == "last":
        return known[-1]
    if re.fullmatch(r"[0-9]{1,9}", selector):
        if found := next((each for each in known if each.index == int(selector)), None):
            return found
        raise UsageError(
            f"no pass with number {selector} ran", hints=[f"numbers go from {known[0].index} to {known[-1].index}"]
        )
    found = [each for each in known if selector in (each.name, each.name.partition("#")[0], f"{each.name}#1")]
    if not found and selector == _input_selector(compilation, known[0].index):
        return known[0]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{each.name} ({each.index})" for each in found)
        raise UsageError(f"{selector} ran {len(found)} times: {names}", hints=[f"name one, as {found[0].name}"])
    raise _not_there(compilation, selector, known)


def _not_there(compilation: Compilation, selector: str, known: Sequence[Position]) -> UsageError:
    failed = next((step for step in compilation.steps if step.name == selector and step.status == "failed"), None)
    if failed:
        return UsageError(
            f"pass {selector} failed: there is no module after it", hints=[f"the last one there is: {known[-1].name}"]
        )
    close = close_names(selector, [each.name for each in known], most=3, least=0.5)
    hints = [f"did you mean {' or '.join(close)}?"] if close else ["name a pass that ran, its number, traced or last"]
    return UsageError(f"no pass '{selector}' ran", hints=hints)


class Function(msgspec.Struct, frozen=True):
    """A function in the text of a module or of code, lines from 0, the last one included."""

    name: str
    """Its symbol."""
    first: int
    last: int


_FUNCTION = re.compile(r'( *)[\w.]*(?:func|kernel)[\w.]* [^"@]*@(?:([\w$.-]+)|"((?:[^"\\]|\\.)*)")\(', re.ASCII)


def functions(lines: Sequence[str]) -> list[Function]:
    """The functions that a module defines, in their order; those that it only declares are left out."""
    found: list[Function] = []
    open_: tuple[str, int, int] | None = None
    for number, line in enumerate(lines):
        if open_ and line.startswith(f"{' ' * open_[2]}}}"):
            found.append(Function(open_[0], open_[1], number))
            open_ = None
        elif open_ is None and line.endswith("{") and (match := _FUNCTION.match(line)):
            open_ = (match[2] or match[3], number, len(match[1]))
    return found


def find_function(lines: Sequence[str], name: str, where: str) -> Function:
    """The function of a module that is called `name`; raises as `find_named` does."""
    return find_named(functions(lines), name, where)


def has_function(lines: Sequence[str], name: str) -> bool:
    """Whether a module has a function of that name, its symbol or its short name."""
    return any(name in (each.name, short_kernel_name(each.name)) for each in functions(lines))


def find_named(known: Sequence[Function], name: str, where: str) -> Function:
    """The function of that name, its symbol or its short name. Raises `UsageError`, which says `where` it is not."""
    found = [each for each in known if name == each.name] or [
        each for each in known if name == short_kernel_name(each.name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} functions {where} are called {name}", hints=[f"a symbol: {found[0].name}"])
    names = [short_kernel_name(each.name) for each in known]
    hints = did_you_mean(name, names) or ([f"it has {', '.join(names)}"] if names else [])
    raise UsageError(f"there is no function '{name}' {where}", hints=hints)


_LONGEST_ARGUMENT = 24
"""Characters between the angle brackets of a type that are still shown."""
_TYPE = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<type>[!#][A-Za-z_][\w$.]*<)', re.ASCII)
_ANGLE = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>]')


def fold_types(line: str) -> str:
    """The line with `<…>` for the long arguments of its types and attributes."""
    if len(line) <= _LONGEST_ARGUMENT:
        return line
    pieces: list[str] = []
    position = 0
    while match := _TYPE.search(line, position):
        end = match.end()
        if match["type"]:
            close = _closing_angle(line, end)
            if close - end > _LONGEST_ARGUMENT:
                pieces += [line[position:end], "…>"]
                position = close + 1
                continue
            end = close + 1
        pieces.append(line[position:end])
        position = end
    return "".join([*pieces, line[position:]])


def _closing_angle(line: str, start: int) -> int:
    """Where the angle bracket stands that closes the one before `start`."""
    depth = 1
    for match in _ANGLE.finditer(line, start):
        depth += {"<": 1, ">": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(line)
