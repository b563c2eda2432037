"""Direct entries: a kernel file that is as it was is not run again, and any change of what it read is a miss."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from cutecc.cache import direct, lookup
from cutecc.compilation import from_file
from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.frontend import installed
from cutecc.frontend.traced import Inputs, TracedModule, TraceRequest
from cutecc.frontend.watch import Watch
from cutecc.record import Signature

OLD = time.time_ns() - 3600 * 10**9
PTX = CompileOptions(artifacts=("ptx",))
QUICK = CompileOptions(pipeline="canonicalize", artifacts=())


def age(*paths: Path) -> None:
    for path in paths:
        os.utime(path, ns=(OLD, OLD))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files had been there for long: their times of change cannot be set back."""
    monkeypatch.setattr(direct, "_CLOCK_TICK_NS", -(10**12))


# The state of files.


def test_the_state_holds_until_something_changes(tmp_path: Path, settled: None) -> None:
    file, absent = tmp_path / "kernel.py", tmp_path / "tuning.json"
    file.write_text("one")
    names = ("kernel", "numpy", "optional")

    def state() -> direct.Snapshot:
        taken = direct.take([str(file)], [str(absent)], [str(tmp_path)], names, {}, since_ns=time.time_ns())
        assert taken is not None
        return taken

    snapshot = state()
    assert direct.holds(snapshot)
    (tmp_path / "unrelated.txt").write_text("x")
    assert direct.holds(snapshot)
    file.write_text("two")
    assert not direct.holds(snapshot)
    file.write_text("one")
    assert direct.holds(snapshot)
    absent.write_text("{}")
    assert not direct.holds(snapshot), "a file that was looked for is there now"
    absent.unlink()
    for name in ("optional.py", "numpy", "optional.cpython-311-x86_64-linux-gnu.so"):
        path = tmp_path / name
        path.mkdir() if "." not in name else path.write_text("")
        assert not direct.holds(snapshot), "a module that would be imported instead"
        path.rmdir() if path.is_dir() else path.unlink()
    assert direct.holds(snapshot)
    file.unlink()
    assert not direct.holds(snapshot)


def test_a_file_that_has_just_changed_is_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    began = time.time_ns()
    file.write_text("one")
    assert direct.take([str(file)], [], [], [], {}, since_ns=began) is None
    assert direct.take([str(file)], [], [], [], {}, since_ns=time.time_ns() + 10**9) is not None


def test_an_entry_survives_its_file() -> None:
    snapshot = direct.Snapshot({"a": "b"}, ["c"], {"d": ["e"]}, ["f"], {"g": None})
    entry = direct.DirectEntry("n", "k", "m", "name", Signature("f", []), [], snapshot)
    assert direct.decode(direct.encode(entry)) == entry
    assert direct.decode(b"{}") is None
    assert direct.decode(b"\xff") is None


# What a trace reads.


def test_what_is_read_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "watched_package"
    (package / "inner").mkdir(parents=True)
    (tmp_path / "watched_namespace").mkdir()
    files = {
        package / "__init__.py": "from . import inner\nfrom .inner import leaf\nimport json",
        package / "inner" / "__init__.py": "",
        package / "inner" / "leaf.py": "import watched_namespace.part",
        tmp_path / "watched_namespace" / "part.py": "try:\n    import watched_missing\nexcept ImportError:\n    pass",
        tmp_path / "data.txt": "tuned",
    }
    for path, content in files.items():
        path.write_text(content)
    (tmp_path / "unread.txt").write_text("")
    with Watch(__file__) as watch:
        import watched_package  # type: ignore[import-not-found]  # noqa: F401

        (tmp_path / "data.txt").read_text()
        (tmp_path / "written.txt").write_text("ours")
        (tmp_path / "written.txt").read_text()
        with pytest.raises(FileNotFoundError):
            (tmp_path / "absent.txt").read_text()
        inputs = watch.inputs()
    for name in [name for name in sys.modules if name.startswith("watched_")]:
        del sys.modules[name]
    assert inputs is not None
    seen = {Path(path) for path in inputs.files if path.startswith(str(tmp_path))}
    assert seen == set(files)
    assert str(tmp_path / "absent.txt") in inputs.absent
    assert str(tmp_path) in inputs.folders
    assert {"watched_missing", "watched_package", "json"} <= set(inputs.names)
    installed = os.path.dirname(pytest.__file__)
    assert not any(path.startswith((installed, os.path.dirname(os.__file__) + "/json")) for path in inputs.files)
    assert not [finder for finder in sys.meta_path if type(finder).__module__ == Watch.__module__], "all is put back"


