"""Modules as values: parse, print, bytecode, counting, comparing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.errors import ParseError
from cutecc.ir.modules import (
    BYTECODE_MAGIC,
    body_of,
    content_hash,
    count_operations,
    fresh_context,
    parse,
    to_bytecode,
    to_text,
)

ADD = b"""func.func @add(%a: i32, %b: i32) -> i32 {
  %0 = arith.addi %a, %b : i32
  return %0 : i32
}
"""


@pytest.fixture(autouse=True)
def _context():
    with fresh_context():
        yield


def test_text_round_trip() -> None:
    text = to_text(parse(ADD))
    assert text.endswith("\n")
    assert to_text(parse(text.encode())) == text


def test_bytecode_round_trip_keeps_text_and_locations(traced_kernels) -> None:
    for kernel in (traced_kernels["tma_copy"], traced_kernels["control_flow"]):
        first = parse(kernel.bytecode)
        data = to_bytecode(first)
        assert data.startswith(BYTECODE_MAGIC)
        second = parse(data)
        assert to_text(second, locations=True) == to_text(first, locations=True)
        assert to_bytecode(second) == data


@pytest.mark.slow
def test_every_traced_kernel_survives_text(traced_kernels) -> None:
    for kernel in traced_kernels.values():
        text = to_text(parse(kernel.bytecode), locations=True)
        assert to_text(parse(text.encode()), locations=True) == text, kernel.name


def test_locations_and_generic_form_on_demand() -> None:
    module = parse(b'func.func @f() { return loc("kernel.py":3:4) }')
    assert "kernel.py" not in to_text(module)
    assert '"kernel.py":3:4' in to_text(module, locations=True)
    assert '"func.return"()' in to_text(module, generic=True)


def test_counts_are_by_dialect_and_nested() -> None:
    module = parse(b"""
    func.func @f(%c: i1, %a: i32) {
      scf.if %c {
        %0 = arith.addi %a, %a : i32
        %1 = arith.muli %0, %a : i32
      }
      return
    }""")
    assert count_operations(module) == {"func": 2, "scf": 2, "arith": 2, "builtin": 1}
    assert list(count_operations(module).values()) == [2, 2, 2, 1], "most first"


def test_body_of_gives_operations_not_views() -> None:
    module = parse(ADD)
    (function,) = body_of(module.operation)
    assert function.name == "func.func"
    assert [operation.name for operation in body_of(function)] == ["arith.addi", "func.return"]


def test_hash_is_of_the_content() -> None:
    assert content_hash(b"a") == content_hash(b"a") != content_hash(b"b")
    assert len(content_hash(b"")) == 64


def error_of(source: bytes, name: str = "add.mlir") -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(source, name)
    return caught.value


def test_a_syntax_error_is_located_with_a_caret() -> None:
    error = error_of(ADD.replace(b"arith.addi %a, %b", b"arith.addi %a, %c"))
    assert str(error.location) == "add.mlir:2:23"
    assert str(error).splitlines()[:3] == [
        "add.mlir:2:23: use of undeclared SSA value name",
        "    %0 = arith.addi %a, %c : i32",
        " " * 24 + "^",
    ]


def test_a_verifier_error_is_located_at_the_operation() -> None:
    error = error_of(ADD.replace(b"return %0 : i32", b"return"))
    assert str(error.location) == "add.mlir:3:3"
    assert "operands, but enclosing function" in error.message


def test_an_unknown_dialect_is_named() -> None:
    error = error_of(b"func.func @f() { affine.for %i = 0 to 4 { } return }")
    assert "affine" in error.message
    assert error.location is not None


def test_an_error_at_an_operation_from_python_is_located_there() -> None:
    """As in a dump with locations: the verifier names the line of the Python file, which is none of the dump's."""
    source = b'func.func @f() -> i32 {\n  return loc("kernel.py":900:1)\n}\n'
    error = error_of(source, "f.mlir")
    assert str(error.location) == "kernel.py:900:2"
    assert error.message.startswith("f.mlir: 'func.return' op has 0 operands")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"\xff\xfe\x00", "neither MLIR bytecode nor UTF-8 text"),
        (b"module {}\0", "contains a null byte"),
        (BYTECODE_MAGIC, "not readable as MLIR bytecode"),
        (BYTECODE_MAGIC + b"\0" * 64, "not readable as MLIR bytecode"),
    ],
)
def test_what_is_no_module_at_all(source: bytes, message: str) -> None:
    assert message in error_of(source).message


def test_nothing_is_an_empty_module() -> None:
    assert count_operations(parse(b"")) == {"builtin": 1}


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_module_or_a_parse_error(data: bytes) -> None:
    if data.startswith(BYTECODE_MAGIC):
        return
    try:
        parse(data)
    except ParseError as error:
        assert str(error)
