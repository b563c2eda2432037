"""Why numbers of a table differ: each reason with a letter, which the cells name and the lines below explain."""

from __future__ import annotations

import re
import string


class Reasons:
    """The reasons that a table's cells have named so far."""

    def __init__(self, known: list[tuple[str, str, str]]) -> None:
        """`known` are patterns of kernels, which match whole names, and of columns, and why those differ there."""
        self._known = known
        self._letters: dict[str, str] = {}

    def marks(self, kernel: str, column: str) -> list[str]:
        """The letters of the reasons for a cell, none when it has no reason."""
        return [
            self._letters.setdefault(reason, string.ascii_lowercase[len(self._letters)])
            for kernels, columns, reason in self._known
            if re.fullmatch(kernels, kernel) and re.search(columns, column)
        ]

    def lines(self) -> list[str]:
        """What the letters mean."""
        return [f"- {letter}: {reason}." for reason, letter in self._letters.items()]
