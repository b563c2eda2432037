"""Which tools this process works with."""

from __future__ import annotations

import platform
from pathlib import Path

from cutecc import __version__
from cutecc.backend.tools import find_tool, tool_version
from cutecc.ir.version import installed_version
from cutecc.record import Versions


def current_versions(ptxas: Path | None = None) -> Versions:
    """The versions of this process's tools; `ptxas` is the assembler of the user's choice."""
    wheel = installed_version()
    assembler = f"built into nvidia-cutlass-dsl {wheel}" if ptxas is None else tool_version(find_tool("ptxas", ptxas))
    return Versions(__version__, platform.python_version(), wheel, assembler)
