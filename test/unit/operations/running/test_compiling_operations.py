"""Compiling operations: in processes of their own, from the cache without the DSL, into bundles and reports."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_products import F32, bundles

import cutecc
from cutecc.errors import EpilogueError, Error, RecordError, UsageError
from cutecc.operations import compiling
from cutecc.operations.choosing import fitting_target
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue import Row
from cutecc.operations.gemm import Gemm
from cutecc.operations.loading import load
from cutecc.operations.operation import compile_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return bundles(tmp_path_factory)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Has operations compiled in other processes, though a test before may have loaded the DSL here."""
    monkeypatch.delitem(sys.modules, "cutlass.cute", raising=False)
    return monkeypatch


def python(code: str, *arguments: object) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_WITHOUT_THE_DSL = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        # Where the package is may be asked; to load it is to look for what is inside.
        assert not name.startswith(("cutlass.", "nvidia_cutlass_dsl", "cutecc.ir")), name
sys.meta_path.insert(0, Blocked())
"""


def test_importing_operations_loads_nothing_heavy() -> None:
    code = "import sys, cutecc.operations; print({'numpy', 'cutlass', 'torch', 'rich', 'msgspec'} & {*sys.modules})"
    assert python(code) == "set()\n"
    # What takes an extra, and torch, is there by its name alone.
    code = "from cutecc.operations import *; import sys; print(GroupedGemm.__name__, 'cutlass' in sys.modules)"
    assert python(code) == "GroupedGemm False\n"
    assert python("import cutecc.operations as o; print({'compile', 'through_cutecc'} <= {*dir(o)})") == "True\n"


def test_a_compiled_operation_is_taken_from_the_cache_without_the_dsl(
    compiled: dict[str, Path], cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `compile_all` keeps, here of kernels that were compiled before, answers in other processes."""
    op = Gemm.load(compiled["plain"])
    for each in op.variants:
        compiling._keep(each.description, each.kernel.compilation)
    assert len([*cache_dir.iterdir()]) == 4
    code = _WITHOUT_THE_DSL + (
        "from cutecc.operations.gemm import Gemm\n"
        f"op = Gemm(**{F32 | {'c': 'f32:row:1'}!r})\n"
        "kernel = op.compile()\n"
        "print([each.compilation.cached for each in op.kernels], kernel.signature == op.kernels[0].signature)\n"
    )
    assert python(code) == "[True, True] True\n"
    again = Gemm(**F32, c="f32:row:1")
    told: list[Any] = []
    (kernel,) = compile_all([again], progress=lambda op, result: told.append((op, result)))
    assert told == [(again, kernel)] and kernel.compilation.cached  # type: ignore[union-attr]
    assert kernel.cubin == op.variants[0].kernel.cubin  # type: ignore[union-attr]
    other = Gemm(**F32 | {"tile": "32x32x8:stages=3:warps=1x1x1"}, c="f32:row:1")
    assert compiling.cache_key(other.description) != compiling.cache_key(op.description)


