"""Passes and pipelines from outside: files, installed packages, and `cutecc.register`."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import cutecc
from cutecc.compilation.request import CompileOptions, Edit
from cutecc.errors import UsageError
from cutecc.passes import ModulePass, lookup, plugins, registrations, registry
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline, named_pipelines
from cutecc.target import Target

MODULE = b"func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32\n return %0 : i32 }"
TARGET = Target.parse("sm_90a")

PASS = '''
from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.passes import ModulePass, remark, walk
from cutecc.passes.pipeline import Pipeline


@cutecc.register
@dataclass(frozen=True)
class Mark(ModulePass):
    """Mark additions."""

    name: ClassVar[str] = "{name}"

    word: str = "seen"
    """What to say."""

    def run(self, module):
        for op in walk(module, "arith.addi"):
            remark(op, self.word)


def both(target, options):
    return Pipeline((Mark("first"), Mark("second")))


cutecc.register_pipeline("{name}-both", both)
'''


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lookup.registered_passes()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setattr(registry, "_pipelines", dict(registry._pipelines))
    monkeypatch.setattr(registry, "_disputes", {})
    monkeypatch.setattr(plugins, "_failures", [])
    yield
    plugins.load_files.cache_clear()
    plugins.load_installed.cache_clear()


def write(path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text))
    return path


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, entry: str, text: str) -> None:
    """A package with an entry point, as an installer leaves it."""
    write(folder / f"{package}.py", text)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cutecc.passes]\n{entry}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    importlib.invalidate_caches()
    plugins.load_installed.cache_clear()


@pytest.fixture
def command(cutecc):
    """Runs `cutecc`, whatever comes of it."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return cutecc(*arguments, status=(0, 1, 2), env={"NO_COLOR": "1", **environment})

    return run


def remarks(kernel: cutecc.Kernel | cutecc.KernelSet) -> list[str]:
    assert isinstance(kernel, cutecc.Kernel)
    return [remark.message for step in kernel.compilation.steps for remark in step.remarks]


def test_a_file_with_passes_and_a_pipeline(tmp_path: Path) -> None:
    plugins.load_file(write(tmp_path / "mine.py", PASS.format(name="test-mark")))
    pass_class = lookup.find_pass("test-mark")
    assert pass_class is not None
    assert pass_class.provider == "plugin"
    assert registrations.origin(pass_class) == "mine.py"
    assert str(choose_pipeline("test-mark-both", TARGET)) == "test-mark{word=first},test-mark{word=second}"
    assert named_pipelines()["test-mark-both"] == "of mine.py (plugin mine.py)"
    kernel = cutecc.compile_module(MODULE, target="sm_90a", pipeline="test-mark-both")
    assert remarks(kernel) == ["first", "second"]


