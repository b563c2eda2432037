"""Run every bundle of a folder on the GPU and on the emulator with the same inputs, and compare the outputs' bits.

python against_emulator.py FOLDER RESULTS.jsonl [PART OF]    # PART from 0: each OFth bundle only

A line of the results is [kernel, what the PTX ISA or the hardware leaves open in its code, sizes, seed, output,
elements, elements with other bits, largest difference relative to the output's root mean square].
tools/emulator_table.py makes a table of them.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from kernels import FILES, points

import cutecc
from cutecc.errors import Error
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.kernel import Kernel
from cutecc.runtime.device import runs_on
from cutecc.runtime.workspace import Workspace

SEEDS = (1, 2)
MOST_ELEMENTS = 1_000_000
"""Of a point's tensors: larger ones take the emulator long."""


def main(folder: Path, results: Path, part: int = 0, of: int = 1) -> None:
    files = {file.stem: file for file in FILES}
    bundles = [bundle for bundle in sorted(folder.glob("*.cutecc")) if bundle.stem in files]
    with Workspace() as device, results.open("a", encoding="utf-8") as lines:
        for bundle in bundles[part::of]:
            kernel = cutecc.load(bundle)
            file = files[bundle.stem]
            if not isinstance(kernel, Kernel) or not runs_on(kernel.compilation.target, device.compute_capability):
                continue
            for sizes in points(file):
                for seed in SEEDS:
                    for row in compare(kernel, sizes, seed, device):
                        lines.write(json.dumps([bundle.stem, open_in(kernel.ptx), *row]) + "\n")
                        lines.flush()


def open_in(ptx: str) -> list[str]:
    """Why results may differ in their last bits."""
    names = set(re.findall(r"^\s*(?:@!?%?\w+\s+)?([a-z]\w*(?:\.[\w:]+)+)", ptx, re.MULTILINE))
    found = {
        "approximations": lambda name: ".approx" in name or name.startswith("div.full"),
        "sums in matrix operations": lambda name: name.startswith(("mma.", "wgmma.mma_async.")) and ".s32" not in name,
        "order of additions in memory": lambda name: (
            name.startswith(("red.", "atom.", "cp.reduce.")) and ".add" in name and not re.search(r"\.[us]\d+$", name)
        ),
    }
    return [what for what, is_one in found.items() if any(map(is_one, names))]


def compare(kernel: Kernel, sizes: dict[str, int], seed: int, device: Workspace) -> list[list[Any]]:
    """A row for each output."""
    assert kernel.signature is not None
    workload = kernel.compilation.workload
    outputs = workload.outputs if workload else []
    arguments = make_arguments(specs_of(kernel.signature), outputs, sizes=sizes)
    if sum(tensor.codes.size for tensor in arguments.tensors) > MOST_ELEMENTS:
        return []
    arguments.randomize(seed)
    with device.scope():
        on_device = DeviceArguments(arguments, device)
        on_device.upload()
        kernel(**on_device.by_name, stream=device.stream)
        device.synchronize()
        on_device.download()
    expected = bits(arguments)
    arguments.randomize(seed)
    start = time.monotonic()
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        try:
            kernel.emulate(**on_cpu.by_name)
        except Error as error:
            print(f"{kernel.compilation.name} {sizes} seed {seed}: {error}", flush=True)
            return [[arguments.sizes, seed, "", 0, 1, float("nan")]]
        on_cpu.download()
    print(f"{kernel.compilation.name} {arguments.sizes} seed {seed}: {time.monotonic() - start:.2f} s", flush=True)
    rows: list[list[Any]] = []
    for tensor, (codes, values) in zip(arguments.outputs, expected, strict=True):
        differing = int((raw(tensor.codes) != codes).sum())
        found = np.asarray(tensor.values, "f8")
        scale = float(np.sqrt(np.nanmean(values**2))) or 1.0
        error = float(np.nanmax(np.abs(found - values), initial=0.0)) / scale if differing else 0.0
        rows.append([arguments.sizes, seed, tensor.name, codes.size, differing, error])
    return rows


def bits(arguments: Arguments) -> list[tuple[Any, Any]]:
    """Bits and values of the outputs."""
    return [(raw(tensor.codes), np.asarray(tensor.values, "f8").copy()) for tensor in arguments.outputs]


def raw(codes: Any) -> Any:
    """Elements as unsigned integers: one that is not a number equals itself."""
    return np.ascontiguousarray(codes).view(f"u{codes.dtype.itemsize}").copy()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
