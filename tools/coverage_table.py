"""What the open lowering knows, as the tables of docs/coverage.md.

    python tools/coverage_table.py            # prints the tables
    python tools/coverage_table.py --write    # also replaces them

Of the kernels of `examples` and `test/kernels` for five chips, each run through the passes, and of every other
operation of CuTe's dialects.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from bench import ROOT, write

from cutecc.workbench.coverage import ModuleCoverage, Row, rows, survey
from cutecc.workbench.inputs import find_inputs

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a")


def module_rows(modules: Sequence[ModuleCoverage]) -> list[str]:
    """A line for each target, and one for each module that is not lowered."""
    table = ["| target | kernels | need only what is lowered | the passes run through |", "|---|--:|--:|--:|"]
    for target in TARGETS:
        of_target = [module for module in modules if module.target == target]
        needing = sum(not module.missing and not module.unreadable for module in of_target)
        through = sum(module.covered for module in of_target)
        table.append(f"| {target} | {len(of_target)} | {needing} | {through} |")
    table += ["", "| not lowered | target | of what it needs, missing |", "|---|---|---|"]
    for module in modules:
        if not module.covered:
            name = os.path.relpath(module.file, ROOT)
            missing = ", ".join(f"`{use.need.name}`" for use in module.missing)
            failed = module.unreadable or module.failed
            table.append(f"| {name} | {module.target} | {missing or (failed.message if failed else '')} |")
    return table


def need_rows(table: Sequence[Row]) -> list[str]:
    """A line for each operation and atom."""
    found = ["| needed | modules | uses | lowered by |", "|---|--:|--:|---|"]
    for row in table:
        by = ", ".join(row.lowered_by) or "**no**"
        kind = "" if row.need.kind == "operation" else f"{row.need.kind} "
        numbers = f"{row.modules or ''} | {row.count or ''}"
        found.append(f"| {kind}`{row.need.name}` | {numbers} | {by} |")
    return found


def main() -> None:
    """Print the tables, or replace them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/coverage.md")
    choice = parser.parse_args()
    folders = [str(ROOT / "examples"), str(ROOT / "test" / "kernels")]
    inputs = find_inputs(folders, ",".join(TARGETS), modules=False)
    modules = survey(inputs, jobs=os.cpu_count() or 1, verify=True)
    sections = {"coverage-modules": module_rows(modules), "coverage-needs": need_rows(rows(modules, every=True))}
    for name, table in sections.items():
        print("\n".join(table), end="\n\n")
        if choice.write:
            write(name, table, document=ROOT / "docs" / "coverage.md")


if __name__ == "__main__":
    main()
