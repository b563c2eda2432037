"""What differs between the kernels that one function was compiled to: which of its arguments, and in what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import (
    ConstSpec,
    Dynamic,
    Mode,
    PointerSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    leaves,
)
from cutecc.errors import Error


@dataclass(frozen=True)
class Specialisations:
    """The kernels of one function for one target, which the program gave other arguments."""

    kernels: list[int] = field(default_factory=list[int])
    """Their positions in the list, in the order in which they were compiled."""
    differs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By argument that is not the same in all of them, in what: `dtype`, `shape`, `divisibility`, `strides`,
    `alignment`, `space`, `value`, `kind`."""

    @property
    def text(self) -> str:
        """What differs, in words."""
        if not self.differs:
            return "their arguments are the same"
        return "they differ in " + ", ".join(f"{name} ({', '.join(of)})" for name, of in self.differs.items())


def specialisations(kernels: Sequence[Mapping[str, Any]]) -> list[Specialisations]:
    """The functions among the kernels of a list, as `index.json` has them, that were compiled more than once."""
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for position, each in enumerate(kernels):
        groups[each["function"], each["defined_at"], each["target"]].append(position)
    return [
        Specialisations(group, _differing([kernels[each]["arguments"] for each in group]))
        for group in groups.values()
        if len(group) > 1
    ]


def _differing(arguments: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """By name of an argument that differs, in what."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in arguments for name in each):
        texts = dict.fromkeys(each.get(name, "none") for each in arguments)
        first, *others = map(_parsed, texts)
        aspects = dict.fromkeys(aspect for other in others for aspect in _aspects(first, other))
        if aspects:
            found[name] = [*aspects]
    return found


def _parsed(text: str) -> Spec | str:
    """What a spec says; what no grammar describes, as an object of the program's, is its text."""
    try:
        return parse_spec(text)
    except Error:
        return text


def _aspects(a: Spec | str, b: Spec | str) -> Iterator[str]:
    """In what two specs of an argument differ."""
    if type(a) is not type(b):
        yield "kind"
        return
    match a, b:
        case TensorSpec(), TensorSpec():
            yield from _of_tensors(a, b)
        case PointerSpec(), PointerSpec():
            yield from (each for each, differs in _of_memory(a, b).items() if differs)
        case ScalarSpec(), ScalarSpec():
            # Its value is given when the kernel is run.
            if a.dtype != b.dtype:
                yield "dtype"
        case TupleSpec(), TupleSpec():
            if len(a.items) != len(b.items):
                yield "shape"
            for ours, theirs in zip(a.items, b.items, strict=False):
                yield from _aspects(ours, theirs)
        case ConstSpec() | str(), _:
            if a != b:
                yield "value"
        case _:
            pass


def _of_tensors(a: TensorSpec, b: TensorSpec) -> Iterator[str]:
    shape = _sizes(a.shape) != _sizes(b.shape)
    strides = (a.order, a.stride and _sizes(a.stride)) != (b.order, b.stride and _sizes(b.stride))
    promises = _promises(a.shape, a.stride) != _promises(b.shape, b.stride)
    facts = {
        "dtype": a.dtype != b.dtype,
        "shape": shape,
        "strides": strides,
        # Of other sizes there are other promises.
        "divisibility": promises and not (shape or strides),
        **_of_memory(a, b),
    }
    yield from (name for name, differs in facts.items() if differs)


def _of_memory(a: TensorSpec | PointerSpec, b: TensorSpec | PointerSpec) -> dict[str, bool]:
    # The natural alignment follows from the type.
    return {
        "dtype": a.dtype != b.dtype,
        "alignment": a.align != b.align,
        "space": a.space != b.space,
    }


def _sizes(mode: Mode) -> str:
    """Sizes or strides, `?` for one that is dynamic, whatever is promised of it."""
    if isinstance(mode, tuple):
        return f"({','.join(map(_sizes, mode))})"
    return f"?{mode.bits}" if isinstance(mode, Dynamic) else str(mode)


def _promises(*modes: Mode | None) -> list[int]:
    """What the dynamic sizes and strides are multiples of."""
    return [leaf.divisibility for mode in modes if mode for leaf in leaves(mode) if isinstance(leaf, Dynamic)]
