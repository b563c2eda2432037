"""A table for docs/parity.md from the JSON that `cutecc parity --json` prints.

    cutecc parity modules/ --json > parity.json
    python tools/parity_table.py parity.json

A row for each collection: a module's file is called COLLECTION-KERNEL-TARGET.mlir.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from cutecc.workbench.parity import RESULTS


def main() -> None:
    """Print the table."""
    counts: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for row in json.loads(Path(sys.argv[1]).read_text())["modules"]:
        collection = Path(row["file"]).name.partition("-")[0]
        for name in (collection, "all"):
            counts[name, row["line_info"]][row["result"]] += 1
    print(f"| collection | line info | modules | {' | '.join(RESULTS)} |")
    print("|---|---|" + "--:|" * (len(RESULTS) + 1))
    for (name, line_info), found in sorted(counts.items(), key=lambda item: (item[0][0] == "all", item[0])):
        numbers = " | ".join(str(found[result]) for result in RESULTS)
        print(f"| {name} | {'on' if line_info else 'off'} | {found.total()} | {numbers} |")


if __name__ == "__main__":
    main()
