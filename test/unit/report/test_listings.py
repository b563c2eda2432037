"""PTX, SASS and LLVM IR with the place of each line."""

from __future__ import annotations

import json

import msgspec

from cutecc.record import Compilation
from cutecc.record.compilation import Artifact, Versions
from cutecc.report.code import listings_of
from cutecc.report.listings import Listing, llvm_ir_listing, ptx_listing, sass_listing
from cutecc.report.sass_places import sass_functions
from cutecc.support.locations import Frame

PTX = """\
.version 8.8
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;
.visible .entry kernel_a(
\t.param .align 8 .b8 kernel_a_param_0[24]
)
.reqntid 128, 1, 1
{
\t.reg .pred \t%p<33>;
\t.loc\t1 26 0

\tld.param.b64 \t%rd7, [kernel_a_param_0];
\t.loc\t1 91 12
\t.loc\t1 91 0, function_name $L__info_string0, inlined_at 1 91 12
\t// begin inline asm
\t{
.reg .pred p;
\t.loc\t1 93 0, function_name $L__info_string0, inlined_at 1 91 12
setp.ne.b32 p, %r57, 0;
}
\t// end inline asm
$L__BB0_2:
\t.loc\t2 5 11, function_name $L__info_string0, inlined_at 1 12 7
\t@%p1 bra \t$L__BB0_2;
\t.loc\t1 0 7
\tret;

}
.func  (.param .b32 func_retval0) device_b(
)
{
\tret;
}
\t.file\t1 "/k.py"
\t.file\t2 "/lib.py"
"""


def placed(listing: Listing) -> dict[str, object]:
    """The place of each line that has one, by the line's text."""
    assert len(listing.places) == len(listing.text.split("\n"))
    return {
        line.strip(): listing.table[index]
        for line, index in zip(listing.text.split("\n"), listing.places, strict=True)
        if index >= 0
    }


def test_ptx() -> None:
    listing = ptx_listing(PTX, "k.ptx")
    assert placed(listing) == {
        "ld.param.b64 \t%rd7, [kernel_a_param_0];": (Frame("/k.py", 26, 0),),
        "setp.ne.b32 p, %r57, 0;": (Frame("/k.py", 91, 13),),
        "@%p1 bra \t$L__BB0_2;": (Frame("/lib.py", 5, 12), Frame("/k.py", 12, 8)),
    }
    lines = PTX.split("\n")
    assert [(each.name, lines[each.first][:8], lines[each.last]) for each in listing.functions] == [
        ("kernel_a", ".visible", "}"),
        ("device_b", ".func  (", "}"),
    ]
    assert (listing.classes, listing.class_names) == ([], [])


LLVM_IR = """\
define ptx_kernel void @kernel_a(float %0) !dbg !3 {
  %2 = fadd float %0, 1.0, !dbg !6
  %3 = fadd float %2, 1.0, !dbg !7, !fast !9
  call void asm sideeffect "x", ""(), !dbg !11
  %4 = fadd float %2, 1.0, !dbg !12
  ret void
}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "k \\C3\\A4, b.py", directory: "/d")
!2 = !DIFile(filename: "/lib.py", directory: "/d")
!3 = distinct !DISubprogram(name: "kernel_a", scope: !1, file: !1, line: 26, unit: !0)
!4 = distinct !DILexicalBlockFile(scope: !3, file: !2, discriminator: 0)
!6 = !DILocation(line: 44, column: 13, scope: !3)
!7 = !DILocation(line: 5, column: 11, scope: !4, inlinedAt: !8)
!8 = distinct !DILocation(line: 12, column: 7, scope: !3)
!10 = distinct !DILexicalBlockFile(scope: !3, file: !1, discriminator: 0)
!11 = !DILocation(line: 12, scope: !10, inlinedAt: !8)
!12 = !DILocation(line: 0, scope: !3)
"""


def test_llvm_ir() -> None:
    listing = llvm_ir_listing(LLVM_IR, "k.ll")
    file = "/d/k ä, b.py"
    assert list(placed(listing).values()) == [
        (Frame(file, 44, 14),),
        (Frame("/lib.py", 5, 12), Frame(file, 12, 8)),
        (Frame(file, 12, 8),),
    ]
    assert [(each.name, each.first, each.last) for each in listing.functions] == [("kernel_a", 0, 6)]


def test_sass() -> None:
    text = (
        '\t.section\t.text.k,"ax"\n\t//## File "/k.py", line 3\n        /*0000*/  @P0 FADD R0, R1, R2 ;\n'
        "        /*0010*/  EXIT ;\n.L_x_0:\n        /*0020*/  BRA `(.L_x_0);\n        /*0030*/  NOP;\n"
    )
    listing = sass_listing(text, "k.sass", sass_functions(text))
    assert listing.places == [-1, -1, 0, 0, -1, -1, -1, -1] and listing.table == [(Frame("/k.py", 3, 0),)]
    names = [listing.class_names[index] if index >= 0 else None for index in listing.classes]
    assert names == [None, None, "float 32", "control", None, None, None, None]
    assert [(each.name, each.first, each.last) for each in listing.functions] == [("k", 0, 6)]


def test_all_code_of_a_record_as_the_page_takes_it() -> None:
    compilation = Compilation("k", "sm_80", "nvidia", Versions("0", "3.11", "4.8.1", "wheel"))
    compilation.artifacts += [
        *(Artifact("ptx", "k.ptx"), Artifact("cubin", "k.cubin"), Artifact("sass", "gone.sass")),
        Artifact("llvm-ir", "k.ll"),
    ]
    compilation.files.update({"k.ptx": PTX.encode(), "k.cubin": b"\x7fELF", "k.ll": LLVM_IR.encode()})
    found = list(listings_of(compilation))
    assert [(each.kind, each.file) for each in found] == [("ptx", "k.ptx"), ("llvm-ir", "k.ll")]
    data = json.loads(msgspec.json.encode(found[0]))
    assert set(data) == {"kind", "file", "text", "table", "places", "classes", "class_names", "functions"} | {
        *("reasons", "details", "detail_names", "values")
    }
    assert data["table"][0] == [["/k.py", 26, 0]]
    assert set(data["functions"][0]) == {"name", "first", "last"}


def test_code_of_a_module_that_was_text_names_its_file() -> None:
    compilation = Compilation("k", "sm_90a", "nvidia", Versions("0", "3.11", "4.8.1", "wheel"), source="dump/k.mlir")
    compilation.artifacts.append(Artifact("ptx", "k.ptx"))
    compilation.files["k.ptx"] = b'.entry k\n{\n.loc 1 7 3\nret;\n}\n.file 1 "-"\n'
    (listing,) = listings_of(compilation)
    assert listing.table == [(Frame("dump/k.mlir", 7, 3),)]


def test_numbers_of_lines_that_no_file_has_are_no_places() -> None:
    many = "9" * 5000
    assert ptx_listing(f'.entry k\n{{\n.loc 1 {many} 3\nret;\n}}\n.file 1 "/k.py"\n', "k.ptx").table == []
    sass = f'\t.section\t.text.k,"ax"\n\t//## File "/k.py", line {many}\n        /*0000*/                   EXIT ;\n'
    assert sass_listing(sass, "k.sass", sass_functions(sass)).table == []


def test_damaged_text_gives_what_can_be_read() -> None:
    for cut in range(0, len(PTX), 7):
        ptx_listing(PTX[:cut], "k.ptx")
    loop = LLVM_IR.replace("column: 7, scope: !3)", "column: 7, scope: !3, inlinedAt: !7)")
    assert llvm_ir_listing(loop, "k.ll").places[1] >= 0
