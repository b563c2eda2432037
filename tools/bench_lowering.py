"""Kernels compiled by the open lowering beside the same kernels compiled by the wheel.

    python tools/bench_lowering.py --compile FOLDER                 # anywhere with the DSL; no GPU
    python tools/bench_lowering.py --run FOLDER --json OUT          # on a machine with a GPU; no DSL
    python tools/bench_lowering.py --json OUT --write               # the table of docs/benchmarks.md

The kernels and sizes are those of `bench_set.toml`, chosen before the lowering was tuned. Each is compiled through both
pipelines and both code generators for sm_90a. All variants of a kernel are timed in turn, on the same random inputs,
with the L2 cache flushed before each; before that, their outputs are compared: bit for bit with the pipelines' common
code generator, and within the kernel's tolerance with its reference.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import gc
import math
import re
import statistics
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments, compare_outputs
from cutecc.harness.reference import bind_by_name, expected_outputs
from cutecc.harness.sizes import parse_sizes
from cutecc.kernel import Kernel
from cutecc.runtime.timing import measure
from cutecc.runtime.workspace import Workspace

ROOT = Path(__file__).parent.parent
SET = Path(__file__).parent / "bench_set.toml"
TARGET = "sm_90a"
PEER = "nvidia-nvvm"
VARIANTS = (PEER, "open-nvvm", "nvidia-llvm", "open-llvm")
"""Pipeline and code generator; the first is the wheel as it is."""
ROUNDS = 25
MISSING = 2.0
"""What a kernel that does not compile counts as, in the wheel's time."""


class Row(msgspec.Struct, frozen=True):
    """One kernel at one size."""

    kernel: str
    kind: str
    sizes: str
    times: dict[str, list[float]]
    """Microseconds of each sample, by variant."""
    resources: dict[str, tuple[int, int]]
    """Registers per thread, the most of its kernels, and bytes of stack, by variant."""
    same_bits: bool | None
    """Whether both pipelines gave the same bits with libNVVM; `None` where one did not run."""
    problems: list[str]


class Results(msgspec.Struct):
    """A run."""

    date: str
    device: str
    driver: str
    rows: list[Row]


@dataclass(frozen=True)
class Entry:
    """One kernel of the set."""

    kind: str
    file: Path
    entry: str | None
    """What the file is to compile, where that is not what its header says."""
    reference: str
    """The function of the file that says what is expected."""
    sizes: list[str]

    @property
    def name(self) -> str:
        of = "-".join(re.findall(r"\w+", self.entry)) if self.entry else ""
        return f"{self.file.stem}-{of}" if of else self.file.stem


def entries() -> list[Entry]:
    """The kernels of `bench_set.toml`."""
    listed = tomllib.loads(SET.read_text())["lowering"]
    return [
        Entry(each["kind"], ROOT / each["file"], each.get("entry"), each.get("reference", "reference"), each["sizes"])
        for each in listed
    ]


def main() -> int:
    """Compile, run or show; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER", help="compile what is to be timed")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="time what is there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="where the times are, or are to be written")
    parser.add_argument("--write", action="store_true", help="replace the table of docs/benchmarks.md")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="samples of each (%(default)s)")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these kernels")
    choice = parser.parse_args()
    if not (choice.compile or choice.run or choice.json):
        parser.error("give --compile FOLDER, --run FOLDER or --json FILE")
    failures = compile_all(choice.compile, choice.only) if choice.compile else 0
    if choice.run:
        results = run_all(choice.run, choice.rounds, choice.only, choice.json)
        failures += sum(bool(row.problems) for row in results.rows)
    if choice.json and not choice.compile:
        results = msgspec.json.decode(choice.json.read_bytes(), type=Results)
        table = "\n".join(table_of(results))
        print(table)
        if choice.write:
            write(results, table)
    return min(1, failures)


def compile_all(folder: Path, only: str) -> int:
    """Bundles of every kernel and variant, FOLDER/KERNEL--VARIANT.cutecc; how many failed."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[tuple[str, str, cutecc.Job]] = []
    for entry in entries():
        for variant in VARIANTS:
            if not only or entry.name in only.split(","):
                pipeline, backend = variant.split("-")
                # Watched, so that the bundle says what its kernels take.
                options = CompileOptions(pipeline=pipeline, backend=backend, observe=True)  # pyright: ignore[reportArgumentType]
                job = cutecc.Job(str(entry.file), entry=entry.entry, target=TARGET, options=options)
                jobs.append((entry.name, variant, job))
    failed = 0
    results = cutecc.compile_many([job for *_, job in jobs])
    for (name, variant, _), result in zip(jobs, results, strict=True):
        if isinstance(result, Kernel):
            result.save(folder / f"{name}--{variant}.cutecc")
        else:
            failed += 1
            print(f"{name} {variant}: {result}", file=sys.stderr)
    return failed


