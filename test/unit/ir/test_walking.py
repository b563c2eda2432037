"""Going through operations while they are rewritten."""

import re
from pathlib import Path

import pytest

from cutecc.errors import Error
from cutecc.ir import editing, walking
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.walking import walk

LIT = Path(__file__).parents[2] / "lit"
NESTED = """
func.func @f(%condition: i1, %a: i32) {
  %unused = arith.addi %a, %a : i32
  scf.if %condition {
    %inside = arith.addi %a, %a : i32
  }
  return
}
"""


def constants_of(module: ir.Module, *names: str, inside_out: bool = False) -> list[str]:
    return [operation.name for operation in walk(module, *names, inside_out=inside_out)]


def test_operations_come_as_they_are_printed_or_inside_out() -> None:
    with fresh_context():
        module = parse(NESTED.encode())
        assert constants_of(module) == [
            *("builtin.module", "func.func", "arith.addi", "scf.if", "arith.addi", "scf.yield", "func.return")
        ]
        assert constants_of(module, "arith.*", "scf.if", inside_out=True) == ["arith.addi", "arith.addi", "scf.if"]


def test_what_follows_an_erased_operation_is_visited_however_deep_it_stands() -> None:
    with fresh_context():
        module = parse(NESTED.encode())
        seen = 0
        with editing.keeping_erased():
            for operation in walk(module, "arith.addi"):
                seen += 1
                editing.erase(operation)
        assert seen == 2
        assert "arith.addi" not in str(module)


def test_what_is_inside_an_erased_operation_is_not_visited() -> None:
    with fresh_context():
        module = parse(NESTED.encode())
        seen: list[str] = []
        with editing.keeping_erased():
            for operation in walk(module, "scf.if", "arith.addi", "func.return"):
                seen.append(operation.name)
                if operation.name == "scf.if":
                    editing.erase(operation)
        assert seen == ["arith.addi", "scf.if", "func.return"]


BLOCKS = """
    %first = arith.constant 1 : i32
    cf.br ^third
  ^second:
    %second = arith.constant 2 : i32
    {end}
  ^third:
    %third = arith.constant 3 : i32
    cf.br ^second
  ^unreachable:
    %fourth = arith.constant 4 : i32
    {end}
"""
SIZES = "blocks(%a, %b, %c) in (%d = %i, %e = %i, %f = %i) threads(%g, %h, %j) in (%k = %i, %l = %i, %m = %i)"


@pytest.mark.parametrize(
    ("begin", "stop", "end"),
    [
        ("func.func @f() {", "}", "return"),
        ("func.func @f(%i: index) { scf.execute_region {", "} return }", "scf.yield"),
        (f"func.func @f(%i: index) {{ gpu.launch {SIZES} {{", "} return }", "gpu.terminator"),
        ("gpu.module @g { gpu.func @f() kernel {", "} }", "gpu.return"),
        ("module { llvm.func @f() {", "} }", "llvm.return"),
        ('"some.operation"() ({', "}) : () -> ()", '"some.end"() : () -> ()'),
    ],
)
def test_blocks_are_gone_through_as_they_are_printed_whatever_they_are_in(begin: str, stop: str, end: str) -> None:
    with fresh_context() as context:
        context.allow_unregistered_dialects = begin.startswith('"')
        module = parse(f"{begin}{BLOCKS.format(end=end)}{stop}".encode())
        found = [ir.IntegerAttr(each.attributes["value"]).value for each in walk(module, "arith.constant")]
    assert found == [1, 2, 3, 4]


def test_the_fast_way_finds_what_asking_every_operation_does() -> None:
    compared = 0
    files = (file.read_text() for file in LIT.rglob("*.mlir"))
    for text in (part for file in files for part in re.split(r"^// -----.*$", file, flags=re.M)):
        with fresh_context():
            try:
                root = parse(text.encode()).operation
            except Error:
                continue  # a test of what is said of such a file
            for name in {each.name for each in walk(root)}:
                if (fast := walking._without_regions(root, (name,))) is not None:
                    assert fast == walking._collected(root, name.__eq__, inside_out=False)
                    compared += 1
    assert compared > 500
