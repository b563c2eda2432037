"""Trace kernel files into `FOLDER/NAME-TARGET.mlirbc`, each in a process of its own that has the DSL's import done.

A file that cannot be traced leaves `FOLDER/NAME.error` with the reason, and the others are traced all the same.

python trace_kernels.py FOLDER FILE.py…
"""

import importlib
import os
import sys
import traceback
from pathlib import Path

from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest


def trace(folder: Path, file: Path) -> None:
    header = read_header(file)
    target = header.target or "sm_80"
    request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
    (folder / f"{file.stem}-{target}.mlirbc").write_bytes(trace_file(request).bytecode)


def main(folder: Path, files: list[Path]) -> None:
    importlib.import_module("cutlass.cute")
    for file in files:
        error = folder / f"{file.stem}.error"
        child = os.fork()
        if not child:
            try:
                trace(folder, file)
            except BaseException:
                error.write_text(traceback.format_exc())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            error.write_text(f"tracing {file} ended with status {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