def run_all(folder: Path, rounds: int, only: str, json: Path | None) -> Results:
    """Compare and time what `compile_all` left; written to `json` as it grows."""
    # Arrays that say they are torch's are launched as torch's are.
    import torch  # pyright: ignore[reportMissingImports, reportUnusedImport]  # noqa: F401

    with Workspace() as gpu:
        results = Results(datetime.date.today().isoformat(), gpu.name, str(gpu.driver_version), [])
        for entry in entries():
            for sizes in entry.sizes if not only or entry.name in only.split(",") else ():
                results.rows.append(run_one(folder, entry, sizes, rounds, gpu))
                print(_line(results.rows[-1]), flush=True)
                gc.collect()
                if json:
                    json.write_bytes(msgspec.json.encode(results))
    return results


def run_one(folder: Path, entry: Entry, text: str, rounds: int, gpu: Workspace) -> Row:
    """All variants of one kernel at one size."""
    problems: list[str] = []
    kernels = dict(_loaded(folder, entry.name, problems))
    (sizes,) = parse_sizes([text])
    outputs: dict[str, list[Any]] = {}
    first = next(iter(kernels.values()))
    assert first.signature is not None
    workload = first.compilation.workload
    assert workload is not None
    arguments = make_arguments(specs_of(first.signature), workload.outputs, sizes=sizes)
    arguments.randomize(1)
    with gpu.scope():
        device = DeviceArguments(arguments, gpu)
        fresh = DeviceArguments(arguments, gpu)
        fresh.upload()
        calls: dict[str, list[Any]] = {}
        for variant, kernel in kernels.items():
            try:
                device.copy_from(fresh)
                kernel(**device.by_name, stream=gpu.stream)
                gpu.synchronize()
                stray = device.download()
                outputs[variant] = [tensor.codes.copy() for tensor in arguments.outputs]
                if changed := [name for name, count in stray.items() if count]:
                    problems.append(f"{variant}: wrote outside of {', '.join(changed)}")
                calls[variant] = [kernel.prepare(**device.by_name, stream=gpu.stream)]
            except Error as error:
                problems.append(f"{variant}: {error.message}")
        arguments.randomize(1)
        problems += _wrong(entry, arguments, outputs, workload)
        samples = measure(calls, gpu, runs=rounds, cold_l2=True)
    nvvm = [outputs.get(variant) for variant in (PEER, "open-nvvm")]
    same = None
    if nvvm[0] is not None and nvvm[1] is not None:
        same = all(np.array_equal(a, b) for a, b in zip(*nvvm, strict=True))
    times = {variant: each.microseconds for variant, each in samples.items()}
    resources = {variant: _resources(kernel) for variant, kernel in kernels.items()}
    return Row(entry.name, entry.kind, text, times, resources, same, problems)


def _loaded(folder: Path, name: str, problems: list[str]) -> Iterator[tuple[str, Kernel]]:
    for variant in VARIANTS:
        path = folder / f"{name}--{variant}.cutecc"
        kernel = cutecc.load(path) if path.exists() else None
        if isinstance(kernel, Kernel):
            yield variant, kernel
        else:
            problems.append(f"{variant}: not compiled")


