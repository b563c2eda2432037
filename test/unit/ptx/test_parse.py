"""Whole PTX texts: modules, functions, scopes, declarations, lines and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import ParseError, SourceLocation
from cutecc.ptx.parse import parse_module
from cutecc.ptx.syntax import (
    Address,
    Arguments,
    Function,
    Guard,
    Immediate,
    Instruction,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
    registers_of,
    symbols_of,
)

HEAD = ".version 8.8\n.target sm_90a\n.address_size 64\n"


def body(text: str, head: str = "") -> Function:
    module = parse_module(f"{HEAD}{head}\n.visible .entry kernel(.param .u64 out)\n{{\n{text}\n}}")
    return module.functions["kernel"]


def only(text: str, registers: str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;") -> Instruction:
    (instruction,) = body(f"{registers} {text}").instructions
    return instruction


def test_a_module() -> None:
    module = parse_module(
        """
        .version 8.8
        .target sm_90a, debug
        .address_size 64
        /* several
           lines */
        .extern .shared .align 1024 .b8 dynamic[];
        .global .align 4 .u32 counter = 7, others[3];
        .extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b) ;
        .visible .entry kernel(
            .param .align 64 .b8 descriptor[128],
            .param .u64 .ptr .global .align 16 out
        )
        .reqntid 64
        .minnctapersm 2
        .explicitcluster
        .reqnctapercluster 2, 1, 1
        .pragma "nounroll";
        { ret; }
        .func (.param .b32 result) twice(.param .b32 x) .noreturn
        { .reg .b32 %r<2>; ld.param.b32 %r1, [x]; st.param.b32 [result], %r1; ret; }
        .alias a, twice;
        .section .debug_str
        {
        $name:
        .b8 102
        }
        """
    )
    assert (module.version, module.target) == ((8, 8), "sm_90a")
    assert module.variables["dynamic"] == Variable("dynamic", "shared", "b8", None, 1024, None, True)
    assert module.variables["counter"] == Variable("counter", "global", "u32", 1, 4, b"\7\0\0\0")
    assert module.variables["others"] == Variable("others", "global", "u32", 3, 4)
    vprintf = module.functions["vprintf"]
    assert vprintf.is_declaration
    assert [each.name for each in (*vprintf.results, *vprintf.parameters)] == ["func_retval0", "a", "b"]
    kernel = module.functions["kernel"]
    assert kernel.is_entry
    assert not kernel.is_declaration
    assert kernel.parameters[0] == Variable("descriptor", "param", "b8", 128, 64)
    assert (kernel.parameters[1].name, kernel.parameters[1].type, kernel.parameters[1].count) == ("out", "u64", 1)
    assert kernel.directives == {
        "reqntid": (64, 1, 1),
        "minnctapersm": (2,),
        "explicitcluster": (),
        "reqnctapercluster": (2, 1, 1),
    }
    assert [each.opcode for each in module.functions["twice"].instructions] == ["ld", "st", "ret"]
    assert module.functions["twice"].results[0].name == "result"


def test_a_definition_replaces_its_declaration() -> None:
    text = f"{HEAD}.func f(.param .b32 x);\n.func f(.param .b32 x) {{ ret; }}\n.func f(.param .b32 x);"
    assert len(parse_module(text).functions["f"].instructions) == 1


# Instructions.


def test_an_instruction() -> None:
    found = only("@!%p1  ld.global.v2.b32\t{%r1,  %r2}, // where\n [%rd1+-8];")
    assert found == Instruction(
        "ld",
        ("global", "v2", "b32"),
        (Vector((Register("%r1"), Register("%r2"))), Address(Register("%rd1"), -8)),
        Guard(Register("%p1"), True),
        7,
        "ld.global.v2.b32 {%r1, %r2}, [%rd1+-8];",
    )
    assert found.name == "ld.global.v2.b32"


@pytest.mark.parametrize(
    ("text", "registers", "symbols"),
    [
        ("@!%p1 ld.global.v2.b32 {%r1, _}, [%rd1+8];", ["%p1", "%r1", "%rd1"], []),
        ("setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;", ["%p1", "%p2", "%r1", "%p3"], []),
        ("tensor.2d [%rd1, {%r1, %r1}], [tile+4], %tid.x;", ["%rd1", "%r1", "%r1"], ["tile"]),
        ("call (_), other, (%r1, 3);", ["%r1"], ["other"]),
    ],
)
def test_names_in_an_instruction(text: str, registers: list[str], symbols: list[str]) -> None:
    found = only(text)
    assert (list(registers_of(found)), list(symbols_of(found))) == (registers, symbols)


def test_modifiers_with_colons_are_one() -> None:
    found = only(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];"
    )
    assert found.modifiers[4] == "shared::cluster"
    assert found.modifiers[-1] == "mbarrier::complete_tx::bytes"
    assert found.operands[1] == Address(Register("%rd1"), 0, Vector((Register("%r2"), Register("%r3"))))


def test_several_statements_on_a_line_and_one_over_several() -> None:
    found = body(".reg .b32 %r<3>; mov.u32 %r1, %tid.x; add.s32\n %r2,\n %r1, 1; ret ;").instructions
    assert [(each.opcode, each.line) for each in found] == [("mov", 7), ("add", 7), ("ret", 9)]
    assert found[0].operands[1] == Special("%tid.x")
    assert found[1].text == "add.s32 %r2, %r1, 1;"


def test_a_call() -> None:
    found = body(
        """
        { // callseq 0, 0
        .param .b64 param0;
        .param .b32 retval0;
        st.param.b64 [param0+0], 5;
        call.uni (retval0),
        vprintf,
        (
        param0
        );
        } // callseq 0
        { .param .b64 param0; call (_), other, (param0, 3), prototype; }
        """
    )
    first, second = (each for each in found.instructions if each.opcode == "call")
    assert first.operands == (Arguments((Symbol("retval0"),)), Symbol("vprintf"), Arguments((Symbol("param0"),)))
    # The second `param0` is another variable.
    assert isinstance(second.operands[2], Arguments)
    other, three = second.operands[2].items
    assert three == Immediate("integer", 3)
    assert isinstance(other, Symbol)
    assert other != Symbol("param0")
    assert other.name in {variable.name for variable in found.variables if variable.space == "param"}


# Names.


def test_inner_names_are_unique_and_hide_outer_ones() -> None:
    found = body(
        """
        .reg .b32 %r<2>; .reg .b32 x;
        mov.b32 x, 1;
        { .reg .b64 x; mov.b64 x, 2; { .reg .pred x; @x bra DONE; } mov.b64 x, 3;
          DONE: mov.b64 x, 4; }
        { DONE: bra DONE; }
        DONE:
        mov.b32 x, 5; bra DONE;
        """
    )
    registers = [each.operands[0] for each in found.instructions if each.opcode == "mov"]
    names = [each.name for each in registers if isinstance(each, Register)]
    outer, inner = names[0], names[1]
    assert names == [outer, inner, inner, inner, outer]
    assert outer == "x"
    assert (found.registers[outer], found.registers[inner]) == ("b32", "b64")
    guarded = found.instructions[2]
    assert guarded.guard is not None
    assert found.registers[guarded.guard.register.name] == "pred"
    branches = [each.operands[0] for each in found.instructions if each.opcode == "bra"]
    assert [found.labels[each.name] for each in branches if isinstance(each, Symbol)] == [4, 5, 6]


def test_register_ranges() -> None:
    found = body(".reg .b32 %r<3>, %x; .reg .f32 f<2>; ret;")
    assert found.registers == {"%r0": "b32", "%r1": "b32", "%r2": "b32", "%x": "b32", "f0": "f32", "f1": "f32"}


def test_vector_registers() -> None:
    """Each element is a register; the name stands for all of them, as braces would."""
    found = body(
        """
        .reg .b32 %r<3>; .reg .v4 .s32 v; .reg .v2 .f32 %w<2>;
        { .reg .v2 .s32 v; mov.b32 v.x, %r0; }
        mov.b32 v.w, %r1; mov.b32 %r2, v.r; st.shared.v4.s32 [%r0], v; mov.f32 %w1.y, %w0.x;
        """
    )
    inner, last, first, whole, floats = found.instructions
    vector = tuple(Register(f"v.{letter}") for letter in "xyzw")
    assert last.operands[0] == vector[3] and first.operands[1] == vector[0] and whole.operands[1] == Vector(vector)
    assert floats.operands == (Register("%w1.y"), Register("%w0.x"))
    assert isinstance(inner.operands[0], Register) and inner.operands[0] not in vector
    assert {found.registers[each.name] for each in vector} == {"s32"} and len(found.registers) == 3 + 4 + 4 + 2


def test_variables_of_a_body_hide_those_of_the_module() -> None:
    found = body(
        ".reg .b32 %r<2>; { .shared .b32 tile[4]; mov.b32 %r1, tile; } mov.b32 %r1, tile;", ".shared .b8 tile[8];"
    )
    inner, outer = (each.operands[1] for each in found.instructions)
    assert outer == Symbol("tile")
    assert inner == Symbol(found.variables[0].name)
    assert inner != outer


def test_branch_targets() -> None:
    found = body(
        """
        .reg .b32 %r<2>;
        table: .branchtargets A, B,
          A;
        brx.idx.uni %r1, table;
        A: ret;
        B: ret;
        """
    )
    assert found.branch_targets == {"table": ("A", "B", "A")}
    assert found.labels == {"A": 1, "B": 2}


def test_a_label_at_the_end() -> None:
    assert body("bra END; END:").labels == {"END": 1}


# Initial values.


@pytest.mark.parametrize(
    ("declaration", "count", "align", "initial"),
    [
        (".global .b8 text[5] = {72, 105};", 5, 1, b"Hi\0\0\0"),
        (".const .align 8 .f32 x[] = {0f3F800000, 1.5};", 2, 8, b"\0\0\x80\x3f\0\0\xc0\x3f"),
        (".global .u16 x[2][2] = {{1}, {2, 3}};", 4, 2, bytes([1, 0, 0, 0, 2, 0, 3, 0])),
        (".global .u8 x[][2] = {{1}, {2, 3}, {4}};", 6, 1, bytes([1, 0, 2, 3, 4, 0])),
        (".global .s64 x = -1;", 1, 8, b"\xff" * 8),
        (".global .f64 x = 2;", 1, 8, bytes(7) + b"\x40"),
        (".global .f64 x = 0f40000000;", 1, 8, bytes(7) + b"\x40"),
        (".global .v2 .u8 x = {1, 2};", 2, 2, b"\1\2"),
        (".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};", 4, 2, b"\1\2\3\4"),
        (".global .attribute(.managed) .u8 x[3];", 3, 1, None),
    ],
)
def test_variables(declaration: str, count: int, align: int, initial: bytes | None) -> None:
    (variable,) = parse_module(HEAD + declaration).variables.values()
    assert (variable.count, variable.align, variable.initial) == (count, align, initial)


# Lines.


def test_lines_of_python() -> None:
    """Columns of Python files count from 0 in PTX, and from 1 in messages."""
    found = body(
        """
        .reg .b32 %r<2>;
        mov.b32 %r1, 0;
        .loc 1 7 3
        mov.b32 %r1, 1;
        .loc 2 3 1, function_name $name, inlined_at 1 9 2
        mov.b32 %r1, 2;
        .loc 2 5 5, function_name $name+4, inlined_at 2 3 1
        mov.b32 %r1, 3;
        .loc 1 0 0
        ret;
        """,
        '.file 1 "kernel.py"\n.file 2 "library.py", 123, 456',
    )
    outer = SourceLocation("kernel.py", 9, 3)
    near = SourceLocation("kernel.py", 9, near=True)
    expected = [None, SourceLocation("kernel.py", 7, 4), outer, outer, near]
    assert [each.location for each in found.instructions] == expected


def test_inline_assembly_is_at_the_line_of_its_statement() -> None:
    """`.loc` inside of it counts the lines of its text."""
    found = body(
        """
        .loc 1 20 4
        // begin inline asm
        {
        .loc 1 22 4
        ret;
        }
        // end inline asm
        exit;
        .loc 1 30 4
        exit;
        """,
        '.file 1 "kernel.py"',
    )
    assert [each.location and each.location.line for each in found.instructions] == [20, 20, 30]


def test_a_function_begins_without_a_line() -> None:
    text = f'{HEAD}.func a() {{ .loc 1 2 3\n ret; }} .func b() {{ ret; .loc 1 4 0\n ret; }}\n.file 1 "k.py"'
    module = parse_module(text)
    assert module.functions["a"].instructions[0].location == SourceLocation("k.py", 2, 4)
    assert [each.location for each in module.functions["b"].instructions] == [None, None]


def test_a_file_named_in_a_body() -> None:
    (found,) = body('.file 3 "late.cu"\n.loc 3 4 5\nret;').instructions
    assert found.location == SourceLocation("late.cu", 4, 5)


# Errors.


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "no '.version'"),
        (HEAD + ".visible .entry k(\n.param .b32 x", 5, "','"),
        (HEAD + ".visible .entry k() {\n ret;\n", 6, "'}' at the end"),
        (HEAD + ".visible .entry k() {\n ret;\n add.s32 %r1, 1, 2; }", 6, "'%r1' is not declared"),
        (HEAD + ".visible .entry k() {\n @%p bra X; }", 5, "'%p' is not a declared predicate"),
        (HEAD + ".visible .entry k() {\n .reg .b32 a; .reg .b32 a; }", 5, "declared twice"),
        (HEAD + ".visible .entry k() {\n .reg .v2 .b32 a; .reg .b32 a; }", 5, "declared twice"),
        (HEAD + ".visible .entry k() {\n .reg .v8 .b32 a; }", 5, "vector register of 8"),
        (HEAD + ".visible .entry k() {\n .reg .texref a; }", 5, "'.texref'"),
        (HEAD + ".visible .entry k() {\n .reg .b32 %r<99999999999>; }", 5, "registers"),
        (HEAD + ".visible .entry k() {\n t: .branchtargets A; }", 5, "'A' is no label"),
        (HEAD + ".visible .entry k() {\n ld.param.b32 [x;\n ret; }", 5, "missing part or bracket"),
        (HEAD + ".visible .entry k() {\n .frobnicate 1;\n ret; }", 5, "unknown directive '.frobnicate'"),
        (HEAD + "\n.global .u64 x = y+z;", 5, "no constant and no address of a variable"),
        (HEAD + ".global .u8 x[1] = {1, 2};", 4, "more initial values"),
        (HEAD + ".global .align 3 .u8 x;", 4, "no power of two"),
        (HEAD + f".global .align {1 << 63} .u8 x;", 4, "no power of two up to 1048576"),
        (HEAD + ".global .f32 x = 1e300;", 4, "is larger than any of type '.f32'"),
        (HEAD + f".global .f64 x = {10**400};", 4, "is no constant"),
        (HEAD + f".global .u8 x[{'1' * 2000}];", 4, "a number of more than 1,000 digits"),
        (HEAD + f".visible .entry kernel() .maxntid {'1' * 2000} {{ }}", 4, "a number of more than 1,000 digits"),
        (HEAD + ".visible .entry kernel() .reqntid 32, 0, 1 { }", 4, "'.reqntid' of 0"),
        (HEAD + ".global .u8 x[2][];", 4, "only the first dimension"),
        (HEAD + ".global .u8 x[2] = {1 {2}};", 4, "',' or '}'"),
        (".version 8.8\n.target sm_90\n.address_size 32", 3, "32 bits"),
        ("hello", 1, "expected a directive"),
    ],
)
def test_errors_name_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(text)
    assert message in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == line
    assert caught.value.location.text == text.split("\n")[line - 1]


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    ".visible",
                    ".entry",
                    ".func",
                    "k",
                    "(",
                    ")",
                    "{",
                    "}",
                    ";",
                    ",",
                    ".reg .b32",
                    "%r<3>",
                    "%r1",
                    "add.s32",
                    "1",
                ),
                *(
                    "@",
                    "!",
                    ":",
                    ".loc 1 2 3\n",
                    ".global .u8",
                    "=",
                    "[",
                    "]",
                    ".section .x",
                    '"',
                    "//",
                    "/*",
                    "\n",
                    ".param",
                ),
            ]
        ),
        max_size=30,
    )
)
def test_any_text_is_a_module_or_an_error(words: list[str]) -> None:
    try:
        parse_module(HEAD + " ".join(words))
    except ParseError as error:
        assert error.location is not None
