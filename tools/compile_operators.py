"""Compile every operator of nvidia-cutlass-operators for its target, without a GPU, and say which do not and why.

`python tools/compile_operators.py --target sm_80,sm_90a -j 8 --write table.md` takes about a second of one processor an
operator: 128 for sm_80 and 3552 more for sm_90a. `--sample 40` takes so many of each target, spread evenly over types,
layouts, clusters and tiles.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cutecc.errors import Error
from cutecc.operations.gemm_problem import GemmProblem
from cutecc.target import Target, parse_targets

SIZES = GemmProblem.parse("4096x4096x4096")
_CHUNK = 8


@dataclass(frozen=True)
class Result:
    """What came of one operator."""

    name: str
    target: str
    kind: str
    """Its class, types and accumulator."""
    seconds: float
    failure: str = ""


@functools.cache
def operators(target: str) -> dict[str, Any]:
    """The operators of the package that need this target, by name."""
    from cutecc.operations.operators.package import ops
    from cutecc.operations.operators.session import as_target_sm

    wanted = as_target_sm(Target.parse(target))
    found = ops.get_operators(target_sm=wanted, providers=[ops.CuTeDSLProvider])
    return {each.metadata.operator_name: each for each in found if wanted in each.metadata.supported_targets}


def compile_one(name: str, target: str, cache: bool) -> Result:
    """Compile an operator for a GEMM of 4096 in each direction."""
    from cutecc.operations.operators.compiling import compile
    from cutecc.operations.operators.discovery import arguments_for
    from cutecc.operations.operators.facts import facts_of

    operator = operators(target)[name]
    facts = facts_of(operator.metadata)
    types = ",".join(str(facts[key]) for key in ("a.dtype", "b.dtype", "out.dtype", "accumulator"))
    kind = f"{facts['class']} {types}"
    start = time.perf_counter()
    try:
        kernel: Any = compile(operator, arguments_for(operator, SIZES), target=target, cache=cache)
        failure = "" if kernel.cubin and kernel.host_program else "no cubin, or no host program"
    except Error as error:
        failure = error.message.splitlines()[0]
    return Result(name, target, kind, time.perf_counter() - start, failure)


def spread(names: Sequence[str], count: int) -> list[str]:
    """So many of `names`, evenly: a step that shares no factor with the counts of tiles, clusters and layouts."""
    step = len(names) / count
    return list(names) if step <= 1 else [names[int(index * step + index % 7) % len(names)] for index in range(count)]


@dataclass
class Group:
    """The operators of one kind."""

    compiled: int = 0
    seconds: list[float] = field(default_factory=list[float])
    failures: Counter[str] = field(default_factory=Counter[str])


def table(results: Iterable[Result]) -> Iterator[str]:
    """A table in Markdown: a row for each kind, and a line for each reason of failures with an example."""
    groups: dict[tuple[str, str], Group] = defaultdict(Group)
    examples: dict[str, str] = {}
    for each in results:
        group = groups[each.target, each.kind]
        group.seconds.append(each.seconds)
        group.compiled += not each.failure
        if each.failure:
            group.failures[each.failure] += 1
            examples.setdefault(each.failure, each.name)
    yield "| target | operators (A, B, out, accumulator) | compiled | of | seconds each, median |"
    yield "|---|---|---|---|---|"
    for (target, kind), group in groups.items():
        median = sorted(group.seconds)[len(group.seconds) // 2]
        yield f"| {target} | {kind} | {group.compiled} | {len(group.seconds)} | {median:.2f} |"
    for reason, example in examples.items():
        count = sum(group.failures[reason] for group in groups.values())
        yield f"\n{count} do not compile, for example {example}: {reason}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--target", default="sm_80,sm_90a", help="targets, separated by commas")
    parser.add_argument("--sample", type=int, metavar="N", help="compile so many of each target")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cache", action="store_true", help="take from the cache what is there")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the table there too")
    options = parser.parse_args()
    work = [
        (name, target.name, options.cache)
        for target in parse_targets(options.target)
        for name in spread(list(operators(target.name)), options.sample or sys.maxsize)
    ]
    results: list[Result] = []
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(compile_one, *zip(*work, strict=True), chunksize=_CHUNK):
            results.append(result)
            if result.failure:
                print(f"{result.name}: {result.failure}", file=sys.stderr)
            if len(results) % 100 == 0:
                print(f"{len(results)} of {len(work)}", file=sys.stderr)
    text = "\n".join(table(results))
    print(text)
    if options.write:
        options.write.write_text(f"{text}\n")
    sys.exit(any(result.failure for result in results))


if __name__ == "__main__":
    main()
