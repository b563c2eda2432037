"""Which tools this process works with."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

from cutecc import __version__
from cutecc.backend.tools import find_tool, tool_version
from cutecc.config import is_on
from cutecc.ir.version import installed_version, installed_wheel
from cutecc.record import Versions
from cutecc.support.flavours import flavour

_DSL_VARIABLES = (
    "CUTE_DSL_USE_EXTENSION_COMPILER",
    *(f"{dsl}_{name}" for dsl in ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL") for name in ("ENABLE_PYIR", "AUTO_M2S")),
)


def current_versions(ptxas: Path | None = None, *, llvm: bool = False) -> Versions:
    """The versions of this process's tools; `ptxas` is the assembler of the user's choice.

    `llvm` says that LLVM generates the code; then the installed ptxas assembles it, where the user has not chosen one.
    """
    wheel = installed_version()
    if ptxas is None and not llvm:
        assembler = f"built into nvidia-cutlass-dsl {installed_wheel()}"
    else:
        assembler = tool_version(find_tool("ptxas", ptxas))
    generator = f"llvmlite {importlib.metadata.version('llvmlite')}" if llvm else None
    return Versions(
        __version__,
        platform.python_version(),
        wheel,
        assembler,
        llvm=generator,
        flavour=flavour() or None,
        dsl_variables=" ".join(filter(is_on, _DSL_VARIABLES)) or None,
    )
