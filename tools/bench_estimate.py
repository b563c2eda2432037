"""Estimates of `cutecc estimate` beside times on a GPU.

    python tools/bench_estimate.py --compile FOLDER                     # anywhere with the DSL; no GPU
    python tools/bench_estimate.py --run FOLDER --json TIMES            # on a machine with a GPU; no DSL
    python tools/bench_estimate.py --estimate FOLDER --times TIMES,… --json OUT   # anywhere; no GPU
    python tools/bench_estimate.py --json OUT --write                   # the table of docs/model.md

The kernels and sizes are those of `bench_set.toml` for the lowering; it is judged at `sizes`, and was looked at with
`fitting` while it was made. Times are medians as `cutecc bench` takes them:
every call has arguments of its own where one set would stay in the L2 cache.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import re
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from bench_lowering import ROOT, SET, Entry, entries
from marked_sections import write_section

import cutecc
from cutecc.benchmarking.running import cache_state, sets_needed
from cutecc.compilation.request import CompileOptions
from cutecc.estimating.devices import known_devices
from cutecc.estimating.estimate import estimates
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments
from cutecc.harness.sizes import parse_sizes
from cutecc.kernel import Kernel
from cutecc.runtime.timing import measure
from cutecc.runtime.workspace import Workspace

TARGET = "sm_90a"
RUNS = 30
DOCUMENT = ROOT / "docs" / "model.md"
MARKS = ("<!-- model: begin -->", "<!-- model: end -->")
WORST = 0.3
"""An error above this is over the bar."""
RANDOM = 1 << 22
"""Elements after which random values repeat."""


class Row(msgspec.Struct, frozen=True):
    """One kernel at one size."""

    kernel: str
    sizes: str
    is_fitting: bool
    """Whether the model was looked at with this size while it was made."""
    microseconds: float
    method: str
    cache: str


class Estimated(msgspec.Struct, frozen=True):
    """One kernel at one size on one device."""

    device: str
    date: str
    kernel: str
    sizes: str
    is_fitting: bool
    measured: float
    """Microseconds."""
    estimated: float | None
    """`None` where the kernel is refused."""
    bound: str
    """Why it is refused, where it is."""


class Results(msgspec.Struct):
    """A run."""

    date: str
    device: str
    driver: str
    rows: list[Row]
    problems: list[str]


def fitting_sizes() -> dict[tuple[str, str | None], list[str]]:
    """By file and entry."""
    listed = tomllib.loads(SET.read_text())["lowering"]
    return {(each["file"], each.get("entry")): each["fitting"] for each in listed}


def points(entry: Entry) -> list[tuple[str, bool]]:
    """Sizes, and whether they are for fitting."""
    fitting = fitting_sizes()[str(entry.file.relative_to(SET.parent.parent)), entry.entry]
    return [*((each, True) for each in fitting), *((each, False) for each in entry.sizes)]


def compile_all(folder: Path) -> None:
    """A bundle of each."""
    folder.mkdir(parents=True, exist_ok=True)
    options = CompileOptions(line_info=True, observe=True)
    jobs = [cutecc.Job(str(each.file), entry=each.entry, target=TARGET, options=options) for each in entries()]
    for entry, result in zip(entries(), cutecc.compile_many(jobs), strict=True):
        if isinstance(result, Kernel):
            result.save(folder / f"{entry.name}.cutecc")
        else:
            print(f"{entry.name}: {result}", file=sys.stderr)


def arguments_of(kernel: Kernel, text: str) -> Arguments:
    """Random arguments; of what is large, values repeat."""
    assert kernel.signature is not None and kernel.compilation.workload is not None
    (sizes,) = parse_sizes([text])
    arguments = make_arguments(
        specs_of(kernel.signature), kernel.compilation.workload.outputs, sizes=sizes, exact_alignment=False
    )
    generator = np.random.default_rng(1)
    for tensor in arguments.tensors:
        if any(tensor is output for output in arguments.outputs):
            continue
        count = int(np.prod(tensor.shape))
        if count <= RANDOM:
            tensor.randomize(generator)
        else:
            tensor.codes[...] = np.resize(tensor.elements.random(RANDOM, generator), count).reshape(tensor.shape)
    return arguments


def run_all(folder: Path, json: Path, only: str) -> None:
    """Time what `compile_all` left."""
    with Workspace() as gpu:
        results = Results(datetime.date.today().isoformat(), gpu.name, gpu.driver_version, [], [])
        for entry in entries():
            if only and entry.name not in only.split(","):
                continue
            for sizes, is_fitting in points(entry):
                try:
                    results.rows.append(run_one(folder, entry, sizes, is_fitting, gpu))
                    print(results.rows[-1], flush=True)
                except Exception as error:
                    results.problems.append(f"{entry.name} {sizes}: {error}")
                    print(results.problems[-1], flush=True)
                gc.collect()
                json.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))


def loaded(folder: Path, entry: Entry) -> Kernel:
    kernel = cutecc.load(folder / f"{entry.name}.cutecc")
    assert isinstance(kernel, Kernel)
    return kernel


def run_one(folder: Path, entry: Entry, sizes: str, is_fitting: bool, gpu: Workspace) -> Row:
    """One kernel at one size."""
    kernel = loaded(folder, entry)
    arguments = arguments_of(kernel, sizes)
    with gpu.scope():
        first = DeviceArguments(arguments, gpu)
        first.upload()
        count = sets_needed(arguments.bytes, gpu.l2_bytes)
        sets = [first, *(DeviceArguments(arguments, gpu) for _ in range(count - 1))]
        for other in sets[1:]:
            other.copy_from(first)
        calls: dict[str, Any] = {"": [kernel.prepare(**each.by_name, stream=gpu.stream) for each in sets]}
        samples = measure(calls, gpu, runs=RUNS)[""]
        cache = cache_state(False, count, count * arguments.bytes, gpu.l2_bytes)
        return Row(entry.name, sizes, is_fitting, samples.median, samples.method, cache)


def launch_all(folder: Path) -> None:
    """Each kernel once, at its first fitting size: for ncu."""
    with Workspace() as gpu:
        for entry in entries():
            kernel = loaded(folder, entry)
            sizes = points(entry)[0][0]
            with gpu.scope():
                device = DeviceArguments(arguments_of(kernel, sizes), gpu)
                device.upload()
                kernel(**device.by_name, stream=gpu.stream)
                gpu.synchronize()
            print(entry.name, sizes, flush=True)


def estimate_all(folder: Path, times: list[Path], json: Path, only: str) -> None:
    """Estimates beside the times of one device or several."""
    runs = [msgspec.json.decode(each.read_bytes(), type=Results) for each in times]
    named = {_device_of(run): {(row.kernel, row.sizes): row for row in run.rows} for run in runs}
    found: list[Estimated] = []
    for entry in entries():
        if only and entry.name not in only.split(","):
            continue
        for sizes, _ in points(entry):
            (parsed,) = parse_sizes([sizes])
            told: list[tuple[float | None, str]]
            try:
                estimated = estimates(loaded(folder, entry), parsed, devices=list(named))
                told = [(each.microseconds, each.bound) for each in estimated]
            except cutecc.Error as error:
                told = [(None, error.message)] * len(named)
            for run, (device, rows), (microseconds, bound) in zip(runs, named.items(), told, strict=True):
                row = rows[entry.name, sizes]
                measured = row.is_fitting, row.microseconds
                found.append(Estimated(device, run.date, entry.name, sizes, *measured, microseconds, bound))
                print(found[-1], flush=True)
            json.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))


def _device_of(run: Results) -> str:
    return next(name for name in known_devices() if name in run.device.lower())


def table_of(rows: list[Estimated]) -> str:
    """Markdown: a row for each kernel and size that the model was not fitted on."""
    judged = [each for each in rows if not each.is_fitting]
    devices = list(dict.fromkeys(each.device for each in judged))
    lines: list[str] = []
    for device in devices:
        errors = [
            abs(each.estimated / each.measured - 1) for each in judged if each.device == device and each.estimated
        ]
        date = next(each.date for each in judged if each.device == device)
        within = sum(error <= WORST for error in errors)
        lines.append(
            f"{device.upper()}, {date}: {statistics.median(errors):.1%} in the median of {len(errors)}, "
            f"{max(errors):.0%} at worst; {within} within {WORST:.0%}."
        )
    heads = "".join(f" {device.upper()} µs | estimate | error | bound |" for device in devices)
    lines += ["", f"| kernel | size |{heads}", f"|---|---|{'---:|---:|---:|---|' * len(devices)}"]
    for kernel, sizes in dict.fromkeys((each.kernel, each.sizes) for each in judged):
        cells = "".join(_cells(each) for each in judged if (each.kernel, each.sizes) == (kernel, sizes))
        lines.append(f"| {kernel} | {sizes} |{cells}")
    refused: dict[str, list[str]] = {}
    for each in judged:
        if each.estimated is None:
            named = refused.setdefault(_kind(each.bound), [])
            named += [each.kernel] if each.kernel not in named else []
    lines += ["", *(f"- {', '.join(kernels)}: {kind}" for kind, kernels in refused.items())]
    return "\n".join(lines) + "\n"


def _kind(reason: str) -> str:
    """Why, without the numbers of this one."""
    reason = reason.removeprefix("no estimate: ")
    reason = re.sub(r" at (line \d+|\S+\.py:\d+:\d+)| of \w+_kernel|: minutes", "", reason)
    reason = re.sub(r", [\d,]+ to [\d,]+ instructions|[\d.]+ waves of | of \d+ blocks", "", reason)
    return re.sub(r" [\d,]+ MB( several times), and the L2 cache has [\d,]+ MB|, in [\d.]+ waves", r"\1", reason)


def _cells(row: Estimated) -> str:
    if row.estimated is None:
        return f" {row.measured:,.1f} | | | out of reach |"
    error = row.estimated / row.measured - 1
    shown = f"**{error:+.0%}**" if abs(error) > WORST else f"{error:+.0%}"
    return f" {row.measured:,.1f} | {row.estimated:,.1f} | {shown} | {row.bound} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--launch", type=Path, metavar="FOLDER", help="what ncu runs")
    parser.add_argument("--estimate", type=Path, metavar="FOLDER")
    parser.add_argument("--times", default="", metavar="FILE,…", help="what --run wrote, one of each device")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME,…")
    choice = parser.parse_args()
    if choice.compile:
        compile_all(choice.compile)
    elif choice.launch:
        launch_all(choice.launch)
    elif choice.run:
        run_all(choice.run, choice.json, choice.only)
    elif choice.estimate:
        estimate_all(choice.estimate, [Path(each) for each in choice.times.split(",")], choice.json, choice.only)
    else:
        table = table_of(msgspec.json.decode(choice.json.read_bytes(), type=list[Estimated]))
        print(table)
        if choice.write:
            write_section(DOCUMENT, MARKS, table)


if __name__ == "__main__":
    main()
