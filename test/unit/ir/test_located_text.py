"""Taking a module printed with locations apart: its text without them, and the place of each operation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.ir.located_text import PlacedText, separate_locations
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.support.locations import Frame, Place
from cutecc.target import Target

A, B, C = Frame("/k/a.py", 1, 3), Frame("/k/b.py", 2, 0), Frame("c.mlir", 7, 4)


def separated(source: str, own_file: str | None = None) -> PlacedText:
    """Parse, print with locations, take apart; the text has to be that of printing without."""
    with fresh_context():
        module = parse(source.encode())
        plain = to_text(module)
        found = separate_locations(module.operation.get_asm(enable_debug_info=True), lambda: plain, own_file)
    assert found.text == plain
    assert len(found.places) == plain.count("\n")
    return found


def place_of(location: str, definitions: str = "") -> Place | None:
    """The place of one operation with this location."""
    found = separated(f"{definitions}\nfunc.func private @f() -> () loc({location})\nmodule {{}} loc(unknown)")
    lines = found.text.split("\n")
    return found.places[next(number for number, line in enumerate(lines) if "@f" in line)]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"/k/a.py":1:2', (A,)),
        ('"/k/b.py":2:0', (B,)),
        ('"c.mlir":7:4', (C,)),
        ('"/k/a.py":1:2 to :9', (A,)),
        ('"/k/a.py":1:2 to 3:9', (A,)),
        ("unknown", None),
        ('"/k/a.py":0:0', None),
        ('"x = f(\\22y\\22, (1)) loc(#loc1)"("/k/a.py":1:2)', (A,)),
        ('"a name"', None),
        ('callsite("/k/a.py":1:2 at "/k/b.py":2:0)', (A, B)),
        ('callsite("help"("/k/a.py":1:2) at "main"("/k/b.py":2:0))', (A, B)),
        # What becomes assembly, in the kernel's file and in another.
        ('callsite("/k/a.py":1:0 at "/k/a.py":1:2)', (A,)),
        ('callsite("/k/b.py":2:0 at "/k/a.py":1:2)', (B,)),
        ('callsite(unknown at "/k/b.py":2:0)', (B,)),
        ('callsite("/k/a.py":1:2 at unknown)', (A,)),
        ('callsite(callsite("/k/a.py":1:2 at "/k/b.py":2:0) at "c.mlir":7:4)', (A, B, C)),
        ('fused["/k/a.py":1:2, "/k/b.py":2:0]', (B,)),
        ('fused["/k/a.py":1:2, unknown]', (A,)),
        ('fused<"meta ) > ] loc(">["/k/a.py":1:2, callsite("/k/b.py":2:0 at "c.mlir":7:4)]', (B, C)),
        ('fused<{a = [1, 2], b = "x"}>["/k/a.py":1:2]', (A,)),
        ('"/k/gr\\C3\\B6\\C3\\9Fe \\22x\\22 \\5C.py":3:0', (Frame('/k/größe "x" \\.py', 3, 0),)),
    ],
)
def test_places(location: str, expected: Place | None) -> None:
    assert place_of(location) == expected
    assert place_of("#loc9", f"#loc9 = loc({location})") == expected, "the same behind an alias"


def test_the_modules_own_text_has_the_name_that_it_was_given() -> None:
    source = "func.func private @f() -> ()"
    assert separated(source).places == [None, None, None]
    own = [place for place in separated(source, "given.mlir").places if place]
    assert (Frame("given.mlir", 1, 1),) in own


OPERATIONS = """
func.func @f(%arg0: i1 loc("/k/a.py":1:2), %arg1: i32 loc(unknown)) -> i32 {
  %0 = scf.if %arg0 -> (i32) {
    scf.yield %arg1 : i32 loc("/k/a.py":3:1)
  } else {
    %1 = arith.addi %arg1, %arg1 {note = "} loc(#loc1)", other = " loc(unknown)"} : i32 loc("/k/a.py":4:1)
    scf.yield %1 : i32 loc("/k/a.py":5:1)
  } loc("/k/a.py":2:1)
  cf.switch %0 : i32, [
    default: ^bb1,
    42: ^bb2(%0 : i32)
  ] loc("/k/a.py":6:1)
^bb1:
  return %0 : i32 loc("/k/a.py":7:1)
^bb2(%2: i32 loc("/k/b.py":2:0)):
  "test.unknown"() ({
    "test.inner"() {dense = dense_resource<blob> : tensor<1xi32>} : () -> () loc("/k/a.py":9:1)
  }) {at = loc("/k/attribute.py":1:1), both = [loc("/k/x.py":1:1), loc("/k/y.py":1:1)]} : () -> () loc("/k/a.py":8:1)
  return %2 : i32 loc("/k/a.py":10:1)
} loc("/k/a.py":11:1)
{-#
  dialect_resources: {
    builtin: { blob: "0x0400000001000000" }
  }
#-}
"""


def test_each_operation_has_its_place_on_the_line_where_it_begins() -> None:
    with fresh_context() as context:
        context.allow_unregistered_dialects = True
        module = parse(OPERATIONS.encode())
        plain = to_text(module)
        found = separate_locations(module.operation.get_asm(enable_debug_info=True), lambda: plain)
    assert found.text == plain
    lines = dict(zip(plain.split("\n"), found.places, strict=False))
    at = {re.sub(r"\W+", " ", text).strip()[:16]: place[0].line for text, place in lines.items() if place}
    assert list(at.values()) == [11, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert [place for text, place in lines.items() if text.lstrip().startswith(("}", "]", "^", "default", "42"))] == [
        None
    ] * sum(text.lstrip().startswith(("}", "]", "^", "default", "42")) for text in lines)
    assert "at = #loc" in found.text, "a location that is an attribute stays"


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def quoted(text: str) -> str:
    return (
        '"'
        + "".join(
            character
            if character.isascii() and character.isprintable() and character not in '"\\'
            else "".join(f"\\{byte:02X}" for byte in character.encode())
            for character in text
        )
        + '"'
    )


@st.composite
def locations(draw: st.DrawFn, depth: int = 3) -> str:
    kind = draw(st.sampled_from(["file", "unknown", "name", "callsite", "fused"] if depth else ["file", "unknown"]))
    if kind == "file":
        return f"{quoted(draw(names))}:{draw(st.integers(0, 99))}:{draw(st.integers(0, 99))}"
    if kind == "unknown":
        return kind
    inner = locations(depth - 1)
    if kind == "name":
        return f"{quoted(draw(names))}({draw(inner)})"
    if kind == "callsite":
        return f"callsite({draw(inner)} at {draw(inner)})"
    meta = f"<{quoted(draw(names))}>" if draw(st.booleans()) else ""
    return f"fused{meta}[{', '.join(draw(st.lists(inner, min_size=1, max_size=3)))}]"


@given(st.lists(st.tuples(locations(), names, locations()), max_size=5))
@settings(max_examples=25, deadline=None)
def test_what_is_left_is_what_mlir_prints_without_locations(content: list[tuple[str, str, str]]) -> None:
    operations = "\n".join(
        f"  func.func @f{number}(%arg0: i32 loc({argument})) attributes {{note = {quoted(note)}}} {{\n"
        f"    return loc({argument})\n  }} loc({location})"
        for number, (location, note, argument) in enumerate(content)
    )
    found = separated(f"module {{\n{operations}\n}}")
    expected: list[Place | None] = []
    for location, _, argument in content:
        expected += [place_of(location), place_of(argument)]
    heads = [
        place
        for text, place in zip(found.text.split("\n"), found.places, strict=False)
        if text.lstrip().startswith(("func.func", "return"))
    ]
    assert heads == expected


@pytest.mark.parametrize("name", ["control_flow", "tma_copy", "inline_ptx"])
def test_kernels_at_each_stage(name: str, traced_kernels) -> None:
    """Every operation of the module has its place on one line, in the order in which they are printed."""
    kernel = traced_kernels[name]
    with fresh_context():
        module = parse(kernel.bytecode)
        check(module)
        pipeline = choose_pipeline("nvidia", Target.parse(kernel.target))
        stop = pipeline.position("cuda-to-binary")
        manager.run(Pipeline(pipeline.passes[:stop]), module, [Check()])


class Check(Observer):
    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        check(module)


@pytest.mark.parametrize("part", range(4))
def test_every_kernel_as_it_is_traced(part: int, traced_kernels) -> None:
    for name in sorted(traced_kernels)[part::4]:
        with fresh_context():
            check(parse(traced_kernels[name].bytecode))


def check(module: ir.Module) -> None:
    plain = to_text(module)
    found = separate_locations(module.operation.get_asm(enable_debug_info=True), lambda: "not asked")
    assert found.text == plain
    operations: list[str] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        # MLIR does not print the end of a region that yields nothing.
        if operation.name != "scf.yield" or len(operation.operands):
            operations.append(str(operation.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    last = [re.findall(r'"((?:[^"\\]|\\.)*)":(\d+):', location) for location in operations]
    expected = [(frames[-1][0], int(frames[-1][1])) for frames in last if frames]
    assert [(place[-1].file, place[-1].line) for place in found.places if place] == expected
