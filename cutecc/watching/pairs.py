"""Pages that set two kernels of a watch side by side: each version of a function beside the one before it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from cutecc.errors import Error
from cutecc.record import Compilation
from cutecc.record.folder import read_folder
from cutecc.report.pair_page import encode_pair_report
from cutecc.support.open_folder import OpenFolder
from cutecc.watching.folder import KERNELS, PAIRS
from cutecc.watching.specialisations import Specialisations


def pair_page(a: str, b: str) -> str:
    """The name of the page of two records of a watch, which are called so."""
    return f"{a}..{b}.html"


def write_pairs(
    folder: Path, kernels: Sequence[Mapping[str, Any]], groups: Sequence[Specialisations], handle: str | None = None
) -> tuple[list[dict[str, str]], list[str]]:
    """Write the page of each version of a function beside the one that was compiled before it.

    `kernels` are those of `index.json`, `groups` what one function was compiled to, `handle` that of the folder where
    it is held open. Returns which pages there are, as `index.json` has them, and what could not be written, in words.
    """
    pages: list[dict[str, str]] = []
    notes: list[str] = []
    with OpenFolder(handle or folder) as opened:
        for group in groups:
            records = [kernels[each]["record"] for each in group.kernels if kernels[each]["record"]]
            names = [each.removeprefix(f"{KERNELS}/") for each in records]
            for a, b in pairwise(names):
                try:
                    _write(opened, a, b)
                except (Error, OSError) as failure:
                    notes.append(f"the page of {a} and {b} was not written: {failure}")
                else:
                    pages.append({"a": f"{KERNELS}/{a}", "b": f"{KERNELS}/{b}", "page": f"{PAIRS}/{pair_page(a, b)}"})
    return pages, notes


def _write(folder: OpenFolder, a: str, b: str) -> None:
    with _record(folder, a) as ours, _record(folder, b) as theirs:
        page = encode_pair_report(ours, theirs, names=(a, b))
    name = pair_page(a, b)
    with folder.inner(PAIRS, make=True) as pairs:
        pairs.replace(name, lambda file: file.write(page), f".{name}.partial", lasting=True)


@contextlib.contextmanager
def _record(folder: OpenFolder, name: str) -> Generator[Compilation]:
    """A record, whose files can be read as long as its folder is open."""
    with folder.inner(KERNELS) as kernels, kernels.inner(name) as record:
        yield read_folder(Path(record.handle))
