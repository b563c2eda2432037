"""Compile time and memory of cutecc against the stock compiler, on the same kernels in the same run.

    make bench                      # prints the tables
    make bench ARGS=--write         # also replaces them in docs/benchmarks.md

Each measurement is a process of its own; those of the two compilers alternate. Times are medians in milliseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Case:
    """One kernel to compile."""

    file: str
    target: str

    @property
    def name(self) -> str:
        """The kernel's file and target, as tables show them."""
        return f"{Path(self.file).stem}, {self.target}"


CASES = (
    Case("examples/elementwise_add.py", "sm_90a"),
    Case("examples/softmax.py", "sm_90a"),
    Case("examples/gemm.py", "sm_90a"),
    Case("test/kernels/large_unrolled.py", "sm_90a"),
)
VARIANTS: tuple[str, ...] = ("stock", "cutecc", "cutecc, cached", "cutecc, all dumps")


def measure(case: Case, variant: str, repeats: int) -> dict[str, Any]:
    """Compile `case` in this process `repeats` times after one warm-up; seconds each."""
    os.environ["CUTE_DSL_ARCH"] = case.target
    from cutlass import cute

    from cutecc.frontend.binding import bind_specs
    from cutecc.frontend.callee import Callee
    from cutecc.frontend.header import read_header
    from cutecc.frontend.kernel_file import find_callee

    path = str(ROOT / case.file)
    header = read_header(path)
    function = find_callee(path, None, header.entry)

    def stock() -> None:
        arguments = bind_specs(Callee.of(function), header.args, {})
        cute.compile(function, *arguments.args, **arguments.kwargs)

    def ours() -> None:
        compile_with(function, header.args, case.target, None)

    def cached() -> None:
        compile_with(function, header.args, case.target, None, cache=True)

    def dumping() -> None:
        with tempfile.TemporaryDirectory() as folder:
            compile_with(function, header.args, case.target, Path(folder))

    runs: list[Callable[[], None]] = [stock, ours, cached, dumping]
    run = dict(zip(VARIANTS, runs, strict=True))[variant]
    run()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return {"seconds": times}


def compile_with(
    function: Any, specs: dict[str, Any], target: str, output: Path | None, *, cache: bool = False
) -> None:
    """What a library user does."""
    import cutecc
    from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions
    from cutecc.passes.dumps import DumpChoice

    options = CompileOptions()
    if output:
        options = CompileOptions(observe=True, dumps=DumpChoice(after=("all",)), artifacts=ALL_ARTIFACTS)
    cutecc.compile(function, **specs, target=target, options=options, output=output, cache=cache)


def compile_table(repeats: int) -> list[str]:
    """Rows of the compile table."""
    rows = [
        "| kernel | traced lines | stock | cutecc | ratio | cached | ratio | all dumps | ratio "
        "| memory: stock | cutecc | cached | all dumps |",
        f"|{'---|' * 13}",
    ]
    for case in CASES:
        times: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
        memory: dict[str, float] = dict.fromkeys(VARIANTS, 0.0)
        for _ in range(3):
            for variant in VARIANTS:
                times[variant] += in_process(["--measure", case.file, case.target, variant, str(repeats)])["seconds"]
        for variant in VARIANTS:
            memory[variant] = peak_memory(["--measure", case.file, case.target, variant, "1"])
        stock, *others = (statistics.median(times[variant]) for variant in VARIANTS)
        rows.append(
            f"| {case.name} | {traced_lines(case)} | {stock * 1e3:.0f} | "
            + " | ".join(f"{other * 1e3:.0f} | {other / stock:.2f}" for other in others)
            + " | "
            + " | ".join(f"{memory[variant]:.0f} MiB" for variant in VARIANTS)
            + " |"
        )
        print(rows[-1], flush=True)
    return rows


def in_process(arguments: list[str]) -> dict[str, Any]:
    """This script in a process of its own; its JSON answer."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout.splitlines()[-1])


def peak_memory(arguments: list[str]) -> float:
    """The most memory, in MiB, that this script with `arguments` and its children took at one time.

    Proportional set size, sampled: a page that several processes share counts once.
    """
    process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.DEVNULL, cwd=ROOT)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(map(proportional_set_size, process_tree(process.pid))))
        time.sleep(0.02)
    return peak


def process_tree(root: int) -> list[int]:
    """`root` and all processes below it."""
    found = [root]
    for parent in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found


def proportional_set_size(process: int) -> float:
    """MiB; 0 for a process that is gone."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    match = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) / 1024 if match else 0.0


