"""`cutecc compile` on the real command line: what is in the folder afterwards."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import jsonschema
import llvmlite.binding
import pytest
from conftest import Run

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.dumps import read_stage
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.single_run import single_run_ptx
from cutecc.record.folder import read_folder
from cutecc.target import Target

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "elementwise_add.py"


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))


def single_run(kernel, scratch: Path, **options) -> list[str]:
    """The PTX of the stock compiler's one opaque run."""
    scratch.mkdir()
    with fresh_context():
        return single_run_ptx(parse(kernel.bytecode), kernel.target, WheelOptions(**options), scratch)


@pytest.fixture(scope="module")
def compiled(cutecc_in: Run, tmp_path_factory: pytest.TempPathFactory):
    """The issue's main example, run once: `cutecc compile examples/elementwise_add.py --dump-after=all`."""
    base = tmp_path_factory.mktemp("example")
    done = cutecc_in(base, "compile", EXAMPLE, "--dump-after=all")
    return done, base / "cutecc-out" / "elementwise_add-sm_80"


@pytest.mark.slow
def test_into_a_pipe_it_prints_the_folder_and_nothing_else(compiled) -> None:
    done, _ = compiled
    assert done.stdout == "cutecc-out/elementwise_add-sm_80\n"
    assert done.stderr == ""


def test_the_folder_holds_exactly_the_expected_files(compiled) -> None:
    _, folder = compiled
    record = read_folder(folder)
    changed = [step for step in record.steps if step.changed]
    expected = [
        "00-traced.mlir",
        *(f"{step.index:02d}-{step.name}.mlir" for step in changed),
        *(f"elementwise_add{suffix}" for suffix in (".ll", ".ptx", ".cubin", ".sass", ".host.json", ".stages")),
        "manifest.json",
    ]
    assert names(folder) == sorted(expected)
    assert 15 < len(changed) < len(record.steps)
    assert [step.dump for step in changed] == [name for name in names(folder) if re.match(r"(?!00)\d\d-", name)]
    assert record.traced == "00-traced.mlir"
    assert folder.parent.parent.joinpath("cutecc-out").is_dir()


def test_each_dump_differs_from_the_one_before_and_parses(compiled) -> None:
    _, folder = compiled
    texts = [(folder / name).read_text() for name in names(folder) if name.endswith(".mlir")]
    bodies = [text.partition("\n")[2] for text in texts]
    assert all(before != after for before, after in itertools.pairwise(bodies))
    assert "cute.zipped_divide" in bodies[0]
    assert "cute." not in bodies[-1]
    with fresh_context():
        for text in texts:
            parse(text.encode())


def test_each_dump_says_where_it_stands(compiled) -> None:
    _, folder = compiled
    record = read_folder(folder)
    traced = read_stage((folder / "00-traced.mlir").read_text())
    assert traced is not None
    assert traced.after is None
    for step in record.steps:
        if step.dump:
            stage = read_stage((folder / step.dump).read_text())
            assert stage is not None
            assert stage.after is not None
            assert stage.after.partition("#")[0] == step.name
            assert (stage.kernel, stage.target, stage.pipeline) == ("elementwise_add", "sm_80", "nvidia")


def test_the_manifest_is_valid_and_complete(compiled) -> None:
    _, folder = compiled
    body = json.loads((folder / "manifest.json").read_text())
    schema = json.loads((ROOT / "docs" / "manifest.schema.json").read_text())
    jsonschema.validate(body, schema, cls=jsonschema.Draft202012Validator)
    record = read_folder(folder)
    assert record.status == "ok"
    assert record.failure is None
    assert record.command[:2] == ["cutecc", "compile"]
    assert record.command[-1] == "--dump-after=all"
    assert record.source == str(EXAMPLE)
    assert record.target == "sm_80"
    assert record.signature is not None
    assert [parameter.name for parameter in record.signature.parameters] == ["a", "b", "c"]
    assert record.signature.function == "elementwise_add"
    assert [step.index for step in record.steps] == list(range(1, len(record.steps) + 1))
    assert ",".join(step.pass_text for step in record.steps) == record.pipeline
    kinds = {"llvm-ir", "ptx", "cubin", "sass", "host-program", "stages"}
    assert {artifact.kind for artifact in record.artifacts} == kinds
    assert set(record.seconds) == {"trace", "parse", "passes", "artifacts"}
    assert all(value > 0 for value in record.seconds.values())
    assert record.versions.nvidia_cutlass_dsl.startswith("4.")
    for artifact in record.artifacts:
        assert record.files[artifact.file]


def test_operation_counts_follow_each_other(compiled) -> None:
    record = read_folder(compiled[1])
    before = record.traced_operations
    assert before is not None
    assert before["cute"] > 100
    for step in record.steps:
        assert step.operations_before == before
        before = step.operations_after
        if step.changed is False:
            assert step.operations_after == step.operations_before


def test_resources(compiled) -> None:
    (kernel,) = read_folder(compiled[1]).resources
    assert "add_kernel" in kernel.kernel
    assert 8 <= kernel.registers <= 255
    assert kernel.occupancy is not None
    assert kernel.occupancy.block_threads == 128
    assert kernel.occupancy.limited_by


