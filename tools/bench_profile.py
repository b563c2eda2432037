"""Samples of `cutecc profile` beside those of Nsight Compute, and what sampling costs.

    python tools/bench_profile.py --compile FOLDER                 # anywhere with the DSL; no GPU
    python tools/bench_profile.py --run FOLDER --json OUT          # on a machine with a GPU, ncu; no DSL
    python tools/bench_profile.py --json OUT --write               # the table of docs/benchmarks.md

The kernels and sizes are those of `bench_set.toml` for the lowering, chosen before there were profiles; of each the
first size. Both profilers sample launches with the same random inputs. A kernel's distribution of samples over
instructions is compared by its total variation: the share of samples that would have to move for one to be the other.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from bench_lowering import ROOT, Entry, entries, parse_sizes
from marked_sections import write_section

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments
from cutecc.kernel import Kernel
from cutecc.profiling.kernels import ProfiledKernel
from cutecc.profiling.profile import Profile
from cutecc.report.code import functions_of
from cutecc.report.ncu_table import read_ncu
from cutecc.runtime.workspace import Workspace

TARGET = "sm_90a"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
MARKS = ("<!-- profile: begin -->", "<!-- profile: end -->")
ROUNDS = 7
CALLS = 20_000.0
"""Microseconds of work in one round."""
NCU_LAUNCHES = 10
SAMPLES = "Warp Stall Sampling (All Samples)"


class Row(msgspec.Struct):
    """One kernel."""

    kernel: str
    sizes: str
    off: float
    """Microseconds of a call, the median of rounds."""
    on: float
    """The same while it is sampled, in turn with `off`."""
    samples: int
    ncu_samples: int
    variation: float
    """Between the shares by instruction, 0 to 1."""
    top: str
    """The line with most samples, by this profile."""
    ncu_top: str
    share: float
    ncu_share: float
    """Of these lines."""


class Results(msgspec.Struct):
    """A run."""

    date: str
    device: str
    rows: list[Row]


def main() -> None:
    """Compile, run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--launch", nargs=3, metavar=("BUNDLE", "SIZES", "TIMES"), help="what ncu runs")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--only", default="", metavar="NAME,…")
    parser.add_argument("--write", action="store_true")
    choice = parser.parse_args()
    chosen = [each for each in entries() if not choice.only or each.name in choice.only.split(",")]
    if choice.compile:
        compile_all(choice.compile, chosen)
    elif choice.launch:
        launch(Path(choice.launch[0]), choice.launch[1], int(choice.launch[2]))
    elif choice.run:
        run_all(choice.run, chosen, choice.json)
    else:
        table = table_of(msgspec.json.decode(choice.json.read_bytes(), type=Results))
        print(table)
        if choice.write:
            write_section(DOCUMENT, MARKS, table)


def compile_all(folder: Path, chosen: list[Entry]) -> None:
    """A bundle of each, with everything that tells whose an instruction is."""
    folder.mkdir(parents=True, exist_ok=True)
    options = CompileOptions(report=True)
    jobs = [cutecc.Job(str(each.file), entry=each.entry, target=TARGET, options=options) for each in chosen]
    for entry, result in zip(chosen, cutecc.compile_many(jobs), strict=True):
        if isinstance(result, Kernel):
            result.save(folder / f"{entry.name}.cutecc", dumps=True)
        else:
            print(f"{entry.name}: {result}", file=sys.stderr)


def arguments_of(kernel: Kernel, sizes: str) -> Any:
    """Random arguments."""
    assert kernel.signature is not None and kernel.compilation.workload is not None
    (parsed,) = parse_sizes([sizes] if sizes else [])
    arguments = make_arguments(specs_of(kernel.signature), kernel.compilation.workload.outputs, sizes=parsed)
    arguments.randomize(1)
    return arguments


def loaded(bundle: Path) -> Kernel:
    kernel = cutecc.load(bundle)
    assert isinstance(kernel, Kernel)
    return kernel


def launch(bundle: Path, sizes: str, times: int) -> None:
    """What ncu runs."""
    kernel = loaded(bundle)
    with Workspace() as gpu, gpu.scope():
        device = DeviceArguments(arguments_of(kernel, sizes), gpu)
        device.upload()
        for _ in range(times):
            kernel(**device.by_name, stream=gpu.stream)
        gpu.synchronize()


@dataclass
class Sampled:
    """What this profile has of one kernel."""

    entry: Entry
    off: float
    on: float
    counts: Counter[tuple[str, int]]
    kernels: list[ProfiledKernel]


def run_all(folder: Path, chosen: list[Entry], json: Path) -> None:
    """Profile what `compile_all` left."""
    found: list[Sampled] = []
    with Workspace() as gpu:
        results = Results(datetime.date.today().isoformat(), gpu.name, [])
        for entry in chosen:
            if (bundle := folder / f"{entry.name}.cutecc").exists():
                found.append(sample(entry, bundle, gpu))
                print(entry.name, f"{found[-1].off:.1f} µs, sampled {found[-1].on:.1f}", flush=True)
    for each in found:
        try:
            results.rows.append(compared(each, folder / f"{each.entry.name}.cutecc"))
        except (cutecc.Error, subprocess.SubprocessError, ValueError) as error:
            print(f"{each.entry.name}: {error}", flush=True)
            continue
        print(results.rows[-1], flush=True)
        json.write_bytes(msgspec.json.encode(results))


