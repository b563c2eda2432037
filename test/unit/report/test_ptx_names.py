"""PTX is compared without the names of registers and labels, as the page compares it (`web/test/registers.test.ts`)."""

from __future__ import annotations

import pytest

from cutecc.report.comparing import compare_sides, count
from cutecc.report.ptx_names import ptx_side

PTX = [
    "\t.reg .b32 \t%r<9>;",
    "$L__BB0_1:",
    "\tadd.s32 \t%r1, %r2, %tid.x;",
    "\tmul.lo.s32 \t%r3, %r1, %r2;",
    "\tbra \t$L__BB0_1;",
]


def differing(before: list[str], after: list[str]) -> tuple[int, int]:
    return count(compare_sides(ptx_side(before), ptx_side(after)))


def replaced(old: str, new: str, line: int | None = None) -> list[str]:
    return [each.replace(old, new) if line in (None, number) else each for number, each in enumerate(PTX)]


def test_virtual_registers_their_number_and_labels_are_no_difference_where_they_are_renamed() -> None:
    renamed = [each.replace("%r1", "%r7").replace("BB0_1", "BB0_4").replace("<9>", "<12>") for each in PTX]
    assert differing(PTX, renamed) == (0, 0)


@pytest.mark.parametrize(("old", "new", "line"), [("%r2", "%r1", 3), ("%r3", "%rd3", 3), ("%tid.x", "%tid.y", None)])
def test_another_operand_kind_of_register_or_special_register_is(old: str, new: str, line: int | None) -> None:
    assert differing(PTX, replaced(old, new, line)) == (1, 1)


def test_another_label_is() -> None:
    assert differing([*PTX, "$L__BB0_2:"], [*PTX[:4], "\tbra \t$L__BB0_2;", "$L__BB0_2:"]) == (1, 1)


def test_each_function_has_registers_of_its_own() -> None:
    second = [each.replace("BB0", "BB1") for each in PTX]
    renamed = [each.replace("%r1", "%r5") for each in second]
    assert differing([*PTX, "}", *second, "}"], [*PTX, "}", *renamed, "}"]) == (0, 0)
