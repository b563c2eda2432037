"""Blocks, branch targets and loops."""

from __future__ import annotations

import pytest
from hypothesis import given
from sass_programs import following, function, functions, reached

from cutecc.sass import SassFunction
from cutecc.sass.blocks import Loop, control_flow

NESTED = function(
    "MOV R0, RZ",
    ".L_x_1:",
    "MOV R1, RZ",
    ".L_x_2:",
    "IADD3 R1, R1, 0x1, RZ",
    "ISETP.GE.AND P0, PT, R1, 0x4, PT",
    "@!P0 BRA `(.L_x_2)",
    "BRA.U UP0, `(.L_x_1)",
    "EXIT",
)


def test_nested_loops() -> None:
    flow = control_flow(NESTED)
    assert [(each.first, each.end, each.successors) for each in flow.blocks] == [
        (0, 1, (1,)),
        (1, 2, (2,)),
        (2, 5, (3, 2)),
        (5, 6, (4, 1)),
        (6, 7, ()),
    ]
    assert flow.loops == (Loop(1, frozenset({1, 2, 3}), 1), Loop(2, frozenset({2}), 2))
    assert flow.targets == {4: (2,), 5: (1,)}


def test_a_subroutine_is_no_part_of_the_loop_that_calls_it() -> None:
    flow = control_flow(
        function(
            ".L_x_0:",
            "CALL.REL.NOINC `($__internal_0_$division)",
            "@P0 BRA `(.L_x_0)",
            "EXIT",
            "$__internal_0_$division:",
            "@P1 BRA `(.L_x_3)",
            ".L_x_2:",
            "@P2 BRA `(.L_x_2)",
            ".L_x_3:",
            "RET.REL.NODEC R4 `(kernel)",
        )
    )
    assert flow.subroutines == {3: frozenset({3, 4, 5})}
    assert [each.callee for each in flow.blocks] == [3, None, None, None, None, None]
    assert [(each.header, each.blocks) for each in flow.loops] == [(0, {0, 1}), (4, {4})]


@pytest.mark.parametrize(
    ("text", "successors"),
    [
        ("BRA `(.L_x_1)", (2,)),
        ("@P0 BRA `(.L_x_1)", (1, 2)),
        ("BRA !P0, `(.L_x_1)", (1, 2)),
        ("BRA.U !UP0, `(.L_x_1)", (1, 2)),
        ("BRA.DIV UR4, `(.L_x_1)", (1, 2)),
        ("BRA 0x20", (2,)),
        ("BSSY B0, `(.L_x_1)", None),
        ("WARPSYNC.COLLECTIVE R3, `(.L_x_1)", (1, 2)),
        ('BRX R2 -0x20 (*"BRANCH_TARGETS .L_x_0,.L_x_1"*)', (0, 2)),
        ("CALL.ABS.NOINC R8", None),
        ("EXIT", ()),
        ("@P0 EXIT", (1,)),
    ],
)
def test_where_an_instruction_goes(text: str, successors: tuple[int, ...] | None) -> None:
    flow = control_flow(function(".L_x_0:", text, "MOV R0, RZ", ".L_x_1:", "@P5 BRA `(.L_x_1)", "EXIT"))
    if successors is None:
        assert flow.blocks[0].end == 2
    else:
        assert flow.blocks[0].end == 1
        assert tuple(flow.blocks[each].first for each in flow.blocks[0].successors) == successors


@given(functions())
def test_blocks_and_loops_are_those_found_the_plain_way(program: SassFunction) -> None:
    flow, edges = control_flow(program), following(program)
    # Blocks are the instructions in order, each followed by what follows its last.
    assert [index for each in flow.blocks for index in range(each.first, each.end)] == [*range(len(edges))]
    for block in flow.blocks:
        assert all(edges[index] == [index + 1] for index in range(block.first, block.end - 1))
        assert {flow.blocks[each].first for each in block.successors} == {*edges[block.end - 1]}
    blocks = [[*each.successors] for each in flow.blocks]
    alive = reached(0, blocks)
    loops: dict[int, set[int]] = {}
    for tail in alive:
        for header in blocks[tail]:
            if tail not in reached(0, blocks, without=header):
                body = {each for each in alive if tail in reached(each, blocks, without=header)} | {header}
                loops.setdefault(header, set()).update(body)
    assert {each.header: each.blocks for each in flow.loops} == loops
    for loop in flow.loops:
        assert loop.depth == sum(1 for body in loops.values() if loop.blocks <= body)


def test_no_instructions() -> None:
    assert control_flow(function()).blocks == ()


def test_loops_of_long_functions_are_found_in_time() -> None:
    # Each turn of 5,000 loops may be left early: sets of dominators would have 25 million members.
    count = 5_000
    lines = [line for each in range(count) for line in (f".L_x_{each}:", "NOP", f"@P0 BRA `(.L_x_{each})")]
    flow = control_flow(function(*lines, "EXIT"))
    assert len(flow.loops) == count and {each.depth for each in flow.loops} == {1}
