"""Members of structs, constants of types, and inline assembly: what is built, in the words of the dialects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cutecc.ir.building import at_end
from cutecc.ir.constants import constant_of_type
from cutecc.ir.inline_assembly import inline_assembly, inline_assembly_whole
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context
from cutecc.ir.structs import member, members, with_member, with_members

NESTED = "!llvm.struct<(i32, struct<(ptr<3>, i16)>)>"


def built(build: Callable[..., object], *arguments: str) -> list[str]:
    """The operations that `build` makes of a function's arguments, as text."""
    with fresh_context(), ir.Location.unknown():
        parameters = ", ".join(f"%arg{number}: {type_}" for number, type_ in enumerate(arguments))
        module = ir.Module.parse(f"func.func @f({parameters}) {{ return }}")
        block = module.body.operations[0].regions[0].blocks[0]
        with at_end(block):
            build(*block.arguments)
        assert module.operation.verify()
        return [str(operation) for operation in block.operations][:-1]


def test_a_member_has_the_type_that_the_struct_says_however_deep() -> None:
    assert built(lambda struct: member(struct, 1, 0), NESTED) == [f"%0 = llvm.extractvalue %arg0[1, 0] : {NESTED} "]


def test_members_are_taken_out_in_order_and_put_in_again() -> None:
    def swap(struct: ir.Value) -> None:
        i32 = ir.IntegerType.get_signless(32)
        first, second = members(struct, [i32, i32])
        with_member(with_members(struct, [second, first]), first, 1)

    pair = "!llvm.struct<(i32, i32)>"
    assert built(swap, pair) == [
        f"%0 = llvm.extractvalue %arg0[0] : {pair} ",
        f"%1 = llvm.extractvalue %arg0[1] : {pair} ",
        f"%2 = llvm.insertvalue %1, %arg0[0] : {pair} ",
        f"%3 = llvm.insertvalue %0, %2[1] : {pair} ",
        f"%4 = llvm.insertvalue %0, %3[1] : {pair} ",
    ]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("i16", "%c-2_i16 = arith.constant -2 : i16"),
        ("index", "%c-2 = arith.constant -2 : index"),
        ("bf16", "%cst = arith.constant -2.000000e+00 : bf16"),
        ("vector<2x3xi8>", "%cst = arith.constant dense<-2> : vector<2x3xi8>"),
        ("vector<4xf32>", "%cst = arith.constant dense<-2.000000e+00> : vector<4xf32>"),
    ],
)
def test_a_number_is_a_constant_of_any_type(type_: str, text: str) -> None:
    assert built(lambda: constant_of_type(-2, ir.Type.parse(type_))) == [text]


def test_inline_assembly_of_several_results_gives_each_or_the_struct_of_them() -> None:
    def two(number: ir.Value) -> None:
        arguments = "mov $0, $2; mov $1, $2;", ["=r", "=r", "r"], [number.type] * 2, [number]
        assert [each.type for each in inline_assembly(*arguments)] == [number.type] * 2
        (whole,) = inline_assembly_whole(*arguments, side_effects=False)
        assert str(whole.type) == "!llvm.struct<(i32, i32)>"

    first, *taken, second = built(two, "i32")
    assert 'has_side_effects asm_dialect = att "mov $0, $2; mov $1, $2;", "=r,=r,r" %arg0' in first
    assert "has_side_effects" not in second and len(taken) == 2


def test_inline_assembly_without_results_gives_none() -> None:
    def nothing(number: ir.Value) -> None:
        assert inline_assembly("use $0;", ["r"], [], [number]) == []

    assert len(built(nothing, "i32")) == 1
