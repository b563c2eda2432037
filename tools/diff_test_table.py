"""What `cutecc diff-test` found, as a table of docs/diff-test.md.

    cutecc diff-test --device cpu --json > results.json
    python tools/diff_test_table.py results.json            # prints the table
    python tools/diff_test_table.py results.json --write    # also replaces that of the device

On a machine with a GPU, from what was compiled elsewhere:

    cutecc diff-test --target sm_90a --compile build/diff-test
    cutecc diff-test --run build/diff-test --json > results.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench import ROOT, write


def rows(results: dict[str, Any]) -> list[str]:
    """A line for each kernel: what each variant gave, beside the first's registers, spills, code and time."""
    compared = [kernel for kernel in results["kernels"] if not kernel["note"]]
    left_out = [kernel for kernel in results["kernels"] if kernel["note"]]
    names = list(dict.fromkeys(variant["name"] for kernel in compared for variant in kernel["variants"]))
    timed = any(variant["microseconds"] for kernel in compared for variant in kernel["variants"])
    agree = sum(bool(kernel["ok"]) for kernel in compared)
    runs = sum(len(kernel["runs"]) for kernel in compared)
    heads = ["kernel", "target", "sizes", *names[1:], "registers", "spills, B", "instructions"]
    heads += ["µs"] if timed else []
    table = [
        f"{len(compared)} kernels, {runs} runs; {agree} kernels agree. Registers, spills, instructions"
        f"{' and times' if timed else ''} are of {', '.join(names)}, in this order.",
        "",
        f"| {' | '.join(heads)} |",
        f"|---|---|--:|{'---|' * (len(names) - 1)}{'---|' * (4 if timed else 3)}",
    ]
    for kernel in compared:
        variants = kernel["variants"]
        cells = [kernel["kernel"], kernel["target"], str(len(kernel["points"]))]
        cells += [_verdict(variant) for variant in variants[1:]]
        cells += [_each(variants, "registers"), _each(variants, "spills"), _instructions(variants)]
        if timed:
            cells.append(" ".join(f"{each['microseconds']:.1f}" if each["microseconds"] else "–" for each in variants))
        table.append(f"| {' | '.join(cells)} |")
    if left_out:
        names_left = ", ".join(f"{kernel['kernel']} ({kernel['target']})" for kernel in left_out)
        table += ["", f"Left out, for `open` does not lower them yet: {names_left}."]
    return table


def _verdict(variant: dict[str, Any]) -> str:
    found = "not compiled" if variant["failure"] else variant["verdict"] or "not run"
    return found if found in ("same bits", "in bounds") else f"**{found}**"


def _each(variants: list[dict[str, Any]], key: str) -> str:
    return " ".join(str(each["code"][key]) if each["code"] else "–" for each in variants)


def _instructions(variants: list[dict[str, Any]]) -> str:
    return " ".join(str(sum(each["code"]["instructions"].values())) if each["code"] else "–" for each in variants)


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="what cutecc diff-test --json printed")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/diff-test.md")
    choice = parser.parse_args()
    results = json.loads(choice.results.read_text())
    table = rows(results)
    print("\n".join(table))
    if choice.write:
        on_cpu = results["device"] == "the CPU emulator"
        section = "diff-test-emulator" if on_cpu else "diff-test-gpu"
        write(section, table, results["device"], ROOT / "docs" / "diff-test.md")


if __name__ == "__main__":
    main()
