"""Trace kernel files into `FOLDER/NAME-TARGET.mlirbc`, all in one process that pays the DSL's import once.

python trace_kernels.py FOLDER FILE.py…
"""

import sys
from pathlib import Path

from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest


def main(folder: Path, files: list[Path]) -> None:
    for file in files:
        header = read_header(file)
        target = header.target or "sm_80"
        request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
        (folder / f"{file.stem}-{target}.mlirbc").write_bytes(trace_file(request).bytecode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
