"""Where a value comes from that conditions and loops hand on: each value that it may be, once."""

from __future__ import annotations

import pytest

from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context
from cutecc.passes.lowering.values.handed_on import sources_of

ARGUMENTS = "%condition: i1, %from: index, %to: index, %step: index, %a: i32, %b: i32"
CASES = {
    "what nothing hands on": ("%r = arith.addi %a, %b : i32", ["result"]),
    "one of two": ("%r = scf.if %condition -> i32 { scf.yield %a : i32 } else { scf.yield %b : i32 }", ["a", "b"]),
    "the same by both branches": (
        "%r = scf.if %condition -> i32 { scf.yield %a : i32 } else { scf.yield %a : i32 }",
        ["a"],
    ),
    "kept by a loop": (
        "%r = scf.for %i = %from to %to step %step iter_args(%x = %a) -> i32 { scf.yield %x : i32 }",
        ["a"],
    ),
    "changed by a loop": (
        "%r = scf.for %i = %from to %to step %step iter_args(%x = %a) -> i32 { scf.yield %b : i32 }",
        ["a", "b"],
    ),
    "exchanged by a loop": (
        "%r, %s = scf.for %i = %from to %to step %step iter_args(%x = %a, %y = %b) -> (i32, i32)"
        " { scf.yield %y, %x : i32, i32 }",
        ["a", "b"],
    ),
    "through a loop with a condition": (
        "%r = scf.while (%x = %a) : (i32) -> i32 { scf.condition(%condition) %x : i32 }"
        " do { ^bb0(%y: i32): scf.yield %y : i32 }",
        ["a"],
    ),
}


@pytest.mark.parametrize(("code", "expected"), CASES.values(), ids=CASES)
def test_each_source_is_found_once(code: str, expected: list[str]) -> None:
    with fresh_context(), plain_values():
        module = ir.Module.parse(f"func.func @f({ARGUMENTS}) -> i32 {{ {code} return %r : i32 }}")
        block = module.body.operations[0].regions[0].blocks[0]
        names: dict[ir.Value, str] = {block.arguments[4]: "a", block.arguments[5]: "b"}
        returned = block.operations[len(block.operations) - 1].operands[0]
        assert sorted(names.get(each, "result") for each in sources_of(returned)) == expected
