"""What analyses work out of kernels' accesses, beside what the emulator counts and ncu measures: a table.

    python tools/memory_table.py                                                 # prints the table of docs/checking.md
    python tools/memory_table.py --ncu results.json --machine 'NVIDIA H200' --write      # replaces it

The kernels are compiled for sm_90a; sizes are those of their headers. `check-coalescing` and `check-bank-conflicts`
here look at all blocks of the very launches that the emulator runs: the grid and the arguments. What ncu measures of
the same, test/gpu/against_ncu.py writes. A cell is one number when all have it, else the analysis', the emulator's and
ncu's, with letters of the reasons. The status is 1 when a difference has no reason below.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from bench import ROOT, write
from reasons import Reasons

import cutecc
from cutecc.backend.host.layouts import Layout, Layouts
from cutecc.compilation.request import CompileOptions
from cutecc.emulator.host import EmulatorHost
from cutecc.errors import SourceLocation
from cutecc.frontend.header import read_header
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.ir import modules
from cutecc.ir.casters import plain_values
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.kernel import Kernel
from cutecc.passes.analysis.coalescing import CheckCoalescing
from cutecc.passes.analysis.operations import SEMANTICS
from cutecc.passes.analysis.program import KernelProgram
from cutecc.passes.analysis.requests import kernels_of, requests_of
from cutecc.passes.analysis.sample import Sample
from cutecc.passes.manager import Observer, Position
from cutecc.runtime.launch import Launch
from cutecc.support.isolation import Worker

OWN = ROOT / "test" / "unit" / "passes" / "analysis" / "kernels"
"""Kernels that are there for these analyses."""
KERNELS = [
    *(ROOT / "examples" / f"{name}.py" for name in ("elementwise_add", "naive_gemm_f64", "softmax")),
    *(
        ROOT / "test" / "kernels" / f"{name}.py"
        for name in (
            *("async_copy_pipeline", "bit_tricks", "block_scan", "fast_division", "gemm_sm80", "histogram"),
            *("many_tensors", "mma_int8", "mma_tf32", "predicated_copy", "rmsnorm", "stencil", "transpose"),
            *("vector_copy", "wgmma_registers"),
        )
    ),
    *sorted(OWN.glob("*.py")),
]
MERGED = "the code generator makes one wider access of several neighbouring ones"
IN_MEMORY = "addresses depend on what is in memory: the analysis leaves the access out"
TAKEN_OUT = (
    "ncu and the rules for `cp.async` differ, as [the emulator's table](emulator.md) says of these kernels; the "
    "analysis has the emulator's numbers"
)
UNROLLED = "the assembler unrolls a loop: threads of a warp whose numbers of turns differ part, one request becomes two"
LEFT_OUT = "the assembler makes two narrow loads of a vector of which two elements are used"
TENSOR_CORES = "ncu's total counts also what `wgmma` reads; the wavefronts of stores alone are 768 in all three"
REASONS: list[tuple[str, str, str]] = [
    ("softmax|block_scan", "wavefronts", MERGED),
    ("histogram", "wavefronts", IN_MEMORY),
    ("async_copy_pipeline|gemm_sm80", "sectors|wavefronts", TAKEN_OUT),
    ("softmax|rmsnorm", "sectors", UNROLLED),
    ("strided_rows", "sectors", LEFT_OUT),
    ("wgmma_registers", "wavefronts", TENSOR_CORES),
]
"""Kernels, columns, and why they differ there."""
LOOKS_AFTER = CheckCoalescing.looks_after
TARGET = "sm_90a"
_ALL = 1 << 30


@dataclass
class Sums:
    """Of a line of Python, or of a kernel."""

    requests: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    shared_requests: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    def add(self, *numbers: int) -> None:
        names = vars(self)
        for name, number in zip(list(names), numbers, strict=True):
            names[name] += number


@dataclass
class Compared:
    """A kernel of the repository."""

    name: str
    sizes: dict[str, int]
    analysed: dict[int, Sums] = field(default_factory=dict[int, Sums])
    """By line of Python."""
    emulated: dict[int, Sums] = field(default_factory=dict[int, Sums])
    understood: tuple[int, int] = (0, 0)
    """Accesses whose addresses are known, of all."""


class _Keeper(Observer):
    """Keeps the module that the analyses look at."""

    def __init__(self) -> None:
        self.module = b""

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        if position.pass_.name == LOOKS_AFTER:
            self.module = modules.to_bytecode(module)


def compare(file: Path, worker: Worker, target: str | None = None) -> Compared:
    """Compile, analyse and emulate the kernel of a file. `worker` traces."""
    header = read_header(file)
    target = target or header.target or "sm_80"
    request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
    kernel, module = lowered(worker, request)
    arguments = make_arguments(header.args, header.outputs)
    arguments.randomize(1)
    launches: list[Launch] = []

    def launch(self: EmulatorHost, launch: Launch, original: Any = EmulatorHost.launch) -> int:
        launches.append(launch)
        return original(self, launch)

    with HostMemory() as memory, mock.patch.object(EmulatorHost, "launch", launch):
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        emulation = kernel.emulate(**on_cpu.by_name, counters=True)
    found = Compared(file.stem, arguments.sizes)
    assert emulation.counters is not None
    for line in emulation.counters.by_line():
        counts = line.counts
        if counts.global_requests or counts.shared_requests:
            _at(found.emulated, line.location).add(
                *(counts.global_requests, counts.global_sectors, counts.global_ideal_sectors),
                *(counts.shared_requests, counts.shared_wavefronts, counts.shared_ideal_wavefronts),
            )
    with modules.fresh_context(), plain_values():
        _analyse(modules.parse(module).operation, launches, found)
    return found


def lowered(worker: Worker, request: TraceRequest) -> tuple[Kernel, bytes]:
    """A kernel that `worker` traces, and its module as the analyses see it."""
    traced: TracedModule = worker.call("cutecc.frontend.trace:trace_file", request)
    keeper = _Keeper()
    kernel = cutecc.compile_module(
        traced.bytecode,
        target=request.target,
        signature=traced.signature,
        options=CompileOptions(line_info=True),
        observers=[keeper],
        cache=False,
    )
    return kernel, keeper.module


def _analyse(module: ir.Operation, launches: list[Launch], found: Compared) -> None:
    kernels = {kernel.attributes["sym_name"].value: kernel for kernel in kernels_of(module)}
    for launch in launches:
        program = KernelProgram(kernels[launch.kernel.name], SEMANTICS)
        blocks = [(x, y, z) for z, y, x in itertools.product(*(range(size) for size in reversed(launch.grid)))]
        parameters = dict(_parameters(launch, program))
        sample = Sample(launch.block, launch.grid, blocks, parameters, trips=_ALL, constant_trips=_ALL)
        requests = requests_of(program, sample)
        known = [access for access in requests.accesses if access.spaces]
        found.understood = (
            found.understood[0] + len(known),
            found.understood[1] + len(requests.accesses) + len(requests.unreadable),
        )
        for access in known:
            numbers: list[int] = []
            for space in ("global", "shared"):
                of = access.spaces.get(space)
                numbers += [of.requests, of.taken, of.ideal] if of else [0, 0, 0]
            _at(found.analysed, user_location(access.operation.location)).add(*numbers)


def _parameters(launch: Launch, program: KernelProgram) -> Iterator[tuple[tuple[int, ...], int]]:
    """The numbers of a launch's arguments, by the argument and the path into it."""
    layouts = Layouts()
    for number, (argument, parameter) in enumerate(zip(program.body.arguments, launch.kernel.parameters, strict=True)):
        data = bytes(launch.parameters[parameter.offset :])
        try:
            layout = layouts(argument.type)
        except cutecc.Error:
            continue
        for path, offset, size in _numbers(layout, (number,), 0):
            yield path, int.from_bytes(data[offset : offset + size], "little", signed=True)


