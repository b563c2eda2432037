"""The decoded bytecode says what the bindings say."""

from __future__ import annotations

from typing import Any

import pytest

from cutecc.errors import Error
from cutecc.ir.bytecode import Bytecode
from cutecc.ir.bytecode_tables import Dense, Tables, varint
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse

pytestmark = pytest.mark.slow

_MODULE = """
func.func @loops(%a: i32, %n: i32, %v: vector<4xi32>, %x: f32) -> (i32, f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant -1 : i32
  %i = arith.constant 5 : index
  %dense = arith.constant dense<[1, 2, -3, 4]> : vector<4xi32>
  %splat = arith.constant dense<true> : vector<4xi1>
  %wide = arith.constant -5 : i128
  %0 = arith.addi %a, %n overflow<nsw> : i32
  %1 = arith.cmpi slt, %n, %a : i32
  %2:2 = scf.for %k = %c0 to %n step %a iter_args(%s = %a, %f = %x) -> (i32, f32) : i32 {
    %3 = scf.if %1 -> i32 {
      %4 = arith.addi %s, %k : i32
      scf.yield %4 : i32
    } else {
      scf.yield %n : i32
    }
    %5 = arith.addf %f, %x : f32
    scf.yield %3, %5 : i32, f32
  }
  %6 = cute.make_coord(%0, %2#0) : (i32, i32) -> !cute.coord<"(?,?)">
  scf.if %1 {
    scf.yield
  }
  cf.br ^next(%2#0 : i32)
^next(%7: i32):
  return %7, %2#1 : i32, f32
}
func.func @many(%a: i32) {
MANY
  return
}
"""


@pytest.fixture(scope="module")
def module() -> Any:
    # More values than two bytes can number, and an operation whose uses are not in their usual order.
    many = "\n".join(f"  %v{i} = arith.addi %{f'v{i - 1}' if i else 'a'}, %a : i32" for i in range(17000))
    with fresh_context():
        module = parse(_MODULE.replace("MANY", many).encode())
        yield module


def _operations(operation: Any) -> list[Any]:
    found: list[Any] = []

    def find(op: Any) -> Any:
        found.append(op)
        return ir.WalkResult.ADVANCE

    operation.walk(find, ir.WalkOrder.PRE_ORDER)
    return found


def test_structure(module: Any) -> None:
    code, numbers = Bytecode(module), {}
    operations = _operations(module.operation)
    assert [op.name for op in operations] == [code.tables.names[op[0]] for op in code.ops]
    for op, (_, _, first, end, _, regions, successors) in zip(operations, code.ops, strict=True):
        numbers.update(zip(op.results, range(first, end), strict=True))
        assert [len(region.blocks) for region in op.regions] == [len(blocks) for blocks in regions]
        assert successors == (len(op.successors) > 0)
        for region, blocks in zip(op.regions, regions, strict=True):
            for block, decoded in zip(region.blocks, blocks, strict=True):
                numbers.update(zip(block.arguments, range(decoded.first, decoded.end), strict=True))
                assert [inner.operation.name for inner in block.operations] == [
                    code.tables.names[code.ops[inner][0]] for inner in decoded.operations
                ]
    for op, decoded in zip(operations, code.ops, strict=True):
        assert [numbers[value] for value in op.operands] == decoded[4]
    for value, number in numbers.items():
        text = str(value.type)
        assert code.tables.type_text(code.types[number]) == (text if text.startswith("!cute") else "")
        width = {"i32": 32, "index": 64, "vector<4xi32>": 32, "vector<4xi1>": 1, "i1": 1, "i128": 128}.get(text, 0)
        assert code.tables.integer_width(code.types[number]) == width


def test_post_order(module: Any) -> None:
    names, found = {"scf.if", "scf.for", "arith.cmpi"}, list[str]()

    def find(op: Any) -> Any:
        if op.name in names:
            found.append(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(find, ir.WalkOrder.POST_ORDER)
    code = Bytecode(module)
    assert [code.tables.names[code.ops[index][0]] for index in code.post_order(names)] == found


def test_properties(module: Any) -> None:
    code = Bytecode(module)
    found = [
        code.tables.first_property(op[1], optional=code.tables.names[op[0]] == "arith.addi")
        for op in code.ops[:11]
        if code.tables.names[op[0]] in ("arith.constant", "arith.cmpi", "arith.addi")
    ]
    assert found == [
        *(0, (1 << 32) - 1, 5),
        *(Dense((1, 2, (1 << 32) - 3, 4)), Dense((1,)), (1 << 128) - 5),
        *("#arith.overflow<nsw>", 2),
    ]


@pytest.mark.parametrize(
    ("data", "value"), [(b"\x03", 1), (b"\x02\x04", 256), (b"\x00" + b"\x07" * 8, 0x0707070707070707)]
)
def test_varint(data: bytes, value: int) -> None:
    assert varint(data, 0) == (value, len(data))


def test_other_versions_are_refused() -> None:
    with pytest.raises(Error, match="version 5 where 6 was expected"):
        Tables(b"ML\xefR\x0bMLIR\x00")
