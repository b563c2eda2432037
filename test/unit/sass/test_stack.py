"""Words of the stack as registers."""

from __future__ import annotations

import pytest

from cutecc.sass.effects import effects
from cutecc.sass.stack import moved, with_stack


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("STL [R1+0x8], R3", ("R1", "R3"), ("[R1+0x8]",)),
        ("STL.64 [R1], R6", ("R1", "R6", "R7"), ("[R1+0x0]", "[R1+0x4]")),
        ("LDL.LU R34, [R1+0x1e4]", ("R1", "[R1+0x1e4]"), ("R34",)),
        ("LDL.64 R4, [R1+-0x8]", ("R1", "[R1+-0x8]", "[R1+-0x4]"), ("R4", "R5")),
        ("@!P1 STL [R1+0x10], R2", ("P1", "R1", "R2"), ("[R1+0x10]",)),
        # An array of the kernel's, at a place that is computed.
        ("LDL R4, [R7+0x8]", ("R7",), ("R4",)),
        ("STS [R1+0x8], R3", ("R1", "R3"), ()),
    ],
)
def test_what_is_loaded_and_stored(text: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    found = with_stack(effects(text))
    assert (found.reads, found.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("STL.64 [R1], R6", ["R6", "R7"]), ("LDL R4, [R1]", ["R4"]), ("@!P1 STL [R1+0x10], R2", ["R2"])],
)
def test_the_registers_that_move(text: str, expected: list[str]) -> None:
    assert moved(with_stack(effects(text))) == expected


def test_how_many_operands_are_written() -> None:
    texts = ["IADD3 R2, P1, PT, R3, R4, RZ", "STG.E [R2.64], R4", "ISETP.GE.AND P0, PT, R4, RZ, PT", "EXIT"]
    assert [effects(text).written for text in texts] == [3, 0, 2, 0]
