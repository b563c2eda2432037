"""Going through operations while they are rewritten."""

from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.walking import walk

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
