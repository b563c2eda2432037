"""Every option of `cutecc compile` that changes what is compiled, on the real command line."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

import pytest
from conftest import Run

from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.record import Compilation
from cutecc.record.folder import read_folder
from cutecc.target import Target

SM80 = Target.parse("sm_80")


@pytest.fixture
def compile(cutecc, small_kernel, tmp_path: Path):
    """Compiles a traced kernel with options, and gives its record."""

    def run(*options: object, module: Path = small_kernel.module, target: str = "sm_80", name: str = "out"):
        cutecc("compile", module, f"--target={target}", "-q", "-o", name, *options)
        return read_folder(tmp_path / name)

    return run


@pytest.fixture(scope="module")
def plain(cutecc_in: Run, small_kernel, tmp_path_factory: pytest.TempPathFactory) -> Compilation:
    """The record of that kernel without options."""
    folder = tmp_path_factory.mktemp("plain")
    cutecc_in(folder, "compile", small_kernel.module, "--target=sm_80", "-q", "-o", "out")
    return read_folder(folder / "out")


@pytest.fixture(scope="module")
def whole(cutecc_in: Run, small_kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with all dumps, and options that differ from the defaults."""
    folder = tmp_path_factory.mktemp("whole") / "whole"
    options = ("--line-info", "--opt-level=2", "--dump-after=all")
    cutecc_in(folder.parent, "compile", small_kernel.module, "--target=sm_80", *options, "-o", folder, "-q")
    return folder


def steps(record) -> list[str]:
    return [step.name for step in record.steps]


def wheel_ptxas() -> Path:
    """The ptxas of the `nvidia-cuda-nvcc` package."""
    for file in importlib.metadata.files("nvidia-cuda-nvcc") or []:
        if file.name == "ptxas":
            return Path(str(file.locate()))
    raise AssertionError("nvidia-cuda-nvcc has no ptxas")


# Choosing and editing the pipeline.


def test_stop_after(compile) -> None:
    record = compile("--stop-after=convert-cute-to-core", "--dump-after=convert-cute-to-core")
    assert record.status == "stopped"
    assert steps(record)[-1] == "convert-cute-to-core"
    assert [each.kind for each in record.artifacts] == ["stages"]
    assert [step.dump for step in record.steps if step.dump] == [f"{len(record.steps)}-convert-cute-to-core.mlir"]


def test_insert_after(compile) -> None:
    record = compile(
        "--insert-after", "cse#1=symbol-dce", "--insert-after", "convert-scf-to-cf=canonicalize{max-iterations=1}"
    )
    plain = [p.name for p in choose_pipeline("nvidia", SM80)]
    at = plain.index("cse") + 1
    cf = plain.index("convert-scf-to-cf") + 1
    assert steps(record) == [*plain[:at], "symbol-dce", *plain[at:cf], "canonicalize", *plain[cf:]]
    assert re.search(r"convert-scf-to-cf(\{[^}]*\})?,canonicalize\{max-iterations=1\},", record.pipeline)
    assert record.artifact("ptx")


def test_insert_before_replace_and_without(compile) -> None:
    record = compile(
        *(
            "--insert-before",
            "cse=symbol-dce",
            "--replace",
            "loop-invariant-code-motion=cse",
            "--without",
            "software-pipeline",
        ),
        "--without=convert-fastmath-ops,dump-iket-cfg",
    )
    plain = [p.name for p in choose_pipeline("nvidia", SM80)]
    expected: list[str] = []
    for name in plain:
        if name in ("software-pipeline", "convert-fastmath-ops", "dump-iket-cfg"):
            continue
        expected += ["symbol-dce", "cse"] if name == "cse" else [name]
    assert steps(record) == [name if name != "loop-invariant-code-motion" else "cse" for name in expected]


@pytest.mark.slow
def test_without_is_a_different_compilation(compile) -> None:
    """An edit is run, not only recorded."""
    text = compile("--dump-after=all", "--stop-after=convert-cute-to-core", "--without=canonicalize#1,cse#1")
    assert not any("canonicalize" in (step.dump or "") for step in text.steps)
    counts = text.steps[-1].operations_after
    plain = compile("--stop-after=convert-cute-to-core").steps[-1].operations_after
    assert counts != plain


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "file", "name"])
def test_pipeline_by_name_text_or_file(compile, cutecc, plain: Compilation, tmp_path: Path, form: str) -> None:
    """A file may be what `cutecc pipelines` prints."""
    passes = choose_pipeline("nvidia", SM80)
    choice = {"name": "nvidia", "text": str(passes), "file": str(tmp_path / "mine.pipeline")}[form]
    if form == "file":
        printed = cutecc("pipelines", "nvidia", "--target=sm_80").stdout
        assert printed.count("\n") > 30
        (tmp_path / "mine.pipeline").write_text(f"# mine\n{printed}")
    record = compile("--pipeline", choice)
    assert record.pipeline == str(passes)
    assert record.artifact("ptx") == plain.artifact("ptx")


