"""Filters over the metadata of kernels, as text: `tile.m=128,cluster.n>=2,name~Sm90`.

Conditions are separated by commas, and all have to hold. A condition is a key, one of `=`, `!=`, `<`, `<=`, `>`, `>=`
and `~` (contains), and a value; after `=`, several values with `|` between them. Of sizes, `x1` at the end makes no
difference: `1x1` is `1x1x1`. Nothing in it is evaluated.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean

Fact: TypeAlias = "str | int | bool | None"
"""A value of metadata; `None` is `none` in text."""

_CONDITION = re.compile(r"\s*(?P<key>[A-Za-z_][\w.]*)\s*(?P<sign>!=|<=|>=|=|<|>|~)\s*(?P<value>[^=<>!~]+?)\s*")
_SIZES = re.compile(r"[0-9]+(x[0-9]+)+")
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """One condition of a filter. `str` gives its text."""

    key: str
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{self.value}"

    def holds(self, facts: Mapping[str, Fact]) -> bool:
        """Whether the metadata `facts` meet it; false where they do not have the key.

        Raises `UsageError` for an order of what is no number.
        """
        if self.key not in facts:
            return False
        fact = facts[self.key]
        match self.sign:
            case "=":
                return any(_is(fact, each.strip()) for each in self.value.split("|"))
            case "!=":
                return not any(_is(fact, each.strip()) for each in self.value.split("|"))
            case "~":
                return self.value.lower() in _text(fact).lower()
            case _:
                return fact is not None and _ORDER[self.sign](self._number(fact), self._number(self.value))

    def _number(self, value: str | int | bool) -> int:
        if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,18}", value):
            raise UsageError(
                f"'{self}' compares '{value}', which is no whole number", hints=["words are compared with =, != and ~"]
            )
        return int(value)


@dataclass(frozen=True)
class MetadataFilter:
    """Conditions that all have to hold; none of them at all lets everything through."""

    conditions: tuple[Condition, ...] = ()

    @classmethod
    def parse(cls, text: str) -> MetadataFilter:
        """The filter that `text` spells; `UsageError` for what is none."""
        conditions: list[Condition] = []
        for part in text.split(","):
            match = _CONDITION.fullmatch(part)
            if match is None:
                raise UsageError(
                    f"'{part.strip()}' is no condition on metadata",
                    hints=["a key, one of = != < <= > >= ~, and a value: tile.m=128,cluster.n>=2,a.dtype=f16|bf16"],
                )
            conditions.append(Condition(match["key"], match["sign"], match["value"]))
        return cls(tuple(conditions))

    def __str__(self) -> str:
        return ",".join(map(str, self.conditions))

    def failing(self, facts: Mapping[str, Fact]) -> Condition | None:
        """The first condition that `facts` do not meet; `None` when they meet all."""
        return next((each for each in self.conditions if not each.holds(facts)), None)

    def asked(self, key: str) -> list[str]:
        """The words of which a fact has to be one, where a condition with `=` says so."""
        values = [each.value for each in self.conditions if (each.key, each.sign) == (key, "=")]
        return [word.strip() for value in values for word in value.split("|")]

    def check_keys(self, known: set[str]) -> None:
        """Raise `UsageError` for a key that is not among `known`, which are the keys of all metadata there is."""
        for each in self.conditions:
            if each.key not in known:
                hints = [*did_you_mean(each.key, known), f"known: {', '.join(sorted(known))}"]
                raise UsageError(f"no metadata is called '{each.key}'", hints=hints)


def _is(fact: Fact, word: str) -> bool:
    if _sizes(_text(fact).lower()) == _sizes(word.lower()):
        return True
    dtype = find_numeric_type(word)  # a type has several names
    return dtype is not None and fact == dtype.name


def _sizes(text: str) -> str:
    """Sizes without extents of 1 at their end; other text as it is."""
    return re.sub(r"(x1)+$", "", text) if _SIZES.fullmatch(text) else text


def _text(fact: Fact) -> str:
    return str(fact).lower() if fact is None or isinstance(fact, bool) else str(fact)
