"""Sizes in what the user reads."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cutecc.arguments.specs import Spec
from cutecc.errors import Error


def sizes_text(sizes: Mapping[str, int]) -> str:
    """`M=33, N=132`."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def with_arrays(
    points: Sequence[dict[str, int]], specs: Mapping[str, Spec], arrays: Mapping[str, Any]
) -> list[dict[str, int]]:
    """The points of a sweep, each with the sizes of `--inputs`. Raises `UsageError` where they contradict it."""
    from cutecc.trial.sizes import sizes_of_arrays

    shapes = {name: array.shape for name, array in arrays.items()}
    found: list[dict[str, int]] = []
    for point in points:
        with at_sizes(point, is_sweep=len(points) > 1):
            found.append(sizes_of_arrays(specs, shapes, point))
    return found


@contextmanager
def at_sizes(sizes: Mapping[str, int], *, is_sweep: bool) -> Generator[None]:
    """Has errors say at which of several sizes they came."""
    try:
        yield
    except Error as error:
        if is_sweep:
            error.notes.append(f"with {sizes_text(sizes)}")
        raise
