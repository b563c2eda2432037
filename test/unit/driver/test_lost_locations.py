"""Which operations lose their place in the wheel's code generator, and that readers of the PTX have it all the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cutecc
from cutecc.errors import SourceLocation
from cutecc.passes.nvidia.lost_locations import Form, LostAccess, instruction_places
from cutecc.ptx.locations import PtxText
from cutecc.ptx.parse import parse_module
from cutecc.report.code import listings_of
from cutecc.support.locations import Frame, InstructionPlace

KERNEL = Path(__file__).parents[2] / "inputs" / "many_places.py"
_MARK = re.compile(r"  #: (lost )?(\S.*)$")


@pytest.fixture(scope="module")
def compiled() -> cutecc.Kernel:
    options = cutecc.CompileOptions(line_info=True, artifacts=("ptx", "cubin", "sass", "host-program"))
    (kernel,) = cutecc.compile_many([cutecc.Job(str(KERNEL), options=options)], workers=1)
    assert isinstance(kernel, cutecc.Kernel), kernel
    return kernel


def by_line(ptx: PtxText) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for function in parse_module(ptx).functions.values():
        for each in function.instructions:
            if each.location is not None and each.location.line is not None and not each.location.near:
                found.setdefault(each.location.line, []).append(each.name)
    return found


def test_which_operations_lose_their_place(compiled: cutecc.Kernel) -> None:
    """When this fails with another wheel, `cutecc.passes.nvidia.lost_locations` has to learn about it."""
    (artifact,) = (each for each in compiled.compilation.artifacts if each.kind == "ptx")
    assert compiled.ptx is not None
    plain, mended = by_line(PtxText(compiled.ptx)), by_line(PtxText(compiled.ptx, artifact.places))
    marks = {n: m for n, line in enumerate(KERNEL.read_text().split("\n"), 1) if n > 1 and (m := _MARK.search(line))}
    assert len(marks) > 40
    for number, mark in marks.items():
        assert any(name.startswith(mark[2]) for name in mended.get(number, [])), (number, mark[0])
        assert any(name.startswith(mark[2]) for name in plain.get(number, [])) != bool(mark[1]), (number, mark[0])
    assert not any(each.inferred for each in artifact.places)


def test_sass_has_them_too(compiled: cutecc.Kernel) -> None:
    (listing,) = (each for each in listings_of(compiled.compilation) if each.kind == "sass")
    lines = listing.text.split("\n")
    source = KERNEL.read_text().split("\n")
    of_line: dict[int, str] = {}
    for number, place in enumerate(listing.places):
        if place >= 0:
            line = listing.table[place][-1].line
            of_line[line] = f"{of_line.get(line, '')}\n{lines[number]}"
    release = source.index(next(each for each in source if "cell + 6, seen" in each)) + 1
    assert re.search(r"MEMBAR.*\n(.*\n)*.*\bSTG?\.E\.STRONG\.GPU", of_line[release])
    acquire = source.index(next(each for each in source if "seen = " in each)) + 1
    assert re.search(r"LDG?\.E\.STRONG\.GPU.*\n.*CCTL", of_line[acquire])
    assert "STRONG" not in of_line[acquire + 1]


def test_without_lines_there_is_no_table() -> None:
    (kernel,) = cutecc.compile_many([cutecc.Job(str(KERNEL))], workers=1)
    assert isinstance(kernel, cutecc.Kernel), kernel
    assert not any(each.places for each in kernel.compilation.artifacts)


def place(line: int, column: int = 5) -> tuple[Frame, ...]:
    return (Frame("/k.py", line, column),)


def access(line: int, *following: int, order: str = "release", column: int = 5) -> LostAccess:
    form = Form("st", order, "gpu", 32)
    return LostAccess(form, place(line, column), frozenset(place(each) for each in following))


def found(text: str, *accesses: LostAccess) -> list[str]:
    ptx = f'.visible .entry k(\n)\n{{\n{text}\n}}\n\t.file\t1 "/k.py"\n'
    return [str(each.location) for each in instruction_places(ptx, {"k": [*accesses]})]


STORE = "\tst.release.gpu.global.b32 [%rd1], %r1;\n"


def at(line: int) -> str:
    return f"\t.loc\t1 {line} 4\n"


def test_one_place_is_the_place_of_all_copies() -> None:
    assert found(at(3) + STORE + STORE + at(9) + STORE, access(7, 8)) == ["/k.py:7:5"] * 3


def test_what_follows_tells_them_apart() -> None:
    text = at(8) + STORE + at(12) + STORE + at(8) + STORE
    assert found(text, access(7, 8), access(11, 12)) == ["/k.py:7:5", "/k.py:11:5", "/k.py:7:5"]


def test_else_the_order_does_where_all_agree() -> None:
    assert found(at(12) + STORE + STORE, access(7, 11, 12), access(11, 12)) == ["/k.py:7:5", "/k.py:11:5"]


def test_places_of_one_line_need_no_column() -> None:
    assert found(at(8) + STORE * 3, access(7, 8), access(7, 8, column=9)) == ["/k.py:7"] * 3


def test_the_rest_is_inferred() -> None:
    assert found(at(12) + STORE * 3, access(7, 11, 12), access(11, 12)) == ["near /k.py:7"] * 3
    assert found(at(99) + STORE + STORE, access(7, 8), access(11, 12)) == ["near /k.py:7", "near /k.py:11"]
    # Line 13 follows both, and the first is known to be the other instruction.
    assert found(at(8) + STORE + at(13) + STORE + STORE, access(7, 8, 13), access(11, 12, 13)) == [
        "/k.py:7:5",
        "near /k.py:11",
        "near /k.py:11",
    ]


def test_other_instructions_stay_alone() -> None:
    other = "\tst.global.b32 \t[%rd1], %r1;\n\tst.relaxed.gpu.global.b32 [%rd1], %r1;\n"
    asm = f"\t// begin inline asm\n{STORE}\t// end inline asm\n"
    assert found(at(8) + other + asm, access(7, 8)) == []
    assert found(at(8) + STORE) == []


def test_a_place_as_data() -> None:
    frames = (Frame("/lib.py", 3, 7), Frame("/k.py", 12, 0))
    written = InstructionPlace.of(40, frames)
    assert written.frames == ("/lib.py:3:7", "/k.py:12")
    assert written.place == frames
    assert written.location == SourceLocation("/k.py", 12)
    assert str(InstructionPlace.of(40, place(7), inferred=True).location) == "near /k.py:7"


def test_ptxas_speaks_of_the_users_line(tmp_path: Path) -> None:
    """`.acquire` is no order of a store; the wheel's code generator leaves that to ptxas."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL.read_text().replace('cell + 6, seen, sem="release"', 'cell + 6, seen, sem="acquire"'))
    (error,) = cutecc.compile_many([cutecc.Job(str(file), options=cutecc.CompileOptions(line_info=True))], workers=1)
    assert isinstance(error, cutecc.Error)
    assert "Illegal modifier '.acquire'" in error.message
    number = next(n for n, line in enumerate(file.read_text().split("\n"), 1) if "cell + 6" in line)
    assert any(f"kernel.py:{number}:5" in note for note in error.notes), error.notes
