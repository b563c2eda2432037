"""What `cutecc watch` adds to the program's own compile: `cute.compile` with and without the recorder, in turn.

    python tools/bench_watch.py            # prints the table
    python tools/bench_watch.py --write    # also replaces it in docs/benchmarks.md

Each row is a process of its own, which compiles a kernel `--repeats` times each way after a first time that does not
count. Medians of the wall time, in milliseconds. Each compile is compared with its neighbour of the other way, so that
the machine's drift falls out; the changes of wall and processor time are the medians of that.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import ROOT, write

CASES = ("examples/elementwise_add.py", "examples/hopper_gemm.py", "test/kernels/large_unrolled.py")
TARGET = "sm_90a"
_METHODS = ("generate_mlir", "compile_and_cache", "_emit_precompiled_artifact", "post_compilation_cleanup")
"""Of the DSL, which the recorder replaces."""


def measure(file: str, lines: bool, repeats: int) -> dict[str, list[list[float]]]:
    """Wall and processor seconds of each compile in this process, `alone` and `watched`."""
    os.environ["CUTE_DSL_ARCH"] = TARGET
    from cutlass import cute
    from cutlass.base_dsl.dsl import BaseDSL

    from cutecc.frontend import compile_events
    from cutecc.frontend.binding import bind_specs
    from cutecc.frontend.callee import Callee
    from cutecc.frontend.kernel_file import find_callee
    from cutecc.frontend.naming import kernel_request
    from cutecc.watching.journal import Journal
    from cutecc.watching.recorder import Recorder
    from cutecc.watching.settings import WatchSettings

    request, _ = kernel_request(str(ROOT / file))
    callee = Callee.of(find_callee(request.path, request.function, request.entry, request.sources.get("entry")))
    kinds = [BaseDSL, *_below(BaseDSL)]
    own = {(kind, name): vars(kind)[name] for kind in kinds for name in _METHODS if name in vars(kind)}

    def compiled(watched: bool) -> list[float]:
        for (kind, name), method in own.items():
            setattr(kind, name, method)
        with tempfile.TemporaryDirectory() as folder:
            if watched:
                recorder = Recorder(Journal(folder), WatchSettings(lines=lines))
                compile_events.install(recorder, lines=lines)
            arguments = bind_specs(callee, request.args, request.sources)
            gc.collect()
            wall, processor = time.perf_counter(), time.process_time()
            cute.compile(callee.value, *arguments.args, **arguments.kwargs)
            return [time.perf_counter() - wall, time.process_time() - processor]

    found: dict[str, list[list[float]]] = {"alone": [], "watched": []}
    for index in range(repeats + 1):
        # Each goes first as often as the other.
        for name in sorted(found, reverse=index % 2 == 1):
            seconds = compiled(name == "watched")
            if index:
                found[name].append(seconds)
    return found


def _below(kind: Any) -> list[Any]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]


def row(file: str, lines: bool, repeats: int) -> str:
    """The table's line of one kernel."""
    command = [sys.executable, __file__, "--measure", file, str(int(lines)), "--repeats", str(repeats)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    cells = [Path(file).stem, "yes" if lines else ""]
    cells += [f"{statistics.median(wall for wall, _ in found[name]) * 1e3:,.0f}" for name in ("alone", "watched")]
    pairs = list(zip(found["alone"], found["watched"], strict=True))
    cells += [f"{statistics.median(watched[i] / alone[i] for alone, watched in pairs) - 1:+.1%}" for i in (0, 1)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "LINES"), help=argparse.SUPPRESS)
    choice = parser.parse_args()
    if choice.measure:
        print(json.dumps(measure(choice.measure[0], bool(int(choice.measure[1])), choice.repeats)))
        return
    head = ["kernel", "with lines", "alone, ms", "watched, ms", "change", "change of CPU time"]
    rows = [row(file, lines, choice.repeats) for file in CASES for lines in (False, True)]
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows]
    print("\n".join(table))
    if choice.write:
        write("watch", table)


if __name__ == "__main__":
    main()
