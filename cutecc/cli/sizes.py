"""Sizes in what the user reads."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from cutecc.errors import Error


def sizes_text(sizes: Mapping[str, int]) -> str:
    """`M=33, N=132`."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


@contextmanager
def at_sizes(sizes: Mapping[str, int], *, is_sweep: bool) -> Generator[None]:
    """Has errors say at which of several sizes they came."""
    try:
        yield
    except Error as error:
        if is_sweep:
            error.notes.append(f"with {sizes_text(sizes)}")
        raise
