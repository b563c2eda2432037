"""Whose instructions are: what is sure, what data flow says, and what nobody knows."""

from __future__ import annotations

import pytest

from cutecc.ptx.locations import PtxText
from cutecc.report.inlined_frames import CallSites
from cutecc.report.listings import llvm_ir_listing, ptx_listing
from cutecc.report.owned_code import own_ptx, own_sass, work_of
from cutecc.report.owners import Operation, Operations, Step, owners
from cutecc.report.sass_places import sass_functions
from cutecc.report.work import ZERO, Kinds, kinds_of_llvm, kinds_of_ptx, kinds_of_sass
from cutecc.support.locations import REASONS, Frame, Place


def at(line: int, column: int = 0) -> Place:
    return (Frame("/k.py", line, column),)


def op(place: Place, kinds: Kinds, zeros: int = 0) -> Operation:
    return Operation(place, kinds, zeros)


def kinds(*names: str) -> Kinds:
    return frozenset(names)


def test_a_line_has_what_its_operations_become() -> None:
    operations = Operations([op(at(3, 5), kinds("float")), op(at(4, 1), kinds("global load"))], columns=False)
    steps = [Step(kinds("float"), at(3)), Step(kinds("warp"), at(3)), Step(kinds("global load"), None)]
    assert [(each.place, each.reason) for each in owners(steps, operations)] == [
        (at(3), "exact"),
        # Behind it in the line table, and of nobody's work there.
        (at(3), "order"),
        (None, "unknown"),
    ]


def test_what_is_computed_for_one_line_is_its() -> None:
    operations = Operations([op(at(3), kinds("float", "integer")), op(at(9), kinds("branch"))], columns=False)
    steps = [
        Step(kinds("integer"), at(9), users=[1]),
        Step(kinds("integer"), at(9), users=[2]),
        Step(kinds("float"), at(3), sources=[1]),
    ]
    assert [(each.place, each.reason) for each in owners(steps, operations)] == [
        *[(at(3), "operands")] * 2,
        (at(3), "exact"),
    ]


def test_addresses_that_no_operation_computes_are_the_compilers() -> None:
    operations = Operations([op(at(3), kinds("global load"))], columns=False)
    found = owners([Step(kinds("integer"), at(9), users=[1]), Step(kinds("global load"), at(3))], operations)
    assert found[0] == (at(3), "compiler", "address arithmetic")


def test_a_value_of_several_lines_is_the_tables_where_that_is_one_of_them() -> None:
    operations = Operations([op(at(3), kinds("float")), op(at(4), kinds("float"))], columns=False)
    users = [Step(kinds("float"), at(3)), Step(kinds("float"), at(4))]
    for line, expected in ((4, (at(4), "operands", "")), (9, (at(9), "order", ""))):
        shared = Step(kinds("move"), at(line), users=[1, 2])
        assert owners([shared, *users], operations)[0] == expected


def test_copies_are_counted() -> None:
    load = kinds("global load")
    operations = Operations([op(at(3), load), op(at(3), load), op(at(4), load)], columns=False)
    steps = [*[Step(load, at(3)) for _ in range(8)], Step(load, at(4))]
    assert [each.detail for each in owners(steps, operations)] == ["×4"] * 8 + [""]


def test_zeros_are_of_the_place_that_sets_them() -> None:
    operations = Operations([op(at(2), kinds("move"), 64), op(at(8), kinds("matrix", "phi"))], columns=False)
    steps = [Step(kinds("move", ZERO), at(8), users=[1], is_phi=True), Step(kinds("matrix"), at(8))]
    assert owners(steps, operations)[0] == (at(2), "operands", "")


def test_a_zero_goes_through_any_number_of_copies() -> None:
    operations = Operations([op(at(2), kinds("move"), 64), op(at(8), kinds("matrix"))], columns=False)
    count = 3000
    copies = [Step(kinds("move", ZERO), at(9), users=[number + 1]) for number in range(count)]
    found = owners([*copies, Step(kinds("matrix"), at(8))], operations)
    assert {each.place for each in found[:count]} == {at(2)}


def test_what_a_loop_begins_with_is_a_copy_of_the_compilers() -> None:
    operations = Operations([op(at(5), kinds("phi", "integer")), op(at(6), kinds("global load"))], columns=False)
    steps = [
        Step(kinds("move"), at(1), users=[1, 2], is_phi=True),
        Step(kinds("integer"), at(5), users=[1, 2], sources=[0, 1], is_phi=True),
        Step(kinds("global load"), at(6), sources=[0, 1]),
    ]
    assert owners(steps, operations)[0] == (at(5), "compiler", "phi copy")