def traced_lines(case: Case) -> int:
    """Lines of the traced module, as text."""
    return in_process(["--lines", case.file, case.target])["lines"]


def count_lines(case: Case) -> int:
    """Lines of the traced module, in this process."""
    from cutecc.frontend.header import read_header
    from cutecc.frontend.trace import trace_file
    from cutecc.frontend.traced import TraceRequest
    from cutecc.ir.modules import fresh_context, parse, to_text

    path = str(ROOT / case.file)
    header = read_header(path)
    traced = trace_file(TraceRequest(path, entry=header.entry, args=header.args, target=case.target))
    with fresh_context():
        return to_text(parse(traced.bytecode)).count("\n")


def startup_table() -> list[str]:
    """Rows of the start-up table: whole processes on the host's clock."""
    module = ROOT / "test" / "lit" / "cli" / "opt-pipeline.mlir"
    script = str(Path(sys.executable).with_name("cutecc"))
    commands = {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`python -c 'import cutecc'`": [sys.executable, "-c", "import cutecc"],
        "`cutecc --help`": [script, "--help"],
        "`cutecc opt small.mlir --pipeline=cse`": [script, "opt", str(module), "--pipeline=cse"],
    }
    rows = ["| command | median | ", "|---|---|"]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(20):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times[name].append(time.perf_counter() - start)
    return [*rows, *(f"| {name} | {statistics.median(found) * 1e3:.0f} ms |" for name, found in times.items())]


def layout_table() -> list[str]:
    """Rows of the layout algebra's table: 10,000 mixed operations on random layouts, in a process that did none yet."""
    from cutecc import layout as cl

    generator = random.Random(3)

    def random_layout() -> cl.Layout:
        shape = tuple(generator.choice([2, 4, 8, (2, 4), (4, 2)]) for _ in range(generator.randint(1, 3)))
        return cl.make_ordered_layout(shape, tuple(generator.sample(range(len(shape)), len(shape))))

    layouts = [random_layout() for _ in range(3000)]
    pairs = [(layouts[i * 7 % 3000], layouts[(i * 13 + 1) % 3000]) for i in range(10_000)]
    operations: list[Callable[[cl.Layout, cl.Layout], Any]] = [
        cl.composition,
        lambda a, b: cl.logical_divide(a, (2,)),
        lambda a, b: cl.zipped_divide(a, (2,)),
        lambda a, b: cl.coalesce(a),
        lambda a, b: cl.complement(a, 256),
        lambda a, b: cl.right_inverse(a),
        cl.logical_product,
        cl.raked_product,
        lambda a, b: a(5),
        lambda a, b: cl.parse_layout(str(a)),
    ]
    rows = ["| 10,000 mixed operations | time |", "|---|---|"]
    for name in ("the first time", "again, from the cache"):
        start = time.perf_counter()
        for number, (a, b) in enumerate(pairs):
            operations[number % len(operations)](a, b)
        rows.append(f"| {name} | {(time.perf_counter() - start) * 1e3:.0f} ms |")
    return rows


def write(section: str, rows: list[str], machine: str | None = None, document: Path = DOCUMENT) -> None:
    """Replace the table between the markers of `section` in a document, with the date and the kind of machine."""
    machine = machine or f"{platform.machine()}, {os.cpu_count()} cores, no GPU"
    stamp = f"{datetime.date.today().isoformat()}, {machine}."
    body = f"<!-- {section}: begin -->\n{stamp}\n\n" + "\n".join(rows) + f"\n<!-- {section}: end -->"
    pattern = re.compile(rf"<!-- {section}: begin -->.*?<!-- {section}: end -->", re.DOTALL)
    document.write_text(pattern.sub(lambda _: body, document.read_text()))


def main() -> None:
    """Run the benchmark, or one measurement of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/benchmarks.md")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--measure", nargs=4, metavar=("FILE", "TARGET", "VARIANT", "REPEATS"), help=argparse.SUPPRESS)
    parser.add_argument("--lines", nargs=2, metavar=("FILE", "TARGET"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        file, target, variant, repeats = arguments.measure
        print(json.dumps(measure(Case(file, target), variant, int(repeats))))
    elif arguments.lines:
        print(json.dumps({"lines": count_lines(Case(*arguments.lines))}))
    else:
        startup = startup_table()
        layouts = layout_table()
        print("\n".join([*startup, *layouts]), flush=True)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["CUTECC_CACHE_DIR"] = cache
            compiling = compile_table(arguments.repeats)
        if arguments.write:
            write("startup", startup)
            write("layout", layouts)
            write("compile", compiling)


if __name__ == "__main__":
    main()
