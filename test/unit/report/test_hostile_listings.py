"""Listings that nobody's compiler makes: one register, written over and over. Owners are found in linear time."""

from __future__ import annotations

import pytest
from attacks import attacks

from cutecc.report.flow import MOST_SOURCES, flow_of
from cutecc.report.listings import ptx_listing
from cutecc.report.owned_code import own_ptx, own_sass
from cutecc.report.owners import Operation
from cutecc.report.sass_places import sass_functions
from cutecc.sass import SassFunction
from cutecc.support.locations import REASONS, Frame

COUNT = attacks(5_000)
"""Of instructions; with `CUTECC_ATTACKS=20` there are 100,000."""
WORK = {"k": [Operation((Frame("/k.py", 10, 0),), frozenset({"float"}), 64)]}
"""What begins as zeros has a place."""
HONEST = {"order", "unknown", "compiler", "operands"}


def function_of(*lines: str) -> SassFunction:
    """A function of `COUNT` instructions, these over and over."""
    text = '//--------------------- .text.k --------------------------\n\t.section\t.text.k,"ax",@progbits\n'
    text += '\t//## File "/k.py", line 10\n.L_x_1:\n'
    text += "".join(
        f"        /*{16 * number:04x}*/                   {lines[number % len(lines)]} ;\n" for number in range(COUNT)
    )
    (found,) = sass_functions(text)
    return found


@pytest.mark.parametrize(
    "lines",
    [
        ["@P0 MOV R1, R2"],
        ["@P0 IADD3 R1, R1, R1, RZ"],
        ["@P0 MOV R1, R1"],
        # As many writes as are told apart, and reads of each that are copies again.
        [*["@P0 MOV R1, RZ"] * MOST_SOURCES, *["@P1 MOV R2, R1"] * MOST_SOURCES, "MOV R1, RZ", "MOV R2, RZ"],
        # Many blocks, and each reaches the first again.
        ["@P0 MOV R1, R1", "@P0 BRA `(.L_x_1)"],
    ],
)
def test_a_register_that_is_written_all_the_time(lines: list[str]) -> None:
    function = function_of(*lines)
    flow = flow_of(function)
    assert max(map(len, flow.sources)) <= MOST_SOURCES + 1
    assert sum(map(len, flow.users)) == sum(map(len, flow.sources)) <= (MOST_SOURCES + 1) * COUNT
    own_sass(function, WORK, spills=False)
    assert {each.reason for each in function.instructions} <= HONEST


def test_what_few_have_written_is_told() -> None:
    written = [f"@P{number % 6} MOV R1, R{number + 4}" for number in range(MOST_SOURCES - 1)]
    function = function_of("MOV R1, R2", *written, "FADD R3, R1, R1")
    assert len(flow_of(function).sources[MOST_SOURCES]) == MOST_SOURCES
    one_more = function_of("MOV R1, R2", "@P6 MOV R1, R3", *written, "FADD R3, R1, R1")
    assert flow_of(one_more).sources[MOST_SOURCES + 1] == []


@pytest.mark.parametrize("line", ["@%p1 mov.u32 %r1, %r2;", "@%p1 add.u32 %r1, %r1, %r1;", "@%p1 mov.u32 %r1, %r1;"])
def test_a_register_of_ptx_that_is_written_all_the_time(line: str) -> None:
    text = ".visible .entry k(\n)\n{\n\t.loc\t1 10 3\n" + f"\t{line}\n" * COUNT + '}\n\t.file\t1 "/k.py"\n'
    owned = own_ptx(ptx_listing(text, "k.ptx"), WORK)
    assert {REASONS[reason] for reason, place in zip(owned.reasons, owned.places, strict=True) if place >= 0} == {
        "order"
    }