def _resources(kernel: Kernel) -> tuple[int, int]:
    found = kernel.compilation.resources
    return max((each.registers for each in found), default=0), sum(each.stack_bytes for each in found)


def _wrong(entry: Entry, arguments: Any, outputs: dict[str, list[Any]], workload: Any) -> list[str]:
    """Which variants differ from the reference by more than the kernel's tolerance."""
    result = bind_by_name(_reference(entry), arguments.values(), entry.reference)()
    expected = expected_outputs(result, workload.outputs)
    problems: list[str] = []
    for variant, codes in outputs.items():
        for tensor, each in zip(arguments.outputs, codes, strict=True):
            tensor.codes[...] = each
        for comparison in compare_outputs(arguments, expected, workload, {}):
            problems += [f"{variant}: {problem}" for problem in comparison.problems()]
    return problems


def _reference(entry: Entry) -> Any:
    """The reference, and what it uses of its file, without the DSL, which need not be installed."""
    names: dict[str, Any] = {"math": math}
    for node in ast.parse(entry.file.read_text()).body:
        if isinstance(node, ast.Assign | ast.FunctionDef) and not getattr(node, "decorator_list", ()):
            # What uses the DSL is a kernel's, and no reference's.
            with contextlib.suppress(NameError):
                exec(compile(ast.Module([node], []), str(entry.file), "exec"), names)
    return names[entry.reference]


def _line(row: Row) -> str:
    relative = " ".join(f"{variant} {_relative(row, variant):.3f}" for variant in VARIANTS[1:] if variant in row.times)
    base = statistics.median(row.times[PEER]) if PEER in row.times else math.nan
    return f"{row.kernel} {row.sizes}: {base:,.1f} µs; {relative}; same bits {row.same_bits}; {row.problems or 'right'}"


def _relative(row: Row, variant: str) -> float:
    """The median time of a variant over the wheel's."""
    if variant not in row.times:
        return MISSING
    return statistics.median(row.times[variant]) / statistics.median(row.times[PEER])


def table_of(results: Results) -> list[str]:
    """The table, with the means below."""
    head = ["kernel", "kind", "sizes", "wheel, µs", *(variant.replace("-", ", ") for variant in VARIANTS[1:])]
    table = [f"| {' | '.join([*head, 'registers', 'same bits'])} |", "|---" * (len(head) + 2) + "|"]
    for row in results.rows:
        registers = "/".join(
            str(row.resources[variant][0]) if variant in row.resources else "–" for variant in VARIANTS
        )
        cells = [
            f"`{row.kernel}`",
            row.kind,
            row.sizes.replace(",", ", "),
            f"{statistics.median(row.times[PEER]):,.1f}",
        ]
        cells += [f"{_relative(row, variant):.3f}" for variant in VARIANTS[1:]]
        table.append(f"| {' | '.join([*cells, registers, 'yes' if row.same_bits else 'no'])} |")
    means = [
        math.exp(statistics.fmean(math.log(_relative(row, variant)) for row in results.rows))
        for variant in VARIANTS[1:]
    ]
    worst = [max(_relative(row, variant) for row in results.rows) for variant in VARIANTS[1:]]
    table.append(f"| **geometric mean** | | | | {' | '.join(f'**{mean:.3f}**' for mean in means)} | | |")
    table.append(f"| largest | | | | {' | '.join(f'{each:.3f}' for each in worst)} | | |")
    problems = [f"{row.kernel} {row.sizes}: {text}" for row in results.rows for text in row.problems]
    return [*table, *(["", "Problems: " + "; ".join(problems)] if problems else [])]


def write(results: Results, table: str) -> None:
    """Replace the table of docs/benchmarks.md."""
    page = ROOT / "docs" / "benchmarks.md"
    text = page.read_text()
    begin, end = "<!-- lowering: begin -->\n", "<!-- lowering: end -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    note = f"Run on {results.date}, {results.device}, driver {results.driver}.\n\n"
    page.write_text(f"{head}{begin}{note}{table}\n{end}{tail}")


if __name__ == "__main__":
    sys.exit(main())
