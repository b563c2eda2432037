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


def test_planted_statements_are_found(tmp_path: Path) -> None:
    file = tmp_path / "planted.py"
    file.write_text(PLANTED)
    lines = PLANTED.splitlines()
    by_comment: dict[str, list[str]] = {}
    for each in instructions(file):
        if each.place is not None and each.reason == "exact":
            _, _, comment = lines[each.place[-1].line - 1].partition("# ")
            by_comment.setdefault(comment, []).append(opcode(each).split(".")[0])
    assert "MUFU" in by_comment["hoisted"] and by_comment["loaded in the loop"].count("LDG") >= 4
    assert by_comment["unrolled by the assembler"].count("MUFU") >= 4
    assert by_comment["unrolled by the trace"].count("SHFL") == 4
    assert by_comment["one operation"] == ["S2R"]
    assert "STG" in by_comment["stored"] and "STG" in by_comment["stored by one"]
    everywhere = [opcode(each).split(".")[0] for each in instructions(file)]
    named = [name for names in by_comment.values() for name in names]
    for name in ("MUFU", "SHFL", "STG", "LDG"):
        assert everywhere.count(name) == named.count(name), name
