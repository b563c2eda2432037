"""The packages that the README says running needs are all that it imports: every other one is hidden."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from following import ROOT

import cutecc
from cutecc.record import Parameter, Signature

pytestmark = pytest.mark.slow

UNIT = ROOT / "test" / "unit"
OF_OTHERS = {"cuda_bindings": {"cuda"}, "rich": {"rich", "markdown_it", "mdurl", "pygments"}}
"""What imports are called, where that is not the package's name."""

HIDDEN = f"""
import sys
sys.path[:0] = [{str(UNIT)!r}, {str(UNIT / "runtime")!r}]
there = {{"cutecc", "fake_cuda", "recording", *sys.stdlib_module_names, *sys.argv.pop().split(",")}}

class Hidden:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in there and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
from recording import RecordingDriver
driver = RecordingDriver()
import cutecc.runtime.cuda_bindings
cutecc.runtime.cuda_bindings.cuda_driver = lambda: driver
"""

CALL = """
import cutecc
class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = {"shape": (8, 4), "typestr": "<f4", "data": (address, False), "version": 3}
add = cutecc.load(sys.argv[1])
arrays = [Array(address) for address in (0x10000, 0x20000, 0x30000)]
for _ in range(3):
    add(*arrays)
add.prepare(*arrays)()
print(len(driver.launches), "launches")
"""

COMMAND = """
from fake_cuda import FakeCuda
from cutecc.cli import bench, device
from cutecc.cli.main import main
from cutecc.runtime.workspace import Workspace
device.open_device = bench.open_device = lambda name: Workspace(driver=FakeCuda())
main()
"""


@pytest.fixture(scope="module")
def bundle(traced_kernels: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    signature = Signature("add", [Parameter(name, "f32[?M=8,?N{div=4}=4] align=16") for name in "abc"])
    bytecode = traced_kernels["elementwise_add"].bytecode
    path = tmp_path_factory.mktemp("packages") / "add.cutecc"
    cutecc.compile_module(bytecode, target="sm_90a", name="elementwise_add", signature=signature).save(path)
    return path


def packages(pattern: str) -> set[str]:
    found = re.search(pattern, (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, pattern
    names = found[1].replace("-", "_").split()
    return {module for name in names for module in OF_OTHERS.get(name, {name})}


def says(code: str, packages: set[str], *arguments: str | Path) -> str:
    command = [sys.executable, "-c", HIDDEN + code, *arguments, ",".join(packages)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.stdout


def test_loading_and_calling(bundle: Path) -> None:
    needed = packages(r"`pip install (cuda-bindings [\w -]+)`")
    assert says(CALL, needed, bundle) == "4 launches\n"
    assert "No module named 'msgspec'" in says(CALL, needed - {"msgspec"}, bundle)


def test_the_commands(bundle: Path) -> None:
    needed = packages(r"`pip install (cuda-bindings [\w -]+)`") | packages(r"also\s+need\s+`([\w -]+)`")
    assert "elementwise_add for sm_90a on Imaginary GPU: M=8, N=4; seed 0\nran;" in says(
        COMMAND, needed, "run", bundle, "--device", "cuda"
    )
    # The driver records and does nothing.
    assert "nothing on cuda:0 to time" in says(COMMAND, needed, "bench", bundle)
    for each in ("click", "numpy", "rich"):
        assert f"No module named '{each}" in says(COMMAND, needed - {each}, "run", bundle, "--device", "cuda")
