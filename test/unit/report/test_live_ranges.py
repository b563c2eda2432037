"""The values in registers of SASS, whatever the registers are called."""

from __future__ import annotations

from cutecc.report.live_ranges import InstructionValues, live_ranges
from cutecc.sass import SassFunction, SassInstruction

LOOP = ["MOV R1, RZ", "MOV R2, 0x8", "FADD R1, R1, R2", "@P0 BRA `(.L_x_1)", "MOV R1, R2", "STG.E [R4.64], R1"]


def values(lines: list[str]) -> list[InstructionValues]:
    instructions = [SassInstruction(number, 16 * number, text, None) for number, text in enumerate(lines)]
    return live_ranges(SassFunction("k", 0, 99, instructions, {".L_x_1": 2}))


def renamed(lines: list[str], names: dict[str, str], *at: int) -> list[str]:
    found = [*lines]
    for number in at:
        for old, new in names.items():
            found[number] = found[number].replace(old, new)
    return found


def test_what_a_loop_carries_is_one_value() -> None:
    found = values(LOOP)
    (sum_before,), (sum_after,) = found[0].writes, found[2].writes
    assert sum_before == sum_after == found[2].reads[0]
    # The register is used again, for another one.
    assert found[4].writes[0] not in (sum_before, found[2].reads[1])
    assert found[5].reads[-1] == found[4].writes[0]


def test_other_registers_are_the_same_values() -> None:
    other = renamed(LOOP, {"R1": "R9"}, 0, 2)
    assert values(renamed(other, {"R2": "R7"}, 1, 2, 4)) == values(LOOP)


def test_another_value_is_another() -> None:
    # The sum of each turn is lost.
    assert values(renamed(LOOP, {"FADD R1,": "FADD R3,"}, 2)) != values(LOOP)


def test_what_a_kernel_begins_with() -> None:
    found = values(["STG.E [R4.64], R1", "STG.E [R4.64], R1"])
    assert found[0].reads == found[1].reads == [0, 1, 2]
    assert found[0].encoded(10) == [0, 3, 10, 11, 12]


def test_one_of_too_many_values_is_not_what_the_register_began_with() -> None:
    guarded = [f"@P0 MOV R1, {number:#x}" for number in range(20)]
    found = values(["STG.E [R4.64], R1", *guarded, "STG.E [R4.64], R1", "EXIT"])
    assert found[0].reads[-1] != found[21].reads[-1]
