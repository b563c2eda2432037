"""What the checks of synchronisation say of the kernels of this repository, in both pipelines: a table.

    python tools/static_checks_table.py              # prints the table of docs/checking.md
    python tools/static_checks_table.py --write      # replaces it

Each cell is how many are right, `4/6` where it cannot tell of some; in an empty one there are none. The status is 1
when there is a warning, for the kernels are right, or an analysis that came to no end.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "checking.md"
MARKS = ("<!-- static-checks: begin -->", "<!-- static-checks: end -->")
CHECKS = {
    "check-barrier-bytes": "bytes",
    "check-arrival-counts": "arrivals",
    "check-first-waits": "first waits",
    "check-barrier-init": "initialised",
    "check-named-barriers": "block barriers",
    "check-register-budget": "registers",
    "check-barrier-scopes": "scopes",
    "check-proxy-fences": "proxy fences",
    "check-tensor-memory": "tensor memory",
}
STOPS = {"nvidia": "strength-reduction", "open": "loop-invariant-code-motion"}
WITH_TORCH = "bring_your_own_kernel"
FILES = [
    path
    for folder in ("examples", "test/kernels", "test/kernels/simt", "test/kernels/blackwell", "docs/inputs")
    for path in sorted((ROOT / folder).glob("[!_]*.py"))
    if path.stem != WITH_TORCH
]


@dataclass
class Row:
    """What is said of one kernel."""

    name: str
    cells: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """By the check: how many are right, and how many there are."""
    unknown: Counter[str] = field(default_factory=Counter[str])
    """Why it cannot tell, without the lines."""
    problems: list[str] = field(default_factory=list[str])


def rows_of(files: list[Path], pipeline: str = "nvidia") -> list[Row]:
    """What the checks say of each file's kernel, for its first target."""
    options = CompileOptions(
        analyses=tuple(CHECKS), locations=True, stop_after=STOPS[pipeline], artifacts=(), pipeline=pipeline
    )
    targets = [str(read_header(path).target or "sm_80").partition(",")[0].strip() for path in files]
    jobs = [cutecc.Job(str(path), target=target, options=options) for path, target in zip(files, targets, strict=True)]
    return [
        _row(f"{path.stem} {target}", result)
        for path, target, result in zip(files, targets, cutecc.compile_many(jobs), strict=True)
    ]


def _row(name: str, result: cutecc.Kernel | cutecc.Error) -> Row:
    row = Row(name)
    if isinstance(result, cutecc.Error):
        row.problems.append(f"{name}: {result}")
        return row
    for analysis in result.compilation.analyses:
        row.problems += [f"{each.location}: {each.message}" for each in analysis.remarks]
        if analysis.failure:
            row.problems.append(f"{name}: {analysis.name}: {analysis.failure}")
        if analysis.judged is not None and analysis.judged.total:
            row.cells[analysis.name] = analysis.judged.right, analysis.judged.total
            for why, count in analysis.judged.unknown.items():
                row.unknown[re.sub(r"\b(?:of )?line \d+ ?", "", why).strip()] += count
    return row


def table(rows: list[Row]) -> str:
    """The rows that have cells, and what is not known."""
    head = ["kernel", *CHECKS.values()]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        if row.cells:
            cells = [_cell(*row.cells[name]) if name in row.cells else "" for name in CHECKS]
            lines.append(f"| {row.name} | {' | '.join(cells)} |")
    reasons = sum((row.unknown for row in rows), Counter[str]())
    told = "; ".join(f"{why} ({count})" for why, count in sorted(reasons.items(), key=lambda each: (-each[1], each[0])))
    right = sum(each for row in rows for each, _ in row.cells.values())
    total = sum(each for row in rows for _, each in row.cells.values())
    return "\n".join([*lines, "", f"Right are {right:,} of {total:,}. Why it cannot tell of the others: {told}."])


def _cell(right: int, total: int) -> str:
    return str(right) if right == total else f"{right}/{total}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table of docs/checking.md")
    arguments = parser.parse_args()
    rows = rows_of(FILES)
    problems = [each for row in rows for each in row.problems]
    print(*problems, sep="\n", file=sys.stderr)
    text = table(rows)
    if arguments.write:
        begin, end = MARKS
        page = PAGE.read_text()
        before, _, rest = page.partition(begin)
        PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")
    else:
        print(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
