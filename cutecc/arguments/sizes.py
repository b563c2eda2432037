"""Named sizes: what the specs of a kernel say about them together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cutecc.arguments.specs import Dynamic, Mode, ScalarSpec, Spec, TensorSpec, TupleSpec, leaves
from cutecc.errors import SourceLocation, SpecError


def unify_sizes(specs: Mapping[str, Spec], sources: Mapping[str, SourceLocation] | None = None) -> dict[str, Spec]:
    """The same specs, every mention of a named size saying all that any of them says.

    A size is a multiple of every divisibility that its mentions promise, and one `=` gives its value to all. `sources`
    says where each spec was written, for messages. Raises `SpecError` when two mentions contradict each other, and for
    a number that is a size which no tensor has.
    """
    known: dict[str, _Facts] = {}
    for argument, spec in specs.items():
        for name, size in _mentions(spec):
            before = known.get(name, _Facts())
            after = before.merged(size, argument)
            problem = None
            if before.value is not None and before.value != after.value:
                problem = f"size '{name}' is {after.value} here and {before.value} in '{before.valued_by}'"
            elif after.value is not None and after.value % after.divisibility:
                problem = f"size '{name}' is {after.value}, and not divisible by {after.divisibility} as promised"
            if problem is not None:
                raise SpecError(problem, _locate(name, argument, spec, sources or {}))
            known[name] = after
    for argument, spec in specs.items():
        for name in _numbers(spec):
            if name not in known:
                hints = [f"named sizes: {', '.join(known)}"] if known else ["no spec names a size, as f32[?N] does"]
                raise SpecError(
                    f"'{argument}' is the size '{name}', which no tensor has",
                    (sources or {}).get(argument),
                    hints=hints,
                )

    def told(size: Dynamic) -> Dynamic:
        if size.name is None:
            return size
        facts = known[size.name]
        return dataclasses.replace(size, divisibility=facts.divisibility, value=facts.value)

    return {argument: map_sizes(spec, told) for argument, spec in specs.items()}


def size_names(specs: Mapping[str, Spec]) -> list[str]:
    """The names of sizes, in the order of their first mention."""
    return list(dict.fromkeys(name for spec in specs.values() for name, _ in _mentions(spec)))


def named_values(specs: Mapping[str, Spec]) -> dict[str, int]:
    """The value of every named size that has one, out of specs that `unify_sizes` returned."""
    mentions = (mention for spec in specs.values() for mention in _mentions(spec))
    return {name: size.value for name, size in mentions if size.value is not None}


def divisibilities(specs: Mapping[str, Spec]) -> dict[str, int]:
    """What every named size is a multiple of, out of specs that `unify_sizes` returned."""
    return {name: size.divisibility for spec in specs.values() for name, size in _mentions(spec)}


@dataclass(frozen=True)
class _Facts:
    divisibility: int = 1
    value: int | None = None
    valued_by: str | None = None
    """The argument whose spec gave the value."""

    def merged(self, size: Dynamic, argument: str) -> _Facts:
        divisibility = math.lcm(self.divisibility, size.divisibility)
        if size.value is None:
            return dataclasses.replace(self, divisibility=divisibility)
        return _Facts(divisibility, size.value, argument)


def _mentions(spec: Spec) -> Iterator[tuple[str, Dynamic]]:
    if isinstance(spec, TupleSpec):
        for item in spec.items:
            yield from _mentions(item)
    elif isinstance(spec, TensorSpec):
        for size in (*leaves(spec.shape), *leaves(spec.stride or ())):
            if isinstance(size, Dynamic) and size.name is not None:
                yield size.name, size


def _numbers(spec: Spec) -> Iterator[str]:
    """The names of the sizes that numbers are."""
    if isinstance(spec, TupleSpec):
        for item in spec.items:
            yield from _numbers(item)
    elif isinstance(spec, ScalarSpec) and spec.size is not None:
        yield spec.size


def map_sizes(spec: Spec, change: Callable[[Dynamic], Dynamic]) -> Spec:
    """The same spec with every dynamic size and stride, those in tuples too, changed."""

    def changed(mode: Mode) -> Mode:
        if isinstance(mode, tuple):
            return tuple(map(changed, mode))
        return change(mode) if isinstance(mode, Dynamic) else mode

    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(map_sizes(item, change) for item in spec.items))
    if isinstance(spec, TensorSpec):
        stride = None if spec.stride is None else tuple(map(changed, spec.stride))
        return dataclasses.replace(spec, shape=tuple(map(changed, spec.shape)), stride=stride)
    return spec


def _locate(name: str, argument: str, spec: Spec, sources: Mapping[str, SourceLocation]) -> SourceLocation:
    source = sources.get(argument) or SourceLocation(f"argument '{argument}'", text=str(spec))
    text = source.text or ""
    start = text.find(f"?{name}", (source.column or 1) - 1)
    return dataclasses.replace(source, column=start + 1, length=len(name) + 1) if start >= 0 else source