def test_a_compiled_module_without_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import py_compile

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "watched_compiled.py").write_text("VALUE = 1")
    py_compile.compile(str(tmp_path / "watched_compiled.py"), cfile=str(tmp_path / "watched_compiled.pyc"))
    (tmp_path / "watched_compiled.py").unlink()
    with Watch(__file__) as watch:
        import watched_compiled  # type: ignore[import-not-found]  # noqa: F401

        inputs = watch.inputs()
    del sys.modules["watched_compiled"]
    assert inputs is not None
    assert str(tmp_path / "watched_compiled.pyc") in inputs.files


def test_a_trace_that_asks_another_process_cannot_be_told() -> None:
    import subprocess

    with Watch(__file__) as watch:
        subprocess.run(["true"], check=True)
        assert watch.inputs() is None


def run_watched(path: Path, content: str) -> Inputs | None:
    """What `content`, as a file of the user's, reads."""
    path.write_text(content)
    with Watch(str(path)) as watch:
        exec(compile(content, str(path), "exec"), {"__name__": "watched_file"})
        return watch.inputs()


@pytest.mark.parametrize(
    "expression",
    [
        "os.environ['TILE']",
        "os.environ.get('TILE', '64')",
        "os.getenv('TILE', '64')",
        "os.environb.get(b'TILE')",
        "os.getenvb(b'TILE')",
        "'TILE' in os.environ",
        "os.environ.setdefault('TILE', '64')",
        "os.environ.pop('TILE', None)",
        "os.path.expandvars('$TILE/x')",
        "[os.environ.get(name) for name in ('TILE',)]",
        "eval(\"os.environ.get('TILE')\")",
    ],
)
def test_variables_that_are_read_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    monkeypatch.setenv("TILE", "64")
    inputs = run_watched(tmp_path / "kernel.py", f"import os\n{expression}\n")
    assert inputs is not None
    assert inputs.variables == ("TILE",)


@pytest.mark.parametrize(
    "expression",
    [
        "dict(os.environ)",
        "os.environ.copy()",
        "list(os.environ.items())",
        "[name for name in os.environ]",
        "len(os.environ)",
        "os.environ | {}",
        "{**os.environ}",
        "str(os.environ)",
        "dict(os.environb)",
    ],
)
def test_who_reads_all_variables_cannot_be_told(tmp_path: Path, expression: str) -> None:
    assert run_watched(tmp_path / "kernel.py", f"import os\n{expression}\n") is None


def test_a_variable_that_is_not_set_is_seen(tmp_path: Path) -> None:
    inputs = run_watched(tmp_path / "kernel.py", "import os\nassert 'NO_SUCH_TILE' not in os.environ\n")
    assert inputs is not None
    assert inputs.variables == ("NO_SUCH_TILE",)


def test_what_an_installed_package_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is imported it reads for itself, and when it is called it reads for its caller."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "watched_settings.py").write_text(
        "import os\nos.environ.get('OF_PACKAGE')\ndict(os.environ)\ndef get(name):\n    return os.environ.get(name)\n"
    )
    found, library = installed._folders()
    monkeypatch.setattr(installed, "_folders", lambda: ((*found, f"{packages}/"), library))
    monkeypatch.syspath_prepend(packages)
    inputs = run_watched(tmp_path / "kernel.py", "import watched_settings\nwatched_settings.get('TILE')\n")
    del sys.modules["watched_settings"]
    assert inputs is not None
    assert inputs.variables == ("TILE",)


def test_nobody_watches_the_environment_afterwards(tmp_path: Path) -> None:
    methods = dict(vars(type(os.environ)))
    run_watched(tmp_path / "kernel.py", "")
    assert dict(vars(type(os.environ))) == methods


# From a file to its record, without the DSL: a stand-in traces.


