"""Each distribution in an environment of its own: what it does, and what it says of what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import wheels
from environments import Environment
from programs import CALL, COMMAND, FAKE_DRIVER, add_bundle

pytestmark = pytest.mark.slow

LACKS = "and only cutecc-runtime is installed here\nhint: pip install cutecc\n"

SAYS_WHERE = "print(cutecc.__file__)"

LACKING = """
import sys
import cutecc
def says(action):
    try:
        action()
    except cutecc.Error as error:
        assert isinstance(error, (ModuleNotFoundError, AttributeError))
        print(error)
assert not hasattr(cutecc, "compile")
says(lambda: cutecc.compile)
says(lambda: exec("from cutecc import jit"))
says(lambda: exec("import cutecc.operations"))
says(lambda: cutecc.load(sys.argv[1]).emulate())
says(lambda: cutecc.load(sys.argv[1])(device="cpu"))
says(lambda: cutecc.load(sys.argv[1]).sass)
"""


@pytest.fixture(scope="module")
def bundle(traced_kernels: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_bundle(traced_kernels, tmp_path_factory.mktemp("bundles"))


def runtime(folder: Path, extra: str = "") -> Environment:
    """An environment with cutecc-runtime, and with what it and one of its extras depend on."""
    config = wheels.runtime_config(wheels.read_project())["project"]
    environment = Environment.create(
        folder / "environment", [*config["dependencies"], *config["optional-dependencies"].get(extra, [])]
    )
    environment.install(f"cutecc-runtime[{extra}]" if extra else "cutecc-runtime")
    return environment


def test_the_runtime_alone_loads_and_launches(bundle: Path, tmp_path: Path) -> None:
    environment = runtime(tmp_path)
    done = environment.run("python", "-c", FAKE_DRIVER + CALL + SAYS_WHERE, bundle)
    launches, where = done.stdout.splitlines()
    assert launches == "4 launches"
    assert Path(where).is_relative_to(environment.folder)
    assert environment.run("python", "-c", LACKING, bundle).stdout == (
        f"cutecc.compile needs the distribution cutecc, {LACKS}"
        f"cutecc.jit needs the distribution cutecc, {LACKS}"
        f"cutecc.operations is in the distribution cutecc, {LACKS}"
        + 2 * "the emulator needs numpy, which is not installed here\nhint: pip install 'cutecc-runtime[emulator]'\n"
        + f"disassembling a cubin needs the distribution cutecc, {LACKS}"
    )
    done = environment.run("cutecc", "--help")
    assert done.stdout == (
        "error: the command line needs click, which is not installed here\nhint: pip install 'cutecc-runtime[run]'\n"
    )
    assert done.returncode == 2


def test_the_runtime_with_its_command_line(bundle: Path, tmp_path: Path) -> None:
    environment = runtime(tmp_path, "run")
    done = environment.run("python", "-c", FAKE_DRIVER + COMMAND, "run", bundle, "--device", "cuda")
    assert "elementwise_add for sm_90a on Imaginary GPU: M=8, N=4" in done.stdout, done.stdout
    lacking = {
        ("compile", "kernel.py"): f"cutecc compile needs the distribution cutecc, {LACKS}",
        ("compile", "--help"): f"cutecc compile needs the distribution cutecc, {LACKS}",
        ("run", "kernel.py"): f"compiling kernel.py needs the distribution cutecc, {LACKS}",
        ("run", str(bundle), "--opt-level", "2"): f"an option of the compiler needs the distribution cutecc, {LACKS}",
        ("run", str(bundle)): "the emulator needs llvmlite, which is not installed here\n"
        "hint: pip install 'cutecc-runtime[emulator]'\n",
    }
    (environment.folder / "kernel.py").touch()
    for arguments, expected in lacking.items():
        on_cpu = ("--device", "cpu") if arguments[0] == "run" else ()
        done = environment.run("cutecc", *arguments, *on_cpu)
        assert (done.returncode, done.stdout) == (2, f"error: {expected}")
    shown = environment.run("cutecc", "--help").stdout
    before, heading, after = shown.partition("With pip install cutecc:")
    assert heading
    assert "  run " in before
    assert "compile," in after
    assert "compile," not in before


def test_the_runtime_with_its_emulator(bundle: Path, tmp_path: Path) -> None:
    environment = runtime(tmp_path, "emulator")
    check = tmp_path / "check.py"
    check.write_text("# cutecc: outputs = ['c']\ndef expected(a, b, c):\n    return a + b\n")
    reference = ("--reference", f"{check}:expected")
    done = environment.run("cutecc", "run", bundle, "--device", "cpu", *reference)
    assert done.returncode == 0, done.stdout
    assert "elementwise_add for sm_90a on the CPU emulator: M=8, N=4; seed 0" in done.stdout
    assert done.stdout.rstrip().endswith("ok")
    check.write_text(check.read_text().replace("a + b", "a - b"))
    assert environment.run("cutecc", "run", bundle, "--device", "cpu", *reference).returncode == 1
    of_kernel = ("--reference", f"{wheels.ROOT}/examples/elementwise_add.py:reference")
    done = environment.run("cutecc", "run", bundle, "--device", "cpu", *of_kernel)
    assert done.stdout.endswith("hint: the CuTe DSL comes with the distribution cutecc: pip install cutecc\n")
    done = environment.run("cutecc", "run", bundle, "--untrusted")
    assert (done.returncode, "untrusted: it ran in a process of its own" in done.stdout) == (0, True), done.stdout
    done = environment.run("cutecc", "sanitize", bundle)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing found"), done.stdout
    assert environment.run("cutecc", "cache", "info").returncode == 0
    assert environment.pip("check").stdout == "No broken requirements found.\n"


def test_cutecc_compiles(tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "environment", wheels.read_project()["project"]["dependencies"])
    environment.install("cutecc")
    example = wheels.ROOT / "examples" / "elementwise_add.py"
    done = environment.run("cutecc", "compile", example, "--target", "sm_90a", "--bundle", "add.cutecc", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    done = environment.run("cutecc", "run", "add.cutecc", "--device", "cpu")
    assert done.returncode == 0, done.stdout
    done = environment.run("cutecc", "--help")
    assert "  compile " in done.stdout
    assert "pip install cutecc" not in done.stdout
    assert environment.pip("check").stdout == "No broken requirements found.\n"
    done = environment.pip("uninstall", "--yes", "--quiet", "cutecc")
    assert done.returncode == 0, done.stdout
    done = environment.run("cutecc", "compile", example)
    assert (done.returncode, done.stdout) == (2, f"error: cutecc compile needs the distribution cutecc, {LACKS}")
