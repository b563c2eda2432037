"""The emulator's counters beside Nsight Compute's, as a table of docs/emulator.md.

test/gpu/against_ncu.py writes the results, on a machine with a GPU.

    python tools/counters_table.py results.json --machine 'NVIDIA H200'            # prints the table
    python tools/counters_table.py results.json --machine 'NVIDIA H200' --write    # also replaces it

A cell is the number that both have, or the emulator's and ncu's with letters of the reasons. The status is 1 when a
difference has no reason below.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench import ROOT, write
from reasons import Reasons

Metrics = dict[str, int]

PREDICATES = "the assembler makes predicates of short branches: warps that would jump issue the instruction for nobody"
UNROLLED = "the assembler unrolls a loop: threads of a warp whose numbers of turns differ part, one request becomes two"
COPIES = (
    "for wavefronts of `cp.async.cg` at irregular addresses the rule is approximate, and what zeros take is"
    " assumed; the assembler puts instructions that load nothing in front of these copies; the metrics that ncu takes"
    " by patching code (`memory_…`, `smsp__sass_…`) seem to lack one of the copies of async_copy_pipeline"
)
EXPANDED = "the assembler makes several instructions of a division or reciprocal"
CONSTANTS = "the assembler loads constants through the tensor pipe (`HFMA2.MMA`)"

REASONS: list[tuple[str, str, str]] = [
    ("async_copy_pipeline|gemm_sm80", "sectors|wavefronts|conflicts", COPIES),
    ("async_copy_pipeline|gemm_sm80", "memory instructions", PREDICATES),
    ("async_copy_pipeline|gemm_sm80", "memory instructions", COPIES),
    ("elementwise_add|histogram|transpose|vector_copy", "memory instructions", PREDICATES),
    ("softmax|rmsnorm", "requests|sectors|memory instructions", UNROLLED),
    ("softmax|rmsnorm", "arithmetic", EXPANDED),
    (".*", "tensor", CONSTANTS),
]
"""Kernels, columns, and why they differ there."""


def _named(pattern: str) -> Callable[[Metrics], Metrics]:
    return lambda metrics: {name: value for name, value in metrics.items() if re.fullmatch(pattern, name)}


def _conflicts(metrics: Metrics) -> Metrics:
    wavefronts = metrics.get("memory_l1_wavefronts_shared", 0)
    return {"": wavefronts - metrics.get("memory_l1_wavefronts_shared_ideal", 0)}


COLUMNS: dict[str, Callable[[Metrics], Metrics]] = {
    "global requests": _named(r"l1tex__t_requests_pipe_lsu_mem_global_op_\w+\.sum"),
    "sectors": _named("memory_l2_theoretical_sectors_global"),
    "fewest sectors": _named("memory_l2_theoretical_sectors_global_ideal"),
    "wavefronts": _named(r"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_\w+\.sum"),
    "conflicts": _conflicts,
    "memory instructions": _named(r"smsp__inst_executed_op_\w+\.sum"),
    "tensor": _named(r"smsp__inst_executed_pipe_tensor\.sum"),
    "arithmetic": _named(r"smsp__sass_thread_inst_executed_op_\w+_pred_on\.sum"),
}
"""What each column sums up, of metrics that both have; they are equal when each metric is."""
MEMORY = ("global requests", "sectors", "fewest sectors", "wavefronts", "conflicts")


def rows(results: dict[str, dict[str, Metrics]]) -> tuple[list[str], list[str]]:
    """The table with its reasons, and what has none."""
    reasons = Reasons(REASONS)
    unexplained: list[str] = []
    table = [f"| kernel | {' | '.join(COLUMNS)} |", f"|{'---|' * (1 + len(COLUMNS))}"]
    equal = in_memory = 0
    for bundle, row in sorted(results.items()):
        kernel = bundle.partition(".")[0]
        both = row["ncu"].keys() & row["emulator"].keys()
        cells: dict[str, str] = {}
        for column, of in COLUMNS.items():
            ours, theirs = (of({name: row[whose][name] for name in both}) for whose in ("emulator", "ncu"))
            if ours == theirs:
                cells[column] = f"{sum(ours.values()):,}" if any(ours.values()) else ""
                continue
            marks = reasons.marks(kernel, column)
            if not marks:
                unexplained.append(f"{kernel}: {column}: emulator {ours}, ncu {theirs}")
            cells[column] = f"{sum(ours.values()):,} / {sum(theirs.values()):,} {', '.join(marks)}".strip()
        equal += not any("/" in cell for cell in cells.values())
        in_memory += not any("/" in cells[column] for column in MEMORY)
        table.append(f"| {kernel} | {' | '.join(cells.values())} |")
    table += [
        "",
        f"Of {len(results)} kernels, {in_memory} agree in all columns up to conflicts, and {equal} in all.",
    ]
    table += ["What differs is mostly what the assembler changes, which the emulator does not look at:"]
    table += ["", *reasons.lines()]
    return table, unexplained


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="what test/gpu/against_ncu.py wrote")
    parser.add_argument("--machine", required=True, help="the kind of GPU")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/emulator.md")
    choice = parser.parse_args()
    table, unexplained = rows(json.loads(choice.results.read_text()))
    print("\n".join(table))
    if choice.write:
        write("counters", table, choice.machine, ROOT / "docs" / "emulator.md")
    if unexplained:
        sys.exit("without a reason:\n" + "\n".join(unexplained))


if __name__ == "__main__":
    main()
