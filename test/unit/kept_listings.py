"""What nvdisasm says of each cubin, asked once: it takes a third of a second for the smallest.

Hundreds of tests compile the same few kernels, in processes of their own and in pytest's. The first to have a cubin
runs nvdisasm; what it printed is kept for all of a session. With `COLD_START=1`, nothing is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path


def keeping(folder: Path) -> Callable[[bytes], str]:
    """`nvdisasm.disassemble`, which keeps its texts in `folder`; what it raises, it raises each time."""
    # Not before: processes of the command line have no tools.
    from cutecc.backend import nvdisasm

    disassemble = nvdisasm.disassemble

    def kept(cubin: bytes) -> str:
        tool = str(nvdisasm.find_tool("nvdisasm").path)
        file = folder / hashlib.sha256(tool.encode() + b"\0" + cubin).hexdigest()
        try:
            return file.read_bytes().decode()
        except FileNotFoundError:
            text = disassemble(cubin)
        # Another process may be writing the same.
        partial = folder / f"{file.name}.{os.getpid()}"
        partial.write_bytes(text.encode())
        partial.replace(file)
        return text

    return kept
