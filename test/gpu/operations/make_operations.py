"""Compile the covering set and the layers into FOLDER/NAME.operation, for a machine with a GPU and no compiler.

python make_operations.py FOLDER [--workers N] [--missing] [--only TEXT] [--representative]

Needs no GPU. `--missing` leaves out those that are there already, `--only` takes those with TEXT in their names,
`--representative` those that stand for others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from covering_set import cases
from layer_cases import layer_cases

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
    chosen: dict[str, Callable[[], Any]] = {
        name: case.describe for name, case in cases().items() if case.is_representative or not choice.representative
    }
    chosen |= {name: case.make for name, case in layer_cases().items()}
    paths = {name: choice.folder / f"{name}.operation" for name in chosen if choice.only in name}
    wanted = [name for name, path in paths.items() if not (choice.missing and path.exists())]
    failed = 0
    for first in range(0, len(wanted), TOGETHER):
        described = {name: chosen[name]() for name in wanted[first : first + TOGETHER]}
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
