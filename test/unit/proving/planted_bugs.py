"""Mistakes of synchronisation, each a small edit of a kernel that is right: `planted/*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).with_name("planted")


@dataclass(frozen=True)
class Planted:
    """A mistake, or an edit that looks like one."""

    name: str
    """`gemm/producer-parity`: in which file it is described, and what it is."""
    kernel: Path
    edits: tuple[tuple[str, str], ...]
    """Texts of the kernel, each of which it has once, and what is there instead."""
    kind: str = ""
    """What the prover is to find, among others: the kind of a `Problem`, …"""
    line: str = ""
    """… and a line of the changed kernel."""
    unconfirmed: str = ""
    """Why no run of the emulator is asked for."""
    harmless: str = ""
    """Why nothing is wrong with it."""

    def write(self, folder: Path) -> Path:
        """The kernel with the mistake in it."""
        text = self.kernel.read_text()
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.name}: {text.count(old)} times: {old}"
            text = text.replace(old, new)
        path = folder / self.kernel.name
        path.write_text(text)
        return path


def _read(path: Path) -> Iterator[Planted]:
    described: dict[str, Any] = tomllib.loads(path.read_text())
    kernel = ROOT / described.pop("kernel")
    for name, each in described.items():
        edits = tuple((edit["old"], edit["new"]) for edit in each.pop("edits"))
        yield Planted(f"{path.stem}/{name}", kernel, edits, **each)


ALL = [planted for path in sorted(FOLDER.glob("*.toml")) for planted in _read(path)]
BUGS = {each.name: each for each in ALL if not each.harmless}
HARMLESS = {each.name: each for each in ALL if each.harmless}