@pytest.mark.slow
def test_a_misspelled_name_is_told_of_passes_and_pipelines_of_a_file(command, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.py", PASS.format(name="test-mark"))
    module = write(tmp_path / "m.mlir", MODULE.decode())
    for text, meant in (("test-mrak{word=no}", "test-mark"), ("test-mark-boht", "test-mark-both")):
        done = command("opt", module, f"--pipeline={text}", f"--load={file}")
        assert f"hint: did you mean {meant}?" in done.stderr


def test_passes_of_a_file_reach_worker_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTECC_LOAD", str(write(tmp_path / "mine.py", PASS.format(name="test-mark"))))
    plugins.load_files.cache_clear()
    named = cutecc.compile_module(MODULE, target="sm_90a", pipeline="test-mark-both", isolation="worker")
    value = Pipeline.parse("test-mark{word=sent}")
    sent = cutecc.compile_module(MODULE, target="sm_90a", pipeline=value, isolation="worker")
    assert (remarks(named), remarks(sent)) == (["first", "second"], ["sent"])


def test_two_files_with_one_name_are_an_error_that_names_both(tmp_path: Path) -> None:
    plugins.load_file(write(tmp_path / "one.py", PASS.format(name="test-mark")))
    with pytest.raises(UsageError) as caught:
        plugins.load_file(write(tmp_path / "two.py", PASS.format(name="test-mark")))
    assert str(tmp_path / "one.py") in caught.value.message
    assert str(tmp_path / "two.py") in caught.value.message
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == (str(tmp_path / "two.py"), 10)


@pytest.mark.parametrize("name", ["cse", "arith-expand"])
def test_names_of_the_wheels_passes_and_of_reimplementations_are_taken(name: str) -> None:
    taken = name

    @dataclass(frozen=True)
    class Mine(ModulePass):
        """Does nothing."""

        name: ClassVar[str] = taken

        def run(self, module):
            pass

    with pytest.raises(UsageError, match=f"two passes are called '{name}': "):
        cutecc.register(Mine)


def test_names_of_pipelines_are_taken_once() -> None:
    def build(target, options):
        return Pipeline()

    with pytest.raises(UsageError, match="two pipelines are called 'nvidia': cutecc's and "):
        cutecc.register_pipeline("nvidia", build)
    cutecc.register_pipeline("test-empty", build)
    with pytest.raises(UsageError, match="two pipelines are called 'test-empty'"):
        cutecc.register_pipeline("test-empty", lambda target, options: Pipeline())


@pytest.mark.slow
def test_installed_plugins_are_found_and_listed(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "cutecc_test_plugin", "marks = cutecc_test_plugin", PASS.format(name="test-mark"))
    assert remarks(cutecc.compile_module(MODULE, target="sm_90a", pipeline="test-mark")) == ["seen"]
    assert remarks(cutecc.compile_module(MODULE, target="sm_90a", pipeline="test-mark", isolation="worker")) == ["seen"]
    shown = command("passes", "test-mark")
    assert shown.stdout.startswith("test-mark (plugin: cutecc_test_plugin)"), shown.stderr
    assert "# test-mark-both: of cutecc_test_plugin" in command("pipelines").stdout


@pytest.mark.slow
def test_an_installed_plugin_that_fails_leaves_the_rest_working(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    install(tmp_path / "good", monkeypatch, "cutecc_good", "good = cutecc_good:Mark", PASS.format(name="test-mark"))
    install(tmp_path / "bad", monkeypatch, "cutecc_bad", "bad = cutecc_bad", "import nothing_of_this_name\n")
    assert lookup.find_pass("test-mark") is not None
    (failure,) = plugins.failures()
    assert failure.message.startswith("plugin bad of cutecc_bad cannot be loaded: ModuleNotFoundError")
    assert failure.location is not None
    assert Path(failure.location.file).name == "cutecc_bad.py"

    both = f"{tmp_path / 'good'}:{tmp_path / 'bad'}"
    shown = command("passes", "test-mark", PYTHONPATH=both)
    assert shown.returncode == 0
    assert shown.stderr.count("warning: plugin bad of cutecc_bad cannot be loaded") == 1
    assert "Traceback" not in shown.stderr
    unknown = command("opt", write(tmp_path / "m.mlir", MODULE.decode()), "--pipeline=test-nothing", PYTHONPATH=both)
    assert "error: no pass is called 'test-nothing'" in unknown.stderr
    assert "note: plugin bad of cutecc_bad cannot be loaded" in unknown.stderr


def test_passes_that_everybody_has_do_not_look_for_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks() -> None:
        raise AssertionError

    monkeypatch.setattr(plugins, "load_installed", functools.cache(looks))
    assert lookup.find_pass("cse") is None
    assert lookup.find_pass("arith-expand") is not None
    assert len(choose_pipeline("nvidia", TARGET)) > 40
    with pytest.raises(AssertionError):
        lookup.find_pass("test-unknown")


def test_a_registered_pass_goes_into_a_worker_when_it_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "cutecc_test_module.py", PASS.format(name="test-mark"))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("cutecc_test_module")
    for pipeline in ("test-mark", "test-mark-both", Pipeline.parse("test-mark")):
        assert remarks(cutecc.compile_module(MODULE, target="sm_90a", pipeline=pipeline, isolation="worker"))
    options = CompileOptions(pipeline="cse", edits=(Edit("insert-after", "cse", "test-mark{word=inserted}"),))
    assert remarks(cutecc.compile_module(MODULE, target="sm_90a", options=options, isolation="worker")) == ["inserted"]


def test_a_pass_that_no_worker_can_import_is_refused() -> None:
    @cutecc.register
    @dataclass(frozen=True)
    class Local(ModulePass):
        """Exists in a function."""

        name: ClassVar[str] = "test-local"

        def run(self, module):
            pass

    cutecc.compile_module(MODULE, target="sm_90a", pipeline="test-local")
    for pipeline in ("test-local", Pipeline((Local(),))):
        with pytest.raises(UsageError, match="'test-local' cannot go into a worker process") as caught:
            cutecc.compile_module(MODULE, target="sm_90a", pipeline=pipeline, isolation="worker")
        assert any('isolation="worker"' in hint for hint in caught.value.hints)


@pytest.mark.slow
def test_reproducers_name_no_file_and_the_command_does(command, tmp_path: Path) -> None:
    text = PASS.format(name="test-mark").replace("remark(op, self.word)", 'raise cutecc.passes.error(op, "no")')
    file = write(tmp_path / "mine.py", text)
    module = write(tmp_path / "m.mlir", MODULE.decode())
    done = command("compile", module, "--target=sm_90a", "--load", file, "--pipeline=test-mark", "-o", tmp_path / "out")
    assert f"{module}:1:" in done.stderr
    assert "error: no" in done.stderr
    (reproducer,) = (tmp_path / "out").glob("reproducer-*.mlir")
    assert "mine.py" in done.stderr.splitlines()[-1]
    assert "mine.py" not in reproducer.read_text().partition("module")[0]
    # The file alone loads nothing.
    alone = command("opt", reproducer, "--pipeline=test-mark")
    assert "error: no pass is called 'test-mark'" in alone.stderr
    again = command("opt", reproducer, "--pipeline=test-mark", "--load", file)
    assert "error: no" in again.stderr
    assert "no pass is called" not in again.stderr


def test_remarks_are_shown_by_compile_unless_quiet(command, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.py", PASS.format(name="test-mark"))
    module = write(tmp_path / "m.mlir", MODULE.decode())
    arguments = ["compile", module, "--target=sm_90a", "--load", file, "--pipeline=test-mark", "-o", tmp_path / "out"]
    done = command(*arguments)
    assert done.stderr.startswith(f"{module}:1:")
    assert ": remark: seen\n" in done.stderr
    assert "^" in done.stderr
    assert "remark" not in command(*arguments, "--quiet").stderr


LEAVING = ["import sys; sys.exit(4)", "raise SystemExit", "raise GeneratorExit"]


@pytest.mark.parametrize("statement", LEAVING)
def test_a_file_that_leaves_is_an_error_and_leaves_nothing(tmp_path: Path, statement: str) -> None:
    text = PASS.format(name="test-mark") + f"\n{statement}\n"
    file = write(tmp_path / "mine.py", text)
    with pytest.raises(UsageError, match=r"mine\.py cannot be loaded: (SystemExit|GeneratorExit)") as caught:
        plugins.load_file(file)
    assert caught.value.location is not None
    assert caught.value.location.line == len(text.splitlines())
    # Half of it would be worse than nothing.
    assert not {"test-mark", "test-mark-both"} & registry.registered_names()
    write(file, PASS.format(name="test-mark"))
    plugins.load_file(file)
    assert {"test-mark", "test-mark-both"} <= registry.registered_names()


def test_installed_plugins_that_leave_do_not_end_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, statement in enumerate(LEAVING):
        (tmp_path / str(number)).mkdir()
        name = f"cutecc_leaves_{number}"
        text = PASS.format(name=f"test-mark-{number}") + f"\n{statement}\n"
        install(tmp_path / str(number), monkeypatch, name, f"leaves_{number} = {name}", text)
    assert lookup.find_pass("test-mark-1") is None
    assert [failure.message.rpartition("loaded: ")[2] for failure in plugins.failures()] == [
        "SystemExit: 4",
        "SystemExit",
        "GeneratorExit",
    ]


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        ("e = cutecc_nothing", "x = 1", "it registers no pass and no pipeline"),
        ("e = cutecc_nothing:f", "def f(): pass", "cutecc_nothing:f is neither a module nor a pass class"),
    ],
)
def test_an_entry_point_without_a_pass_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, text: str, message: str
) -> None:
    install(tmp_path, monkeypatch, "cutecc_nothing", entry, text)
    sys.modules.pop("cutecc_nothing", None)
    plugins.load_installed()
    (failure,) = plugins.failures()
    assert failure.message == f"plugin e of cutecc_nothing cannot be loaded: {message}"
    assert failure.location is None, "not a line of cutecc's own"


