"""What analyses of the traced module warn of: nothing, in kernels that are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.analysis.selection import select
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.manager import run_pass
from cutecc.record import Remark

ROOT = Path(__file__).parents[4]
WITH_TORCH = "bring_your_own_kernel"
SOURCES = [
    *(path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != WITH_TORCH),
    *(path for folder in ("test/kernels", "docs/inputs") for path in sorted((ROOT / folder).glob("[!_]*.py"))),
]
WARNING = (
    *("check-bulk-copies", "check-divergent-barriers", "check-partial-warps"),
    "check-uninitialised-fragments",
)
TRACE = """
import sys
from pathlib import Path
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
for name in sys.argv[2:]:
    header = read_header(Path(name))
    request = TraceRequest(
        name, None, header.entry, header.args, target=header.target, sources=header.arg_sources, locations=True
    )
    (Path(sys.argv[1]) / f"{Path(name).stem}.mlirbc").write_bytes(trace_file(request).bytecode)
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    command = [sys.executable, "-c", TRACE, str(folder), *map(str, SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", WARNING)
def test_no_warning(name: str, traced: Path) -> None:
    found: dict[str, list[Remark]] = {}
    for path in SOURCES:
        with fresh_context():
            module = parse((traced / f"{path.stem}.mlirbc").read_bytes(), "-")
            with hearing_remarks(found.setdefault(path.stem, []).append, module.context):
                run_pass(select([name]).passes[0], module)
    assert {kernel: said for kernel, said in found.items() if said} == {}
