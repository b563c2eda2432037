"""What emulating takes: kernels on the CPU in processes of their own, without and with checks and counters.

    python tools/bench_emulator.py                                        # prints the table
    python tools/bench_emulator.py --write                                # also replaces it in docs/benchmarks.md
    python tools/bench_emulator.py --bundle attention.cutecc s=128 scale=f32=0.125    # also a kernel of yours

Each measurement is a fresh process that calls the kernel on random data: the first call, which also decodes the PTX and
compiles the arithmetic, and the median of the further ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import ROOT, write

from cutecc.cli.loading import load_subject
from cutecc.cli.subject import Subject
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory

CASES = [
    ("a million elements added", "examples/elementwise_add.py", {"M": 1000, "N": 1000}),
    ("TMA/WGMMA GEMM, 128×128×128", "examples/hopper_gemm.py", {"M": 128, "N": 128, "K": 128}),
    ("persistent TMA GEMM, 256×256×256", "examples/gemm.py", {"M": 256, "N": 256, "K": 256}),
    ("mma.sync GEMM, 256×256×256", "test/kernels/gemm_sm80.py", {"M": 256, "N": 256, "K": 256}),
    ("softmax of 512 rows of 1711", "examples/softmax.py", {"M": 512, "N": 1711}),
    ("attention, 5,561 instructions", "test/kernels/large_unrolled.py", {"H": 1}),
]
VARIANTS = {"plain": {}, "checks": {"check": "all"}, "counters": {"counters": True}}
REPEATS = 3


def measure(text: str, values: dict[str, str], variant: str) -> list[float]:
    """Seconds of the first call and of each further one; `values` are sizes, and specs of arguments without a value."""
    sizes = {name: int(value) for name, value in values.items() if value.isdigit()}
    args = [f"{name}={value}" for name, value in values.items() if name not in sizes]
    subject: Subject = load_subject(text, None, args=args)
    arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes)
    arguments.randomize(1)
    seconds: list[float] = []
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        for _ in range(1 + REPEATS):
            start = time.perf_counter()
            subject.kernel.emulate(**on_cpu.by_name, **VARIANTS[variant])
            seconds.append(time.perf_counter() - start)
    return seconds


def row(name: str, file: str, values: dict[str, str]) -> str:
    """The table's line of one kernel."""
    cells = [name]
    plain = 0.0
    for variant in VARIANTS:
        command = [sys.executable, __file__, "--measure", file, json.dumps(values), variant]
        first, *others = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        median = statistics.median(others)
        if variant == "plain":
            plain = median
            cells += [f"{first:.2f}", f"{median:.3f}"]
        else:
            cells += [f"{median:.3f}", f"{median / plain:.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    parser.add_argument("--bundle", nargs="+", action="append", default=[], metavar=("FILE", "NAME=VALUE"))
    parser.add_argument("--measure", nargs=3, metavar=("FILE", "VALUES", "VARIANT"), help=argparse.SUPPRESS)
    choice = parser.parse_args()
    if choice.measure:
        file, values, variant = choice.measure
        print(json.dumps(measure(file, json.loads(values), variant)))
        return
    cases = [(name, str(ROOT / file), {size: str(n) for size, n in sizes.items()}) for name, file, sizes in CASES]
    for file, *pairs in choice.bundle:
        values = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        cases.append((f"{Path(file).stem}, {', '.join(pairs)}", file, values))
    table = [
        "| kernel | first call | s | with checks | ratio | with counters | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(table))
    for case in cases:
        table.append(row(*case))
        print(table[-1], flush=True)
    if choice.write:
        write("emulator", table)


if __name__ == "__main__":
    main()
