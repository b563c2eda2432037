"""Reading what nvdisasm prints."""

from __future__ import annotations

from cutecc.sass import read_sass
from cutecc.support.locations import Frame

TEXT = """\
\t.headerflags\t@"EF_CUDA_SM90"

//--------------------- .text.first_kernel --------------------------
\t.section\t.text.first_kernel,"ax",@progbits
\t.align\t128

first_kernel:
.text.first_kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/k.py", line 9
        /*0010*/                   S2R R5, SR_TID.X ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
\t//## File "/lib.py", line 5 inlined at "/k.py", line 12
\t//## File "/k.py", line 12 inlined at "/k.py", line 12
\t//## File "/k.py", line 12
        /*0030*/                   FFMA R0, R0, R5, R5 ;
\t//## File "/k.py", line 17 inlined at "/k.py", line 14
\t//## File "/k.py", line 14
        /*0040*/                   CALL.REL.NOINC `($__internal_0_$division) ;
.L_x_1:
\t//## File "/k.py", line 20
        /*0050*/                   EXIT ;
\t.weak\t\t$__internal_0_$division
$__internal_0_$division:
        /*0060*/                   MUFU.RCP R2, R3 ;
        /*0070*/                   RET.REL.NODEC R4 `(first_kernel) ;
.L_x_2:
        /*0080*/                   BRA `(.L_x_2);
        /*0090*/                   NOP;
.L_x_3:


//--------------------- .text.second_kernel --------------------------
\t.section\t.text.second_kernel,"ax",@progbits
\t//## File "/k.py", line 0
        /*0000*/                   NOP ;
        /*0010*/                   BRA 0x0 ;
\t//## File "/k.py", line 30
        /*0020*/                   EXIT ;
        /*0030*/                   BRA 0x30;

//--------------------- SYMBOLS --------------------------
\t.type\t\t.nv.reservedSmem.offset0,@object
"""


def test_functions_and_instructions() -> None:
    first, second = read_sass(TEXT)
    assert (first.name, second.name) == ("first_kernel", "second_kernel")
    lines = TEXT.split("\n")
    assert lines[first.first].startswith("\t.section\t.text.first") and lines[first.last] == ".L_x_3:"
    assert [each.text.split()[0] for each in first.instructions] == [
        *("LDC", "S2R", "@!P0", "FFMA", "CALL.REL.NOINC", "EXIT", "MUFU.RCP", "RET.REL.NODEC")
    ]
    assert [each.offset for each in second.instructions] == [0, 0x10, 0x20]
    for each in first.instructions:
        assert each.text in lines[each.line]


def test_places() -> None:
    first, second = read_sass(TEXT)
    user = [Frame("/k.py", line, 0) for line in range(40)]
    assert [each.place for each in first.instructions] == [
        None,
        (user[9],),
        (user[9],),
        (Frame("/lib.py", 5, 0), user[12]),
        # Line 17 is the third line of inline assembly.
        (user[14],),
        (user[20],),
        # A subroutine has the place of its only call.
        (user[14],),
        (user[14],),
    ]
    assert [each.place for each in second.instructions] == [None, None, (user[30],)]


def test_a_subroutine_with_calls_from_several_lines_has_no_place() -> None:
    call = "        /*0058*/                   CALL.REL.NOINC `($__internal_0_$division) ;\n"
    text = TEXT.replace("        /*0050*/", f"{call}        /*0050*/")
    assert [each.place for each in read_sass(text)[0].instructions][-2:] == [None, None]


def test_a_branch_to_itself_that_is_reached_counts() -> None:
    (kernel,) = read_sass(
        '\t.section\t.text.k,"ax"\n.L_x_0:\n        /*0000*/                   BRA `(.L_x_0);\n'
        "        /*0010*/                   EXIT ;\n"
    )
    assert len(kernel.instructions) == 2


def test_a_loop_at_the_end_counts() -> None:
    (kernel,) = read_sass(
        '\t.section\t.text.k,"ax"\n.L_x_0:\n        /*0000*/                   EXIT ;\n'
        ".L_x_1:\n        /*0010*/                   BRA `(.L_x_0);\n"
    )
    assert [each.text for each in kernel.instructions] == ["EXIT", "BRA `(.L_x_0)"]


def test_anything_else_has_no_functions() -> None:
    assert read_sass("") == read_sass("no\x00thing\n/*0000*/ EXIT ;") == []


def test_a_line_that_was_inlined_elsewhere_has_the_place_that_is_known_of_it():
    text = TEXT.replace('inlined at "/k.py", line 12', 'inlined at "/wrong.py", line 12', 1)
    place = (Frame("/own.py", 5, 0),)
    first, _ = read_sass(text, {("/lib.py", 5, 12): place})
    assert place in [each.place for each in first.instructions]
