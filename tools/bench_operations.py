"""Operations of `cutecc.operations` beside torch's: cuBLAS, `torch._scaled_mm`, grouped products, and cuDNN.

    python tools/bench_operations.py --compile FOLDER                 # anywhere with the DSL; no GPU
    python tools/bench_operations.py --run FOLDER --json OUT          # on a machine with a GPU and torch; no DSL
    python tools/bench_operations.py --json OUT --write               # the tables and pictures of docs/benchmarks.md

The shapes are those of `bench_set.toml`, chosen before there was a kernel to tune. Of each, the *default* is what
is chosen from the sizes alone, and *autotuned* is the fastest of it, of the candidates with the least estimated
time and of the default's other swizzles: what `autotune` looks at, with fewer candidates. `operations_timing.py` says
how it is timed, `bench_remarks.toml` holds what is to be said of single rows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec
from operations_plan import compile_plan
from operations_results import Found, Results, default, fastest, median, peer, speed

from cutecc.errors import Error

COUNT, ROUNDS = 24, 15
"""Candidates by estimated time, and samples of each."""


def main() -> int:
    """Compile, run or show; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER", help="compile what is to be timed")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="time what is there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="where the times are, or are to be written")
    parser.add_argument("--write", action="store_true", help="replace the tables and pictures of docs/benchmarks.md")
    parser.add_argument("--count", type=int, default=COUNT, help="candidates by estimated time (%(default)s)")
    parser.add_argument("--workers", type=int, help="processes that compile")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="samples of each (%(default)s)")
    kinds = "product, grouped, scaled or convolution"
    parser.add_argument("--only", default="", help=f"one type, one shape as 2048x2048x2048, or {kinds}")
    choice = parser.parse_args()
    if not (choice.compile or choice.run or choice.json):
        parser.error("give --compile FOLDER, --run FOLDER or --json FILE")
    failed = 0
    if choice.compile:
        failed = compile_plan(choice.compile, count=choice.count, only=choice.only, workers=choice.workers)
    if choice.run:

        def tell(results: Results, newest: Found | str) -> None:
            print(newest if isinstance(newest, str) else _line(newest), flush=True)
            if choice.json:  # what is interrupted is not lost
                choice.json.write_bytes(msgspec.json.encode(results))

        try:
            from operations_timing import run_plan  # torch is there only where they are timed

            results = run_plan(choice.run, rounds=choice.rounds, only=choice.only, tell=tell)
        except (Error, ImportError) as error:
            hint = f"{choice.run} can be carried to a machine with a GPU and torch"
            print(f"error: {error}\nhint: {hint}", file=sys.stderr)
            return 1
        failed += len(results.failures) + sum(len(each.problems) for each in results.found)
    if choice.json and (choice.write or not (choice.run or choice.compile)):
        _show(choice.json, choice.write)
    return 1 if failed else 0


def _line(found: Found) -> str:
    """A shape that was timed."""
    contest, best = found.contest, fastest(found)
    words = [
        f"{contest.dtype:9} {contest.shape:20} torch {median(peer(found)):9.2f} µs",
        f"default {speed(found, default(found)):.3f}",
        f"autotuned {speed(found, best):.3f} ({best.words if best else 'none'})",
    ]
    fused = fastest(found, fused=True)
    if best and fused:
        words.append(f"bias+gelu {median(fused) / median(best) - 1:+.1%}")
    return "  ".join([*words, *found.problems])


def _show(path: Path, is_written: bool) -> None:
    from bench import DOCUMENT, write
    from operations_table import draw, machine, tables

    results = msgspec.json.decode(path.read_bytes(), type=Results)
    found = tables(results)
    for table in found.values():
        print("\n".join(table))
    if is_written:
        for name, table in found.items():
            write(name, table, machine(results))
        for each in draw(results, DOCUMENT.parent / "pictures"):
            print(f"wrote {each}")


if __name__ == "__main__":
    sys.exit(main())
