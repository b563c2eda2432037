"""The predicated element-wise add with and without `vectorize-predicated-copies`, beside `torch.add`.

    python tools/bench_transform.py --compile FOLDER              # anywhere with the DSL; no GPU
    python tools/bench_transform.py --run FOLDER --json OUT       # on a machine with a GPU and torch; no DSL
    python tools/bench_transform.py --json OUT --write            # the table of docs/transforms.md

Two orders of tiles, both pipelines with the code generator that is theirs. All of a shape run in turn on the same
random matrices, the L2 cache flushed before each; what they wrote is compared with torch's bit for bit first, and the
rows around the output are looked at.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from bench import ROOT, write

import cutecc
from cutecc.compilation.request import CompileOptions, Edit
from cutecc.kernel import Kernel

TARGET = "sm_90a"
TRANSFORM = "vectorize-predicated-copies"
AFTER = {"nvidia": "cute-remove-static-args", "open": "inline-static-arguments"}
BACKENDS = {"nvidia": "nvvm", "open": "llvm"}
FILES = {"columns": "examples/elementwise_add.py", "rows": "docs/inputs/add_by_rows.py"}
"""In which order the kernel takes the tiles."""
SHAPES = ((16384, 8192), (8192, 8192), (4096, 4096), (8191, 4092), (8185, 8188))
PEER = "torch.add"
ROUNDS = 60


@dataclass(frozen=True)
class Variant:
    """One way to compile one of the two kernels."""

    order: str
    pipeline: str
    transformed: bool

    @property
    def name(self) -> str:
        return f"{self.order}-{self.pipeline}{'-transformed' if self.transformed else ''}"

    @property
    def words(self) -> str:
        return f"tiles along {self.order}, `{self.pipeline}`{', transformed' if self.transformed else ''}"


VARIANTS = [
    Variant(order, pipeline, transformed) for order in FILES for pipeline in BACKENDS for transformed in (False, True)
]


class Row(msgspec.Struct, frozen=True):
    """One shape."""

    shape: tuple[int, int]
    medians: dict[str, float]
    """Microseconds of each variant, and of the peer."""
    wrong: list[str]


class Results(msgspec.Struct, frozen=True):
    """A run."""

    device: str
    driver: str
    torch: str
    rows: list[Row]


def main() -> int:
    """Compile, run or show; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER", help="compile what is to be timed")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="time what is there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="where the times are, or are to be written")
    parser.add_argument("--write", action="store_true", help="replace the table of docs/transforms.md")
    choice = parser.parse_args()
    if choice.compile:
        compile_all(choice.compile)
    if choice.run:
        results = run_all(choice.run)
        if choice.json:
            choice.json.write_bytes(msgspec.json.encode(results))
    elif choice.json:
        results = msgspec.json.decode(choice.json.read_bytes(), type=Results)
    else:
        return 0
    table = table_of(results)
    print("\n".join(table))
    if choice.write:
        machine = f"{results.device}, driver {results.driver}, torch {results.torch}, medians of {ROUNDS}"
        write("add", table, machine, ROOT / "docs" / "transforms.md")
    return int(any(row.wrong for row in results.rows))


def compile_all(folder: Path) -> None:
    """A bundle of every variant, FOLDER/VARIANT.cutecc; `Error` for one that does not compile."""
    folder.mkdir(parents=True, exist_ok=True)
    for variant in VARIANTS:
        edits = (Edit("insert-after", AFTER[variant.pipeline], TRANSFORM),) if variant.transformed else ()
        backend: Any = BACKENDS[variant.pipeline]
        options = CompileOptions(pipeline=variant.pipeline, edits=edits, backend=backend)
        (kernel,) = cutecc.compile_many([cutecc.Job(str(ROOT / FILES[variant.order]), target=TARGET, options=options)])
        if not isinstance(kernel, Kernel):
            raise SystemExit(f"{variant.name}: {kernel}")
        kernel.save(folder / f"{variant.name}.cutecc")


def run_all(folder: Path) -> Results:
    """Compare and time what `compile_all` left."""
    import torch  # pyright: ignore[reportMissingImports]

    from cutecc.benchmarking.running import current_stream
    from cutecc.runtime.workspace import Workspace

    kernels = {variant.name: cutecc.load(folder / f"{variant.name}.cutecc") for variant in VARIANTS}
    torch.manual_seed(0)
    with Workspace() as gpu, current_stream(gpu):
        rows = [run_one(kernels, shape, gpu) for shape in SHAPES]
        return Results(gpu.name, str(gpu.driver_version), str(torch.__version__), rows)


def run_one(kernels: dict[str, Any], shape: tuple[int, int], gpu: Any) -> Row:
    """All variants, and torch, at one shape."""
    import torch  # pyright: ignore[reportMissingImports]

    from cutecc.benchmarking.running import prepared
    from cutecc.runtime.timing import measure

    a, b = (torch.randn(shape, device="cuda") for _ in range(2))
    c, expected = torch.empty_like(a), torch.add(a, b)
    calls: dict[str, list[Any]] = {PEER: [lambda: torch.add(a, b, out=c)]}
    wrong: list[str] = []
    for name, kernel in kernels.items():
        guarded = torch.full((shape[0] + 2, shape[1]), float("nan"), device="cuda")
        prepared(kernel, gpu, a, b, guarded[1:-1])()
        torch.cuda.synchronize()
        if not (torch.equal(guarded[1:-1], expected) and guarded[0].isnan().all() and guarded[-1].isnan().all()):
            wrong.append(name)
        calls[name] = [prepared(kernel, gpu, a, b, c)]
    samples = measure(calls, gpu, runs=ROUNDS, cold_l2=True)
    return Row(shape, {name: each.median for name, each in samples.items()}, wrong)


def table_of(results: Results) -> list[str]:
    """The table: `torch.add`'s time over each variant's, so that more is faster."""
    shapes = [f"{m}×{n}" for m, n in (row.shape for row in results.rows)]
    table = [f"| | {' | '.join(shapes)} |", "|---" * (len(shapes) + 1) + "|"]
    speeds = [f"{row.medians[PEER]:,.1f} µs, {_rate(row):,.0f} GB/s" for row in results.rows]
    table.append(f"| `{PEER}` | {' | '.join(speeds)} |")
    for variant in VARIANTS:
        cells = [f"{row.medians[PEER] / row.medians[variant.name]:.3f}" for row in results.rows]
        table.append(f"| {variant.words} | {' | '.join(cells)} |")
    wrong = [f"{name} at {row.shape}" for row in results.rows for name in row.wrong]
    return [*table, *(["", "Wrong: " + ", ".join(wrong)] if wrong else [])]


def _rate(row: Row) -> float:
    """GB/s of the peer, which reads two matrices and writes one."""
    m, n = row.shape
    return 3 * 4 * m * n / row.medians[PEER] / 1e3


if __name__ == "__main__":
    sys.exit(main())
