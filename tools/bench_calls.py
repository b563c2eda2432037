"""What a call of an operation of `cutecc.operations` costs on the host, when it is like an earlier one.

    python tools/bench_calls.py --compile FOLDER        # anywhere with the DSL; no GPU
    python tools/bench_calls.py --run FOLDER            # on a machine with a GPU and torch; no DSL
    python tools/bench_calls.py --run FOLDER --write    # also replaces the table in docs/benchmarks.md

Each round times hundreds of calls of every kind, in an order of its own; the table has the medians over rounds. The
matrices are small, so that the host is what is measured, and the offsets of groups are on the GPU.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import write
from host_timing import cell, measure

from cutecc.operations import DeviceMatrix, Gemm, GroupedGemm, compile_all, load
from cutecc.operations.grouped import functional

GROUPS = (8, 64, 512)
M, N, K = 4096, 64, 128
"""M, of `depth` K, is that of all groups together."""
ROUNDS = 41
ROW, COLUMN = "bf16:row", "bf16:column"

Call = Callable[[], object]


def operations() -> dict[str, Gemm | GroupedGemm]:
    """What is called, by the name of its file."""
    others: dict[str, Any] = {"target": "sm_90a", "epilogue": "identity"}
    scaled: dict[str, Any] = {"packing": "rows", "scales": "blocks", "tile": "64x64x128"}
    found: dict[str, Gemm | GroupedGemm] = {
        "gemm": Gemm(ROW, COLUMN, tile="128x64x64", **others),
        "rows": GroupedGemm(ROW, COLUMN, packing="rows", tile="64x64x64", **others),
        "scaled": GroupedGemm("f8E4M3FN", "f8E4M3FN:column", "bf16", **scaled, **others),
        "depth": GroupedGemm(COLUMN, ROW, packing="depth", tile="64x64x64", **others),
        "list": GroupedGemm(ROW, COLUMN, tile="64x64x64", **others),
    }
    for groups in GROUPS:  # as `grouped_mm` makes it
        a, d = (DeviceMatrix(0, (M, each), each, "bf16") for each in (K, N))
        b, ends = DeviceMatrix(0, (groups, K, N), K, "bf16", "column"), DeviceMatrix(0, (groups,), 1, "i32")
        op = GroupedGemm.for_arguments(a, b, D=d, offsets=ends, problem=(M, N, K, groups), **others)
        found[f"grouped_mm-{groups}"] = op
    return found


def compile_to(folder: Path) -> None:
    """Write what is called into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = operations()
    compile_all([*found.values()])
    for name, op in found.items():
        op.bundle(folder / f"{name}.operation")


def calls(folder: Path) -> dict[tuple[str, int], Call]:
    """Calls by their name and by how many groups they have, 0 for products without."""
    import torch

    ops: dict[str, Any] = {path.stem: load(path) for path in folder.glob("*.operation")}
    for name, op in ops.items():
        if name.startswith("grouped_mm"):  # which would compile it
            functional.keep(op)
    a, one, d = _random(M, K), _random(N, K).mT, _random(M, N)
    found: dict[tuple[str, int], Call] = {
        ("Gemm.run", 0): partial(ops["gemm"].run, a, one, D=d),
        ("torch.mm(out=)", 0): partial(torch.mm, a, one, out=d),
    }
    for groups in GROUPS:
        found |= {(name, groups): call for name, call in _grouped(ops, groups, a, d)}
    return found


def _grouped(ops: Mapping[str, Any], groups: int, a: Any, d: Any) -> Iterator[tuple[str, Call]]:
    """Calls with so many groups."""
    import torch

    b = _random(groups, N, K).mT
    ends = torch.arange(1, groups + 1, device="cuda", dtype=torch.int32) * (M // groups)
    yield "GroupedGemm.run, rows", partial(ops["rows"].run, a, b, D=d, offsets=ends)
    scales = {"scales_a": torch.ones(M, 1, device="cuda"), "scales_b": torch.ones(groups, 1, 1, device="cuda")}
    a8, b8 = a.to(torch.float8_e4m3fn), b.mT.to(torch.float8_e4m3fn).mT
    yield "the same, with scales of blocks", partial(ops["scaled"].run, a8, b8, D=d, offsets=ends, **scales)
    gradients = _random(groups, N, K)
    depth = partial(ops["depth"].run, d.mT, a, D=gradients, offsets=ends)
    workspace = torch.empty(ops["depth"].workspace_bytes(groups), device="cuda", dtype=torch.uint8)
    yield "GroupedGemm.run, depth, with a workspace", partial(depth, workspace=workspace)
    yield "the same, which takes one itself", depth
    lists = {"A": a.split(M // groups), "B": b.unbind(), "D": d.split(M // groups)}
    tables = ops["list"].matrices(**{name: [*each] for name, each in lists.items()})
    yield "GroupedGemm.run, tables of lists", partial(ops["list"].run, **tables)
    yield "grouped_mm", partial(functional.grouped_mm, a, b, ends)
    if (multiply := getattr(torch, "_grouped_mm", None)) is not None:
        yield "torch._grouped_mm", partial(multiply, a, b, offs=ends)


def _random(*shape: int) -> Any:
    import torch

    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def table(times: Mapping[tuple[str, int], list[float]]) -> list[str]:
    """A row for each call, a column for each number of groups."""
    counts = sorted({groups for _, groups in times})
    heads = (f"{each} groups" if each else "no groups" for each in counts)
    lines = [f"| µs a call, median (10 %–90 %) | {' | '.join(heads)} |", f"|---|{'---|' * len(counts)}"]
    for name in dict.fromkeys(each for each, _ in times):
        cells = (cell(times[name, groups], 1) if (name, groups) in times else "" for groups in counts)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> int:
    """Compile or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, metavar="FOLDER", help="compile what is to be called")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="time what is there")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    choice = parser.parse_args()
    if choice.compile:
        compile_to(choice.compile)
    if choice.run:
        import torch

        lines = table(measure(calls(choice.run), ROUNDS))
        machine = f"{torch.cuda.get_device_name()}, Python {platform.python_version()}, torch {torch.__version__}"
        print("\n".join([machine, *lines]))
        if choice.write:
            write("calls", lines, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
