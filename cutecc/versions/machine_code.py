"""The machine code of two records, by line of Python."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from cutecc.record import Compilation
from cutecc.report.code import functions_of
from cutecc.report.frames import Line, in_own_file
from cutecc.sass import SassFunction
from cutecc.versions.sources import Sources

_NUMBERED = re.compile(
    r"\.reuse\b|\b(U?[RPB])\d+\b|\bSR_\w+|(`)\([^)]*\)|0x[0-9a-f]+(?=[\]`])|\+-?0x[0-9a-f]+|\bdesc\[[^\]]*\]"
)


def plain_instruction(text: str) -> str:
    """A SASS instruction without the numbers of its registers, predicates and barriers, labels and addresses."""

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        if match[0].startswith("SR_"):
            return match[0]
        return "`()" if match[2] else "desc[]" if match[0].startswith("desc") else ""

    return _NUMBERED.sub(plain, text)


Differing = tuple[Line, dict[str, int], dict[str, int]]
"""A line, the instructions that it has no more, and those that are new, with how many there are."""


def code_changes(a: Compilation, b: Compilation, sources: Sources) -> list[Differing] | None:
    """Lines whose plain instructions differ: those of the first that are gone, and those that are new.

    Lines are the later record's, `("", 0)` of instructions without one. Their order does not count. `None` where one of
    the records has no machine code.
    """
    ours, after = _by_line(a), _by_line(b)
    if not ours or not after:
        return None
    before: dict[Line, Counter[str]] = {}
    for line, counts in ours.items():
        before.setdefault(sources.in_later(line), Counter()).update(counts)
    found: list[Differing] = []
    for line in before.keys() | after.keys():
        old, new = before.get(line, Counter[str]()), after.get(line, Counter[str]())
        if old != new:
            found.append((line, dict((old - new).most_common()), dict((new - old).most_common())))
    return sorted(found, key=lambda each: (-sum(each[1].values()) - sum(each[2].values()), each[0]))


_MOVED = re.compile(r"(?P<start>.*\b(?:MOV|MOV\.U32) .*\b)0x(?P<value>[0-9a-f]+)")


def _without_return(text: str, returns: frozenset[int]) -> str:
    """An instruction that takes an address behind a call into a register, with a label in its place."""
    match = _MOVED.fullmatch(text)
    return f"{match['start']}`(.L)" if match and int(match["value"], 16) in returns else text


def _returns(function: SassFunction) -> frozenset[int]:
    """Where the calls of subroutines return to, as offsets in the function."""
    each = function.instructions
    return frozenset(after.offset for call, after in pairwise(each) if re.search(r"\bCALL\b", call.text))


def _by_line(compilation: Compilation) -> dict[Line, Counter[str]]:
    found: dict[Line, Counter[str]] = {}
    for function in functions_of(compilation):
        returns = _returns(function)
        for each in function.instructions:
            line = ("", 0)
            if each.place is not None:
                frame = in_own_file(each.place, compilation.own_file)[-1]
                line = (frame.file, frame.line)
            found.setdefault(line, Counter())[plain_instruction(_without_return(each.text, returns))] += 1
    return found
