"""A pipeline as a value: an ordered list of passes, its text form, and ways to edit it."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cutecc.errors import Error, UsageError, describe, foreign_failures
from cutecc.passes import debug_counter, lookup
from cutecc.passes.base import Pass
from cutecc.passes.nesting import OperationPass, wrong_nesting
from cutecc.passes.options import convert_options, parse_options, split_list
from cutecc.passes.wheel import WheelPass, check_paths
from cutecc.support.spelling import did_you_mean

_OCCURRENCE = re.compile(r"[0-9]{1,9}")
_DEEPEST = 16


@dataclass(frozen=True)
class Pipeline:
    """Passes in the order they run.

    Where a method takes a `selector`, a pass's name means each of its occurrences, and `cse#2` the second one.
    Editing gives a new pipeline; the old one stays as it is.
    """

    passes: tuple[Pass, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """The pipeline that `text` spells, as MLIR does: `cse,gpu.module(convert-fastmath-ops),canonicalize{a=1}`.

        An enclosing `builtin.module(…)` may be left out. Raises `UsageError` for wrong syntax, an unknown option of a
        Python pass, or an option that names a path unless the pass is a plugin's. Whether the wheel knows a pass is
        found out by `check`.
        """
        return cls(tuple(_parse_level(text.strip(), ())))

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def positions(self, selector: str) -> list[int]:
        """Indices, from 0, of the passes that `selector` means; `UsageError` when there are none."""
        name, _, occurrence = selector.partition("#")
        found = [index for index, pass_ in enumerate(self.passes) if pass_.name == name]
        if not found:
            names = [pass_.name for pass_ in self.passes]
            hints = [*did_you_mean(name, names), f"the pipeline has {', '.join(dict.fromkeys(names))}"]
            raise UsageError(f"no pass '{name}' in the pipeline", hints=hints)
        if not occurrence:
            return found
        if not _OCCURRENCE.fullmatch(occurrence) or not 1 <= int(occurrence) <= len(found):
            raise UsageError(f"'{selector}': {name} occurs {len(found)} times, counted from #1")
        return [found[int(occurrence) - 1]]

    def position(self, selector: str) -> int:
        """The index of the one pass that `selector` means; `UsageError` when it means several."""
        found = self.positions(selector)
        if len(found) > 1:
            places = ", ".join(f"{selector}#{number}" for number in range(1, len(found) + 1))
            raise UsageError(f"'{selector}' runs {len(found)} times in the pipeline", hints=[f"say which: {places}"])
        return found[0]

    def selectors(self) -> list[str]:
        """For each pass, the selector that means it alone."""
        total = Counter(pass_.name for pass_ in self.passes)
        seen: Counter[str] = Counter()
        selectors: list[str] = []
        for pass_ in self.passes:
            seen[pass_.name] += 1
            selectors.append(pass_.name if total[pass_.name] == 1 else f"{pass_.name}#{seen[pass_.name]}")
        return selectors

    def insert_after(self, selector: str, *new: Pass) -> Pipeline:
        """With `new` after each pass that `selector` means."""
        return self._edited(selector, lambda pass_: (pass_, *new))

    def insert_before(self, selector: str, *new: Pass) -> Pipeline:
        """With `new` before each pass that `selector` means."""
        return self._edited(selector, lambda pass_: (*new, pass_))

    def replace(self, selector: str, *new: Pass) -> Pipeline:
        """With `new` in the place of each pass that `selector` means."""
        return self._edited(selector, lambda _: new)

    def without(self, selector: str) -> Pipeline:
        """Without the passes that `selector` means."""
        return self._edited(selector, lambda _: ())

    def until(self, selector: str) -> Pipeline:
        """Up to and including the one pass that `selector` means."""
        return Pipeline(self.passes[: self.position(selector) + 1])

    def since(self, selector: str) -> Pipeline:
        """The passes after the one that `selector` means."""
        return Pipeline(self.passes[self.position(selector) + 1 :])

    def map(self, change: Callable[[Pass], Pass]) -> Pipeline:
        """With each pass replaced by what `change` makes of it."""
        return Pipeline(tuple(change(pass_) for pass_ in self.passes))

    def _edited(self, selector: str, change: Callable[[Pass], Iterable[Pass]]) -> Pipeline:
        chosen = set(self.positions(selector))
        passes: list[Pass] = []
        for index, pass_ in enumerate(self.passes):
            passes += change(pass_) if index in chosen else (pass_,)
        return Pipeline(tuple(passes))


def parse_pass(text: str) -> Pass:
    """The one pass that `text` spells; `UsageError` when it spells none or several."""
    passes = Pipeline.parse(text).passes
    if len(passes) != 1:
        raise UsageError(f"'{text}' is not one pass")
    return passes[0]


def _parse_level(text: str, anchors: tuple[str, ...], depth: int = 0) -> Iterator[Pass]:
    for element in split_list(text):
        head, parenthesis, rest = element.partition("(")
        if parenthesis and "{" not in head:
            if not rest.endswith(")"):
                raise UsageError(f"pipeline: ')' is not the end of '{element}'")
            if depth == _DEEPEST:
                raise UsageError(f"pipeline: more than {_DEEPEST} anchors within one another")
            anchor = head.strip()
            inner = anchors if anchor == "builtin.module" and not anchors else (*anchors, anchor)
            yield from _parse_level(rest[:-1], inner, depth + 1)
        else:
            yield _parse_one(element, anchors)


def _parse_one(text: str, anchors: tuple[str, ...]) -> Pass:
    name, options = _name_and_options(text)
    pass_class = lookup.find_pass(name)
    if pass_class is None or pass_class.provider != "plugin":
        check_paths(name, options)
    if pass_class is None:
        return WheelPass(name=name, wheel_options=tuple(options), anchors=anchors)
    limit = None
    if not _takes_limit(pass_class):
        limit = next((value for option, value in options if option == debug_counter.OPTION), None)
        options = [each for each in options if each[0] != debug_counter.OPTION]
    pass_ = _nested(_made(pass_class, options), anchors)
    return pass_ if limit is None else debug_counter.with_limit(pass_, limit)


def _nested(pass_: Pass, anchors: tuple[str, ...]) -> Pass:
    """The pass on the operations that `anchors` lead to. Raises `UsageError`."""
    if anchors in ((), pass_.anchors):
        return pass_
    if isinstance(pass_, OperationPass):
        return pass_.nested(*anchors)
    raise wrong_nesting(type(pass_), anchors)


def _name_and_options(text: str) -> tuple[str, list[tuple[str, str]]]:
    name, brace, options = text.partition("{")
    name = name.strip()
    if brace and not options.rstrip().endswith("}"):
        raise UsageError(f"pipeline: '}}' is not the end of '{text}'")
    if not name or any(character.isspace() for character in name):
        raise UsageError(f"pipeline: '{text}' is not a pass")
    return name, parse_options(options.rstrip()[:-1] if brace else "")


def _takes_limit(pass_class: type[Pass]) -> bool:
    """Whether an option of its own is called as that of the debug counter."""
    return debug_counter.OPTION in {field.name.replace("_", "-") for field in dataclasses.fields(pass_class)}


def _made(pass_class: type[Pass], options: list[tuple[str, str]]) -> Pass:
    """A pass with these options. Raises `UsageError` for those that it does not take, and those that are missing."""
    name = pass_class.name
    values = convert_options(pass_class, options)
    for field in dataclasses.fields(pass_class):
        if field.default is dataclasses.MISSING and field.name not in values:
            raise UsageError(f"pass {name}: option '{field.name.replace('_', '-')}' must be given")
    try:
        return pass_class(**values)
    except Error as error:
        raise UsageError(f"pass {name}: {error.message}", notes=error.notes, hints=error.hints) from error
    except foreign_failures() as failure:
        raise UsageError(f"pass {name}: {describe(failure)}") from failure
