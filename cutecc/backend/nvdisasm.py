"""Cubin to SASS text with the nvdisasm program."""

from __future__ import annotations

from pathlib import Path

from cutecc.backend.tools import find_tool, run_tool
from cutecc.support.forks import TemporaryFolder


def disassemble(cubin: bytes) -> str:
    """The SASS of `cubin`: its code sections, with the source lines where it was assembled with line information.

    The text is the same for the same cubin and nvdisasm. Raises `ToolError` when nvdisasm is missing or fails.
    """
    with TemporaryFolder() as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        # -gi prints a line for each level of inlining, where -g prints the innermost alone.
        arguments = ["--print-code", "--separate-functions", "--print-line-info-inline", "kernel.cubin"]
        output = run_tool(find_tool("nvdisasm"), arguments, folder=Path(folder))
    return output.stdout.decode(errors="replace")
