"""How long the open lowering takes, beside the wheel's pipeline on the same traced modules; no GPU.

    python tools/bench_lowering_cost.py              # prints the tables
    python tools/bench_lowering_cost.py --write      # also replaces them in docs/benchmarks.md

Compile times are of everything from the traced module to the cubin, in one process that is warm, taken in turn, medians
of several. The cost of an operation is the time of the passes of `open` that are Python, by the operations of the
traced module, which are more and more of the same. Of kernels of plain loops over registers, the processor time of all
processes, and what the code takes.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.walking import walk
from cutecc.passes import manager
from cutecc.passes.pipelines import named_pipeline
from cutecc.target import Target

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
FILES = (
    "examples/elementwise_add.py",
    "examples/softmax.py",
    "test/kernels/rmsnorm.py",
    "test/kernels/gemm_sm80.py",
    "test/kernels/large_unrolled.py",
)
REPEATED = ROOT / "docs" / "inputs" / "repeated_tiles.py"
TILES = (5, 48, 193)
"""For about 1,000, 10,000 and 40,000 operations."""
SIMT = ROOT / "test" / "kernels" / "simt"
VARIANTS = (("nvidia", "nvvm"), ("nvidia", "llvm"), ("open", "nvvm"), ("open", "llvm"))


@dataclass(frozen=True)
class Times:
    """Milliseconds of each variant for one module."""

    name: str
    operations: int
    medians: list[float]


@dataclass(frozen=True)
class Cost:
    """What the passes take for one module."""

    operations: int
    seconds: float
    slowest: list[tuple[str, float]]
    """The passes that take most, and their seconds."""


def main() -> int:
    """Measure, print, and write with `--write`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the tables of docs/benchmarks.md")
    parser.add_argument("--runs", type=int, default=5, help="compilations of each (%(default)s)")
    choice = parser.parse_args()
    table = "\n".join([*times_table(choice.runs), "", *cost_table(choice.runs), "", *simt_table(choice.runs)])
    print(table)
    if choice.write:
        begin, end = "<!-- lowering-cost: begin -->\n", "<!-- lowering-cost: end -->"
        head, _, rest = DOCUMENT.read_text().partition(begin)
        tail = rest.partition(end)[2]
        DOCUMENT.write_text(f"{head}{begin}{table}\n{end}{tail}")
    return 0


def traced(file: Path, **args: str) -> bytes:
    """The traced module of a kernel file for sm_80."""
    header = read_header(file)
    given = {**header.args, **args}
    request = TraceRequest(str(file), None, header.entry, given, target="sm_80", sources=header.arg_sources)
    return trace_file(request).bytecode


def count(module: bytes) -> int:
    """How many operations a module has."""
    with fresh_context():
        return sum(1 for _ in walk(parse(module)))


def times_table(runs: int) -> list[str]:
    """Compile times of the variants."""
    note = f"{datetime.date.today().isoformat()}, {platform.machine()}, no GPU; milliseconds, medians of {runs}."
    heads = [f"{pipeline}, {backend}" for pipeline, backend in VARIANTS]
    table = [
        note,
        "",
        f"| kernel | operations | {' | '.join(heads)} | open, llvm over nvidia, nvvm |",
        "|---" * 7 + "|",
    ]
    for times in measured(runs):
        cells = " | ".join(f"{median:,.0f}" for median in times.medians)
        ratio = times.medians[-1] / times.medians[0]
        table.append(f"| {times.name} | {times.operations:,} | {cells} | {ratio:.2f} |")
    return table


def measured(runs: int) -> Iterator[Times]:
    """The times of every file, each variant once in a round."""
    modules = [(Path(name).stem, traced(ROOT / name)) for name in FILES]
    modules.append((REPEATED.stem, traced(REPEATED, tiles=f"const({TILES[1]})")))
    for name, module in modules:
        samples: list[list[float]] = [[] for _ in VARIANTS]
        for round_ in range(runs + 1):
            for (pipeline, backend), found in zip(VARIANTS, samples, strict=True):
                start = time.perf_counter()
                options = CompileOptions(backend=backend)  # pyright: ignore[reportArgumentType]
                cutecc.compile_module(module, target="sm_80", pipeline=pipeline, options=options, cache=False)
                if round_:  # the first one warms up
                    found.append(1000 * (time.perf_counter() - start))
        yield Times(name, count(module), [statistics.median(each) for each in samples])


