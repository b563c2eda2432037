"""Run in a process of its own, whose environment decides how the DSL traces: what the stock compiler makes of a kernel
file, and what cutecc does. Prints JSON. Arguments: the file, its target, a folder for the stock compiler's files.
"""

import json
import os
import sys
from pathlib import Path

SOURCE, TARGET, FOLDER = sys.argv[1:]
os.environ |= {"CUTE_DSL_ARCH": TARGET, "CUTECC_CACHE": "0"}

from cutlass import cute  # noqa: E402 - reads the environment

from cutecc import driver  # noqa: E402
from cutecc.compilation.request import CompileOptions, CompileRequest  # noqa: E402
from cutecc.frontend import binding, kernel_file, trace  # noqa: E402
from cutecc.frontend.callee import Callee  # noqa: E402
from cutecc.frontend.header import read_header  # noqa: E402
from cutecc.frontend.traced import TraceRequest  # noqa: E402
from cutecc.ir.modules import fresh_context, parse  # noqa: E402
from cutecc.ir.walking import walk  # noqa: E402
from cutecc.record import Compilation  # noqa: E402


def stock_ptx() -> str:
    header = read_header(SOURCE)
    callee = Callee.of(kernel_file.find_callee(SOURCE, None, header.entry, None))
    arguments = binding.bind_specs(callee, header.args, {})
    options = f"--keep-ptx --dump-dir {FOLDER}"
    cute.compile(callee.value, *arguments.args, options=options, **arguments.kwargs)
    (file,) = Path(FOLDER).glob("*.ptx")
    return file.read_text().rstrip("\0")


def ptx(record: Compilation) -> str:
    text = record.artifact("ptx")
    assert text is not None
    return text.decode()


def dialects(module: bytes) -> list[str]:
    with fresh_context():
        return sorted({operation.name.partition(".")[0] for operation in walk(parse(module, SOURCE))})


header = read_header(SOURCE)
traced = trace.trace_file(TraceRequest(SOURCE, entry=header.entry, args=header.args, target=TARGET))
records = {
    pipeline: driver.lower(
        CompileRequest(
            traced.bytecode, TARGET, traced.name, SOURCE, options=CompileOptions(pipeline=pipeline, artifacts=("ptx",))
        )
    )
    for pipeline in ("nvidia", "open")
}
print(
    json.dumps(
        {
            "dialects": dialects(traced.bytecode),
            "stock": stock_ptx(),
            **{pipeline: ptx(record) for pipeline, record in records.items()},
            "passes": {pipeline: [step.name for step in record.steps] for pipeline, record in records.items()},
            "variables": records["nvidia"].versions.dsl_variables,
        }
    )
)
