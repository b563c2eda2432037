"""What Nsight Compute measures of kernels on the GPU, beside what the emulator counts.

For a machine with a GPU and `ncu`, profiling permitted (as root, or with NVreg_RestrictProfilingToAdminUsers=0):

python against_ncu.py FOLDER RESULTS.json [NAME…]    # NAMEs of kernel files, without .py; those below by default

FOLDER has bundles, as make_bundles.py writes them; those of test/unit/passes/analysis/kernels when it was given these
files. The results are {kernel: {"sizes": {…}, "ncu": {metric: value},
"emulator": {metric: value}}}, metrics of all launches of the kernel file's default sizes together.
tools/counters_table.py and tools/memory_table.py make tables of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cutecc
from cutecc.emulator.counters.ncu import METRICS, ncu_metrics
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.kernel import Kernel
from cutecc.runtime.device import runs_on
from cutecc.runtime.workspace import Workspace

NAMES = [
    *("async_copy_pipeline", "bit_tricks", "block_scan", "elementwise_add", "fast_division", "gemm_sm80"),
    *("histogram", "many_tensors", "mma_int8", "mma_tf32", "naive_gemm_f64", "pointer_args"),
    *("predicated_copy", "rmsnorm", "row_argmax", "scalar_args", "softmax", "stencil"),
    *("strided_rows", "swizzled_vectors", "transpose", "transpose_naive", "transpose_swizzled"),
    *("vector_copy", "warp_ops"),
]


def main(folder: Path, results: Path, names: list[str]) -> None:
    metrics, found = list(METRICS), {}
    with Workspace() as device:
        capability = device.compute_capability
    for bundle in sorted(folder.glob("*.cutecc")):
        if bundle.stem not in names:
            continue
        kernel = cutecc.load(bundle)
        if not isinstance(kernel, Kernel) or not runs_on(kernel.compilation.target, capability):
            print(f"{bundle.stem}: not for this GPU", flush=True)
            continue
        row = found[bundle.stem] = {"sizes": arguments_of(kernel).sizes}
        row["ncu"] = profile(bundle, metrics)
        row["emulator"] = emulate(kernel)
        results.write_text(json.dumps(found, indent=1) + "\n")
        differ = [name for name, value in row["ncu"].items() if value != row["emulator"][name]]
        print(f"{bundle.stem}: {', '.join(differ) or 'all equal'}", flush=True)


def arguments_of(kernel: Kernel) -> Arguments:
    assert kernel.signature is not None
    workload = kernel.compilation.workload
    arguments = make_arguments(specs_of(kernel.signature), workload.outputs if workload else [])
    arguments.randomize(1)
    return arguments


def launch(bundle: Path) -> None:
    """What ncu runs."""
    kernel = cutecc.load(bundle)
    assert isinstance(kernel, Kernel)
    with Workspace() as device, device.scope():
        on_device = DeviceArguments(arguments_of(kernel), device)
        on_device.upload()
        kernel(**on_device.by_name, stream=device.stream)
        device.synchronize()


def emulate(kernel: Kernel) -> dict[str, int]:
    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments_of(kernel), memory)
        on_cpu.upload()
        found = kernel.emulate(**on_cpu.by_name, counters=True)
    assert found.counters is not None
    return ncu_metrics(found.counters)


def profile(bundle: Path, metrics: list[str]) -> dict[str, int]:
    """Sums over the launches. Names that this ncu does not know leave `metrics`."""
    while metrics:
        options = "--csv --page raw --print-units base --target-processes all --cache-control none -k regex:^kernel"
        command = ["ncu", *options.split(), "--metrics", ",".join(metrics)]
        command += [sys.executable, __file__, "launch", str(bundle)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        said = ran.stdout + ran.stderr
        unknown = [name for name in metrics if re.search(rf"(find|metric)[^\n]*\b{re.escape(name)}(?![\w.])", said)]
        start = ran.stdout.find('"ID"')
        if start >= 0 and ran.returncode == 0:
            # The first row has the units.
            return sums(list(csv.DictReader(io.StringIO(ran.stdout[start:])))[1:], metrics)
        if not unknown:
            raise SystemExit(f"{' '.join(command)}\n{said[-3000:]}")
        for name in unknown:
            print("ncu does not know", name, flush=True)
            metrics.remove(name)
    raise SystemExit("ncu knows none of the metrics")


def sums(rows: list[dict[str, Any]], metrics: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        for name in metrics:
            value = (row.get(name) or "").replace(",", "")
            if re.fullmatch(r"[0-9.]+", value):
                found[name] = found.get(name, 0) + int(float(value))
    return found


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        launch(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or NAMES)
