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
    repeats: tuple[float, float] = (1.0, 1.0)
    """How often each element of A, and of B, comes in the matrix: of one that a convolution gathers, with every tap."""

    @property
    def multiply_adds(self) -> int:
        """How many there are."""
        return self.m * self.n * self.k * self.batches

    def __str__(self) -> str:
        return f"{self.m}×{self.n}×{self.k}×{self.batches}"

    def transposed(self) -> Problem:
        """M and N exchanged."""
        return Problem(self.n, self.m, self.k, self.batches, (self.repeats[1], self.repeats[0]))


LARGE = Problem(32768, 32768, 8192)
"""Stands for sizes that are not known: tiles that keep a whole GPU busy."""
