"""`examples/c/launch_add.c` against a recording driver: it launches what the host program would."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

import cutecc as package
from cutecc.kernel import Kernel
from cutecc.runtime.launch import Launch
from cutecc.runtime.program.evaluation import Evaluator

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "c" / "launch_add.c"
DRIVER = ROOT / "test" / "unit" / "record" / "c" / "recording_driver.c"
M, N = 1000, 2044


class Recorder:
    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def launch(self, launch: Launch) -> int:
        self.launches.append(launch)
        return 0


@pytest.fixture
def include() -> Path:
    """The folder of `cuda.h`, which comes with cutecc's dependencies."""
    home = importlib.util.find_spec("nvidia.cu13")
    for folder in (home.submodule_search_locations or []) if home else []:
        if Path(folder, "include", "cuda.h").is_file():
            return Path(folder, "include")
    pytest.skip("no cuda.h: the package nvidia-cuda-runtime is not installed")


@pytest.mark.slow
def test_it_launches_what_the_host_program_would(cutecc, include: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler (cc) on this machine")
    cutecc("compile", ROOT / "examples" / "elementwise_add.py", "--target=sm_90a", "--bundle=add.cutecc", "-q")
    kernel = package.load(tmp_path / "add.cutecc")
    assert isinstance(kernel, Kernel)
    program = kernel.host_program
    assert program is not None
    (entry,) = program.kernels

    sizes = ",".join(str(parameter.size) for parameter in entry.parameters)
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-DSIZES={sizes}"]
    command += ["-I", str(package.include_path()), "-isystem", str(include), str(EXAMPLE), str(DRIVER), "-o", "launch"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([tmp_path / "launch", tmp_path / "add.cutecc"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    name, launch, *parameters, verdict = done.stdout.splitlines()
    assert verdict == "OK: machine code of sm_90a"
    assert name == f"kernel {entry.name}"

    blocks = [bytes.fromhex(line.removeprefix("parameter ")) for line in parameters]
    pointers = [int.from_bytes(block[:8], "little") for block in blocks[:3]]
    recorder = Recorder()
    Evaluator(program)([leaf for pointer in pointers for leaf in (pointer, M, N, N)], recorder)  # type: ignore[arg-type]
    (expected,) = recorder.launches
    dimensions = [*expected.grid, *expected.block, expected.shared_bytes]
    assert [int(word) for word in launch.split()[1:]] == dimensions
    whole = bytearray(entry.parameter_bytes)
    for block, parameter in zip(blocks, entry.parameters, strict=True):
        whole[parameter.offset : parameter.offset + parameter.size] = block
    assert whole == expected.parameters


def test_a_file_that_is_no_bundle(include: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler (cc) on this machine")
    command = [compiler, "-std=c99", "-DSIZES=1", "-I", str(package.include_path()), "-isystem", str(include)]
    subprocess.run([*command, str(EXAMPLE), str(DRIVER), "-o", str(tmp_path / "launch")], check=True)
    done = subprocess.run([tmp_path / "launch", EXAMPLE], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"{EXAMPLE}: not a bundle of cutecc\n"
