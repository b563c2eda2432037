"""Whose the instructions of whole kernels are: as one who read them judged, and of statements that are to be found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
from cutecc.report.code import functions_of
from cutecc.sass import SassInstruction

ROOT = Path(__file__).parents[3]
JUDGED = Path(__file__).with_name("judged_owners.txt")
"""Under the name of each file: offset, opcode and line of instructions; `-` where they are of no line."""
LEAST_FOUND, LEAST_RIGHT = 0.5, 0.95

pytestmark = pytest.mark.slow


@cache
def instructions(file: Path) -> list[SassInstruction]:
    header = read_header(file)
    target = header.target or "sm_80"
    traced = trace_file(TraceRequest(str(file), None, header.entry, header.args, target, header.arg_sources))
    kernel = cutecc.compile_module(traced.bytecode, target=target, options=CompileOptions(report=True))
    return [each for function in functions_of(kernel.compilation) for each in function.instructions]


def opcode(instruction: SassInstruction) -> str:
    return instruction.text.split()[1 if instruction.text.startswith("@") else 0]


def judged() -> Iterator[tuple[Path, int, str, int | None]]:
    file = ROOT
    for line in JUDGED.read_text().splitlines():
        if line.startswith("# "):
            file = ROOT / line[2:]
        else:
            offset, name, number = line.split()
            yield file, int(offset, 16), name, None if number == "-" else int(number)


def test_as_judged_by_hand() -> None:
    cases = [*judged()]
    assert len(cases) > 400 and len({file for file, *_ in cases}) == 7
    # Another assembler makes other code: then what it still makes alike is compared.
    found = [
        (file.stem, each, line)
        for file, offset, name, line in cases
        for each in instructions(file)
        if each.offset == offset and opcode(each) == name
    ]
    assert len(found) > LEAST_FOUND * len(cases), "the code is another: read it again, and judge"
    wrong = [
        f"{name} {each.offset:04x} {each.text}: {each.place and each.place[-1].line}, judged {line}"
        for name, each, line in found
        if (each.place and each.place[-1].line) != line
    ]
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(found), "\n".join(wrong)


PLANTED = """\
# cutecc: entry = "planted"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[256]"
# cutecc: args.y = "f32[256]"
# cutecc: args.n = "i32"
import cutlass
from cutlass import cute


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    total = cutlass.Float32(0.0)
    for step in cutlass.range(n):
        scale = cute.math.rsqrt(x[thread])  # hoisted
        value = x[step]  # loaded in the loop
        total += cute.math.exp2(value * scale, fastmath=True)  # unrolled by the assembler
    for step in cutlass.range_constexpr(4):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << step)  # unrolled by the trace
    lane = cute.arch.lane_idx()  # one operation
    y[thread] = total  # stored
    if lane == 0:
        y[n] = total  # stored by one


@cute.jit
def planted(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    kernel(x, y, n).launch(grid=[1, 1, 1], block=[128, 1, 1])
"""


PIPELINED = """\
# cutecc: entry = "pipelined"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[256]"
# cutecc: args.y = "f32[256]"
# cutecc: args.n = "i32"
import cutlass
from cutlass import cute

STAGES = 3


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    stages = cutlass.utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((128, STAGES)), byte_alignment=16
    )
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    rows = cute.make_tensor(x.iterator, cute.make_layout((1, 128), stride=(1, 1)))
    slots = cute.make_tensor(stages.iterator, cute.make_layout((1, 128, STAGES), stride=(1, 1, 128)))
    for stage in cutlass.range_constexpr(STAGES - 1):
        cute.copy(atom, rows[None, thread + stage], slots[None, thread, stage])  # prefetched before
        cute.arch.cp_async_commit_group()  # committed before
    total = cutlass.Float32(0.0)
    ahead = x[thread]  # loaded before
    for step in cutlass.range(n):
        cute.arch.cp_async_wait_group(STAGES - 2)  # waited for
        cute.arch.sync_threads()  # met at
        cute.copy(atom, rows[None, thread + step], slots[None, thread, (step + STAGES - 1) % STAGES])  # prefetched
        cute.arch.cp_async_commit_group()  # committed
        now = ahead
        ahead = x[thread + step]  # double-buffered
        value = stages[thread, step % STAGES]  # read from the stage
        total += cute.math.exp2(value, fastmath=True) * now  # computed
    y[thread] = total + ahead  # stored


@cute.jit
def pipelined(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    kernel(x, y, n).launch(grid=[1, 1, 1], block=[128, 1, 1])
"""
"""A loop that fetches for the rounds to come, into stages of shared memory and into registers."""


def statements(text: str, file: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The opcodes of the instructions that are certainly of each commented line of a kernel, and those of all."""
    file.write_text(text)
    lines = text.splitlines()
    by_comment: dict[str, list[str]] = {}
    for each in instructions(file):
        if each.place is not None and each.reason == "exact":
            _, _, comment = lines[each.place[-1].line - 1].partition("# ")
            by_comment.setdefault(comment, []).append(opcode(each).split(".")[0])
    return by_comment, [opcode(each).split(".")[0] for each in instructions(file)]


def test_planted_statements_are_found(tmp_path: Path) -> None:
    by_comment, everywhere = statements(PLANTED, tmp_path / "planted.py")
    assert "MUFU" in by_comment["hoisted"] and by_comment["loaded in the loop"].count("LDG") >= 4
    assert by_comment["unrolled by the assembler"].count("MUFU") >= 4
    assert by_comment["unrolled by the trace"].count("SHFL") == 4
    assert by_comment["one operation"] == ["S2R"]
    assert "STG" in by_comment["stored"] and "STG" in by_comment["stored by one"]
    named = [name for names in by_comment.values() for name in names]
    for name in ("MUFU", "SHFL", "STG", "LDG"):
        assert everywhere.count(name) == named.count(name), name


def test_statements_of_a_pipelined_loop_are_found(tmp_path: Path) -> None:
    """The assembler makes several rounds of one, and a way out of the loop for each number that is left over."""
    file = tmp_path / "pipelined.py"
    by_comment, everywhere = statements(PIPELINED, file)
    rounds = by_comment["met at"].count("BAR")
    assert rounds >= 4
    # What is fetched ahead is not what is fetched first, nor what is read of it.
    found = {
        **{"prefetched before": {"LDGSTS": 2}, "committed before": {"LDGDEPBAR": 2}, "loaded before": {"LDG": 1}},
        **{"prefetched": {"LDGSTS": rounds}, "committed": {"LDGDEPBAR": rounds}, "waited for": {"DEPBAR": rounds}},
        **{"double-buffered": {"LDG": rounds}, "read from the stage": {"LDS": rounds}, "stored": {"STG": 1}},
        "computed": {"MUFU": rounds, "FFMA": rounds},
    }
    for comment, names in found.items():
        assert {name: by_comment[comment].count(name) for name in names} == names, comment
    # They are nobody else's, but for the loads into RZ before a copy, which do nothing.
    for name in {name for names in found.values() for name in names} - {"LDS"}:
        assert everywhere.count(name) == sum(names.get(name, 0) for names in found.values()), name
    idle = [each for each in instructions(file) if "LDS RZ" in each.text]
    assert {(each.reason, each.detail) for each in idle} <= {("compiler", "no operation")}
    copies = [each for each in instructions(file) if each.text.startswith("MOV R")]
    # What the loop begins with and hands on is no statement's work.
    assert copies and "exact" not in {each.reason for each in copies}