def test_two_entry_points_may_be_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = "a = cutecc_twice\nb = cutecc_twice\nc = cutecc_twice:Mark"
    install(tmp_path, monkeypatch, "cutecc_twice", entries, PASS.format(name="test-mark"))
    assert lookup.find_pass("test-mark") is not None
    assert plugins.failures() == []


@pytest.mark.slow
def test_a_file_and_a_package_with_one_name_are_an_error(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "cutecc_same", "same = cutecc_same", PASS.format(name="test-mark"))
    file = write(tmp_path / "mine.py", PASS.format(name="test-mark"))
    module = write(tmp_path / "m.mlir", MODULE.decode())
    for arguments in (["opt", module, "--pipeline=test-mark"], ["passes"], ["passes", "test-mark"]):
        done = command(*arguments, "--load", file)
        assert done.returncode == 2, done.stderr
        assert "error: two passes are called 'test-mark': Mark of " in done.stderr
        assert str(file) in done.stderr
        assert "cutecc_same.Mark" in done.stderr
    assert command("opt", module, "--pipeline=cse", "--load", file).returncode == 0


def test_two_packages_with_one_name_are_an_error_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cutecc_one", "cutecc_two"):
        (tmp_path / name).mkdir()
        install(tmp_path / name, monkeypatch, name, f"{name} = {name}", PASS.format(name="test-mark"))
    with pytest.raises(UsageError, match=r"'test-mark': cutecc_one\.Mark and cutecc_two\.Mark"):
        lookup.find_pass("test-mark")
    assert "test-mark" in lookup.registered_passes()
    (failure,) = plugins.failures()
    assert "two passes are called 'test-mark'" in failure.message
    assert failure.location is not None
    assert Path(failure.location.file).name == "cutecc_two.py"


