"""The sizes of a product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """The sizes of a product: D of M×N, K products for each element, L matrices."""

    m: int
    n: int
    k: int
    batches: int = 1

    def transposed(self) -> Problem:
        """M and N exchanged."""
        return Problem(self.n, self.m, self.k, self.batches)


LARGE = Problem(32768, 32768, 8192)
"""Stands for sizes that are not known: tiles that keep a whole GPU busy."""
