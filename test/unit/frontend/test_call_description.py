"""What a watched call's arguments are described as."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

import pytest

from cutecc.frontend.call_description import described_parameters


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ({"a": (1, 2)}, "const({'a': (1, 2)})"),
        (OrderedDict(a=1), "object<OrderedDict>"),
        ([OrderedDict(a=1)], "object<list>"),
    ],
)
def test_a_constant_is_told_where_a_literal_is_the_same(value: Any, spec: str) -> None:
    def launch(config: cutlass.Constexpr) -> None: ...  # noqa: F821 # pyright: ignore[reportUndefinedVariable]

    (described,) = described_parameters(inspect.signature(launch), [value], {})
    assert described.spec == spec