def test_a_pipeline_of_two_passes(compile) -> None:
    record = compile("--pipeline=cse,canonicalize{max-iterations=2}", "--dump-after=all")
    assert steps(record) == ["cse", "canonicalize"]
    assert record.status == "ok"
    assert [each.kind for each in record.artifacts] == ["stages"]


# Dumps.


def dumps(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "out").glob("*.mlir"))


@pytest.mark.slow
def test_dump_before_and_after_chosen_passes(compile, tmp_path: Path) -> None:
    compile("--dump-before=cute-desugar,cse#2", "--dump-after=cute-fold-static", "--dump-after=canonicalize#1")
    numbers = {name: index for index, name in enumerate(choose_pipeline("nvidia", SM80).selectors(), start=1)}
    assert dumps(tmp_path) == [
        "00-traced.mlir",
        f"{numbers['cute-desugar']:02d}-cute-desugar.before.mlir",
        f"{numbers['cute-fold-static']:02d}-cute-fold-static.mlir",
        f"{numbers['canonicalize#1']}-canonicalize.mlir",
        f"{numbers['cse#2']}-cse.before.mlir",
    ]


def test_dump_unchanged(compile, tmp_path: Path) -> None:
    record = compile("--dump-after=all", "--dump-unchanged", "--stop-after=cute-desugar")
    assert len(dumps(tmp_path)) == len(record.steps) + 1
    assert not all(step.changed for step in record.steps)


def test_dump_locations(compile, tmp_path: Path) -> None:
    compile("--dump-after=cute-desugar", "--stop-after=cute-desugar")
    assert not [name for name in dumps(tmp_path) if "vector_copy.py" in (tmp_path / "out" / name).read_text()]
    compile("--dump-after=cute-desugar", "--stop-after=cute-desugar", "--dump-locations")
    assert all("vector_copy.py" in (tmp_path / "out" / name).read_text() for name in dumps(tmp_path))


# The wheel's options.


@pytest.mark.slow
def test_options_are_recorded_when_they_differ(compile) -> None:
    assert compile("--stop-after=cse#1").options == {}
    record = compile(
        "--stop-after=cse#1", "--opt-level=1", "--line-info", "--fast-math", "--enable-assertions", "--ptxas-options=-v"
    )
    assert record.options == {
        "opt-level": 1,
        "preserve-line-info": True,
        "fast-math": True,
        "enable-assertions": True,
        "ptx-options": "-v",
    }


@pytest.mark.slow
def test_opt_level(compile, plain: Compilation) -> None:
    record = compile("--opt-level=0")
    assert record.options == {"opt-level": 0}
    assert str(choose_pipeline("nvidia", SM80, WheelOptions(opt_level=0))) == record.pipeline
    # As in the wheel's single run, the level is the assembler's.
    assert record.artifact("ptx") == plain.artifact("ptx")
    assert record.artifact("sass") != plain.artifact("sass")


@pytest.mark.slow
def test_line_info_gives_lines_of_the_users_file(compile, plain: Compilation, small_kernel) -> None:
    record = compile("--line-info")
    ptx = record.artifact("ptx").decode()
    source = str(small_kernel.source)
    (number,) = re.findall(rf'^\s*\.file\s+(\d+)\s+"{re.escape(source)}"', ptx, re.MULTILINE)
    lines = {int(line) for line in re.findall(rf"^\s*\.loc\s+{number}\s+(\d+)\s", ptx, re.MULTILINE)}
    text = small_kernel.source.read_text().splitlines()
    body = range(1, len(text) + 1)
    assert lines
    assert lines <= set(body)
    assert any("cute.copy(" in text[line - 1] for line in lines)
    sass = record.artifact("sass").decode()
    assert re.search(rf'//## File "{re.escape(source)}", line \d+', sass)
    assert ".loc" not in plain.artifact("ptx").decode()
    assert "vector_copy.py" not in plain.artifact("sass").decode()


def test_line_info_by_the_wheels_own_name(compile) -> None:
    assert compile("--preserve-line-info", "--stop-after=cse#1").options == {"preserve-line-info": True}


