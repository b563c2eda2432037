"""Measure the constants of `cutecc estimate` on the GPU at hand, and write the table of the device.

    python tools/bench_model.py --raw raw.json                    # on a machine with a GPU; no DSL
    python tools/bench_model.py --raw raw.json --write h200       # the table of that device in cutecc/estimating
    python tools/bench_model.py --document                        # the tables of docs/model.md

Each measurement is a kernel in PTX that the driver compiles. What is measured within one multiprocessor is read from
its clock, in cycles; what all of them do together is timed by events. `docs/model.md` says what each constant is for.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from marked_sections import write_section
from microbenchmarks.arithmetic import arithmetic, products
from microbenchmarks.bulk_copies import bulk_copies
from microbenchmarks.gpu import Gpu
from microbenchmarks.memory import bandwidths, latencies, loaded_latencies, partial_writes, shared_rates
from microbenchmarks.tensor_cores import clocks, warpgroup_products
from microbenchmarks.waiting import barriers, launches

from cutecc.runtime.workspace import Workspace

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "cutecc" / "estimating" / "devices"
DOCUMENT = ROOT / "docs" / "model.md"
MARKS = ("<!-- constants: begin -->", "<!-- constants: end -->")
USED = {
    "latency/fma.f32": "cycles of a chain of one warp, an instruction (`chains`)",
    "latency/fma.f64": "the same",
    "latency/ex2.f32": "the same; of all approximations",
    "latency/popc.b32": "the same",
    "latency/cvt.s32.f32": "the same, there and back",
    "latency/shfl": "the same",
    "latency/mma.f16": "the same, `m16n8k16`",
    "latency/ld.shared": "a chain of loads, each of the address for the next (`latencies`)",
    "latency/ldmatrix": "the same",
    "latency/global.l1": "the same, in a ring that the L1 cache holds",
    "latency/global.l2": "in one that the L2 cache holds",
    "latency/global.dram": "in one of 512 MiB, after the L2 cache was flushed",
    "rate/fma.f32": "warp instructions a cycle, 32 warps with four chains each",
    "rate/fma.f64": "the same",
    "rate/ex2.f32": "the same; of all approximations",
    "rate/cvt.f64.f32": "the same, there and back",
    "rate/mma.f16": "the same with 16 warps, `m16n8k16`; tf32 and s8 alike",
    "rate/ld.shared.128": "bytes a cycle: one wavefront of 128 (`shared_rates`)",
    "cycles/wgmma.f16.n128": "two warpgroups that take turns, 32 products between waits (`warpgroup_products`)",
    "cycles/wgmma.f16.n128.wait1": "one product, committed and waited for",
    "cycles/bar.sync.4": "four warps, one barrier after the other (`barriers`)",
    "cycles/mbarrier.there_and_back": "two warps, each arriving and waiting for the other",
    "cycles/bulk.l2.128": "a bulk copy of 128 bytes from issue to who waits for it (`bulk_copies`)",
    "cycles/bulk.dram.128": "the same, after the L2 cache was flushed",
    "cycles/bulk.store.1024": "a bulk store until its source is read",
    "rate/tensor.l2.1sm.8192": "bytes a cycle of tensor copies of 8 KiB, 16 in flight",
    "gbps/l2.read": "all multiprocessors read 8 MiB (`bandwidths`)",
    "gbps/l2.write": "the same, written",
    "gbps/l2.write.partial": "the same, half of each sector (`partial_writes`)",
    "gbps/dram.read": "all multiprocessors read 1 GiB",
    "gbps/dram.write": "the same, written",
    "gbps/dram.copy.kernel": "copied, bytes of both ways",
    "loaded/crowding": "how much later DRAM answers at half of its rate, of its latency (`loaded_latencies`)",
    "mhz/fma.f32": "the clock of arithmetic without tensor cores (`clocks`)",
    "mhz/mma.4": "with `mma.sync`",
    "mhz/wgmma.f16.n256": "with the tensor cores busy all the time, on random numbers",
    "mhz/dram": "of a kernel that reads DRAM",
    "us/launch.events": "an empty kernel between events (`launches`)",
    "us/launch.128.0.512": "512 empty blocks of 128 threads a multiprocessor; less that of one: between blocks",
    "us/launch.384.204800.512": "of 200 KiB, so that one comes after the other: from an end to the next beginning",
}
"""Of what is measured, what the model uses, and how it is measured."""
PARTS: dict[str, Callable[[Gpu, int], Iterator[tuple[str, float]]]] = {
    "barriers": lambda gpu, processors: barriers(gpu),
    "arithmetic": lambda gpu, processors: arithmetic(gpu),
    "products": lambda gpu, processors: products(gpu),
    "shared": lambda gpu, processors: shared_rates(gpu),
    "latencies": lambda gpu, processors: latencies(gpu),
    "bandwidths": bandwidths,
    "partial": partial_writes,
    "loaded": loaded_latencies,
    "launches": launches,
    "wgmma": warpgroup_products,
    "clocks": clocks,
    "tma": bulk_copies,
}


def write_table(raw: Path, name: str) -> None:
    """The constants of a device, as `cutecc.estimating.devices` reads them."""
    found = json.loads(raw.read_text())
    table = {
        "title": found["device"],
        "target": "sm_90a",
        "processors": found["processors"],
        "l2_bytes": found["l2_bytes"],
        "date": found["date"],
        "borrowed_from": None,
        "measured": {name: round(value, 3) for name, value in sorted(found["measured"].items())},
    }
    (TABLES / f"{name}.json").write_text(json.dumps(table, indent=1) + "\n")


def document() -> None:
    """The constants that the model uses, in docs/model.md."""
    tables = {path.stem: json.loads(path.read_text())["measured"] for path in sorted(TABLES.glob("*.json"))}
    lines = [
        f"| constant | {' | '.join(name.upper() for name in tables)} | what is measured |",
        f"|---|{'---:|' * len(tables)}---|",
    ]
    for name, what in USED.items():
        cells = " | ".join(f"{table[name]:,.4g}" if name in table else "" for table in tables.values())
        lines.append(f"| `{name}` | {cells} | {what} |")
    write_section(DOCUMENT, MARKS, "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raw", type=Path, metavar="FILE", help="measure, and add what came of it here")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; a fault needs a new process")
    parser.add_argument("--write", metavar="NAME", help="write the table of the device of this name instead")
    parser.add_argument("--document", action="store_true")
    choice = parser.parse_args()
    if choice.document:
        document()
    elif choice.write:
        write_table(choice.raw, choice.write)
    else:
        measure_all(choice.raw, choice.part or list(PARTS))


def measure_all(raw: Path, parts: list[str]) -> None:
    """Parts one after the other; what is there is written at once."""
    with Workspace() as workspace:
        gpu = Gpu(workspace)
        processors = workspace.multiprocessors
        found: dict[str, Any] = json.loads(raw.read_text()) if raw.exists() else {"measured": {}}
        found |= {
            "date": datetime.date.today().isoformat(),
            "device": workspace.name,
            "driver": workspace.driver_version,
            "processors": processors,
            "l2_bytes": workspace.l2_bytes,
        }
        for part in parts:
            for name, value in PARTS[part](gpu, processors):
                found["measured"][name] = value
                print(f"{name:40} {value:12.3f}", flush=True)
                raw.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
