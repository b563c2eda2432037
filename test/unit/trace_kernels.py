"""Trace a kernel file into `FOLDER/NAME-TARGET.mlirbc`.

A file that cannot be traced leaves `FOLDER/NAME.error` with the reason.

python trace_kernels.py FOLDER FILE.py
"""

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
    module = folder / f"{file.stem}-{target}.mlirbc"
    partial = module.with_suffix(".partial")
    partial.write_bytes(trace_file(request).bytecode)
    partial.rename(module)


def main() -> None:
    folder, file = map(Path, sys.argv[1:])
    try:
        trace(folder, file)
    except BaseException:
        (folder / f"{file.stem}.error").write_text(traceback.format_exc())


if __name__ == "__main__":
    main()
