"""What value a spill keeps."""

from __future__ import annotations

from cutecc.report.flow import flow_of
from cutecc.report.spills import Spill, spills_of
from cutecc.sass import SassFunction, SassInstruction, read_sass


def spills(*lines: str, has_spills: bool = True, labels: dict[str, int] | None = None) -> dict[int, Spill]:
    instructions = [SassInstruction(number, 16 * number, text, None) for number, text in enumerate(lines)]
    function = SassFunction("k", 0, 99, instructions, labels or {})
    return spills_of(function, flow_of(function, stack=True), has_spills=has_spills)


def test_a_value_that_goes_and_comes_back() -> None:
    found = spills("LDG.E R3, [R2.64]", "STL [R1+0x8], R3", "MOV R3, RZ", "LDL R5, [R1+0x8]", "FADD R5, R5, R3", "EXIT")
    assert found == {1: Spill(True, ("R3",), (0,)), 3: Spill(False, ("R5",), (0,))}


def test_another_place_of_the_stack_holds_another_value() -> None:
    found = spills("MUFU.EX2 R3, R2", "STL [R1], R3", "STL [R1+0x4], R2", "LDL R5, [R1+0x4]", "LDL R6, [R1]", "EXIT")
    # What came to the kernel in a register was made by no instruction.
    assert [each.values for each in found.values()] == [(0,), (), (), (0,)]


def test_one_half_of_a_pair() -> None:
    found = spills("MOV R6, 0x1", "MOV R7, 0x2", "STL.64 [R1+0x8], R6", "LDL R5, [R1+0xc]", "EXIT")
    assert found[2].values == (0, 1)
    # Which word of two registers it was is not told apart.
    assert found[3].values == (0, 1)


def test_a_value_that_is_spilled_again_is_that_of_who_made_it() -> None:
    found = spills("FADD R3, R2, R2", "STL [R1], R3", "LDL R4, [R1]", "STL [R1+0x4], R4", "LDL R5, [R1+0x4]", "EXIT")
    assert {each.values for each in found.values()} == {(0,)}


def test_values_of_both_ways_to_a_load() -> None:
    found = spills(
        "@P0 BRA `(.L_x_1)",
        "MOV R3, 0x1",
        "STL [R1], R3",
        "BRA `(.L_x_2)",
        "MOV R3, 0x2",
        "STL [R1], R3",
        "LDL R4, [R1]",
        "EXIT",
        labels={".L_x_1": 4, ".L_x_2": 6},
    )
    assert found[6].values == (1, 4)


def test_a_loop_of_spills_ends() -> None:
    found = spills("LDL R3, [R1]", "STL [R1], R3", "@P0 BRA `(.L_x_1)", "EXIT", labels={".L_x_1": 0})
    assert [each.values for each in found.values()] == [(), ()]


def test_an_array_of_the_kernels_is_no_spill() -> None:
    assert spills("STL [R1+0x8], R3", "EXIT", has_spills=False) == {}
    assert spills("STL [R4+0x8], R3", "EXIT") == {}


MARKED = """\
//--------------------- .text.k --------------------------
\t.section\t.text.k,"ax",@progbits
        /*0000*/                   STL [R1], R3                   (*"SpillRefill"*) ;
        /*0010*/                   STL [R1+0x40], R4 ;
        /*0020*/                   EXIT ;
"""


def test_what_nvdisasm_marks() -> None:
    (function,) = read_sass(MARKED)
    assert [each.text for each in function.instructions] == ["STL [R1], R3", "STL [R1+0x40], R4", "EXIT"]
    # Where it marks some, the others are of arrays.
    assert list(spills_of(function, flow_of(function, stack=True), has_spills=True)) == [0]
