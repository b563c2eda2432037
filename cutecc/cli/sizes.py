"""Sizes in what the user reads."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cutecc.errors import Error

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject


def sizes_text(sizes: Mapping[str, int]) -> str:
    """`M=33, N=132`."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def settle(
    subject: Subject, points: Sequence[dict[str, int]], arrays: Mapping[str, Any] | None = None, *, quiet: bool = False
) -> tuple[Subject, list[dict[str, int]]]:
    """The kernel with a value for all that its specs leave open, and the points of a sweep with the sizes of `arrays`.

    What is in neither `arrays` nor the points is chosen, which is said on standard error. Raises `UsageError` where the
    arrays contradict a point.
    """
    from cutecc.harness.choosing import choose_values
    from cutecc.harness.sizes import sizes_of_arrays

    shapes = {name: array.shape for name, array in (arrays or {}).items()}
    found: list[dict[str, int]] = []
    for point in points:
        with at_sizes(point, is_sweep=len(points) > 1):
            found.append(sizes_of_arrays(subject.specs, shapes, point))
    chosen = choose_values(subject.specs, found[0], shapes)
    if chosen.text and not quiet:
        click.echo(chosen.text, err=True)
    return replace(subject, specs=chosen.specs), found


@contextmanager
def at_sizes(sizes: Mapping[str, int], *, is_sweep: bool) -> Generator[None]:
    """Has errors say at which of several sizes they came."""
    try:
        yield
    except Error as error:
        if is_sweep:
            error.notes.append(f"with {sizes_text(sizes)}")
        raise
