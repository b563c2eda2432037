"""Settings from the environment, typed and in one place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What `CUTECC_*` variables say. The command line and arguments of library calls go first."""

    target: str | None = None
    """`CUTECC_TARGET`: what to compile for when nothing else says so."""
    ptxas: Path | None = None
    """`CUTECC_PTXAS`: the assembler to use instead of the wheel's own."""
    debug: bool = False
    """`CUTECC_DEBUG`: show tracebacks of cutecc itself; `0` and the empty string mean no."""
    load: tuple[Path, ...] = ()
    """`CUTECC_LOAD`: Python files with passes to know, separated as in `PATH`; what `--load` adds to."""

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings of this process's environment now."""
        ptxas = os.environ.get("CUTECC_PTXAS")
        return cls(
            target=os.environ.get("CUTECC_TARGET") or None,
            ptxas=Path(ptxas) if ptxas else None,
            load=tuple(Path(file) for file in os.environ.get("CUTECC_LOAD", "").split(os.pathsep) if file),
            debug=os.environ.get("CUTECC_DEBUG", "0") not in ("", "0"),
        )