def test_the_ptx_is_that_of_the_wheels_single_run(compiled, traced_kernels, tmp_path: Path) -> None:
    (expected,) = single_run(traced_kernels["elementwise_add"], tmp_path / "scratch")
    assert (compiled[1] / "elementwise_add.ptx").read_text() == expected


def test_the_llvm_ir_is_read_by_llvm(compiled) -> None:
    text = (compiled[1] / "elementwise_add.ll").read_text()
    module = llvmlite.binding.parse_assembly(text)
    module.verify()
    assert any("add_kernel" in function.name for function in module.functions if not function.is_declaration)
    header = [line for line in text.splitlines() if line.startswith(";")]
    assert "libNVVM" in "".join(header), "the header says what the code generator was given"


def test_the_cubin_is_an_elf_for_cuda_and_the_sass_its_code(compiled) -> None:
    _, folder = compiled
    cubin = (folder / "elementwise_add.cubin").read_bytes()
    assert cubin[:4] == b"\x7fELF"
    assert int.from_bytes(cubin[18:20], "little") == 190, "EM_CUDA"
    sass = (folder / "elementwise_add.sass").read_text()
    assert "add_kernel" in sass
    assert "FADD" in sass
    assert "EXIT" in sass


@pytest.mark.slow
def test_a_second_run_leaves_nothing_of_the_first(cutecc, small_kernel, tmp_path: Path) -> None:
    source = (small_kernel.module, "--target=sm_80", "-o", "out")
    cutecc("compile", *source, "--dump-after=all", "--dump-before=all", "--dump-unchanged", "--stop-after=cse#2")
    first = names(tmp_path / "out")
    assert len(first) > 75
    cutecc("compile", *source, "--dump-after=cse#1")
    second = names(tmp_path / "out")
    stem = small_kernel.module.stem
    assert [name for name in second if name.endswith(".mlir")] == ["00-traced.mlir", "14-cse.mlir"]
    artifacts = [f"{stem}.{end}" for end in ("ll", "ptx", "cubin", "sass", "host.json", "stages")]
    assert second == sorted(["00-traced.mlir", "14-cse.mlir", *artifacts, "manifest.json"])
    fresh = tmp_path / "fresh"
    cutecc("compile", *source[:2], "-o", fresh, "--dump-after=cse#1")
    assert names(fresh) == second
    for name in second:
        # The module after code generation holds the assembler's log, which says how long it took.
        if name != "manifest.json" and not name.endswith(".stages"):
            assert (fresh / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_foreign_folder_is_refused_and_left_alone(cutecc, small_kernel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    done = cutecc("compile", small_kernel.module, "--target=sm_80", "-o", "out", status=2)
    assert "error: the output folder out holds files that are not cutecc's" in done.stderr
    assert names(out) == ["thesis.tex"]


def test_without_dumps_there_are_none(cutecc, small_kernel, tmp_path: Path) -> None:
    done = cutecc("compile", small_kernel.module, "--target", small_kernel.target)
    folder = tmp_path / done.stdout.strip()
    assert folder.parent.name == "cutecc-out"
    assert not [name for name in names(folder) if name.endswith(".mlir")]
    assert any(step.changed for step in read_folder(folder).steps), "what changed is known all the same"


@pytest.mark.slow
def test_several_targets(cutecc, small_kernel, tmp_path: Path) -> None:
    done = cutecc("compile", small_kernel.source, "--target", "sm_90a,sm_80", "-o", "out")
    assert done.stdout == "out/sm_90a\nout/sm_80\n"
    for target in ("sm_80", "sm_90a"):
        record = read_folder(tmp_path / "out" / target)
        assert record.target == target
        assert f".target {target}\n" in (tmp_path / "out" / target / "vector_copy.ptx").read_text()
    done = cutecc("compile", small_kernel.module, "--target", "sm_90a,sm_80", "--stop-after=cse#1", "--json")
    assert [body["target"] for body in json.loads(done.stdout)] == ["sm_90a", "sm_80"]
    assert names(tmp_path / "cutecc-out") == ["vector_copy-sm_80-sm_80", "vector_copy-sm_80-sm_90a"]


@pytest.mark.slow
def test_one_of_several_targets_fails_and_the_others_are_kept(cutecc, traced_kernels, tmp_path: Path) -> None:
    # The Hopper kernel cannot be for Ampere.
    done = cutecc("compile", traced_kernels["tma_copy"].source, "--target", "sm_80,sm_90a", "-o", "out", status=1)
    assert "error: " in done.stderr
    assert "out/sm_90a\n" in done.stdout
    assert read_folder(tmp_path / "out" / "sm_90a").status == "ok"


@pytest.mark.slow
def test_a_kernel_with_several_device_functions(cutecc, traced_kernels) -> None:
    """Each has its resources."""
    several = [name for name, kernel in traced_kernels.items() if kernel.source.read_text().count("@cute.kernel") > 1]
    assert several, "test/kernels has a file with two kernels in one host function"
    kernel = traced_kernels[several[0]]
    body = json.loads(cutecc("compile", kernel.module, "--target", kernel.target, "--json").stdout)
    assert len(body["resources"]) == kernel.source.read_text().count("@cute.kernel")


@pytest.mark.slow
def test_text_bytecode_and_python_give_the_same(cutecc, small_kernel, tmp_path: Path) -> None:
    cutecc("compile", small_kernel.source, "--dump-after=all", "-o", "python", "--dump-locations")
    text = tmp_path / "python" / "00-traced.mlir"
    assert "vector_copy.py" in text.read_text()
    plain = tmp_path / "traced.mlir"
    plain.write_text(text.read_text().partition("\n")[2])
    cutecc("compile", plain, "--target=sm_80", "-o", "text")
    cutecc("compile", small_kernel.module, "--target=sm_80", "-o", "bytecode")
    expected = (tmp_path / "python" / "vector_copy.ptx").read_text()
    assert (tmp_path / "text" / "traced.ptx").read_text() == expected
    assert (tmp_path / "bytecode" / f"{small_kernel.module.stem}.ptx").read_text() == expected


@pytest.fixture(scope="module")
def dumped(cutecc_in: Run, small_kernel, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dump of the module after `cse#1`."""
    folder = tmp_path_factory.mktemp("dumped")
    options = ["--target=sm_80", "--stop-after=cse#1", "--dump-after=cse#1", "-q", "-o", folder]
    cutecc_in(folder, "compile", small_kernel.module, *options)
    return (folder / "14-cse.mlir").read_text()


@pytest.mark.each_time
@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../escape", "/absolute", "..", "a b;c", "-rf", "\u202e"])
def test_no_name_in_a_module_chooses_a_path(cutecc, dumped: str, tmp_path: Path, name: str) -> None:
    """The kernel's name in a dump's first line becomes one plain file name below the output folder."""
    head, _, rest = dumped.partition("\n")
    stage = json.loads(head.removeprefix("// cutecc-stage: "))
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    dump = work / "dump.mlir"
    dump.write_text(f"// cutecc-stage: {json.dumps({**stage, 'kernel': name})}\n{rest}")
    cutecc("compile", dump, "-q", "--stop-after=canonicalize#2")
    assert names(tmp_path) == ["a", "cutecc-out"]
    (folder,) = (tmp_path / "cutecc-out").iterdir()
    assert re.fullmatch(r"[\w.-]+-sm_80-after-cse-1", folder.name)
    assert not folder.name.startswith((".", "-"))
    assert names(work) == ["dump.mlir"]


def test_symbol_names_choose_no_path_either(cutecc, dumped: str, tmp_path: Path) -> None:
    assert "gpu.module @kernels" in dumped
    hostile = tmp_path / "hostile.mlir"
    hostile.write_text(re.sub(r"(?<!')@kernels", '@"../../../escape"', dumped))
    cutecc("compile", hostile, "-o", "out", "-q")
    assert names(tmp_path) == ["hostile.mlir", "out"]
    assert not (tmp_path.parent / "escape.ptx").exists()
    assert set(names(tmp_path / "out")) >= {"manifest.json"}
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names(tmp_path / "out"))


@pytest.mark.slow
def test_the_target_environment_variable(cutecc, small_kernel, tmp_path: Path) -> None:
    """It is for what names no target itself."""
    (tmp_path / "copy.mlirbc").write_bytes(small_kernel.bytecode)

    def target_of(module: Path | str, *options: str) -> str:
        run = ("compile", module, "--json", "--stop-after=cse#1", *options)
        return json.loads(cutecc(*run, env={"CUTECC_TARGET": "sm_90a"}).stdout)["target"]

    assert target_of("copy.mlirbc") == "sm_90a"
    assert target_of("copy.mlirbc", "--target=sm_80") == Target.parse("sm_80").name
    assert target_of(small_kernel.module) == small_kernel.target


@pytest.mark.slow
def test_what_can_never_be_launched(cutecc, tmp_path: Path) -> None:
    """Each reason with its numbers, at the kernel's line, under the name that the table has."""
    (tmp_path / "wide.py").write_text(
        "from cutlass import cute\n\n"
        "@cute.kernel\ndef wide_kernel(x: cute.Tensor):\n    x[0] = x[1]\n\n"
        "@cute.jit\ndef wide(x: cute.Tensor):\n"
        "    wide_kernel(x).launch(grid=[1, 0, 1], block=[2048, 1, 1], smem=300000)\n"
    )
    done = cutecc("compile", "wide.py", "--arg", "x=f32[32]", "--target=sm_80")
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        r"wide\.py:\d(:\d+)?: warning: kernel wide_kernel cannot be launched on sm_80: "
        r"2048 threads a block, of at most 1024, and 300000 bytes of shared memory a block, of at most 166912, "
        r"and its grid is \(1, 0, 1\); launch blocks of at most 1024 threads, and take 133088 bytes away, with fewer "
        r"stages or smaller tiles, and give each dimension at least 1",
        line,
    )