@pytest.fixture
def project(tmp_path: Path, cache_dir: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text("import helper")
    (tmp_path / "helper.py").write_text("")
    return tmp_path


class Tracer:
    """Traces by handing out a module, and counts how often."""

    def __init__(self, module: bytes, folder: Path) -> None:
        self._module = module
        self._folder = str(folder)
        self.count = 0

    def __call__(self, file: TraceRequest) -> TracedModule:
        self.count += 1
        files = (f"{self._folder}/helper.py", f"{self._folder}/kernel.py")
        inputs = Inputs(files, (), (self._folder,), ("helper", "numpy"), ("TILE",)) if file.watch else None
        return TracedModule(self._module, Signature("copy", []), "copy", file.path, 1, inputs=inputs)

    def compile(self, options: CompileOptions = QUICK, *, output: Path | None = None, **settings):
        request = CompileRequest(b"", "sm_80", "", options=options, output=output)
        return from_file.lower_file(TraceRequest("kernel.py", target="sm_80"), request, trace=self, **settings)


@pytest.fixture
def tracer(project: Path, small_kernel) -> Tracer:
    return Tracer(small_kernel.bytecode, project)


def test_a_file_is_not_run_again(tracer: Tracer, project: Path) -> None:
    first = tracer.compile(PTX)
    second = tracer.compile(PTX, output=project / "record")
    assert tracer.count == 1
    assert not first.cached
    assert second.cached
    assert second.signature == first.signature
    assert second.artifact("ptx") == first.artifact("ptx")
    assert (project / "record" / "copy.ptx").is_file()
    assert tracer.compile(PTX, use_direct=False).cached, "the passes' result is known all the same"
    assert tracer.count == 2
    assert not tracer.compile(QUICK, cache=False).cached
    assert tracer.count == 3


@pytest.mark.slow
def test_any_change_is_a_miss(tracer: Tracer, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def misses() -> bool:
        before = tracer.count
        tracer.compile()
        tracer.compile()
        assert tracer.count <= before + 1, "the new state is remembered"
        return tracer.count > before

    assert misses()
    assert not misses()
    (project / "helper.py").write_text("# changed")
    assert misses()
    (project / "kernel.py").write_text("import helper  # changed")
    assert misses()
    (project / "numpy.py").write_text("")
    assert misses()
    monkeypatch.setenv("CUTE_DSL_SOMETHING", "1")
    assert misses()
    monkeypatch.setattr(direct, "flavour", lambda: "cu99")
    assert misses(), "another driver has the wheel take another flavour"
    monkeypatch.syspath_prepend(project / "elsewhere")
    assert misses()
    (project / "unrelated.py").write_text("")
    monkeypatch.setenv("UNRELATED", "1")
    assert not misses()
    monkeypatch.setenv("TILE", "")
    assert misses(), "empty is not unset"
    monkeypatch.setenv("TILE", "128")
    assert misses()
    monkeypatch.delenv("TILE")
    assert misses()


def test_options_make_other_entries(tracer: Tracer) -> None:
    tracer.compile()
    tracer.compile(CompileOptions(artifacts=(), pipeline="cse"))
    assert tracer.count == 2
    tracer.compile(CompileOptions(artifacts=(), pipeline="cse", verify_each=True))
    assert tracer.count == 3, "the passes are to run"
    tracer.compile()
    assert tracer.count == 3


def test_a_lost_record_is_made_anew(tracer: Tracer, cache_dir: Path) -> None:
    tracer.compile()
    (record,) = cache_dir.glob("*.record")
    record.unlink()
    assert not tracer.compile().cached
    assert tracer.compile().cached
    assert tracer.count == 2


def test_a_damaged_direct_entry_is_a_miss(tracer: Tracer, cache_dir: Path) -> None:
    tracer.compile()
    (entry,) = cache_dir.glob("*.direct")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert tracer.compile().cached
    assert tracer.count == 2


def test_when_the_cache_is_off_nothing_is_watched(tracer: Tracer, cache_dir: Path, monkeypatch) -> None:
    monkeypatch.setenv("CUTECC_CACHE", "0")
    assert not lookup.wanted(None)
    tracer.compile()
    tracer.compile()
    assert tracer.count == 2
    assert not cache_dir.exists()
