"""From MLIR locations to the user's Python."""

from __future__ import annotations

import pytest

from cutecc.ir.locations import user_location


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('loc("kernel.py":12:5)', "kernel.py:12:6"),
        ('loc("kernel.py":12:0)', "kernel.py:12"),
        ('loc(callsite("lib.py":3:4 at "kernel.py":12:5))', "kernel.py:12:6"),
        ('loc(callsite("a.py":1:1 at callsite("b.py":2:2 at "kernel.py":3:3)))', "kernel.py:3:4"),
        ('loc("name"("kernel.py":7:9))', "kernel.py:7:10"),
        ('loc("kernel.mlir":12:5)', "kernel.mlir:12:5"),
        ("loc(unknown)", None),
        ('loc("-":1:1)', None),
        ('loc("kernel.py":0:0)', None),
        ('loc("a \\"quoted\\" name.py":4:2)', 'a "quoted" name.py:4:3'),
        ('loc("gr\\C3\\B6\\C3\\9Fe.py":4:2)', "größe.py:4:3"),
        ('loc("back\\\\slash.py":4:2)', "back\\slash.py:4:3"),
    ],
)
def test_the_outermost_frame(text: str, expected: str | None) -> None:
    found = user_location(text)
    assert (None if found is None else str(found)) == expected


def test_real_locations() -> None:
    from cutecc.ir.mlir import ir

    with ir.Context():
        inner, outer = ir.Location.file("lib.py", 3, 4), ir.Location.file("kernel.py", 12, 5)
        assert str(user_location(ir.Location.callsite(inner, [outer]))) == "kernel.py:12:6"
        assert str(user_location(ir.Location.name("x", outer))) == "kernel.py:12:6"
        assert user_location(ir.Location.unknown()) is None
        for name in ("größe.py", 'a "quoted" name.py', "C:\\users\\kernel.py", "tab\t.py"):
            assert str(user_location(ir.Location.file(name, 12, 5))) == f"{name}:12:6"
