"""What comparing the emulator with a GPU found, as a table of docs/emulator.md.

python test/gpu/make_bundles.py build/gpu
python test/gpu/against_emulator.py build/gpu results.jsonl                                 # on a machine with a GPU
python tools/emulator_table.py results.jsonl --machine 'NVIDIA H200, driver 13.0'            # prints the table
python tools/emulator_table.py results.jsonl --machine 'NVIDIA H200, driver 13.0' --write    # also replaces it
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

from bench import ROOT, write


@dataclass
class Kernel:
    """All comparisons of one kernel."""

    left_open: list[str]
    sizes: set[str] = field(default_factory=set[str])
    elements: int = 0
    differing: int = 0
    error: float = 0.0


def rows(lines: list[str]) -> list[str]:
    """Kernels that are equal in a sentence; a line for each of the others."""
    kernels: dict[str, Kernel] = {}
    for line in lines:
        name, left_open, sizes, _seed, _output, elements, differing, error = json.loads(line)
        kernel = kernels.setdefault(name, Kernel(left_open))
        kernel.sizes.add(json.dumps(sizes))
        kernel.elements += elements
        kernel.differing += differing
        kernel.error = max(kernel.error, error)
    equal = [name for name, kernel in sorted(kernels.items()) if not kernel.differing]
    points = sum(len(kernel.sizes) for kernel in kernels.values())
    elements = sum(kernel.elements for kernel in kernels.values())
    text = [
        f"{len(kernels)} kernels at {points} sizes with two seeds each, {elements:,} elements of outputs. "
        f"Equal bit for bit are {len(equal)}: {', '.join(equal)}. The others:",
        "",
        "| kernel | sizes | elements | with other bits | largest difference | what is left open |",
        "|---|---|---|---|---|---|",
    ]
    for name, kernel in sorted(kernels.items()):
        if kernel.differing:
            share = 100 * kernel.differing / kernel.elements
            reasons = ", ".join(kernel.left_open) or "**nothing**"
            cells = [
                name,
                str(len(kernel.sizes)),
                f"{kernel.elements:,}",
                f"{share:.2g} %",
                f"{kernel.error:.1e}",
                reasons,
            ]
            text.append(f"| {' | '.join(cells)} |")
    return text


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="what against_emulator.py wrote")
    parser.add_argument("--machine", required=True, help="the kind of GPU and its driver")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/emulator.md")
    choice = parser.parse_args()
    table = rows([line for file in choice.results for line in file.read_text().splitlines()])
    print("\n".join(table))
    if choice.write:
        write("emulator-h200", table, choice.machine, ROOT / "docs" / "emulator.md")


if __name__ == "__main__":
    main()
