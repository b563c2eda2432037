"""`cutecc operators`, and `cutecc compile --operator`."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import EXAMPLES, Run

import cutecc as cutecc_library
from cutecc.cli.operators import operators


@pytest.mark.torch
def test_operators_of_a_file(cutecc: Run) -> None:
    """In a process of its own, since a file that is loaded stays."""
    where = "class=F64GemmOperator,tile.m=8,tile.n>=32"
    done = cutecc(
        *("operators", "--target", "sm_80", "--provider", EXAMPLES / "bring_your_own_kernel.py", "--dtype", "f64"),
        *("--where", where, "--json"),
    )
    found = json.loads(done.stdout)
    assert len(found["operators"]) == 8  # layouts
    assert {each["tile"] for each in found["operators"]} == {"8x32"}
    assert sum(found["rejected"].values()) + 8 == found["considered"]


def listed(*arguments: str) -> list[str]:
    done = CliRunner().invoke(operators, ["--target", "sm_80", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.torch
def test_a_pipe_has_names_as_they_are() -> None:
    lines = listed("--dtype", "f16", "--where", "provider=cutedsl,out.dtype=f16,tile=128x128x32", "--layout", "ttt")
    name = "cutedsl.Sm80TensorOpGemmOperator_ttt_AFloat16_BFloat16_outFloat16_accFloat32_tile128x128x32"
    assert lines[1].split() == ["f16,f16,f16,f32", "ttt", "128x128x32", "1x1x1", "16", name]
    assert lines[2].startswith("1 of ")
    assert re.fullmatch(r"\d+ classes are for newer GPUs \(sm_90, sm_100.*\): --json names them", lines[-1])
    assert all(len(line) <= 80 for line in lines[2:])


@pytest.mark.torch
@pytest.mark.parametrize("types", ["tf32", "tf32,tf32,f32"])
def test_operands_of_tf32(types: str) -> None:
    assert listed("--gemm", f"64x64x64:{types}")[-1] == (
        "hint: in memory it is f32; what rounds that to tf32: cutecc operators --dtype f32 --where multiplied=tf32"
    )
    lines = listed("--gemm", f"64x64x64:{types}".replace("tf32", "f32"), "--where", "multiplied=tf32")
    assert "hint" not in lines[-1] and "f32,f32,f32,f32" in lines[1]


@pytest.mark.torch
def test_compile(cutecc: Run, tmp_path: Path) -> None:
    name = "Sm80TensorOpGemmOperator_ttt_AFloat16_BFloat16_outFloat16_accFloat32_tile64x64x32"
    cutecc(
        *("compile", "--operator", name, "--gemm", "4096x4096x4096:f16", "--target", "sm_80", "-q"),
        *("--dump-after", "all", "--bundle", "gemm.cutecc", "--report", "gemm.html"),
    )
    folder = tmp_path / "cutecc-out" / f"cutedsl.{name}-sm_80"
    assert (folder / "00-traced.mlir").is_file()
    assert (tmp_path / "gemm.html").stat().st_size > 100_000
    (ptx,) = folder.glob("*.ptx")
    # A report shows the package's source beside the code.
    assert "sm80_tensorop_gemm_impl.py" in ptx.read_text().partition(".loc")[2]
    kernel = cutecc_library.load(tmp_path / "gemm.cutecc")
    assert isinstance(kernel, cutecc_library.Kernel)
    assert kernel.compilation.name == f"cutedsl.{name}"
    assert kernel.signature is not None and kernel.signature.parameters[0].spec.startswith("f16[?,?{div=8}]")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--operator", "x"], ["--operator needs to know what to compile for", "--gemm 4096x4096x4096:f16"]),
        (["--gemm", "8x8x8:f16"], ["--gemm is for --operator"]),
        (["--provider", "x.py"], ["--provider is for --operator"]),
        (["--operator", "x", "--gemm", "8x8:f16"], ["'8x8:f16' is not MxNxK"]),
        (["--operator", "x", "--gemm", "8x8x8:f16", "x.py"], ["--operator names what to compile, and so does x.py"]),
        (["--operator", "x", "--gemm", "8x8x8:f16", "--arg", "a=f16[?]"], ["--arg and --entry are for Python files"]),
        (["--operator", "x", "--gemm", "8x8x8:f16", "--start-after", "cse"], ["--start-after goes on from a dump"]),
        ([], ["Missing argument 'FILE.py"]),
    ],
)
def test_wrong_requests(cutecc: Run, arguments: list[str], messages: list[str]) -> None:
    done = cutecc("compile", "--target", "sm_80", *arguments, status=2)
    assert done.stdout == ""
    for message in messages:
        assert message in done.stderr


def test_wrong_listings(cutecc: Run) -> None:
    for arguments, message in (
        (["--where", "tile.m"], "is no condition on metadata"),
        (["--dtype", "f61"], "unknown type 'f61'"),
        (["--gemm", "8x8x8:f16", "--dtype", "f16"], "leave out --dtype"),
        (["--target", "sm_80,sm_90a"], "takes one target"),
    ):
        done = cutecc("operators", *arguments, *([] if "--target" in arguments else ["--target", "sm_80"]), status=2)
        assert message in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["operators", "--target", "sm_80"],
        ["compile", "--operator", "x", "--gemm", "8x8x8:f16", "--target", "sm_80"],
    ],
)
def test_what_the_package_needs_is_named(cutecc: Run, tmp_path: Path, command: list[str]) -> None:
    """nvidia-cutlass-operators imports torch without requiring it."""
    (tmp_path / "torch.py").write_text('raise ModuleNotFoundError("No module named torch", name="torch")\n')
    done = cutecc(*command, status=2, env={"PYTHONPATH": str(tmp_path)})
    assert re.search(r"^error: nvidia-cutlass-operators \S+ needs torch, which is not installed$", done.stderr, re.M)
    assert "hint: pip install 'cutecc[operators]'" in done.stderr
