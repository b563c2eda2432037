"""`cutecc operators`, and `cutecc compile --operator`."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import EXAMPLES, Run

import cutecc as cutecc_library
from cutecc.cli.operators import operators
from cutecc.record import Workload


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


@pytest.mark.torch
def test_operators_that_ask_for_less_than_the_compiler_is_promised(cutecc: Run, tmp_path: Path) -> None:
    """They fit the sizes that they are compiled for, not all that their constraints let through."""
    example = (EXAMPLES / "bring_your_own_kernel.py").read_text()
    (tmp_path / "any_size.py").write_text(example.replace("divisibility=2", "divisibility=1"))
    known = ("--target", "sm_80", "--provider", "any_size.py")
    reasons = {
        "31x44x34x2": None,
        "31x44x33x2": "A: extent 33 is no multiple of 2, which the compiler would be promised",
        "30x43x34x2": "out: extent 43 is no multiple of 2, which the compiler would be promised",
    }
    for sizes, reason in reasons.items():
        gemm = ("--gemm", f"{sizes}:f64:tnt")
        found = json.loads(cutecc("operators", *known, *gemm, "--where", "class=F64GemmOperator", "--json").stdout)
        assert len(found["operators"]) == (2 if reason is None else 0)
        compiling = ("compile", *known, *gemm, "--operator", "F64GemmOperator_tnt_tile8x32", "-q")
        done = cutecc(*compiling, status=0 if reason is None else 2)
        if reason is not None:
            assert found["rejected"][reason] == 2
            assert f"F64GemmOperator_tnt_tile8x32 does not fit {sizes}:f64:row,column,row: {reason}" in done.stderr


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
    assert kernel.signature is not None and kernel.signature.parameters[0].spec.startswith("f16[?M=4096,?K")


REFERENCES = """
def package(a, b, c, **rest):
    return a.astype("f4") @ b.astype("f4")

def own(problem, a, b, operands, **rest):
    # Its kernels take B transposed, batches last; of a column-major result they compute the transposed one.
    m, n, k, batches = problem
    assert (a.shape, b.shape, operands[0].shape) == ((m, k, batches), (n, k, batches), (m, n, batches))
    return (a.astype("f4").transpose(2, 0, 1) @ b.astype("f4").transpose(2, 1, 0)).transpose(1, 2, 0)
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("operator", "gemm", "reference", "sizes", "changed"),
    [
        (
            "Sm80TensorOpGemmOperator_ttt_AFloat16_BFloat16_outFloat16_accFloat32_tile64x64x32",
            "72x80x64:f16",
            "package",
            {"M": 72, "N": 80, "K": 64},
            {"M": 33, "K": 72},
        ),
        (
            "cutecc.gemm_sm80_f16_f16_f16_f32_nnn_16x16x32_s3_tensor_op_16x8x8_w1x1x1_nosource",
            "24x40x32:f16:nnn",
            "own",
            {"M": 24, "N": 40, "K": 32, "L": 1},
            {"M": 16, "N": 7, "L": 2},
        ),
    ],
)
def test_a_bundle_runs_with_the_sizes_of_its_product(
    cutecc: Run,
    tmp_path: Path,
    operator: str,
    gemm: str,
    reference: str,
    sizes: dict[str, int],
    changed: dict[str, int],
) -> None:
    cutecc("compile", "--operator", operator, "--gemm", gemm, "--target", "sm_80", "-q", "--bundle", "gemm.cutecc")
    (tmp_path / "check.py").write_text(REFERENCES)
    made = cutecc_library.load(tmp_path / "gemm.cutecc")
    assert isinstance(made, cutecc_library.Kernel) and made.compilation.workload is not None
    outputs = ",".join(made.compilation.workload.outputs)
    run = ("run", "gemm.cutecc", "--device", "cpu", "--reference", f"check.py:{reference}", "--outputs", outputs)
    done = cutecc(*run)
    assert "chosen" not in done.stderr
    told = " ".join(done.stdout.partition("seed 0")[0].split())
    assert all(f"{name}={value}" in told for name, value in sizes.items())
    assert "ok" in done.stdout.split()
    texts = [f"{name}={value}" for name, value in changed.items()]
    (ran,) = json.loads(cutecc(*run, "--size", ",".join(texts), "--json").stdout)["runs"]
    assert ran["sizes"] == sizes | changed and ran["outputs"][0]["ok"]
    refused = cutecc(*run, "--size", "K=33", status=2)
    assert "size 'K' is 33, but the kernel is compiled for multiples of 8" in refused.stderr


@pytest.mark.torch
def test_a_product_of_another_size_shares_the_code_and_not_the_size(cutecc: Run, tmp_path: Path) -> None:
    for size in ("64x64x64", "128x64x64"):
        cutecc(
            *("compile", "--operator", "cluster1x1x1_tile64x64x64", "--gemm", f"{size}:f16"),
            *("--target", "sm_90a", "-q", "--bundle", f"{size}.cutecc", "--output", size),
        )
    small, large = (cutecc_library.load(tmp_path / f"{size}.cutecc") for size in ("64x64x64", "128x64x64"))
    assert isinstance(small, cutecc_library.Kernel) and isinstance(large, cutecc_library.Kernel)
    assert small.ptx == large.ptx
    assert large.signature is not None and large.compilation.workload is not None
    specs = {each.name: each.spec for each in large.signature.parameters}
    assert specs["a"].startswith("f16[?M=128,?K{div=8}=64]") and specs["c"].startswith("f16[?M=128,?N{div=8}=64]")
    assert large.compilation.workload == Workload(
        ["c"], bytes="(M * K * 16 + K * N * 16 + M * N * 16) / 8", flops="2 * M * N * K"
    )


@pytest.mark.slow
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


@pytest.mark.slow
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
