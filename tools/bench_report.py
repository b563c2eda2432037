"""What `cutecc compile --report` costs on a large kernel: time beside a compile without it, and the size of the page.

    python tools/bench_report.py                  # a traced module of about 37,000 lines
    python tools/bench_report.py --length 256     # of another size
    python tools/bench_report.py --write          # also replaces the table in docs/benchmarks.md
    python tools/bench_report.py --check          # ends with status 1 when a bar is missed

The kernel is `test/kernels/large_unrolled.py` over more keys; its loops are unrolled at trace time. Times are medians
of `--runs`, in seconds of the whole command.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import ROOT, write

from cutecc.record.folder import read_folder
from cutecc.record.stages import stages_of
from cutecc.report.writing import encode_report, write_report

KERNEL = ROOT / "test" / "kernels" / "large_unrolled.py"
LENGTH = 1024
"""Keys of that kernel."""
LONGER = 2112
"""Keys with which its traced module has about 37,000 lines."""
MOST_TIMES = 1.5
MOST_BYTES = 15_000_000


def longer_kernel(length: int) -> str:
    """The source of the kernel for `length` keys, a multiple of 64."""
    lines = KERNEL.read_text().splitlines(keepends=True)
    return "".join(
        line.replace(str(LENGTH), str(length)) if line.startswith(("# cutecc:", "LENGTH, ")) else line for line in lines
    )


def seconds_of(arguments: list[str], folder: Path) -> float:
    """Wall time of a `cutecc` command."""
    command = [str(Path(sys.executable).with_name("cutecc")), *arguments]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "CUTECC_CACHE": "0"})
    return time.perf_counter() - start


def main() -> int:
    """Measure, and print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=LONGER, help="keys, a multiple of 64")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="fail when a bar is missed")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "longer.py").write_text(longer_kernel(options.length))
        plain: list[float] = []
        reported: list[float] = []
        for _ in range(options.runs):
            plain.append(seconds_of(["compile", "longer.py", "-o", "plain", "--line-info"], folder))
            reported.append(seconds_of(["compile", "longer.py", "-o", "full", "--report", "full.html"], folder))
        writing: list[float] = []
        record = read_folder(folder / "full")
        for _ in range(options.runs):
            start = time.perf_counter()
            write_report(record, folder / "alone.html")
            writing.append(time.perf_counter() - start)
        stages = stages_of(record)
        size = len(encode_report(record))
        texts = [stages.after(index).text for index in stages.indices]
    without, with_report = statistics.median(plain), statistics.median(reported)
    ratio = with_report / without
    table = [
        "| figure | value | bar |",
        "|---|---|---|",
        f"| lines of the traced module | {texts[0].count(chr(10)):,} | |",
        f"| stages | {len(texts)}, {sum(map(len, texts)) / 1e6:.1f} MB of text | |",
        f"| compile without a report | {without:.2f} s | |",
        f"| compile with one | {with_report:.2f} s, {ratio:.2f} times | {MOST_TIMES} times |",
        f"| writing the page of a record | {statistics.median(writing):.2f} s | |",
        f"| the page | {size / 1e6:.1f} MB | {MOST_BYTES / 1e6:.0f} MB |",
    ]
    print("\n".join(table))
    if options.write:
        write("report", table)
    return int(options.check and (ratio > MOST_TIMES or size > MOST_BYTES))


if __name__ == "__main__":
    sys.exit(main())
