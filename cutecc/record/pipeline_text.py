"""The names in a pipeline's text, for readers of a record that know nothing of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def pass_names(text: str) -> list[str]:
    """The names of the passes that pipeline text spells, in their order: `cse,gpu.module(a{b=1})` has `cse` and `a`."""
    found: list[str] = []
    name: list[str] = []
    depth, quote = 0, ""
    for character in f"{text},":
        if quote:
            quote = "" if character == quote else quote
        elif depth:
            # Options, whatever they hold.
            quote = character if character in "\"'" else ""
            depth += (character in "{[(") - (character in "}])")
        elif character == "{":
            depth = 1
        elif character == "(":
            name.clear()  # what passes are nested in
        elif character in ",)":
            found += ["".join(name).strip()] if name else []
            name.clear()
        else:
            name.append(character)
    return found


def selectors_of(names: Sequence[str]) -> list[str]:
    """For each of a pipeline's names what means that pass alone: `cse#2` for the second one of several."""
    total, seen = Counter(names), Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if total[name] == 1 else f"{name}#{seen[name]}")
    return found