@pytest.mark.slow
def test_a_file_is_loaded_once(command, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.py", PASS.format(name="test-mark") + '\nPipeline.parse("cse,test-mark")\n')
    module = write(tmp_path / "m.mlir", MODULE.decode())
    done = command("opt", module, "--pipeline=test-mark", "--load", file, "--load", file)
    assert (done.returncode, done.stderr.count("remark: seen")) == (0, 1), done.stderr


def test_a_file_that_cannot_be_loaded_is_said_also_when_no_pass_runs(command, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.py", "1 / 0\n")
    done = command("opt", write(tmp_path / "m.mlir", MODULE.decode()), "--load", file)
    assert done.returncode == 2
    assert "mine.py cannot be loaded: ZeroDivisionError" in done.stderr


@pytest.mark.parametrize(
    ("statement", "hint"),
    [("import beside", "set PYTHONPATH={folder}"), ("from . import beside", "import by absolute names")],
)
def test_a_file_that_imports_its_neighbour_gets_a_hint(tmp_path: Path, statement: str, hint: str) -> None:
    (tmp_path / "beside.py").write_text("")
    with pytest.raises(UsageError, match="cannot be loaded") as caught:
        plugins.load_file(write(tmp_path / "mine.py", statement))
    assert hint.format(folder=tmp_path) in caught.value.hints[0]


def test_options_of_a_plugin_may_be_called_like_paths(tmp_path: Path) -> None:
    text = PASS.format(name="test-mark").replace("word", "path")
    plugins.load_file(write(tmp_path / "mine.py", text))
    assert str(Pipeline.parse("test-mark{path=a/b}")) == "test-mark{path=a/b}"
    with pytest.raises(UsageError, match="names a path"):
        Pipeline.parse("cuda-to-binary{dump-ptx-path=x}")


PRINTS = PASS.replace("remark(op, self.word)", 'print("out"); print("err", file=sys.stderr)').replace(
    "import cutecc\n", "import cutecc\nimport sys\n"
)


@pytest.mark.parametrize("subcommand", ["opt", "compile"])
def test_what_a_pass_prints_is_seen(command, tmp_path: Path, subcommand: str) -> None:
    file = write(tmp_path / "mine.py", PRINTS.format(name="test-mark"))
    module = write(tmp_path / "m.mlir", MODULE.decode())
    rest = ["--target=sm_90a", "-o", tmp_path / "written"]
    done = command(subcommand, module, "--load", file, "--pipeline=test-mark", *rest)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line in ("out", "err")] == ["out", "err"]
    assert "out\n" not in done.stdout


@pytest.mark.slow
def test_an_invalid_rewrite_is_blamed_on_its_pass(command, tmp_path: Path) -> None:
    text = PASS.format(name="test-mark").replace(
        "remark(op, self.word)", "op.parent.regions[0].blocks[0].operations[1].operation.erase()"
    )
    file = write(tmp_path / "mine.py", text)
    module = write(tmp_path / "m.mlir", MODULE.decode())
    for arguments in (["opt"], ["compile", "--target=sm_90a", "-o", tmp_path / "written"]):
        done = command(*arguments, module, "--load", file, "--pipeline=cse,test-mark,canonicalize")
        assert done.returncode == 1
        assert "error: pass test-mark left an invalid module: " in done.stderr
