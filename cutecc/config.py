"""Settings from the environment, typed and in one place."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from cutecc.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """What `CUTECC_*` variables say. The command line and arguments of library calls go first."""

    target: str | None = None
    """`CUTECC_TARGET`: what to compile for when nothing else says so."""
    ptxas: Path | None = None
    """`CUTECC_PTXAS`: the assembler to use instead of the wheel's own."""
    debug: bool = False
    """`CUTECC_DEBUG`: show tracebacks of cutecc itself; `1`, `true`, `yes`, `on`, or `0`, `false`, `no`, `off`."""
    load: tuple[Path, ...] = ()
    """`CUTECC_LOAD`: Python files with passes to know, separated as in `PATH`; what `--load` adds to."""
    line_info: bool = False
    """`CUTECC_LINE_INFO`: keep source lines in all code, for a profiler; on or off."""
    native: bool = True
    """`CUTECC_NATIVE`: launch through machine code where that is possible; off keeps every call in Python."""
    cache: bool = True
    """`CUTECC_CACHE`: keep finished compilations and use them again; on or off."""
    cache_dir: Path | None = None
    """`CUTECC_CACHE_DIR`: the folder to keep them in, instead of the user's cache folder."""
    cache_size: int = 2 << 30
    """`CUTECC_CACHE_SIZE`: bytes that they may take; `500M` and `2GiB` are sizes too."""

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings of this process's environment now."""
        ptxas = os.environ.get("CUTECC_PTXAS")
        return cls(
            target=os.environ.get("CUTECC_TARGET") or None,
            ptxas=Path(ptxas) if ptxas else None,
            load=tuple(Path(file) for file in os.environ.get("CUTECC_LOAD", "").split(os.pathsep) if file),
            line_info=is_on("CUTECC_LINE_INFO", cls.line_info),
            native=is_on("CUTECC_NATIVE", cls.native),
            debug=is_on("CUTECC_DEBUG", cls.debug),
            cache=is_on("CUTECC_CACHE", cls.cache),
            cache_dir=Path(folder) if (folder := os.environ.get("CUTECC_CACHE_DIR")) else None,
            cache_size=_size("CUTECC_CACHE_SIZE", cls.cache_size),
        )


_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


def is_on(variable: str, default: bool = False) -> bool:
    """Whether an environment variable says yes; `default` when it is empty or not set."""
    text = os.environ.get(variable, "").strip().lower()
    if text and text not in _ON + _OFF:
        raise UsageError(
            f"{variable}: '{os.environ[variable]}' is neither on nor off",
            hints=[f"on: {', '.join(_ON)}", f"off: {', '.join(_OFF)}"],
        )
    return text in _ON if text else default


def _size(variable: str, default: int) -> int:
    """The number of bytes that an environment variable says, with a unit of 1024 or none."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    size = read_size(text)
    if size is None:
        raise UsageError(f"{variable}: '{text}' is not a size", hints=["write bytes, or 500M, 2GiB"])
    return size


def size_text(count: float) -> str:
    """Bytes in the largest unit of which there is one: `12 B`, `1.0 GiB`."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


def read_size(text: str) -> int | None:
    """Bytes, from a number with a unit of 1024 or none: `500M`, `2GiB`; `None` for what is none."""
    match = re.fullmatch(r"(\d{1,30})\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE | re.ASCII)
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ") if match else None