@pytest.mark.parametrize(
    "llvm, ptx, sass",
    [
        ("%1 = load float, ptr addrspace(1) %0, align 4", "ld.global.b32 %r1, [%rd1];", "LDG.E R5, [R4.64]"),
        ("store float %1, ptr addrspace(3) %0, align 4", "st.shared.b32 [%r1], %r2;", "@!P1 STS [R3], R10"),
        ("%1 = fadd float %0, %2", "add.f32 %r1, %r2, %r3;", "FADD R5, R5, R18"),
        ("%1 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()", "mov.u32 %r5, %laneid;", "S2R R11, SR_LANEID"),
        (
            "%1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1)",
            "shfl.sync.bfly.b32 %r1, %r2, 1;",
            "SHFL.BFLY PT, R3",
        ),
        ("%1 = getelementptr float, ptr addrspace(1) %0, i64 %2", "shl.b64 %rd1, %rd2, 2;", "LEA R4, P1, R14, R2, 0x2"),
        ("br i1 %1, label %2, label %3", "@%p1 bra $L__BB0_3;", "@!P1 BRA `(.L_x_4)"),
        ("%1 = icmp slt i32 %0, 4", "setp.lt.s32 %p1, %r1, 4;", "ISETP.GE.AND P1, PT, R12, R3, PT"),
        ("%1 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %0)", "ex2.approx.ftz.f32 %r1, %r2;", "MUFU.EX2 R5, R8"),
        ('call void asm sideeffect "bar.arrive $0, $1;", "r,r"(i32 1)', "bar.sync 0;", "BAR.SYNC.DEFER_BLOCKING 0x0"),
        ("call void @llvm.nvvm.cp.async.commit.group()", "cp.async.commit_group;", "LDGDEPBAR"),
    ],
)
def test_work_is_known_again(llvm: str, ptx: str, sass: str) -> None:
    assert kinds_of_llvm("  " + llvm) & kinds_of_ptx("\t" + ptx) & kinds_of_sass(sass)
    assert not kinds_of_sass("MUFU.SIN R1, R2") & kinds_of_llvm("%1 = add i32 %0, 1")


LLVM_IR = """\
define ptx_kernel void @k(ptr addrspace(1) %0) {
  %2 = call i32 @llvm.nvvm.read.ptx.sreg.laneid(), !dbg !5
  %3 = load float, ptr addrspace(1) %0, align 4, !dbg !6
  store float %3, ptr addrspace(1) %0, align 4, !dbg !7
  ret void, !dbg !7
}
!1 = !DIFile(filename: "/k.py", directory: "")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1)
!5 = !DILocation(line: 10, column: 3, scope: !2)
!6 = !DILocation(line: 11, column: 3, scope: !2)
!7 = !DILocation(line: 12, column: 3, scope: !2)
"""
PTX = """\
.visible .entry k(
)
{
\t.loc\t1 10 3
\tmov.u32 %r1, %laneid;
\tadd.s64 %rd1, %rd2, 4;
\t.loc\t1 11 3
\tld.global.b32 %r2, [%rd1];
\t.loc\t1 12 3
\tst.global.b32 [%rd2], %r2;
\tret;
}
\t.file\t1 "/k.py"
"""
SASS = """\
//--------------------- .text.k --------------------------
\t.section\t.text.k,"ax",@progbits
\t//## File "/k.py", line 10
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_LANEID ;
        /*0020*/                   IADD3 R4, P0, R2, 0x4, RZ ;
        /*0030*/                   IMAD.X R5, RZ, RZ, R3, P0 ;
\t//## File "/k.py", line 11
        /*0040*/                   LDG.E R6, [R4.64] ;
\t//## File "/k.py", line 12
        /*0050*/                   STG.E [R2.64], R6 ;
        /*0060*/                   EXIT ;
"""


def test_a_directive_holds_for_more_than_is_its() -> None:
    work = work_of(llvm_ir_listing(LLVM_IR, "k.ll"))
    listing = own_ptx(ptx_listing(PTX, "k.ptx"), work)
    lines = listing.text.split("\n")
    assert [
        (lines[number].split()[0], listing.table[place][-1].line, REASONS[listing.reasons[number]])
        for number, place in enumerate(listing.places)
        if place >= 0
    ] == [
        ("mov.u32", 10, "exact"),
        ("add.s64", 11, "compiler"),
        ("ld.global.b32", 11, "exact"),
        ("st.global.b32", 12, "exact"),
        ("ret;", 12, "exact"),
    ]
    (function,) = sass_functions(SASS, [PtxText(PTX)])
    own_sass(function, work, spills=False)
    assert [
        (each.text.split()[0], each.place and each.place[-1].line, each.reason, each.detail)
        for each in function.instructions
    ] == [
        ("MOV", None, "compiler", "prologue"),
        ("S2R", 10, "exact", ""),
        *[(opcode, 11, "compiler", "address arithmetic") for opcode in ("IADD3", "IMAD.X")],
        ("LDG.E", 11, "exact", ""),
        ("STG.E", 12, "exact", ""),
        ("EXIT", 12, "exact", ""),
    ]


def test_without_llvm_ir_there_is_the_line_table_alone() -> None:
    (function,) = sass_functions(SASS)
    own_sass(function, {}, spills=False)
    assert {each.reason for each in function.instructions} == {"order"}


def test_outer_frames_have_their_own_file() -> None:
    sites = CallSites(
        [
            '.file 1 "/kernel.py"\n.file 6 "/library.py"\n'
            ".loc 6 215 4, function_name $L__info_string0, inlined_at 1 437 9\n"
            ".loc 1 437 9\n.loc 6 12 4\n"
        ]
    )
    library, kernel = Frame("/library.py", 215, 0), Frame("/kernel.py", 437, 0)
    # As nvdisasm has it, and as it is.
    wrong = (library, Frame("/library.py", 437, 0))
    assert sites.place(wrong) == (library, kernel)
    assert sites.place((library, kernel)) == (library, kernel)
    assert sites.place((Frame("/library.py", 437, 0),)) == (kernel,)
    assert sites.place((Frame("/library.py", 12, 0),)) == (Frame("/library.py", 12, 0),)
    assert sites.place((Frame("/other.py", 99, 0),)) == (Frame("/other.py", 99, 0),)
