"""The packages that `cutecc-runtime` depends on are all that running imports: every other one is hidden."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wheels
from programs import CALL, COMMAND, FAKE_DRIVER, add_bundle

pytestmark = pytest.mark.slow

OF_OTHERS = {"cuda-bindings": {"cuda"}, "rich": {"rich", "markdown_it", "mdurl", "pygments"}}
"""What imports are called, where that is not the package's name."""

HIDDEN = """
import sys
there = {"cutecc", "fake_cuda", "recording", *sys.stdlib_module_names, *sys.argv.pop().split(",")}

class Hidden:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in there and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture(scope="module")
def bundle(traced_kernels: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_bundle(traced_kernels, tmp_path_factory.mktemp("packages"))


def packages(extra: str | None = None) -> set[str]:
    table = wheels.read_project()["tool"][wheels.RUNTIME]
    names = [*table["dependencies"], *(table["extras"][extra] if extra else ())]
    return {module for name in names for module in OF_OTHERS.get(name, {name})}


def says(code: str, packages: set[str], *arguments: str | Path) -> str:
    command = [sys.executable, "-c", HIDDEN + FAKE_DRIVER + code, *arguments, ",".join(packages)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.stdout


def test_loading_and_calling(bundle: Path) -> None:
    needed = packages()
    assert says(CALL, needed, bundle) == "4 launches\n"
    assert "No module named 'msgspec'" in says(CALL, needed - {"msgspec"}, bundle)


def test_the_commands(bundle: Path) -> None:
    needed = packages("run")
    assert "elementwise_add for sm_90a on Imaginary GPU: M=8, N=4; seed 0\nran;" in says(
        COMMAND, needed, "run", bundle, "--device", "cuda"
    )
    # The driver records and does nothing.
    assert "nothing on cuda:0 to time" in says(COMMAND, needed, "bench", bundle)
    for each in ("click", "numpy", "rich"):
        assert f"No module named '{each}" in says(COMMAND, needed - {each}, "run", bundle, "--device", "cuda")