def cost_table(runs: int) -> list[str]:
    """What an operation costs in modules of different sizes."""
    table = ["| operations | passes, ms | µs for each operation | the slowest passes, ms |", "|---|---|---|---|"]
    for tiles in TILES:
        cost = cost_of(traced(REPEATED, tiles=f"const({tiles})"), runs)
        slowest = ", ".join(f"`{name}` {1000 * seconds:,.0f}" for name, seconds in cost.slowest)
        each = 1e6 * cost.seconds / cost.operations
        table.append(f"| {cost.operations:,} | {1000 * cost.seconds:,.0f} | {each:.1f} | {slowest} |")
    return table


def simt_table(runs: int) -> list[str]:
    """Times and code of kernels of plain loops over registers: the wheel's, and `open` with LLVM."""
    note = f"{datetime.date.today().isoformat()}, {platform.machine()}, no GPU; least of {runs}; nvidia, then open."
    table = [
        note,
        "",
        "| kernel | CPU, s | ratio | registers | spills, B | local arrays, B | option sets |",
        "|---" * 7 + "|",
    ]
    for file in sorted(SIMT.glob("*.py")):
        module = traced(file)
        wheel, ours = (code_of(module, pipeline, backend, runs) for pipeline, backend in (VARIANTS[0], VARIANTS[-1]))
        cells = [f"{wheel.seconds:.2f}, {ours.seconds:.2f}", f"{ours.seconds / wheel.seconds:.2f}"]
        cells += [f"{getattr(wheel, name)}, {getattr(ours, name)}" for name in ("registers", "spills", "arrays")]
        table.append(f"| {file.stem} | {' | '.join(cells)} | {ours.sets} |")
    return table


@dataclass(frozen=True)
class Code:
    """What the code of a module is, and the seconds of all processes that it took."""

    seconds: float
    registers: int
    spills: int
    arrays: int
    sets: int


def code_of(module: bytes, pipeline: str, backend: str, runs: int) -> Code:
    """The code of a module and the least time of several compilations, after one that warms up."""
    options = CompileOptions(backend=backend, observe=True)  # pyright: ignore[reportArgumentType]
    made = cutecc.compile_module(module, target="sm_80", pipeline=pipeline, options=options, cache=False)
    options = CompileOptions(backend=backend)  # pyright: ignore[reportArgumentType]
    least = float("inf")
    for _ in range(runs):
        start = cpu_seconds()
        cutecc.compile_module(module, target="sm_80", pipeline=pipeline, options=options, cache=False)
        least = min(least, cpu_seconds() - start)
    kernels = made.compilation.resources
    step = made.compilation.step("llvm-to-binary")
    remarks = [remark.message for remark in step.remarks] if step else []
    spills = max((each.spill_store_bytes or 0) + (each.spill_load_bytes or 0) for each in kernels)
    return Code(
        least,
        max(each.registers for each in kernels),
        spills,
        0 if spills else max(each.stack_bytes for each in kernels),
        sum(message.count(" registers, ") for message in remarks) or 1,
    )


def cpu_seconds() -> float:
    """What this process, its children and theirs took so far, the ended ones too: other programs do not count."""
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            times[int(stat.parent.name)] = sum(map(int, fields[11:15]))

    def is_ours(process: int) -> bool:
        while process and process != os.getpid():
            process = parents.get(process, 0)
        return bool(process)

    return sum(time for process, time in times.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def cost_of(module: bytes, runs: int) -> Cost:
    """The least time of each Python pass of `open` up to where nothing of CuTe is left."""
    pipeline = named_pipeline("open", Target.parse("sm_80")).until("lower-cute-types")
    least = _Least({})
    for _ in range(runs):
        with fresh_context():
            manager.run(pipeline, parse(module), [least])
    slowest = sorted(least.seconds.items(), key=lambda item: -item[1])[:3]
    return Cost(count(module), sum(least.seconds.values()), slowest)


@dataclass(frozen=True)
class _Least(manager.Observer):
    """The least time of each Python pass of several runs."""

    seconds: dict[str, float]

    def after(self, position: manager.Position, module: ir.Module, seconds: float) -> None:
        name = position.pass_.name
        if position.pass_.provider == "cutecc":
            self.seconds[name] = min(seconds, self.seconds.get(name, seconds))


if __name__ == "__main__":
    sys.exit(main())