@pytest.mark.slow
def test_fast_math_changes_a_kernel_with_math(compile, traced_kernels) -> None:
    softmax = traced_kernels["softmax"]
    plain = compile(module=softmax.module, name="plain").artifact("ptx").decode()
    fast = compile("--fast-math", module=softmax.module, name="fast").artifact("ptx").decode()
    assert plain != fast
    assert "add.ftz.f32" in fast
    assert "add.ftz.f32" not in plain


@pytest.mark.slow
def test_device_asserts_are_kept_on_demand(cutecc, traced_kernels, tmp_path: Path) -> None:
    source = traced_kernels["device_assert"].source
    cutecc("compile", source, "-q", "-o", "on", "--enable-assertions")
    cutecc("compile", source, "-q", "-o", "off")
    on, off = (read_folder(tmp_path / name).artifact("ptx").decode() for name in ("on", "off"))
    assert "trap" in on or "__assertfail" in on
    assert "trap" not in off
    assert "__assertfail" not in off


def test_ptxas_options_reach_the_assembler(compile, plain: Compilation) -> None:
    slow = compile("--ptxas-options=-O0", name="slow")
    assert slow.artifact("ptx") == plain.artifact("ptx")
    assert slow.artifact("sass") != plain.artifact("sass")


@pytest.mark.slow
def test_nvvm_options_reach_libnvvm(compile, plain: Compilation) -> None:
    assert compile("--nvvm-options=-opt=0").artifact("ptx") != plain.artifact("ptx")


@pytest.mark.slow
def test_a_ptxas_of_ones_own(compile, plain: Compilation) -> None:
    ptxas, own = wheel_ptxas(), plain
    other = compile("--ptxas", ptxas, name="other")
    assert other.artifact("ptx") == own.artifact("ptx")
    assert other.artifact("cubin")[:4] == b"\x7fELF"
    assert other.options == {"ptxas": str(ptxas)}
    assert own.resources[0].registers > 0
    assert other.resources[0].kernel == own.resources[0].kernel
    assert other.resources[0].spill_store_bytes == 0, "the log of this ptxas is read too"
    assert re.search(r"\d+\.\d+", other.versions.ptxas)
    assert other.versions.ptxas != own.versions.ptxas
    slow = compile("--ptxas", ptxas, "--ptxas-options=-O0", name="slow")
    assert slow.artifact("sass") != other.artifact("sass")


def test_a_ptxas_from_the_environment(cutecc, small_kernel, tmp_path: Path) -> None:
    body = json.loads(
        cutecc(
            "compile", small_kernel.module, "--target=sm_80", "--json", env={"CUTECC_PTXAS": str(wheel_ptxas())}
        ).stdout
    )
    assert body["options"] == {"ptxas": str(wheel_ptxas())}


def test_verify_each_passes_on_what_is_valid(compile, plain: Compilation) -> None:
    record = compile("--verify-each")
    assert record.status == "ok"
    assert record.artifact("ptx") == plain.artifact("ptx")


# Going on from a dump.


@pytest.mark.slow
def test_resume_from_the_header_alone(cutecc, whole: Path, tmp_path: Path) -> None:
    record = read_folder(whole)
    step = record.step("convert-scf-to-cf")
    assert step is not None and step.dump is not None
    done = cutecc("compile", whole / step.dump, "-o", "rest")
    assert done.stderr == "note: going on after convert-scf-to-cf, as the first line of the file says\n"
    rest = read_folder(tmp_path / "rest")
    assert rest.artifact("ptx") == record.artifact("ptx")
    assert [step.index for step in rest.steps] == list(range(step.index + 1, len(record.steps) + 1))
    assert rest.options == record.options == {"opt-level": 2, "preserve-line-info": True}
    assert rest.target == "sm_80"
    assert rest.name == record.name


@pytest.mark.slow
def test_the_command_line_goes_before_the_header(cutecc, whole: Path, tmp_path: Path) -> None:
    options = ("--opt-level=3", "--stop-after=cse#2", "-o", "rest")
    assert "going on after cse#1" in cutecc("compile", whole / "14-cse.mlir", *options).stderr
    assert cutecc("compile", whole / "14-cse.mlir", *options, "-q").stderr == ""
    assert read_folder(tmp_path / "rest").options == {"preserve-line-info": True}
    body = json.loads(cutecc("compile", whole / "14-cse.mlir", "--pipeline=cse", "--json").stdout)
    assert [step["name"] for step in body["steps"]] == ["cse"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--start-after=cse#2", "error: the dump was made after cse#1, not after cse#2"),
        ("--target=sm_90a", "error: the dump is of a run for sm_80, not sm_90a: it was traced for that GPU"),
    ],
)
def test_but_it_cannot_contradict_what_the_dump_is(cutecc, whole: Path, option: str, message: str) -> None:
    done = cutecc("compile", whole / "14-cse.mlir", option, status=2)
    assert message in done.stderr


