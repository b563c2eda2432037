"""Compile the covering set into FOLDER/NAME.operation, for a machine that has a GPU and neither DSL nor compiler.

python make_operations.py FOLDER [--workers N] [--missing] [--only TEXT] [--representative]

Needs no GPU. `--missing` leaves out those that are there already, `--only` takes those with TEXT in their names,
`--representative` those that stand for others.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from covering_set import cases

from cutecc.errors import Error
from cutecc.operations.operation import compile_all

TOGETHER = 48
"""Operations compiled before they are written: what is interrupted has lost no more."""


def main() -> int:
    """Compile; 1 if any operation does not compile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--representative", action="store_true")
    choice = parser.parse_args()
    choice.folder.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases().values() if case.is_representative or not choice.representative]
    paths = {case.name: choice.folder / f"{case.name}.operation" for case in chosen if choice.only in case.name}
    wanted = [name for name, path in paths.items() if not (choice.missing and path.exists())]
    failed = 0
    for first in range(0, len(wanted), TOGETHER):
        described = {name: cases()[name].describe() for name in wanted[first : first + TOGETHER]}
        results = compile_all(list(described.values()), workers=choice.workers)
        for (name, op), result in zip(described.items(), results, strict=True):
            if isinstance(result, Error):
                failed += 1
                print(f"{name}: {result}", file=sys.stderr)
            else:
                op.bundle(paths[name])
        print(f"{min(first + TOGETHER, len(wanted))} of {len(wanted)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
