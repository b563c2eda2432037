"""The page of two records: what it holds of each, whole or not at all, and what readers without JavaScript see."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from report_pages import Page, check_sound

import cutecc
from cutecc.errors import UsageError
from cutecc.record import Analysis, Artifact, Compilation, KernelResources, Remark, Resumed, Step, Versions
from cutecc.record.folder import RecordFolder, read_folder
from cutecc.record.stages import StageWriter, UserLines, create
from cutecc.report.listings import llvm_ir_listing, ptx_listing, sass_listing
from cutecc.report.pair import OutputPair, Results, RunPair, Times, pair_of
from cutecc.report.pair_page import code_of, in_columns, write_pair_report
from cutecc.report.sass_places import sass_functions
from cutecc.report.stage_text import Function
from cutecc.support.locations import Frame

PTX = """\
.version 8.0
.target sm_80
.entry kernel(
)
{
\t.reg .b32 \t%r<3>;
\t.loc 1 3 5
\tadd.s32 \t%r1, %r2, 1;
\tret;
}
\t.file\t1 "k.py"
\t.section\t.debug_abbrev
\t{
.b8 1
\t}
"""


def record(
    folder: Path, stages: dict[int, str], resumed: Resumed | None = None, lines: UserLines | None = None
) -> Compilation:
    """A small record in a folder, of two passes; with `lines` each line of a module is of the second of `k.py`."""
    stored = RecordFolder(folder)
    path = stored.reserve("k.stages")
    create(path, lines)
    writer = StageWriter(path)
    for index, text in stages.items():
        place = (Frame("k.py", 2, 5),) if lines else None
        writer.add_stage(index, text, [place] * text.count("\n"))
    (folder / "k.ptx").write_text(PTX)
    compilation = Compilation("k", "sm_80", "canonicalize,cse", Versions("0", "3", "4.8.1", "built in"), status="ok")
    steps = [Step(index, name, name, "wheel") for index, name in ((1, "canonicalize"), (2, "cse"))]
    compilation.steps = [
        msgspec.structs.replace(step, changed=step.index in stages) for step in steps if step.index > min(stages)
    ]
    compilation.artifacts = [Artifact("stages", "k.stages"), Artifact("ptx", "k.ptx")]
    compilation.whole_pipeline = "canonicalize,cse"
    compilation.resumed = resumed
    stored.save(compilation)
    stored.close()
    return read_folder(folder)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Compilation, Compilation]:
    edited = Resumed("<a>", "canonicalize", "01.mlir", edited=True, lines_removed=1, lines_added=2)
    return (
        record(tmp_path / "a", {0: "module {\n}\n", 1: "module {\n  of_a\n}\n"}),
        record(tmp_path / "b", {1: "module {\n  of_b\n}\n", 2: "module {\n  more\n}\n"}, edited),
    )


def test_a_page_holds_the_comparison_and_the_texts_of_both(
    two: tuple[Compilation, Compilation], tmp_path: Path
) -> None:
    report = cutecc.write_pair_report(*two, tmp_path / "pair.html", names=("<a>", "b"))
    page = Page.at(tmp_path / "pair.html")
    check_sound(page)
    assert page.title == "<a> and b – cutecc compare"
    assert report.bytes == (tmp_path / "pair.html").stat().st_size
    chunks = page.chunks
    assert [*chunks] == [
        *("pair", "a:stage:0", "a:stage:1", "a:listing:k.ptx"),
        *("b:stage:1", "b:stage:2", "b:listing:k.ptx"),
    ]
    assert chunks["pair"]["first_difference"] == 1
    assert chunks["pair"]["passes"][1]["lines"] == {"a": 1, "b": 1}
    assert chunks["pair"]["b"]["resumed"]["edited"] is True
    assert chunks["a:stage:1"]["text"] == "module {\n  of_a\n}\n"
    assert chunks["b:stage:1"]["text"] == "module {\n  of_b\n}\n"
    assert ".loc" not in chunks["a:listing:k.ptx"]["text"]


def test_a_page_holds_the_source_of_both(tmp_path: Path) -> None:
    a, b = (
        record(tmp_path / name, {0: "module {\n}\n"}, lines=UserLines(sources={"k.py": text}))
        for name, text in (("a", "one\ntwo\n"), ("b", "one\nmore\ntwo\n"))
    )
    a.analyses = [Analysis("check-spills", 0, remarks=[Remark("warning", "spills 8 bytes", "k.py:2:5")])]
    page = write_pair_report(a, b, tmp_path / "pair.html").path
    chunks = Page.at(page).chunks
    assert chunks["sources"] == [{"a": "k.py", "b": "k.py", "stretches": [[1, 1, 1, True], [2, 3, 2, True]]}]
    assert chunks["b:user-lines"]["sources"] == {"k.py": "one\nmore\ntwo\n"}
    assert chunks["a:places:0"] == [[["k.py", 2, 5]]]
    assert chunks["a:stage:0"]["places"] == [0, 0]
    listing = chunks["a:listing:k.ptx"]
    add = listing["text"].split("\n").index("\tadd.s32 \t%r1, %r2, 1;")
    assert listing["table"][listing["places"][add]] == [["k.py", 3, 6]]
    assert chunks["pair"]["remarks"][0]["a_line"] == ["k.py", 2]
    assert "remarks: 1 in A alone" in Page.at(page).all("li")
    assert "k.py:2:5: spills 8 bytes" in Page.at(page).all("td")


def test_without_javascript_there_is_a_summary(two: tuple[Compilation, Compilation], tmp_path: Path) -> None:
    taken = KernelResources("k", 40, 8, 0, 0, 16, None, 0, 1, None)
    for each, registers in zip(two, (40, 32), strict=True):
        each.resources = [msgspec.structs.replace(taken, registers=registers)]
    output = OutputPair("c", "f32", [4], False, float("inf"), float("inf"), 1e-6, "1e-06", False)
    results = Results("the CPU emulator", [RunPair({"N": 4}, 0, [output], [], ["c differs"])], Times(2.0, 4.0))
    pair = msgspec.structs.replace(pair_of(*two, ("<a>", "b")), results=results)
    write_pair_report(*two, tmp_path / "pair.html", pair=pair)
    page = Page.at(tmp_path / "pair.html")
    assert page.all("h1") == ["<a> and b"]
    cells = page.all("td")
    assert "from <a> after canonicalize, edited by hand (-1 +2 lines)" in cells
    assert cells[cells.index("canonicalize") - 2 :][:6] == ["1", "1", "canonicalize", "changed", "input", "-1 +1"]
    assert cells[cells.index("registers") :][:3] == ["registers", "40", "32"]
    assert cells[cells.index("c") :][:5] == ["c", "inf", "inf", "1e-06", "differs"]
    assert "modules: the first that differ are those after canonicalize" in page.all("li")
    assert "B: c differs" in page.all("li")


def test_the_same_two_give_the_same_bytes(two: tuple[Compilation, Compilation], tmp_path: Path) -> None:
    for name in ("one.html", "other.html"):
        write_pair_report(*two, tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()
    write_pair_report(*two, tmp_path / "one.html")


def test_a_file_that_is_no_report_stays(two: tuple[Compilation, Compilation], tmp_path: Path) -> None:
    path = tmp_path / "notes.html"
    path.write_text("mine")
    with pytest.raises(UsageError, match="is not a report"):
        write_pair_report(*two, path)
    assert path.read_text() == "mine"


def test_ptx_stands_there_without_line_information() -> None:
    listing = code_of(ptx_listing(PTX, "k.ptx"))
    assert listing.text.split("\n")[4:] == [
        "{",
        "\t.reg .b32 \t%r<3>;",
        "\tadd.s32 \t%r1, %r2, 1;",
        "\tret;",
        "}",
    ]
    assert listing.functions == [Function("kernel", 2, 8)]
    assert len(listing.places) == listing.text.count("\n") + 1


def test_sass_stands_there_without_addresses() -> None:
    text = """\
