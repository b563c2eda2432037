"""Where the nvidia pipeline can go on from a module that the open one has begun, as a table of docs/diff-test.md.

    python tools/splice_table.py examples test/kernels --target sm_80            # prints the table
    python tools/splice_table.py examples test/kernels --target sm_80 --write    # also replaces the target's

Each kernel is compiled once for every pass of `open` that changes it, with `nvidia` from there on, and run on the CPU
emulator at a small, ragged size beside the kernel through `nvidia` alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from bench import ROOT, write

from cutecc.harness.on_device import HostMemory
from cutecc.harness.points import SMALL_BYTES
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.workbench.bisecting import Bisection
from cutecc.workbench.inputs import find_inputs
from cutecc.workbench.preparing import Points, prepare, source_of
from cutecc.workbench.running import KernelResult, Settings
from cutecc.workbench.splice import points, splice
from cutecc.workbench.variants import Choice
from cutecc.workbench.workers import Workers

STATES = ("good", "bad", "unknown")


def measure(paths: list[str], target: str) -> tuple[Counter[tuple[str, str]], int]:
    """How often handing over after each pass gave the same result, another, or no code; and the number of kernels."""
    found: Counter[tuple[str, str]] = Counter()
    count = 0
    choice = Choice(backends=("nvvm",), cache=True)
    with tempfile.TemporaryDirectory() as scratch, Workers() as workers:
        folder, most = Path(scratch), Points(most_bytes=SMALL_BYTES // 4)
        plan = prepare(find_inputs(paths, target, modules=False), folder, choice, most, workers=workers)
        for kernel in plan.kernels:
            source = source_of(kernel, folder)
            if source is None or any(variant.failure for variant in kernel.variants):
                print(f"left out {kernel.name}: {kernel.note or 'it does not compile'}", flush=True)
                continue
            count += 1
            base, variant = kernel.variants
            pipeline, rest = Pipeline.parse(variant.passes), Pipeline.parse(base.passes)
            bisection = Bisection(source, KernelResult(kernel), folder, choice, HostMemory(), Settings(), workers)
            for number in points(pipeline, rest, variant.changing):
                state = bisection.state(splice(pipeline, number, rest), variant, base, kernel.points[-1])
                selector = pipeline.selectors()[number - 1]
                found[selector, state] += 1
                if state != "good":
                    print(f"{kernel.name} after {selector}: {state}", flush=True)
    return found, count


def rows(found: Counter[tuple[str, str]]) -> list[str]:
    """A line for each pass after which there was something to try."""
    table = [
        "| handed over after | kernels that it changes | same result | another | no code |",
        "|---|--:|--:|--:|--:|",
    ]
    for selector in open_pipeline("sm_90a").selectors():
        counts = [found[selector, state] for state in STATES]
        if any(counts):
            table.append(f"| {selector} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return table


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", help="kernels, and folders of these")
    parser.add_argument("--target", default="sm_80", help="of the kernels (%(default)s)")
    parser.add_argument("--write", action="store_true", help="replace the target's table in docs/diff-test.md")
    choice = parser.parse_args()
    found, count = measure(choice.paths, choice.target)
    table = [f"{count} kernels for {choice.target}:", "", *rows(found)]
    print("\n".join(table))
    if choice.write:
        write(f"hand-over-{choice.target}", table, "the CPU emulator", ROOT / "docs" / "diff-test.md")


if __name__ == "__main__":
    main()
