"""Machine code in columns: by source line, with loops, control codes, live registers and spills."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cutecc.cli.sass_columns import choose_columns, row
from cutecc.cli.sass_listing import sass_listing
from cutecc.errors import ToolError, UsageError
from cutecc.record import Compilation
from cutecc.record.compilation import Artifact, KernelResources, Versions
from cutecc.record.stages import UserLines, create
from cutecc.report.annotated_sass import annotated_functions
from cutecc.report.loop_brackets import between, loop_brackets
from cutecc.sass import SassFunction, SassInstruction
from cutecc.sass.blocks import control_flow

SASS = """\
//--------------------- .text.kernel_cutlass_sum_tensorptrf32_0 --------------------------
\t.section\t.text.kernel_cutlass_sum_tensorptrf32_0,"ax",@progbits
\t//## File "/home/k.py", line 3
        /*0000*/                   MOV R2, RZ ;
.L_x_9:
        /*0010*/                   MOV R4, 0x8 ;
.L_x_1:
\t//## File "/lib/copy.py", line 5 inlined at "/home/k.py", line 4
\t//## File "/home/k.py", line 4
        /*0020*/                   LDG.E R3, desc[UR4][R6.64] ;
        /*0030*/                   STL [R1+0x4], R3 ;
.L_x_2:
\t//## File "/home/k.py", line 5
        /*0040*/                   FADD R2, R2, R3 ;
        /*0050*/              @!P0 BRA `(.L_x_2) ;
\t//## File "/home/k.py", line 4
        /*0060*/               @P1 BRA `(.L_x_1) ;
\t//## File "/home/k.py", line 7
        /*0070*/                   CALL.REL.NOINC `($__internal_0_$division) ;
        /*0080*/                   EXIT ;
$__internal_0_$division:
        /*0090*/                   RET.REL.NODEC R4 `(kernel_cutlass_sum_tensorptrf32_0) ;