def test_a_kernel_of_another_machine_is_found_without_compiling(
    compiled: dict[str, Path], cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in Gemm.load(compiled["plain"]).variants:
        compiling._keep(each.description, each.kernel.compilation)
    file = tmp_path / "gemm.cache"
    cutecc_command = "from cutecc.cli.main import main; main()"
    assert python(cutecc_command, "cache", "export", file, "gemm_*").startswith(f"{file}: 2 kernels, ")
    monkeypatch.setenv("CUTECC_CACHE_DIR", str(tmp_path / "elsewhere"))
    code = _WITHOUT_THE_DSL + cutecc_command
    assert python(code, "cache", "import", file) == "2 kernels: 2 new, 0 there already\n"
    code = _WITHOUT_THE_DSL + (
        "from cutecc.operations.gemm import Gemm\n"
        f"op = Gemm(**{F32 | {'c': 'f32:row:1'}!r})\n"
        "op.compile()\n"
        "print([each.compilation.cached for each in op.kernels])\n"
    )
    assert python(code) == "[True, True]\n"


def test_the_flavour_of_the_wheel_and_its_version_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    description = Gemm(**F32, c="f32:row:1").description
    keys = {compiling.cache_key(description)}
    with monkeypatch.context() as patched:
        patched.setattr(compiling, "flavour", lambda: "cu99")
        keys.add(compiling.cache_key(description))
    library, version = f"nvidia-cutlass-dsl-libs-{compiling.flavour()}", compiling._version
    monkeypatch.setattr(compiling, "_version", lambda name: "0" if name == library else version(name))
    assert len(keys | {compiling.cache_key(description)}) == 3


def test_failures_are_results_and_leave_others_alone(compiled: dict[str, Path], elsewhere: pytest.MonkeyPatch) -> None:
    kernels = [each.kernel for each in Gemm.load(compiled["plain"]).variants]
    elsewhere.setattr(
        "cutecc.compilation.sweep.compile_many", lambda jobs, **_: [_answer(each, kernels) for each in jobs]
    )
    good, bad = Gemm(**F32), Gemm(**F32 | {"target": "sm_86"})
    results = compile_all([bad, good, bad])
    assert isinstance(results[0], Error) and results[0] is results[2] and results[1] is kernels[0]
    with pytest.raises(Error, match="as a test wants it"):
        bad.compile()
    assert good.kernels == [kernels[0]]


def test_a_kernel_is_kept_once(compiled: dict[str, Path], cache_dir: Path, elsewhere: pytest.MonkeyPatch) -> None:
    kernel = Gemm.load(compiled["plain"]).variants[1].kernel
    asked: list[Any] = []

    def compile_many(jobs: Any, **_: Any) -> list[Any]:
        asked.extend(jobs)
        return [kernel]

    elsewhere.setattr("cutecc.compilation.sweep.compile_many", compile_many)
    op = Gemm(**F32)
    op.compile()
    key = compiling.cache_key(op.description.compiled())
    assert [job.cache for job in asked] == [False]  # the process that compiles keeps nothing
    assert {path.name for path in cache_dir.rglob("*.*")} == {f"{key}.direct", f"{key}.record"}


def test_where_the_dsl_is_loaded_an_operation_is_compiled_without_other_processes(
    compiled: dict[str, Path], cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = [each.kernel for each in Gemm.load(compiled["plain"]).variants]
    made: list[Any] = []

    def compile_here(entry: Any, *specs: str, target: str, cache: bool, **_: Any) -> Any:
        made.append((entry, len(specs), target, cache))
        if target == "sm_86":
            raise Error("as a test wants it")
        return kernels[len(made) - 1]

    monkeypatch.setitem(sys.modules, "cutlass.cute", ModuleType("cutlass.cute"))
    monkeypatch.setattr("cutecc.driver.compile", compile_here)
    monkeypatch.setattr("cutecc.operations.kernels.build.build", lambda text: b"stages" in text)
    monkeypatch.setattr("cutecc.compilation.sweep.compile_many", None)
    op = Gemm(**F32, c="f32:row:1")
    told: list[Any] = []
    assert compile_all([op], progress=lambda *each: told.append(each)) == [kernels[0]]
    assert op.kernels == kernels and told == [(op, kernels[0])]
    for copied in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert copied.description == op.description and all(each.has_kernel for each in copied.variants)
        assert copied._for_target("sm_86").description == op._for_target("sm_86").description
    assert made == [(True, 8, "sm_80", False)] * 2
    assert Gemm(**F32, c="f32:row:1").compile().compilation.cached and len(made) == 2
    with pytest.raises(Error, match="as a test wants it"):
        Gemm(**F32 | {"target": "sm_86"}).compile()


def _answer(job: cutecc.Job, kernels: list[Any]) -> Any:
    assert job.entry is not None and job.entry.startswith("build(") and set(job.args) >= {"problem", "a", "b"}
    return Error("as a test wants it") if job.target == "sm_86" else kernels[0]


def test_a_bundle_runs_where_neither_the_dsl_nor_mlir_is(compiled: dict[str, Path]) -> None:
    code = _WITHOUT_THE_DSL + (
        "import numpy as np, cutecc.operations\n"
        "op = cutecc.operations.load(sys.argv[1])\n"
        "A, B, C = np.eye(9, dtype='f4'), np.ones((9, 5), 'f4'), np.ones((9, 5), 'f4')\n"
        "D = np.empty((9, 5), 'f4')\n"
        "op.run(A, B, C, D, alpha=2, beta=3, device='cpu')\n"
        "print(D.min(), D.max(), len(op.variants))\n"
    )
    assert python(code, compiled["plain"]) == "5.0 5.0 2\n"


def test_who_reads_it_as_a_kernel_is_told_how(compiled: dict[str, Path]) -> None:
    with pytest.raises(RecordError, match="not a bundle of cutecc") as error:
        cutecc.load(next(iter(compiled.values())))
    assert error.value.hints == ["it is the bundle of an operation: cutecc.operations.load reads it"]


def test_a_named_epilogue_takes_no_operands_of_the_users() -> None:
    with pytest.raises(EpilogueError, match="the epilogue gelu has operands of its own, and bias would not be read"):
        Gemm("f16:row", "f16:column", target="sm_80", epilogue="gelu", operands={"bias": Row("f16")})


def test_a_bundle_says_what_it_holds(
    compiled: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = load(compiled["plain"])
    assert op.description == Gemm(**F32, c="f32:row:1").description
    with pytest.raises(UsageError, match="holds nothing for sm_90a\nhint: it is for sm_80"):
        load(compiled["plain"], target="sm_90a")
    with pytest.raises(UsageError, match="described for sm_80 alone"):
        op.bundle(tmp_path / "other", targets="sm_80,sm_90a")
    kernel = tmp_path / "kernel.cutecc"
    op.variants[0].kernel.save(kernel)
    with pytest.raises(RecordError, match=r"it holds a kernel: cutecc.load\(path\)"):
        load(kernel)
    with pytest.raises(UsageError, match="the file there is not a bundle of an operation"):
        op.bundle(kernel)
    other = tmp_path / "other.operation"
    op.bundle(other)
    op.bundle(other)  # in its own place
    assert other.read_bytes() == compiled["plain"].read_bytes()
    data = bytearray(other.read_bytes())
    data[len(data) // 2] ^= 1
    other.write_bytes(data)
    with pytest.raises(RecordError, match="damaged"):
        load(other)
    with monkeypatch.context() as patch, pytest.raises(RecordError, match=r"is damaged: .* this is no description"):
        patch.setattr(GemmDescription, "to_json", lambda self, **options: b"{}")
        op.bundle(other)
        load(other)


def test_several_targets_are_each_chosen_for(
    compiled: dict[str, Path], elsewhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = Gemm.load(compiled["plain"]).variants[0].kernel
    elsewhere.setattr("cutecc.compilation.sweep.compile_many", lambda jobs, **_: [kernel for _ in jobs])
    op = Gemm("f16:row", "f16:column", "f16:row", target="sm_80")
    op.bundle(tmp_path / "both", targets=["sm_80", "sm_90a"])
    units = {name: load(tmp_path / "both", target=name).description.instruction.unit for name in ("sm_80", "sm_90a")}
    assert units == {"sm_80": "tensor_op", "sm_90a": "wgmma"}


def test_a_report_is_compiled_anew_written_and_shown(
    compiled: dict[str, Path], elsewhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    op, asked = Gemm.load(compiled["plain"]), list[Any]()
    shown: list[str] = []

    def compile_many(jobs: Any, **_: Any) -> list[Any]:
        asked.extend(job.options.report for job in jobs)
        return [op.variants[0].kernel for _ in jobs]

    elsewhere.setattr("cutecc.compilation.sweep.compile_many", compile_many)
    elsewhere.setattr("webbrowser.open", shown.append)
    report = op.report(tmp_path / "gemm.html", open=True)
    assert asked == [True] and report.path.read_bytes()[:9].lower() == b"<!doctype"
    assert shown == [(tmp_path / "gemm.html").as_uri()]


def test_of_several_targets_the_latest_that_runs_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecc.target import Target

    here = Target.parse("sm_90a")
    monkeypatch.setattr("cutecc.operations.choosing.device_targets", lambda: [here])
    assert fitting_target(["sm_80", "sm_90a"]) == "sm_90a"
    with pytest.raises(UsageError, match="nothing here runs on sm_90a"):
        fitting_target(["sm_80", "sm_100a"])


def test_tiles_are_listed_and_exchanged() -> None:
    op = Gemm("f16:row", "f16:column", "f16:row", target="sm_80")
    tiles = op.tile_descriptions()
    assert op.description.tile in tiles and len(tiles) > 10
    assert op.with_tile(tiles[3]).description.tile == tiles[3]
    with pytest.raises(UsageError, match="the nearest that there is has"):
        op.with_tile("100x100x32:stages=3:warps=2x2x1")
    with pytest.raises(UsageError, match="a tile is text such as 128x128x32"):
        op.with_tile(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("target", "d"), [("sm_80", "f16:row"), ("sm_90a", "f16:row"), ("sm_90a", "f16:column")])
def test_of_a_tile_parts_may_be_asked_for(target: str, d: str) -> None:
    op = Gemm("f16:row", "f16:column", d, "f16:row", epilogue="relu", swizzle="identity2", target=target)
    other = op.with_tile("64x128x64")
    assert other.description.tile.threadblock == (64, 128, 64) != op.description.tile.threadblock
    assert other.with_tile("stages=3").description.tile.stages == 3
    whole = op.with_tile(str(other.description.tile))
    assert whole.description == op.with_tile(other.description.tile).description == other.description
    rest = {"tile": op.description.tile, "instruction": op.description.instruction}
    assert replace(other.description, **rest) == op.description
    small = Gemm("f16", "f16", target=target, mode="gemm", problem=(64, 64, 64)).with_tile("stages=2")
    assert small.description.tile != Gemm("f16", "f16", target=target).with_tile("stages=2").description.tile


def test_what_there_is_no_kernel_for_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        Gemm("f16:row", "f16:column", "f64:row", target="sm_80")
    assert "the nearest that there is" in str(caught.value)
    with pytest.raises(UsageError, match="an operation has one target"):
        Gemm("f16", "f16", target="sm_80,sm_90a")