\t.section\t.text.k,"ax",@progbits
.text.k:
\t//## File "k.py", line 3
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/              @!P0 EXIT ;
.L_x_0:
        /*0020*/                   BRA `(.L_x_0);
"""
    assert code_of(sass_listing(text, "k.sass", sass_functions(text))).text.split("\n")[1:] == [
        ".text.k:",
        "        MOV R1, c[0x0][0x28] ;",
        "        @!P0 EXIT ;",
        ".L_x_0:",
        "        BRA `(.L_x_0);",
        "",
    ]


def test_sass_is_compared_in_columns() -> None:
    text = """\
\t.section\t.text.k,"ax",@progbits
.text.k:
        /*0000*/                   STL [R1], R3                   (*"SpillRefill"*) ;
        /*0010*/              @!P0 EXIT ;
"""
    columns = {each.line: in_columns(each.text) for each in sass_functions(text)[0].instructions}
    assert code_of(sass_listing(text, "k.sass", sass_functions(text)), columns=columns).text.split("\n")[2:4] == [
        "              STL              [R1], R3",
        "        @!P0  EXIT",
    ]


def test_llvm_ir_stands_there_without_metadata_of_lines() -> None:
    text = """\
define void @k() !dbg !4 {
  %1 = add i32 1, 2, !dbg !7
  ret void, !dbg !8
}
!4 = distinct !DISubprogram(name: "k")
!9 = !{i32 1}
"""
    listing = code_of(llvm_ir_listing(text, "k.ll"))
    assert listing.text == "define void @k() {\n  %1 = add i32 1, 2\n  ret void\n}\n!9 = !{i32 1}\n"
    assert listing.functions == [Function("k", 0, 3)]


def test_the_command_writes_the_page_and_refuses_before_it_compares(
    two: tuple[Compilation, Compilation], tmp_path: Path, cutecc_in
) -> None:
    assert [each.name for each in two] == ["k", "k"]
    shown = cutecc_in(tmp_path, "compare", "a", "b", "--report", "pair.html").stdout
    assert shown.splitlines()[-1].startswith("wrote pair.html: a report, ")
    assert Page.at(tmp_path / "pair.html").title == "a and b – cutecc compare"
    ran = cutecc_in(tmp_path, "compare", "a", "b", "--report", "pair.html", "--json")
    assert msgspec.json.decode(ran.stdout)["differs"] is True
    assert "wrote pair.html" in ran.stderr
    both = cutecc_in(tmp_path, "compare", "a", "b", "--report", "pair.html", "--stage", "cse", status=2)
    assert "--stage prints a difference, and --report something else" in both.stderr
    refused = cutecc_in(tmp_path, "compare", "a", "b", "--report", "a", status=2)
    assert "that is a folder" in refused.stderr
    assert refused.stdout == ""