"""
SOURCE = "\n\nzero = 0\nfor each in a:\n    total += each\n\nreturn total / 2 and a line that has no room here at all\n"
SYMBOL = "kernel_cutlass_sum_tensorptrf32_0"


def resources(*, spilled: int = 0) -> KernelResources:
    return KernelResources(SYMBOL, 12, 8, spilled, 0, 0, 0, 0, 1, None)


@pytest.fixture
def record() -> Compilation:
    found = Compilation("sum", "sm_90a", "", Versions("1", "3.11", "4.8.1", "wheel"))
    found.artifacts.append(Artifact("sass", "sum.sass"))
    found.files["sum.sass"] = SASS.encode()
    found.resources = [resources()]
    return found


@pytest.fixture
def with_sources(record: Compilation, tmp_path: Path) -> Compilation:
    create(tmp_path / "sum.stages", UserLines(sources={"/home/k.py": SOURCE}))
    record.artifacts.append(Artifact("stages", "sum.stages"))
    record.files["sum.stages"] = (tmp_path / "sum.stages").read_bytes()
    return record


def shown(record: Compilation, *, locations: bool = False, width: int | None = None) -> list[str]:
    return [*map(click.unstyle, sass_listing(record, None, locations=locations, width=width))]


def test_by_line_with_loops(with_sources: Compilation) -> None:
    with_sources.resources = [resources(spilled=4)]
    assert shown(with_sources, width=60) == [
        "sum for sm_90a: 10 instructions, 12 registers, 7 live at most, at 0020, 1 spill",
        "k.py:3  zero = 0",
        "  ○ 0000  MOV R2, RZ                         5",
        "  ○ 0010  MOV R4, 0x8                        6",
        ".L_x_1:  loop of 5 instructions",
        "k.py:4  for each in a:",
        "┌▸  ○ 0020  LDG.E R3, desc[UR4][R6.64]       7 peak",
        "│   ○ 0030  STL [R1+0x4], R3                 7 spill",
        "│ .L_x_2:  loop of 2 instructions",
        "│ k.py:5  total += each",
        "│ ┌▸  ○ 0040  FADD R2, R2, R3                7",
        "│ └─  ○ 0050  @!P0 BRA .L_x_2                7",
        "│ k.py:4  for each in a:",
        "└─  ○ 0060  @P1 BRA .L_x_1                   6",
        "k.py:7  return total / 2 and a line that has no room here a…",
        "  ○ 0070  CALL.REL.NOINC $__internal_0_$division     2",
        "  ○ 0080  EXIT                               0",
        "$__internal_0_$division:",
        "  ○ 0090  RET.REL.NODEC R4 sum               2",
    ]


def test_columns_as_there_is_room(with_sources: Compilation) -> None:
    load = "┌▸  ○ 0020        LDG.E            R3, desc[UR4][R6.64]       7 peak"
    assert f"{load}   k.py:4" in shown(with_sources)
    assert f"{load}   k.py:4" in shown(with_sources, width=82)
    assert load in shown(with_sources, width=72)
    assert "┌▸  ○ 0020  LDG.E R3, desc[UR4][R6.64]       7 peak" in shown(with_sources, width=60)
    assert max(map(len, shown(with_sources, width=60)[1:])) <= 60


def test_lines_without_their_text_are_told_once(record: Compilation) -> None:
    assert [line for line in shown(record) if line.startswith("k.py")] == []
    assert [line for line in shown(record, width=60) if line.startswith("k.py")] == ["k.py:3", "k.py:4", "k.py:7"]


def test_without_lines(record: Compilation) -> None:
    record.files["sum.sass"] = "\n".join(line for line in SASS.split("\n") if "##" not in line).encode()
    assert shown(record)[1] == "  ? 0000        MOV              R2, RZ                       5"


def test_all_frames_whatever_room_there_is(with_sources: Compilation) -> None:
    lines = shown(with_sources, locations=True, width=20)
    assert sum(line.endswith("  copy.py:5 ← k.py:4") for line in lines) == 2
    assert sum(line.endswith("  k.py:5") for line in lines) == 2


def test_accesses_of_local_memory_without_spills_are_no_spills(record: Compilation) -> None:
    assert not [line for line in shown(record) if "spill" in line]


def test_a_function_by_its_name(record: Compilation) -> None:
    for name in ("sum", SYMBOL):
        assert [*sass_listing(record, name, locations=False, width=None)] == [
            *sass_listing(record, None, locations=False, width=None)
        ]
    with pytest.raises(UsageError, match="there is no function 'sun' in the machine code"):
        list(sass_listing(record, "sun", locations=False, width=None))


def test_what_is_no_cubin(record: Compilation) -> None:
    record.artifacts.append(Artifact("cubin", "sum.cubin"))
    record.files["sum.cubin"] = b"none"
    with pytest.raises(ToolError, match="this is not a cubin"):
        shown(record)


def test_control_codes_of_the_cubin(record: Compilation) -> None:
    upper_halves = (0x000FE40000000F00 + (number << 41) for number in range(10))
    code = b"".join(bytes(8) + half.to_bytes(8, "little") for half in upper_halves)
    (annotated,) = annotated_functions(record, {SYMBOL: code})
    columns = choose_columns(annotated, range(10), None)
    assert click.unstyle(row(annotated, 0, columns)).startswith("○ 0000  B------:R-:W-:-:S02        MOV ")
    assert click.unstyle(row(annotated, 1, columns)).startswith("○ 0010  B------:R-:W-:-:S03        MOV ")
    # What has no room goes in this order: what aligns the operands, then the control codes.
    wide, narrow = choose_columns(annotated, range(10), 62), choose_columns(annotated, range(10), 52)
    assert (wide.control, wide.aligned, narrow.control, narrow.aligned) == (True, False, False, False)


@pytest.mark.parametrize("code", [b"", bytes(16 * 9)])
def test_too_little_code_has_no_control_codes(record: Compilation, code: bytes) -> None:
    (annotated,) = annotated_functions(record, {SYMBOL: code})
    assert annotated.controls is None


def test_a_target_that_nobody_knows_has_no_control_codes(record: Compilation) -> None:
    record.target = "sm_999"
    (annotated,) = annotated_functions(record, {SYMBOL: bytes(160)})
    assert annotated.controls is None


def test_a_loop_in_pieces_and_one_of_one_instruction() -> None:
    lines = ["@P0 BRA `(.L_x_3)", "MOV R0, RZ", "@P1 BRA `(.L_x_0)", "EXIT", "BRA `(.L_x_1)", "@P2 BRA `(.L_x_4)"]
    instructions = [SassInstruction(number, 16 * number, text, None) for number, text in enumerate(lines)]
    function = SassFunction("k", 0, 9, instructions, {".L_x_0": 0, ".L_x_1": 1, ".L_x_3": 4, ".L_x_4": 5})
    assert loop_brackets(control_flow(function)) == ["┌▸", "│ ", "└─", "", "─ ", ""]
    instructions[4].text = "@P3 BRA `(.L_x_1)"
    assert loop_brackets(control_flow(function)) == ["┌▸", "│ ", "└─", "", "─ ", "─▸"]


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [("", ""), ("┌▸", ""), ("│ ", "│ "), ("├▸", "│ "), ("│ ┌▸", "│ "), ("│ └─", "│ │ "), ("┌▸┌▸", ""), ("─▸", "")],
)
def test_loops_around_the_line_above(brackets: str, expected: str) -> None:
    assert between(brackets) == expected