def test_without_its_first_line_a_dump_starts_where_one_says(cutecc, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.mlir").write_text((whole / "14-cse.mlir").read_text().partition("\n")[2])
    options = ("--start-after=convert-cute-types-in-scf-ops", "--stop-after=cse#2")
    done = cutecc("compile", "plain.mlir", "--target=sm_80", *options, "--json")
    first = choose_pipeline("nvidia", SM80).position("convert-cute-types-in-scf-ops") + 2
    assert json.loads(done.stdout)["steps"][0]["index"] == first


@pytest.mark.slow
def test_a_resumed_run_has_its_edited_pipeline(cutecc, small_kernel, tmp_path: Path) -> None:
    edit = ("--without=loop-invariant-code-motion", "--insert-after=convert-scf-to-cf=symbol-dce")
    cutecc("compile", small_kernel.module, "--target=sm_80", *edit, "--dump-after=all", "-o", "whole", "-q")
    whole = read_folder(tmp_path / "whole")
    cutecc("compile", "whole/14-cse.mlir", "-o", "rest", "-q")
    rest = read_folder(tmp_path / "rest")
    assert rest.artifact("ptx") == whole.artifact("ptx")
    assert [step.pass_text for step in rest.steps] == [step.pass_text for step in whole.steps[14:]]


def test_a_header_gives_no_tools_or_libraries(cutecc, whole: Path, tmp_path: Path) -> None:
    """A dump from elsewhere must not choose programs to run or files to link."""
    head, _, rest = (whole / "14-cse.mlir").read_text().partition("\n")
    stage = json.loads(head.removeprefix("// cutecc-stage: "))
    stage["options"] = {"ptxas": "/bin/false", "link-libraries": "/etc/passwd", "output": "/tmp/x", "nonsense": 1}
    (tmp_path / "hostile.mlir").write_text(f"// cutecc-stage: {json.dumps(stage)}\n{rest}")
    body = json.loads(cutecc("compile", "hostile.mlir", "--json").stdout)
    assert body["options"] == {}
    assert body["status"] == "ok"


@pytest.fixture(scope="module")
def traced_text(cutecc_in: Run, small_kernel, tmp_path_factory: pytest.TempPathFactory) -> str:
    return cutecc_in(tmp_path_factory.mktemp("opt"), "opt", small_kernel.module).stdout


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"opt-level": "high"}},
        {"options": {"opt-level": 17}},
        {"options": {"fast-math": "perhaps"}},
        {"options": {"ptx-options": "--output-file=x"}},
        {"options": {"ptx-options": 3}},
        {"options": 3},
        {"pipeline": 3},
        {"pipeline": "cuda-to-binary{dump-ptx-path=x}"},
        {"after": 3},
        {"after": "no-such-pass"},
        {"target": 3},
        {"target": "sm_1"},
    ],
)
def test_a_damaged_header_is_an_ordinary_error_or_ignored(cutecc, traced_text: str, tmp_path: Path, change) -> None:
    stage = {"after": None, "kernel": "k", "target": "sm_80", "pipeline": "nvidia", "options": {}, **change}
    (tmp_path / "k.mlir").write_text(f"// cutecc-stage: {json.dumps(stage)}\n{traced_text}")
    done = cutecc("compile", "k.mlir", "--stop-after=cse#2", "-q", "-o", "out", status=(0, 2))
    assert "internal error" not in done.stderr
    if done.returncode == 0:
        assert read_folder(tmp_path / "out").options == {}
    assert sorted(path.name for path in tmp_path.iterdir()) in (["k.mlir"], ["k.mlir", "out"])


def test_start_after_and_stop_after_together(compile, tmp_path: Path) -> None:
    compile("--dump-after=cse#1", "--stop-after=cse#1", name="first")
    record = compile(
        "--start-after=cse#1",
        "--stop-after=convert-cute-to-core",
        "--dump-after=all",
        module=tmp_path / "first" / "14-cse.mlir",
    )
    assert record.steps[0].index == 15
    assert record.steps[-1].name == "convert-cute-to-core"
    assert dumps(tmp_path)[0] == "14-input.mlir"


# Passes given on a command line are passes of a `Pipeline`.


def test_the_recorded_pipeline_reads_back(compile) -> None:
    record = compile("--stop-after=convert-scf-to-cf")
    assert str(Pipeline.parse(record.pipeline)) == record.pipeline
