"""What a launch costs on the host, beside the stock compiler's ways to launch the same kernels. Needs a GPU and torch.

    python tools/bench_launch.py            # prints the tables
    python tools/bench_launch.py --write    # also replaces them in docs/benchmarks.md

Each round times thousands of calls of every variant, in an order of its own; tables hold the medians over rounds. The
kernels are small, so that the host is what is measured. TVM-FFI needs `apache-tvm-ffi`, and is left out without it.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from bench import write
from host_timing import cell, measure

import cutecc
from cutecc.frontend import binding, dsl
from cutecc.frontend.callee import Callee
from cutecc.frontend.header import read_header
from cutecc.frontend.kernel_file import find_callee
from cutecc.target import native_targets

ROOT = Path(__file__).resolve().parent.parent
CASES: dict[str, tuple[str, dict[str, tuple[int, ...]], torch.dtype]] = {
    "add, 3 tensors": (
        "examples/elementwise_add.py",
        dict.fromkeys("abc", (64, 128)),
        torch.float32,
    ),
    "weighted sum, 8 tensors": (
        "test/kernels/many_tensors.py",
        dict.fromkeys(("a", "b", "c", "d", "e", "f", "g", "out"), (1024,)),
        torch.float32,
    ),
    "TMA GEMM, 3 tensors": (
        "examples/gemm.py",
        {"a": (128, 64), "b": (128, 64), "c": (128, 128)},
        torch.float16,
    ),
}
ROUNDS = 61


def variants(file: str, shapes: Mapping[str, tuple[int, ...]], dtype: torch.dtype) -> dict[str, Callable[[], object]]:
    """Ways to launch the kernel of `file` on tensors of these shapes, by name."""
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    path = str(ROOT / file)
    header = read_header(path)
    function = find_callee(path, None, header.entry)
    target = native_targets()[0]
    tensors = {name: torch.randn(shape, device="cuda").to(dtype) for name, shape in shapes.items()}
    values = list(tensors.values())
    specs: dict[str, Any] = {name: str(spec) for name, spec in header.args.items()}

    found: dict[str, Callable[[], object]] = {}

    def stock(options: str) -> Any:
        with dsl.targeting(target):
            arguments = binding.bind_specs(Callee.of(function), header.args, {})
            return cute.compile(function, *arguments.args, **arguments.kwargs, options=options)

    def dynamic(tensor: torch.Tensor) -> Any:
        return from_dlpack(tensor, assumed_align=16).mark_layout_dynamic()

    plain = stock("")
    prepared = [dynamic(tensor) for tensor in values]
    found["stock, arguments prepared"] = lambda: plain(*prepared)
    found["stock, torch tensors"] = lambda: plain(*map(dynamic, values))
    try:
        import tvm_ffi  # noqa: F401 - the DSL needs it
    except ImportError:
        pass
    else:
        ffi = stock("--enable-tvm-ffi")
        found["stock, TVM-FFI"] = lambda: ffi(*values)

    def ours() -> cutecc.Kernel:
        kernel = cutecc.compile(function, target=target, cache=False, **specs)
        assert isinstance(kernel, cutecc.Kernel)
        return kernel

    def ready(native: bool) -> tuple[cutecc.Kernel, Callable[[], object]]:
        """The kernel and a prepared call of it, called often enough to be machine code if they are to be."""
        os.environ["CUTECC_NATIVE"] = str(int(native))
        kernel = ours()
        prepared = kernel.prepare(*values)
        for _ in range(100):
            kernel(*values)
            prepared()
        return kernel, prepared

    native, native_prepared = ready(native=True)
    python, python_prepared = ready(native=False)
    found["cutecc"] = lambda: native(*values)
    found["cutecc, prepared"] = native_prepared
    found["cutecc, Python path"] = lambda: python(*values)
    found["cutecc, Python path, prepared"] = python_prepared
    if file.endswith("elementwise_add.py"):
        a, b, c = values
        found["torch.add(a, b, out=c)"] = lambda: torch.add(a, b, out=c)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    replace = parser.parse_args().write
    rows: dict[str, dict[str, str]] = {}
    for case, (file, shapes, dtype) in CASES.items():
        for name, samples in measure(variants(file, shapes, dtype), ROUNDS).items():
            rows.setdefault(name, {})[case] = cell(samples, 2)
    lines = [
        f"| µs a call, median (10 %–90 %) | {' | '.join(CASES)} |",
        f"|---|{'---|' * len(CASES)}",
        *(f"| {name} | {' | '.join(cells.get(case, '') for case in CASES)} |" for name, cells in rows.items()),
    ]
    machine = f"{torch.cuda.get_device_name()}, Python {platform.python_version()}, torch {torch.__version__}"
    print("\n".join([machine, *lines]))
    if replace:
        write("launch", lines, machine)


if __name__ == "__main__":
    main()
