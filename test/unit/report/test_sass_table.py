"""The arrays of the page's columns of machine code."""

from __future__ import annotations

import pytest

from cutecc.record import Compilation
from cutecc.record.compilation import Artifact, KernelResources, Versions
from cutecc.report.annotated_sass import annotated_code
from cutecc.report.content import content_of
from cutecc.report.flow import MOST_SOURCES
from cutecc.report.sass_table import SassTable, sass_table

KERNEL = "kernel_cutlass_sum_tensorptrf32_0"
SASS = f"""\
//--------------------- .text.{KERNEL} --------------------------
\t.section\t.text.{KERNEL},"ax",@progbits
\t//## File "/home/k.py", line 3
        /*0000*/                   MOV R2, RZ ;
.L_x_1:
\t//## File "/home/k.py", line 4
        /*0010*/                   LDG.E.64 R4, desc[UR4][R6.64] ;
        /*0020*/                   STL [R1], R4 ;
        /*0030*/                   FADD R2, R2, R5 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
        /*0050*/                   EXIT ;
"""


def record(text: str = SASS) -> Compilation:
    found = Compilation("sum", "sm_90a", "", Versions("1", "3.11", "4.8.1", "wheel"))
    found.artifacts.append(Artifact("sass", "sum.sass"))
    found.files["sum.sass"] = text.encode()
    found.resources = [KernelResources(KERNEL, 12, 8, 4, 0, 0, 0, 0, 1, None)]
    return found


def table(compilation: Compilation) -> SassTable:
    return sass_table(annotated_code(compilation))


def test_what_stands_beside_instructions() -> None:
    found = table(record())
    (function,) = found.functions
    assert (function.name, function.title, function.registers) == (KERNEL, "sum", 12)
    lines = SASS.split("\n")
    assert [lines[line].split()[0] for line in function.lines] == [f"/*00{number}0*/" for number in range(6)]
    assert [found.loop_names[loop] for loop in function.loops] == ["", "┌▸", "│ ", "│ ", "└─", ""]
    assert (function.blocks, function.labels, function.targets) == ([0, 1, 5], [(1, ".L_x_1", 4)], [(4, 1)])
    assert function.written == [1, 1, 0, 1, 0, 0]
    assert function.spills == [[2, 1]]
    assert len(function.live) == 6 and max(function.live) == function.live[1]
    # There is no cubin.
    assert (function.controls, found.control_names) == ([], [])


def test_who_may_have_written_what_is_read() -> None:
    found = table(record())
    (function,) = found.functions
    pairs = function.sources[3]
    read = [(found.registers[register], distance) for register, distance in zip(pairs[::2], pairs[1::2], strict=True)]
    # The sum is of the turn before, or the zero in front of the loop.
    assert read == [("R2", 0), ("R2", 3), ("R5", 2)]


@pytest.mark.parametrize(("count", "distances"), [(MOST_SOURCES, [*range(1, MOST_SOURCES + 1)]), (200, [])])
def test_where_too_many_may_have_written_a_register_nobody_is_named(count: int, distances: list[int]) -> None:
    writes = "\n".join(f"        /*{16 * number:04x}*/  @P{number % 7} MOV R2, 0x1 ;" for number in range(count))
    text = f"{SASS.split(chr(10))[0]}\n{SASS.split(chr(10))[1]}\n{writes}\n"
    (function,) = table(record(f"{text}        /*{16 * count:04x}*/  STG.E [R4.64], R2 ;\n")).functions
    assert function.sources[count][1::2] == distances


def test_a_page_has_them() -> None:
    names = [chunk.name for chunk in content_of(record()).chunks]
    assert names.index("columns:sum.sass") > names.index("listing:sum.sass")


def test_a_page_without_them_says_why() -> None:
    compilation = record()
    compilation.artifacts.append(Artifact("cubin", "sum.cubin"))
    compilation.files["sum.cubin"] = b"none"
    content = content_of(compilation)
    assert "listing:sum.sass" in [chunk.name for chunk in content.chunks]
    assert "columns:sum.sass" not in [chunk.name for chunk in content.chunks]