def _numbers(layout: Layout, path: tuple[int, ...], offset: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    if layout.parts:
        for index, (inner, _, part) in enumerate(layout.parts):
            yield from _numbers(part, (*path, index), offset + inner)
    elif layout.size:
        yield path, offset, layout.size


def _at(sums: dict[int, Sums], place: SourceLocation | None) -> Sums:
    return sums.setdefault((place.line or 0) if place else 0, Sums())


COLUMNS = {
    "sectors": ("sectors", "memory_l2_theoretical_sectors_global"),
    "fewest sectors": ("ideal_sectors", "memory_l2_theoretical_sectors_global_ideal"),
    "wavefronts": ("wavefronts", "memory_l1_wavefronts_shared"),
    "fewest wavefronts": ("ideal_wavefronts", "memory_l1_wavefronts_shared_ideal"),
}
"""Of `Sums`, and what ncu calls it."""


def rows(compared: list[Compared], ncu: dict[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The table with its reasons, and what has none. `ncu` is what against_ncu.py writes, or nothing."""
    reasons = Reasons(REASONS)
    unexplained: list[str] = []
    table = [f"| kernel | accesses | known | lines equal | {' | '.join(COLUMNS)} |", f"|{'---|' * (4 + len(COLUMNS))}"]
    for each in sorted(compared, key=lambda found: found.name):
        cells: list[str] = []
        measured = ncu.get(each.name, {})
        if measured and measured["sizes"] != each.sizes:
            unexplained.append(f"{each.name}: ncu has other sizes, {measured['sizes']}")
        for column, (name, metric) in COLUMNS.items():
            numbers = [sum(getattr(sums, name) for sums in of.values()) for of in (each.analysed, each.emulated)]
            if metric in measured.get("ncu", {}):
                numbers.append(measured["ncu"][metric])
            if len(set(numbers)) == 1:
                cells.append(f"{numbers[0]:,}" if numbers[0] else "")
                continue
            marks = reasons.marks(each.name, column)
            if not marks:
                unexplained.append(f"{each.name}: {column}: {numbers}")
            cells.append(f"{' / '.join(f'{number:,}' for number in numbers)} {', '.join(marks)}".strip())
        lines = {*each.analysed, *each.emulated}
        equal = sum(each.analysed.get(line) == each.emulated.get(line) for line in lines)
        known, present = each.understood
        table.append(f"| {each.name} | {present} | {known} | {equal} of {len(lines)} | {' | '.join(cells)} |")
    return [*table, "", *reasons.lines()], unexplained


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ncu", type=Path, help="what test/gpu/against_ncu.py wrote")
    parser.add_argument("--machine", help="the kind of GPU that ncu ran on")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/checking.md")
    choice = parser.parse_args()
    worker = Worker()
    compared = [compare(file, worker, TARGET) for file in KERNELS]
    worker.close()
    table, unexplained = rows(compared, json.loads(choice.ncu.read_text()) if choice.ncu else {})
    print("\n".join(table))
    if choice.write:
        write("memory", table, choice.machine, ROOT / "docs" / "checking.md")
    if unexplained:
        sys.exit("without a reason:\n" + "\n".join(unexplained))


if __name__ == "__main__":
    main()
