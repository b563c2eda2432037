"""Who made the copies of a loop's body."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
from cutecc.record.stages import Stage, UserLines, stages_of
from cutecc.report.code import listings_of
from cutecc.report.frames import Frames
from cutecc.report.listings import Kind, Listing
from cutecc.report.operations import Operations
from cutecc.report.unrolling import Copies, Loop, Turns, loops_of, unrolling
from cutecc.support.locations import Frame, Place

SOURCE = """\
def kernel(x):
    for i in range_constexpr(4):
        one(i)
        if i == 0:
            two(i)
    for i in range(8):
        three(i)
        for j in range(2):
            four(j)
    five()
"""
Times = Mapping[int, int]
NONE: Times = MappingProxyType({})
PLACES: list[Place] = [(Frame("k.py", line, 1),) for line in range(1, 11)]


def found(
    traced: list[tuple[int, str]], *, ptx: Times = NONE, sass: Times = NONE, unrolled: Turns = MappingProxyType({})
) -> dict[int, list[Copies]]:
    """Of a module whose operations are at these lines; code has one instruction of a line, one of so many copies."""
    text = "".join(f"{name}\n" for _, name in traced)
    operations = Operations(Stage(0, text, [line - 1 for line, _ in traced]), {})
    kinds: dict[Kind, Times] = {"ptx": ptx, "sass": sass}
    listings = [
        Listing(
            kind,
            "k",
            "",
            PLACES,
            [line - 1 for line in times],
            details=[*range(len(times))],
            detail_names=[f"×{each}" if each > 1 else "phi copy" for each in times.values()],
        )
        for kind, times in kinds.items()
    ]
    made = unrolling(operations, PLACES, unrolled, listings, Frames(UserLines()), {"k.py": SOURCE})
    return {line: copies for (_, line), copies in made.items()}


def test_loops_and_their_bodies() -> None:
    assert [each[:3] for each in loops_of("k.py", SOURCE)] == [(2, 3, 5), (6, 7, 9), (8, 9, 9)]
    assert loops_of("k.py", "all = [f(i) for i in x]\n") == [Loop(1, 1, 1, "k.py")]
    assert not any(loops_of("k.py", text) for text in ("for (", "(" * 10_000, "\0"))


def test_a_loop_that_python_ran_is_there_as_often_as_most_of_its_body() -> None:
    # Each turn makes two of `a.add`; only the first has what stands behind the condition.
    turn = [(3, "a.load"), (3, "a.store"), (3, "a.add"), (3, "a.add")]
    made = found([*turn, (5, "a.two"), *turn, *turn, *turn, (10, "a.five"), (10, "a.five")])
    assert made == {2: [Copies("trace", 4, (3, 5))], 3: [Copies("trace", 4)]}


def test_what_is_no_loop_or_one_of_the_module_has_no_copies() -> None:
    assert found([(6, "scf.for"), (7, "a.one"), (7, "a.one"), (3, "a.one")], ptx={10: 4}, sass={10: 4, 7: 1}) == {}


def test_copies_that_came_about_while_code_was_generated() -> None:
    loops = [(6, "scf.for"), (8, "scf.for")]
    by_llvm = found(loops, ptx={7: 4, 9: 8}, sass={7: 4, 9: 8})
    assert by_llvm[7] == [Copies("LLVM", 4)]
    assert by_llvm[6] == [Copies("LLVM", 4, (7, 9))], "the inner loop's are more"
    assert by_llvm[8] == [Copies("LLVM", 8, (9, 9))]
    both = found(loops, ptx={7: 4}, sass={7: 16})
    assert both[7] == [Copies("LLVM", 4), Copies("ptxas", 16)]
    assert found(loops, sass={7: 16})[6] == [Copies("ptxas", 16, (7, 9))]


def test_a_loops_own_line_says_which_pass_unrolled_it() -> None:
    made = found([(6, "scf.for")], unrolled={("k.py", 7): [(5, 2), (9, 8)]})
    assert made == {6: [Copies("pass", 2, (7, 9), 5), Copies("pass", 8, (7, 9), 9)]}


KERNEL = """\
# cutecc: entry = "turns"
# cutecc: args.x = "f32[?M]"
# cutecc: args.y = "f32[?M]"
import cutlass
from cutlass import cute


@cute.kernel
def turns_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    for i in cutlass.range_constexpr(4):
        y[thread + i * 128] = x[thread + i * 128]
    for i in cutlass.range(8):
        y[thread + 1024 + i * 128] = x[thread + 1024 + i * 128]
    for i in cutlass.range(x.shape[0]):
        y[i] = x[i] * 2.0


@cute.jit
def turns(x: cute.Tensor, y: cute.Tensor):
    turns_kernel(x, y).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


def test_a_kernel_with_loops_of_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "turns.py"
    file.write_text(KERNEL)
    header = read_header(file)
    traced = trace_file(TraceRequest(str(file), None, header.entry, header.args, "sm_90a", header.arg_sources))
    options = CompileOptions(report=True)
    record = cutecc.compile_module(traced.bytecode, "sm_90a", "open", options=options).compilation
    stages = stages_of(record)
    made = unrolling(
        Operations(stages.after(0), {}),
        stages.places,
        {},
        listings_of(record),
        Frames(stages.user_lines),
        {str(file): KERNEL},
    )
    lines = {line: copies for (_, line), copies in made.items()}
    assert (lines[11], lines[12]) == ([Copies("trace", 4, (12, 12))], [Copies("trace", 4)])
    assert (lines[13], lines[14]) == ([Copies("LLVM", 8, (14, 14))], [Copies("LLVM", 8)])
    (by_assembler,) = lines[16]
    assert by_assembler.by == "ptxas" and lines[15] == [Copies("ptxas", by_assembler.times, (16, 16))]
