"""What a run of the GPU tests found, as a table of docs/gpu.md.

GPU_RESULTS=results.jsonl make gpu
python tools/gpu_table.py results.jsonl --machine 'NVIDIA H200, driver 13.0'            # prints the table
python tools/gpu_table.py results.jsonl --machine 'NVIDIA H200, driver 13.0' --write    # also replaces it
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench import ROOT, write


def rows(lines: list[str]) -> list[str]:
    """A line for each kernel: its sizes, its comparisons, and the error that came nearest to its tolerance."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    sizes: dict[str, set[str]] = {}
    for line in lines:
        kernel, point, _seed, output, error, tolerance = json.loads(line)
        found.setdefault(kernel, []).append((output, error, tolerance))
        sizes.setdefault(kernel, set()).add(json.dumps(point))
    table = ["| kernel | sizes | comparisons | largest relative error | tolerance |", "|---|---|---|---|---|"]
    for kernel, results in sorted(found.items()):
        output, error, tolerance = max(results, key=lambda each: (each[1] / each[2] if each[2] else each[1], each[0]))
        where = f" (`{output}`)" if len({each[0] for each in results}) > 1 else ""
        table.append(f"| {kernel} | {len(sizes[kernel])} | {len(results)} | {error:.2g}{where} | {tolerance:g} |")
    return table


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the file that GPU_RESULTS named")
    parser.add_argument("--machine", required=True, help="the kind of GPU and its driver")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/gpu.md")
    choice = parser.parse_args()
    table = rows(choice.results.read_text().splitlines())
    print("\n".join(table))
    if choice.write:
        write("kernels", table, choice.machine, ROOT / "docs" / "gpu.md")


if __name__ == "__main__":
    main()
