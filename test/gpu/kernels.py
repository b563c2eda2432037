"""The repository's kernels, and the sizes that each is tried with."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from cutecc.arguments.sizes import named_values, unify_sizes
from cutecc.arguments.specs import Dynamic, Spec, TensorSpec, TupleSpec, leaves
from cutecc.cli.loading import load_subject
from cutecc.cli.subject import Subject
from cutecc.frontend.header import read_header

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "test" / "kernels").glob("*.py"), *(ROOT / "examples").glob("*.py")])


@functools.cache
def subject(file: Path, capability: tuple[int, int]) -> Subject:
    """The kernel of `file`, compiled for a GPU of this compute capability."""
    return load_subject(str(file), capability)


def points(file: Path) -> list[dict[str, int]]:
    """Sizes to try: those of the header, the smallest that its divisibilities allow, and some with ragged edges."""
    specs = read_header(file).args
    header = named_values(unify_sizes(specs))
    steps = dict.fromkeys(header, 1) | _divisibilities(specs.values())
    found = [header]
    for scale, offset in ((0, 1), (0, 3), (0.37, 1), (1.71, 1)):
        point = {name: (int(value * scale) // steps[name] + offset) * steps[name] for name, value in header.items()}
        found.append(point)
    return [point for number, point in enumerate(found) if point not in found[:number]]


def _divisibilities(specs: Iterable[Spec]) -> dict[str, int]:
    """What each named size, also a stride, is a multiple of, by all specs together."""
    found: dict[str, int] = {}
    for spec in specs:
        for name, divisibility in _of(spec):
            found[name] = math.lcm(found.get(name, 1), divisibility)
    return found


def _of(spec: Spec) -> Iterator[tuple[str, int]]:
    if isinstance(spec, TupleSpec):
        for item in spec.items:
            yield from _of(item)
    if isinstance(spec, TensorSpec):
        for mode in (*leaves(spec.shape), *leaves(spec.stride or ())):
            if isinstance(mode, Dynamic) and mode.name:
                yield mode.name, mode.divisibility
