"""What the prover says of the repository's kernels."""

from __future__ import annotations

import pytest
from answers import ANSWERS, LONG
from proofs_table import MARKS, PAGE, said_of, table


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in LONG])
def test_the_answer(name: str) -> None:
    assert said_of(name) == ANSWERS[name]


def test_the_table() -> None:
    """`python tools/proofs_table.py --write` makes the table anew."""
    begin, end = MARKS
    block = PAGE.read_text().partition(begin)[2].partition(end)[0].strip()
    assert block.rpartition("\n\nAs of ")[0] == table(ANSWERS)
