"""`cutecc run` and `cutecc sanitize` of PTX that other compilers made: of nvcc, Triton and numba."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cutecc import EmulatorOptions, emulate_ptx
from cutecc.cli import main
from cutecc.errors import Error

PTX = Path(__file__).parents[3] / "examples" / "ptx"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "100"}
SUM = "--grid 4 --block 64 --arg x=f32[250] --arg sums=f32[4] --arg n=i32=250"
REFERENCE = """\
import numpy as np


def sums(x, sums, n):
    padded = np.zeros(256, np.float32)
    padded[: len(x)] = x
    return padded.reshape(4, 64).sum(axis=1)
"""


def cutecc(text: str, status: int = 0) -> str:
    found = CliRunner().invoke(main.cutecc, shlex.split(text), env=NO_GPU)
    assert found.exit_code == status, found.output
    return found.output


def refused(text: str) -> str:
    found = CliRunner().invoke(main.cutecc, shlex.split(text), env=NO_GPU)
    assert isinstance(found.exception, Error), found.output
    return str(found.exception)


def test_nvcc(tmp_path: Path) -> None:
    """A reference is given names that the command line gives parameters."""
    reference = tmp_path / "reference.py"
    reference.write_text(REFERENCE)
    command = f"run {PTX}/block_sum.ptx --device cpu {SUM} --reference {reference}:sums --outputs sums --json"
    assert json.loads(cutecc(command))["ok"]
    assert "nothing found" in cutecc(f"sanitize {PTX}/block_sum.ptx {SUM}")


def test_nvcc_for_an_old_target() -> None:
    """A kernel of `nvcuda::wmma`, for sm_75."""
    text = (PTX / "tile_product.ptx").read_text()
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((48, 48)).astype(np.float16) for _ in range(2))
    c = np.zeros((48, 48), np.float32)
    options = EmulatorOptions(check="all", counters=True)
    found = emulate_ptx(text, grid=(3, 3), block=32, args=[a, b, c, 48, 48], options=options)
    assert found.ok and found.counters is not None
    assert found.counters.total().matrix_operations == 3**3
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-4)


def test_triton() -> None:
    text = (PTX / "row_softmax.ptx").read_text()
    x = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32)
    result = np.zeros_like(x)
    emulate_ptx(text, grid=3, block=64, args=[result, x, 100, 100, None, None], shared_bytes=8)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(result, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    arguments = (
        "--grid 3 --block 64 --shared-bytes 8 --arg result=f32[3,100] --arg x=f32[3,100] --arg stride=i32=100 "
        "--arg columns=i32=100 --arg scratch=none --arg profile=none"
    )
    assert "nothing found" in cutecc(f"sanitize {PTX}/row_softmax.ptx {arguments}")
    # A column too many is in the next row, and in the last one past the end.
    found = cutecc(f"sanitize {PTX}/row_softmax.ptx {arguments.replace('columns=i32=100', 'columns=i32=101')}", 1)
    assert "x + 1200 bytes" in found and "row_softmax.py:11" in found


def test_numba() -> None:
    """Of an array its kernels take seven parameters, which are made of it."""
    x = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    result = x.copy()
    text = (PTX / "smooth.ptx").read_text()
    emulate_ptx(text, grid=2, block=64, args={"x": x, "result": result})
    assert np.allclose(result[1:-1], (x[:-2] + x[1:-1] + x[2:]) / 3, rtol=1e-5, atol=1e-6)
    arguments = "--grid 2 --block 64 --arg x=f32[100] --arg result=f32[100]"
    assert "nothing found" in cutecc(f"sanitize {PTX}/smooth.ptx {arguments}")
    output = cutecc(f"run {PTX}/smooth.ptx --device cpu {arguments} --counters")
    assert "smooth.py:9" in output


def test_a_race_is_told_at_its_line_of_cuda() -> None:
    output = cutecc(f"sanitize {PTX}/unordered_sum.ptx {SUM}", 1)
    assert "examples/ptx/unordered_sum.cu:10:7: race" in output
    assert "bar.warp.sync belongs between the two" in output and "hint" not in output
    reproduce = output.partition("reproduce: cutecc ")[2].splitlines()[0]
    assert "--grid 4 --block 64" in reproduce
    assert "1 problem found" in cutecc(reproduce, 1)


def test_ptx_without_lines_says_how_it_gets_some(tmp_path: Path) -> None:
    text = (PTX / "unordered_sum.ptx").read_text()
    path = tmp_path / "plain.ptx"
    path.write_text("\n".join(line for line in text.splitlines() if ".loc" not in line))
    output = cutecc(f"sanitize {path} {SUM}", 1)
    assert "nvcc -lineinfo" in output and "CompileOptions" not in output
    output = cutecc(f"run {path} --device cpu {SUM} --counters")
    assert "nvcc -lineinfo" in output and "CompileOptions" not in output


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("--block 64", "does not say how it is launched"),
        ("--grid 4", "does not say how it is launched"),
        ("--grid 4 --block 64,1,1,1", "--block takes up to three numbers"),
        ("--grid four --block 64", "--grid takes up to three numbers, not 'four'"),
        ("--grid 4 --block 128", "compiled for blocks of up to 64 threads"),
        ("--grid 4 --block 64 --kernel product", "has no kernel 'product'"),
        ("--grid 4 --block 64 --target sm_80", "is compiled already"),
        ("--grid 4 --block 64 --arg more=i32=1", "has 3 parameters, and 4 are given"),
    ],
)
@pytest.mark.parametrize("command", ["run --device cpu", "sanitize"])
def test_refusals(command: str, changed: str, message: str) -> None:
    arguments = SUM.replace("--grid 4 --block 64", "")
    assert message in refused(f"{command} {PTX}/block_sum.ptx {arguments} {changed}")


def test_how_python_is_launched_is_in_it() -> None:
    example = PTX.parent / "elementwise_add.py"
    assert "--grid: only PTX has to be told how it is launched" in refused(f"sanitize {example} --grid 4")
