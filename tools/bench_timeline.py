"""What recording a timeline costs, and whether it is right.

    python tools/bench_timeline.py --compile FOLDER                 # anywhere with the DSL; no GPU
    python tools/bench_timeline.py --run FOLDER --json OUT          # on a machine with a GPU; no DSL
    python tools/bench_timeline.py --json OUT --write               # the tables of docs/benchmarks.md

The kernels and sizes are those of `bench_set.toml` for the lowering, of each the first size; all of their blocks are
recorded. Whether spans are right say those of `test/gpu/measured_barriers.py`, which measure their barriers themselves.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np
from bench_lowering import ROOT, Entry, entries
from bench_profile import arguments_of, loaded
from marked_sections import write_section

import cutecc
from cutecc.compilation.request import CompileOptions, recording_timeline
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments
from cutecc.kernel import Kernel
from cutecc.runtime.workspace import Workspace
from cutecc.timelines.recording import Recorder
from cutecc.timelines.records import timeline_of
from cutecc.timelines.slowdown import measure_slowdown
from cutecc.timelines.timeline import Timeline

TARGET = "sm_90a"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
MARKS = ("<!-- timeline: begin -->", "<!-- timeline: end -->")
MEASURED = ROOT / "test" / "gpu" / "measured_barriers.py"
BARRIERS = {
    "Threads": "all threads",
    "Named": "named barriers",
    "Mbarrier": "mbarrier",
    "Cluster": "cluster of two",
    "Both": "mbarrier, then all threads",
}
Level = Literal["waits", "all"]
MEASURED_SHAPE, RATES_SHAPE = (132, 8, 8, 2), (132, 8, 2, 2)
LEVELS: tuple[Level, ...] = get_args(Level)


class Cost(msgspec.Struct):
    """One kernel with recording code."""

    kernel: str
    sizes: str
    level: Level
    plain: float
    """Microseconds of a call."""
    idle: float
    """With the code, not armed."""
    recorded: float
    records: int
    lost: int
    registers: int
    """Of a thread; those of the plain kernel are fewer by `more_registers`."""
    more_registers: int
    more_spills: int
    """Bytes."""


class Agreement(msgspec.Struct):
    """One kernel that measures its barriers."""

    barriers: str
    spans: int
    longest: float
    """Nanoseconds, of the kernel's own measurement."""
    median: float
    worst: float
    """Of the difference of both, absolute, in nanoseconds."""


class Results(msgspec.Struct):
    """A run."""

    date: str
    device: str
    costs: list[Cost]
    agreements: list[Agreement]


def main() -> None:
    """Compile, run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--only", default="", metavar="NAME,…")
    parser.add_argument("--write", action="store_true")
    choice = parser.parse_args()
    chosen = [each for each in entries() if not choice.only or each.name in choice.only.split(",")]
    if choice.compile:
        compile_all(choice.compile, chosen)
    elif choice.run:
        run_all(choice.run, chosen, choice.json)
    else:
        table = tables_of(msgspec.json.decode(choice.json.read_bytes(), type=Results))
        print(table)
        if choice.write:
            write_section(DOCUMENT, MARKS, table)


def compile_all(folder: Path, chosen: list[Entry]) -> None:
    """Bundles of each kernel, plain and with recording code."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = CompileOptions(observe=True)
    jobs = {each.name: cutecc.Job(str(each.file), entry=each.entry, target=TARGET, options=plain) for each in chosen}
    for level in LEVELS:
        options = recording_timeline(plain, level)
        jobs |= {
            f"{each.name}-{level}": cutecc.Job(str(each.file), entry=each.entry, target=TARGET, options=options)
            for each in chosen
        }
    options = recording_timeline(plain, "all")
    jobs |= {name: cutecc.Job(str(MEASURED), entry=f"{name}()", target=TARGET, options=options) for name in BARRIERS}
    for name, result in zip(jobs, cutecc.compile_many(list(jobs.values())), strict=True):
        if isinstance(result, Kernel):
            result.save(folder / f"{name}.cutecc")
        else:
            print(f"{name}: {result}", file=sys.stderr)


def run_all(folder: Path, chosen: list[Entry], json: Path) -> None:
    """Record what `compile_all` left."""
    with Workspace() as gpu:
        results = Results(datetime.date.today().isoformat(), gpu.name, [], [])
        for name, barriers in BARRIERS.items():
            results.agreements.append(agreement(barriers, folder / f"{name}.cutecc", gpu))
            print(results.agreements[-1], flush=True)
        for entry in chosen:
            for level in LEVELS:
                try:
                    results.costs.append(cost(entry, level, folder, gpu))
                except (cutecc.Error, OSError) as error:
                    print(f"{entry.name}: {error}", flush=True)
                    continue
                print(results.costs[-1], flush=True)
                json.write_bytes(msgspec.json.encode(results))


