"""The places of a parsed text, by the file's name."""

from __future__ import annotations

from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.ir.relocation import name_locations, restore_locations
from cutecc.support.locations import Frame

TEXT = """func.func @f(%c: i1, %a: i32) -> i32 {
  cf.br ^next(%a : i32)
^next(%x: i32):
  %0 = arith.addi %x, %x : i32 loc("kernel.py":7:8)
  return %0 : i32
}
"""


def test_operations_and_block_arguments_are_named_and_given_locations_stay() -> None:
    with fresh_context():
        module = parse(TEXT.encode(), "in.mlir")
        name_locations(module, "in.mlir")
        text = to_text(module, locations=True)
    assert '"-"' not in text
    for place in (
        '"in.mlir":1:1',
        '"in.mlir":1:14',
        '"in.mlir":1:22',
        '"in.mlir":2:3',
        '"in.mlir":3:7',
        '"in.mlir":5:3',
    ):
        assert f"loc({place})" in text
    assert 'loc("kernel.py":7:8)' in text
    assert '"in.mlir":4' not in text


def test_what_stands_in_known_lines_comes_from_where_it_did() -> None:
    library, user = Frame("lib.py", 3, 5), Frame("kernel.py", 9, 0)
    with fresh_context():
        module = parse(TEXT.encode(), "in.mlir")
        assert restore_locations(module, {1: (user,), 2: (library, user), 3: None}, "dump.mlir")
        text = to_text(module, locations=True)
        # Nothing is left to place.
        assert not restore_locations(module, {}, "again.mlir")
    assert 'loc("kernel.py":9:0)' in text
    # Columns of Python count from 0 in MLIR.
    assert '"lib.py":3:4' in text
    assert "callsite(" in text
    assert "loc(unknown)" in text
    assert 'kernel.py":7:8' in text
    assert '"dump.mlir":5:3' in text
    assert '"dump.mlir":2' not in text
