"""Which flavour of the wheel is used is told without its bindings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cutecc.ir.version import installed_release, installed_version, installed_wheel
from cutecc.support.flavours import chosen, flavour, installed_flavours

RELEASE = installed_release()


@pytest.mark.parametrize(
    ("there", "driver", "taken"),
    [
        (("cu12", "cu13"), None, "cu13"),
        (("cu12", "cu13"), (13, 0), "cu13"),
        (("cu13", "cu12"), (12, 9), "cu12"),
        (("cu9", "cu12"), None, "cu12"),
        (("cu12",), (13, 4), "cu12"),
        (("cu13",), (12, 8), "cu13"),  # the bindings refuse it, and say so
        ((), (13, 0), ""),
    ],
)
def test_the_newest_that_the_driver_supports(
    there: tuple[str, ...], driver: tuple[int, int] | None, taken: str
) -> None:
    assert chosen(there, driver) == taken


def test_it_is_told_before_the_bindings_are_loaded_as_after() -> None:
    program = """
import sys
from cutecc.ir import bindings
from cutecc.support import flavours
told = flavours.flavour()
assert not any(name == "cutlass" or name.startswith("cutlass.") for name in sys.modules), "it loads them"
bindings.load()
print(told, flavours.flavour())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    told, loaded = done.stdout.split()
    assert told == loaded
    assert told in installed_flavours()
    assert told == flavour()


def test_a_driver_for_cuda_12_has_the_bindings_take_the_first(tmp_path: Path) -> None:
    """Both flavours are needed: where one is installed, another name for it is the second."""
    program = """
import importlib.util, os, sys
from pathlib import Path
from cutecc.support import flavours
(folder,) = importlib.util.find_spec("cutlass").submodule_search_locations
libraries = Path(folder, "_mlir", "_mlir_libs")
package = Path(sys.argv[1], "cutlass")
(package / "_mlir" / "_mlir_libs").mkdir(parents=True)
for path in libraries.glob("_cutlass_ir.cu12.*"):
    for name in (path.name, path.name.replace("cu12", "cu13")):
        (package / "_mlir" / "_mlir_libs" / name).symlink_to(path)
(package / "__init__.py").write_text("")
sys.path.insert(0, sys.argv[1])
importlib.invalidate_caches()
print(*flavours.installed_flavours())
for version in (None, (13, 0), (12, 9)):
    flavours.driver_version = lambda: version
    print(flavours.flavour())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["cu12", "cu13", "cu13", "cu13", "cu12"]


def test_another_module_of_that_name_has_none(tmp_path: Path) -> None:
    (tmp_path / "cutlass.py").write_text("")
    program = (
        "from cutecc.support.flavours import flavour, installed_flavours; print([flavour(), installed_flavours()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "['', ()]"


def test_a_module_that_is_kept_away_has_none() -> None:
    program = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "cutlass":
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
from cutecc.doctor.looking import _module
from cutecc.support.flavours import flavour
print([flavour(), _module()])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "['', None]", done.stderr


def test_the_wheel_is_shown_with_it() -> None:
    assert installed_wheel() == f"{installed_version()} {flavour()}"
