"""What LLVM prints of its passes, read: code, times, places, and what it could not do."""

from __future__ import annotations

import pytest

from cutecc.backend.llvm.watched_text import Places, is_telling, read
from cutecc.record.llvm_passes import LlvmPass, MissedOptimisation
from cutecc.support.locations import Frame

GIVEN = """\
define ptx_kernel void @f(ptr %0) #0 !dbg !3 {
  %2 = load float, ptr %0, align 4, !dbg !4 ; kernel.py:7:8
  %3 = load float, ptr %0, align 4, !dbg !5 ; library.py:20:4 @[ kernel.py:8:2 ]
  ret void, !dbg !6 ; kernel.py:9:2
}

!1 = !DIFile(filename: "kernel.py", directory: "/user")
!2 = !DIFile(filename: "library.py", directory: "/packages")
"""
HEARD = """\
 Running pass 1 SimplifyCFGPass on f
*** IR Dump After SimplifyCFGPass on f ***
define ptx_kernel void @f(ptr %0) #7 !dbg !13 {
  %2 = load float, ptr %0, align 4, !dbg !14 ; kernel.py:7:8
  %3 = load float, ptr %0, align 4, !dbg !15 ; library.py:20:4 @[ kernel.py:8:2 ]
  ret void, !dbg !16 ; kernel.py:9:2
}
 Running pass 2 LICMPass on loop %a in function f
remark: kernel.py:7:8: failed to hoist load
remark: kernel.py:7:8: failed to hoist load
*** IR Dump After LICMPass on loop %a in function f ***
 (loop: %a)
define ptx_kernel void @f(ptr %0) {
  %2 = load float, ptr %0, align 4, !range !9, !dbg !14 ; kernel.py:7:8
  ret void, !dbg !16 ; kernel.py:9:2
}
 Running pass 3 LICMPass on loop %b in function f
remark: kernel.py:7:8: failed to hoist load
*** IR Dump After LICMPass on loop %b in function f ***
define ptx_kernel void @f(ptr %0) {
  ret void, !dbg !16 ; kernel.py:9:2
}
 Running pass 4 GVNPass on f
remark: kernel.py:7:8: load of type float not eliminated
remark: unheard.py:7:8: load of type float not eliminated in favor of load
 Running pass 1 SimplifyCFGPass on f
*** IR Dump After SimplifyCFGPass on f ***
define ptx_kernel void @f(ptr %0) {
  ret void
}
*** IR Dump After GPU Load and Store Vectorizer (load-store-vectorizer) ***
define ptx_kernel void @f(ptr %0) {
  ret void
}
# *** IR Dump After Instruction Selection (nvptx-isel) on f ***:
# Machine code for function f: IsSSA

bb.0:
  %0:b64 = LD_i64 0, debug-location !16; kernel.py:9:2
  Return debug-location !16; kernel.py:9:2

# End machine code for function f.
"""
FIRST = """\
   ---User Time---   --User+System--   ---Wall Time---  --- Name ---
   0.0001 ( 50.0%)   0.0001 ( 50.0%)   0.0002 ( 40.0%)  LICMPass
   0.0001 ( 50.0%)   0.0001 ( 50.0%)   0.0030 ( 60.0%)  LICMPass #1
   0.0001 ( 50.0%)   0.0001 ( 50.0%)   0.0040 ( 60.0%)  LICMPass #2
   0.0002 (100.0%)   0.0002 (100.0%)   0.0005 (100.0%)  Total
"""
REPORTS = [FIRST, "   0.0050 (100.0%)  SimplifyCFGPass #1\n", "   0.0060 (100.0%)  Instruction Selection\n"]


@pytest.fixture(scope="module")
def places() -> Places:
    return Places(GIVEN)


@pytest.fixture(scope="module")
def passes(places: Places) -> list[LlvmPass]:
    return read(HEARD, places, GIVEN, REPORTS).passes


def test_numbers_of_metadata_are_no_change_and_loops_are_one_row(passes: list[LlvmPass]) -> None:
    # The first SimplifyCFG changed only how the text is numbered; the vectorizer, which always prints, nothing.
    assert [each.selector for each in passes] == ["input", "LICM", "SimplifyCFG", "nvptx-isel"]
    assert passes[1].text == "define ptx_kernel void @f(ptr %0) {\n  ret void\n}\n"
    assert "!dbg" not in "".join(each.text for each in passes)


def test_times_are_those_of_the_run(passes: list[LlvmPass]) -> None:
    assert [each.seconds for each in passes] == [None, pytest.approx(0.007), 0.005, 0.006]


def test_lines_have_places_with_their_callers(passes: list[LlvmPass], places: Places) -> None:
    given = [places.table[number] if number >= 0 else None for number in passes[0].places]
    seven, eight = Frame("/user/kernel.py", 7, 9), Frame("/user/kernel.py", 8, 3)
    assert given == [
        None,
        (seven,),
        (Frame("/packages/library.py", 20, 5), eight),
        (Frame("/user/kernel.py", 9, 3),),
        None,
    ]


def test_machine_code_is_that_of_the_function(passes: list[LlvmPass], places: Places) -> None:
    selected = passes[-1]
    assert (selected.kind, selected.function) == ("machine-ir", "f")
    assert "\n  %0:b64 = LD_i64 0\n  Return\n" in selected.text
    assert [places.table[number][-1].line for number in selected.places if number >= 0] == [9, 9]


def test_what_was_missed_counts_as_often_as_one_run_said_it(places: Places) -> None:
    missed = read(HEARD, places, GIVEN, REPORTS).missed
    assert [(each.pass_name, each.message, each.times) for each in missed] == [
        ("LICM", "failed to hoist load", 2),
        ("GVN", "load of type float not eliminated in favor of load", 1),
    ]
    assert places.table[missed[0].place] == (Frame("/user/kernel.py", 7, 9),)
    assert missed[1].place == -1


def test_a_loop_that_is_not_unrolled_is_said_once() -> None:
    heard = "".join(
        f" Running pass {number} {name} on f\nremark: kernel.py:7:8: {words}\n"
        for number, (name, words) in enumerate(
            [
                ("LoopFullUnrollPass", "unable to unroll"),
                ("LoopUnrollPass", "unable to unroll"),
                ("WarnMissedTransformationsPass", "loop not unrolled"),
            ],
            1,
        )
    )
    places = Places(GIVEN)
    (missed,) = read(heard, places, GIVEN, []).missed
    assert missed == MissedOptimisation("LoopFullUnroll, LoopUnroll", "unable to unroll", missed.place)


def test_of_two_files_of_one_name_none_is_meant() -> None:
    places = Places(GIVEN + '!3 = !DIFile(filename: "kernel.py", directory: "/other")\n')
    assert places.number("kernel.py:7:8") == -1
    assert places.number("library.py:20:4 @[ kernel.py:8:2 ]") == -1
    number = places.number("kernel.py:8:2 @[ library.py:20:4 ]")
    assert places.table[number] == (Frame("/packages/library.py", 20, 5),)


def test_what_says_nothing_of_kernels_is_left_out() -> None:
    assert not is_telling("LoopVectorize", "loop not vectorized")
    assert not is_telling("WarnMissedTransformations", "loop not vectorized: it was asked for")
    assert is_telling("WarnMissedTransformations", "loop not unrolled: it was asked for")
