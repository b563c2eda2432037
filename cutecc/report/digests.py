"""What lines have for operations in a module, in a form that modules of different records can be compared by.

SSA values, block labels and aliases are numbered anew by every pass; that, and indentation, is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cutecc.record.stages import Stage
from cutecc.report.frames import Line

Digest = tuple[int, int]
"""How many operations, and the sum of the hashes of their texts: their order may change."""
_NOTHING: Digest = (0, 0)


def digests(stage: Stage, lines_of: Sequence[frozenset[Line]], aliases: dict[str, str]) -> dict[Line, Digest]:
    """What each line has for operations in a module; `lines_of` are the lines of each place.

    Comparable between all modules, of whatever record, that had the same `aliases`, which grows.
    """
    by_place: dict[int, list[int]] = {}
    open_: dict[int, list[int]] = {}
    """By indentation, the digest of the operation whose regions are still open."""
    abstract = VALUE.sub("%", without_names(stage.text, aliases))
    for text, number in zip(abstract.split("\n"), stage.places, strict=False):
        start = text.lstrip(" ")
        if number >= 0:
            digest = by_place.setdefault(number, [0, 0])
            digest[0] += 1
            digest[1] += hash(start)
            if start.endswith("{"):
                open_[len(text) - len(start)] = digest
        elif start.startswith("}") and start != "}" and (digest := open_.get(len(text) - len(start))):
            # The attributes of a loop stand behind its body.
            digest[1] += hash(start)
    found: dict[Line, Digest] = {}
    for number, (count, content) in by_place.items():
        for line in lines_of[number]:
            earlier = found.get(line, _NOTHING)
            found[line] = (earlier[0] + count, earlier[1] + content)
    return found


VALUE = re.compile(r"(%[\w$.-]+(?:#\d+)?)", re.ASCII)
"""Also one of several results, `%0#1`, which another pass may give a name of its own."""
_LABEL = re.compile(r"\^[\w$.-]+", re.ASCII)
_DEFINED = re.compile(r"([!#][A-Za-z_$][\w$]*) = (.*)\n", re.ASCII)
_ALIAS = re.compile(r"([!#][A-Za-z_$][\w$]*)(?![\w$.<])", re.ASCII)


def without_names(text: str, names: dict[str, str]) -> str:
    """The text with no names but those of values; an alias becomes the name that its definition has in `names`.

    As `cutecc.report.comparing` does it line by line, for a whole text at once; what strings hold may be taken for
    names here, which hides a change only where nothing but that has changed.
    """
    known: dict[str, str] = {}

    def renamed(text: str) -> str:
        # A third of the time of a substitution by a function.
        pieces = _ALIAS.split(text)
        pieces[1::2] = [known.get(name, name) for name in pieces[1::2]]
        return "".join(pieces)

    # They stand before the module, each before those that use it.
    end = 0
    while match := _DEFINED.match(text, end):
        definition = renamed(match[2])
        if definition not in names:
            names[definition] = f"{match[1]}.{len(names)}" if match[1] in names.values() else match[1]
        if names[definition] != match[1]:
            known[match[1]] = names[definition]
        end = match.end()
    text = _LABEL.sub("^", text)
    return renamed(text) if known else text