def cost(entry: Entry, level: Level, folder: Path, gpu: Workspace) -> Cost:
    """Times of a kernel, plain and with recording code."""
    plain, recording = (loaded(folder / f"{entry.name}{suffix}.cutecc") for suffix in ("", f"-{level}"))
    with gpu.scope():
        device = DeviceArguments(arguments_of(plain, entry.sizes[0]), gpu)
        device.upload()
        calls = [each.prepare(**device.by_name, stream=gpu.stream) for each in (plain, recording)]
        recorder = Recorder(calls[1], gpu)
        calls[1]()
        records = recorder.record()
        slowdown = measure_slowdown(gpu, recorder, calls[1], calls[0])
    used = [most_resources(each) for each in (plain, recording)]
    assert slowdown.plain is not None
    return Cost(
        *(entry.name, entry.sizes[0], level, slowdown.plain, slowdown.idle, slowdown.recorded),
        *(sum(int((each.records["code"] > 0).sum()) for each in records), sum(each.lost for each in records)),
        *(used[1][0], used[1][0] - used[0][0], used[1][1] - used[0][1]),
    )


def most_resources(kernel: Kernel) -> tuple[int, int]:
    """Registers and bytes of spills."""
    used = kernel.compilation.resources
    spills = sum((each.spill_store_bytes or 0) + (each.spill_load_bytes or 0) for each in used)
    return max(each.registers for each in used), spills


def agreement(barriers: str, bundle: Path, gpu: Workspace) -> Agreement:
    """Recorded spans beside what the kernel measured of the same waits."""
    kernel = loaded(bundle)
    with gpu.scope():
        assert kernel.signature is not None
        arguments = make_arguments(specs_of(kernel.signature), [], sizes={})
        device = DeviceArguments(arguments, gpu)
        device.upload()
        call = kernel.prepare(**device.by_name, stream=gpu.stream)
        call()
        recorder = Recorder(call, gpu)
        timeline = timeline_of(recorder.record(), gpu.name)
        measured, rates = np.empty(MEASURED_SHAPE, np.int64), np.empty(RATES_SHAPE, np.int64)
        for name, array in (("measured", measured), ("rates", rates)):
            gpu.download(array, device.by_name[name].__cuda_array_interface__["data"][0])
    cycles = (measured[..., 1] - measured[..., 0]) & 0xFFFFFFFF
    passed = (rates[:, :, 1] - rates[:, :, 0]) & 0xFFFFFFFF
    # Of all warps of a block: they are on one multiprocessor, and the time has steps of 32 ns.
    rate = passed[..., 1].sum(axis=1) / passed[..., 0].sum(axis=1)
    return compared(barriers, timeline, cycles * rate[:, None, None])


def compared(barriers: str, timeline: Timeline, own: np.ndarray) -> Agreement:
    """Spans beside the kernel's own nanoseconds by block, turn and warp; several waits of one turn are one."""
    turns = own.shape[1]
    differences: list[float] = []
    waits = np.array([each.kind in ("wait", "barrier") for each in timeline.sites])
    for block in timeline.blocks:
        for lane in block.lanes:
            spans = waits[lane.sites]
            # Those of before the loop are not measured.
            each = int(spans.sum()) // turns
            starts = lane.starts[spans][-each * turns :][::each]
            ends = lane.ends[spans][-each * turns :][each - 1 :: each]
            differences += np.abs(ends - starts - own[block.block, :, lane.warp]).tolist()
    longest, median, worst = float(own.max()), float(np.median(differences)), float(np.max(differences))
    return Agreement(barriers, len(differences), longest, median, worst)


def tables_of(results: Results) -> str:
    """Both tables, as Markdown."""
    head = f"{results.date}, {results.device}.\n\n"
    right = ["| barriers | spans | longest | median difference | largest |", "|---|---|---|---|---|"]
    right += [
        f"| {each.barriers} | {each.spans:,} | {each.longest:,.0f} ns | {each.median:.0f} ns | {each.worst:.0f} ns |"
        for each in results.agreements
    ]
    costs = [
        "| kernel | sizes | sites | records | plain | not armed | recording | registers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in results.costs:
        more = f"{each.registers} ({each.more_registers:+})" + (
            f", {each.more_spills:+} B of spills" if each.more_spills else ""
        )
        costs.append(
            f"| `{each.kernel}` | {each.sizes} | {each.level} | {each.records:,} | {each.plain:.1f} µs "
            f"| {each.idle / each.plain - 1:+.1%} | {each.recorded / each.plain - 1:+.1%} | {more} |"
        )
    return head + "\n".join(right) + "\n\n" + "\n".join(costs) + "\n"


if __name__ == "__main__":
    main()