def sample(entry: Entry, bundle: Path, gpu: Workspace) -> Sampled:
    """Times with and without, and the samples."""
    kernel = loaded(bundle)
    with gpu.scope():
        device = DeviceArguments(arguments_of(kernel, entry.sizes[0]), gpu)
        device.upload()
        call = kernel.prepare(**device.by_name, stream=gpu.stream)

        def timed(calls: int) -> float:
            start = gpu.record()
            for _ in range(calls):
                call()
            stop = gpu.record()
            gpu.synchronize()
            return gpu.elapsed(start, stop) / calls

        timed(20)
        calls = max(1, round(CALLS / timed(20)))
        off, on = list[float](), list[float]()
        counts: Counter[tuple[str, int]] = Counter()
        kernels: list[ProfiledKernel] = []
        for _ in range(ROUNDS):
            off.append(timed(calls))
            with Profile() as profile:
                # The first launch waits until sampling has begun.
                timed(3)
                on.append(timed(calls))
            for each in profile.samples.kernels:
                for offset, reasons in each.offsets.items():
                    counts[each.symbol, offset] += sum(reasons.values())
            kernels = profile.kernels
        return Sampled(entry, statistics.median(off), statistics.median(on), counts, kernels)


def compared(sampled: Sampled, bundle: Path) -> Row:
    """A kernel's samples beside those of ncu."""
    entry, counts = sampled.entry, sampled.counts
    theirs = ncu_samples(bundle, loaded(bundle), entry.sizes[0])
    if not theirs or not counts:
        raise ValueError(f"{counts.total()} samples, of ncu {theirs.total()}")
    own, other = top_line(sampled.kernels, counts), top_line(sampled.kernels, theirs)
    return Row(
        *(entry.name, entry.sizes[0], sampled.off, sampled.on, counts.total(), theirs.total()),
        *(variation(counts, theirs), own[0], other[0], own[1], other[1]),
    )


def ncu_samples(bundle: Path, kernel: Kernel, sizes: str) -> Counter[tuple[str, int]]:
    """Samples by kernel and offset, of so many launches that there are enough."""
    found: Counter[tuple[str, int]] = Counter()
    functions = {each.name: each for each in functions_of(kernel.compilation)}
    options = (
        "--section SourceCounters --csv --page source --print-source sass --clock-control none --cache-control none"
    )
    command = [
        *("ncu", *options.split(), "-k", "regex:^kernel", "-s", "5", "-c", str(NCU_LAUNCHES)),
        *(sys.executable, __file__, "--launch", str(bundle), sizes, str(NCU_LAUNCHES + 5)),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    table = bundle.with_suffix(".csv")
    table.write_text(ran.stdout)
    try:
        launches = read_ncu(table)
    except cutecc.Error as error:
        raise ValueError(f"{error.message}: {ran.stdout[-300:]}{ran.stderr[-500:]}") from None
    for each in launches:
        symbol = next((name for name in functions if name in each.kernel or each.kernel in name), None)
        if symbol is None:
            continue
        base = min(each.instructions)
        for address, instruction in each.instructions.items():
            found[symbol, address - base] += int(instruction.values.get(SAMPLES, 0))
    return +found


def variation(one: Counter[tuple[str, int]], other: Counter[tuple[str, int]]) -> float:
    """The total variation between two distributions."""
    keys = {*one, *other}
    return sum(abs(one[key] / one.total() - other[key] / other.total()) for key in keys) / 2


def top_line(kernels: list[ProfiledKernel], counts: Counter[tuple[str, int]]) -> tuple[str, float]:
    """The line with the most samples, and its share."""
    lines: Counter[str] = Counter()
    for kernel in kernels:
        for each in kernel.instructions:
            user = each.place[-1] if each.place else None
            name = f"{Path(user.file).name}:{user.line}" if user else "of no line"
            lines[name] += counts[kernel.samples.symbol, each.offset]
    ((name, count),) = lines.most_common(1)
    return name, count / counts.total()


def table_of(results: Results) -> str:
    """Markdown."""
    lines = [
        f"{results.device}, {results.date}.",
        "",
        "| kernel | size | µs | sampled | samples | of `ncu` | variation | top line | share | of `ncu` |",
        "|---|---|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    for row in results.rows:
        top = row.top if row.top == row.ncu_top else f"{row.top}, of `ncu` {row.ncu_top}"
        lines.append(
            f"| {row.kernel} | {row.sizes} | {row.off:,.1f} | {row.on / row.off - 1:+.1%} | {row.samples:,} | "
            f"{row.ncu_samples:,} | {row.variation:.1%} | {top} | {row.share:.1%} | {row.ncu_share:.1%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
