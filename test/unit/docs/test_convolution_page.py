"""`docs/convolution.md` has the words of the code, and its calls are calls that there are."""

from __future__ import annotations

import re
from typing import Any, get_args

import numpy as np
import pytest
from following import BLOCK, FILE, ROOT

from cutecc.operations import Conv2d
from cutecc.operations.convolution.description import ITERATORS, KINDS, Mode, Stride
from cutecc.operations.convolution.rules import SPLITS

PAGE = (ROOT / "docs" / "convolution.md").read_text()


def firsts(head: str) -> list[str]:
    """The words in the first column of the table that begins with this line."""
    table = PAGE.partition(f"{head}\n")[2].partition("\n\n")[0]
    return [word for line in table.splitlines()[1:] for word in re.findall(r"`(\w+)`", line.split("|")[1])]


def words_of(part: str) -> list[str]:
    """The words that a part of a description may be."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{part}` |"))
    return re.findall(r"`(\w+)`", line.split("|")[2])


def test_the_tables_have_the_words_of_the_code() -> None:
    assert firsts("| kind | A | B | D, and C | product: M, N, K |") == list(KINDS)
    assert sorted(firsts("| iterator | |")) == sorted(ITERATORS) == sorted(words_of("iterator"))
    assert words_of("stride") == list(get_args(Stride))
    assert sorted(set(words_of("mode"))) == sorted(get_args(Mode))
    assert words_of("split_k") == list(SPLITS)


def test_what_is_for_a_gpu_is_called_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    for language, block in BLOCK.findall(PAGE):
        if language == "python" and not FILE.match(block):
            exec(compile(block, "convolution.md", "exec"), given)

    class Tuning:
        def __init__(self, op: Conv2d, budget: float) -> None:
            self.operation = op

    monkeypatch.setattr("cutecc.operations.autotune", Tuning, raising=False)
    monkeypatch.setenv("CUTECC_TARGET", "sm_80")
    x, weight, D = (np.zeros(shape, "f2") for shape in ((2, 9, 9, 16), (32, 3, 3, 16), (2, 9, 9, 32)))
    op = given["tuned"](x, weight, D)
    assert op.supports(x, weight, D=D, padding=1)
