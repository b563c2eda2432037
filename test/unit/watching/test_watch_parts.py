"""The parts of `cutecc watch` that need no kernels: the hook, the journal, the index."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run
from report_pages import Page

from cutecc.compilation.request import CompileRequest
from cutecc.compilation.versions import current_versions
from cutecc.errors import RecordError, UsageError
from cutecc.frontend.call_site import CallFrame, CallSite
from cutecc.frontend.compile_events import TracedKernel
from cutecc.record import Analysis, Compilation, KernelResources, Remark
from cutecc.record.stages import CallFrame as Frame
from cutecc.record.stages import UserLines
from cutecc.watching import finishing, folder
from cutecc.watching.finishing import Job, Outcome, wheel_options
from cutecc.watching.index import index_data
from cutecc.watching.index_page import page
from cutecc.watching.journal import Journal
from cutecc.watching.recorder import Recorder
from cutecc.watching.recording import Recording, decode_lines, encode_lines, read
from cutecc.watching.running import ignoring_option
from cutecc.watching.settings import HOOK, WatchSettings

SITE = {"frames": [{"file": "train.py", "line": 3, "function": "step"}], "users": 0}
KERNEL = {
    "name": "gemm",
    "function": "Gemm.__call__",
    "symbol": "cutlass___call__",
    "kernels": ["kernel_cutlass_kernel_0"],
    "parameters": [["a", "f16[?,8]", None]],
    "target": "sm_90a",
    "options": "opt-level=3",
    "locations": False,
    "called_from": SITE,
}


def recorded(path: Path, **facts: object) -> Recording:
    """A watch of one kernel, with other facts than usual."""
    journal = Journal(str(path))
    journal.keep("0" * 32 + ".mlirbc", b"ML\xefR")
    journal.write("kernel", key="0" * 32, **{**KERNEL, **facts})
    journal.write("traced", key="0" * 32, seconds=0.25)
    return read(path)


def python(code: str, tmp_path: Path, *paths: Path, watch: str = "seen") -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [HOOK, *paths])),
        "CUTECC_WATCH": watch,
        "CUTE_DSL_ARCH": "sm_90a",
    }
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)


def test_a_forked_process_counts_for_itself(tmp_path: Path) -> None:
    done = python(
        """
        import atexit, os, sys, threading
        from cutecc.frontend import compile_events
        from cutecc.watching import recorder
        compile_events.install = lambda listener, lines: setattr(sys, "listener", listener)
        recorder.begin("seen")
        for _ in range(3):
            sys.listener.repeated("0" * 32)
        held, done = threading.Event(), threading.Event()
        def hold():
            with sys.listener._lock:
                held.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        if child := os.fork():
            os.waitpid(child, 0)
            done.set()
            thread.join()
        else:
            sys.listener.repeated("0" * 32)
            atexit._run_exitfuncs()
            os._exit(0)
        """,
        tmp_path,
        watch="0",
    )
    assert done.returncode == 0, done.stderr
    journals = (tmp_path / "seen/recorded").glob("*.jsonl")
    assert sorted(path.read_text().rpartition('"times":')[2] for path in journals) == ["1}\n", "3}\n"]


def test_the_users_own_start_file_still_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import sys; sys.own = __name__, __file__\n")
    done = python("import sys, sitecustomize; print(sys.own, sitecustomize.__file__)", tmp_path, tmp_path / "own")
    own = str(tmp_path / "own" / "sitecustomize.py")
    assert (done.stdout, done.stderr) == (f"{('sitecustomize', own)} {own}\n", "")


def fake_dsl(path: Path, base: str) -> str:
    """Makes a package like the DSL, of which `base` is the module to watch; the Python that finds it first."""
    (path / "fake/cutlass/base_dsl").mkdir(parents=True)
    (path / "fake/cutlass/__init__.py").touch()
    (path / "fake/cutlass/base_dsl/__init__.py").touch()
    (path / "fake/cutlass/base_dsl/dsl.py").write_text(base)
    return f"import sys; sys.path.insert(0, {str(path / 'fake')!r}); "


def test_an_unknown_dsl_is_warned_of_once_and_left_alone(tmp_path: Path) -> None:
    fake = fake_dsl(tmp_path, "class BaseDSL:\n    def generate_mlir(self, function): return function\n")
    code = f"{fake}import cutlass.base_dsl.dsl as dsl; print(dsl.BaseDSL().generate_mlir(5))"
    done = python(code, tmp_path)
    assert done.stdout == "5\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("cutecc watch: kernels are not recorded: UnknownDslError: this version of the CuTe DSL")
    assert python(code, tmp_path).stderr == ""


def test_a_dsl_with_the_watched_methods_is_known(tmp_path: Path) -> None:
    fake = fake_dsl(
        tmp_path,
        "class BaseDSL:\n"
        "    def generate_mlir(self, funcBody, function_name, args, kwonlyargs, sig, no_cache): return function_name\n"
        "    def compile_and_cache(self, module, module_hash, function_name, pipeline): pass\n"
        "    def post_compilation_cleanup(self): pass\n",
    )
    code = f"{fake}import cutlass.base_dsl.dsl as dsl; print(dsl.BaseDSL().generate_mlir(*range(6)))"
    done = python(code, tmp_path)
    assert done.stdout == "1\n"
    assert "UnknownDslError" not in done.stderr


def test_a_folder_that_cannot_be_written_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = python(f"{fake_dsl(tmp_path, '')}import cutlass.base_dsl.dsl; print('ran')", tmp_path, watch="taken/seen")
    assert done.stdout == "ran\n"
    assert done.stderr.startswith("cutecc watch: kernels are not recorded: NotADirectoryError")


def test_a_dsl_that_does_not_load_fails_as_ever(tmp_path: Path) -> None:
    fake = fake_dsl(tmp_path, "raise ImportError('no library')")
    done = python(f"{fake}import cutlass.base_dsl.dsl", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("ImportError: no library\n")
    assert "cutecc watch" not in done.stderr


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    recording = recorded(tmp_path)
    (kernel,) = recording.kernels.values()
    assert (kernel.traces, kernel.trace_seconds, kernel.compile_seconds) == (1, 0.25, None)
    assert kernel.event.called_from.users_frame == CallFrame("train.py", 3, "step")
    assert recording.module("0" * 32) == b"ML\xefR"
    assert [each.pid for each in recording.processes] == [os.getpid()]


def test_a_journal_that_was_cut_off_or_damaged_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    recorded(tmp_path)
    (journal,) = (tmp_path / "recorded").glob("*.jsonl")
    with journal.open("a") as file:
        file.write('{"event":"unheard of","time":1}\n{"event":"traced","time":1,"key":"' + "0" * 32)
    recording = read(tmp_path)
    assert [kernel.traces for kernel in recording.kernels.values()] == [1]
    assert [note for note in recording.notes if "has a line that cannot be read" in note]


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    Journal(str(tmp_path)).write("note", message=os.fsdecode(b"gr\xfc\xdfe.py") + " größe")
    recording = read(tmp_path)
    assert recording.notes == ["gr??e.py größe"]


def test_a_key_is_no_path(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.write("kernel", key="../../../etc/passwd", **KERNEL)
    assert read(tmp_path).kernels == {}


def test_the_same_failure_is_listed_once(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    for error in ("ValueError: a", "ValueError: a", "ValueError: b"):
        facts = {"name": "k", "function": "k", "target": "sm_90a", "called_from": SITE, "trace_seconds": 0.1}
        journal.write("failed", error=error, **facts)
    assert [(each.error, each.times) for each in read(tmp_path).failures] == [
        ("ValueError: a", 2),
        ("ValueError: b", 1),
    ]


def test_a_process_that_forks_has_a_journal_of_its_own(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.write("note", message="parent")
    child = os.fork()
    if child == 0:
        journal.write("note", message="child")
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list((tmp_path / "recorded").glob("*.jsonl"))) == 2
    assert sorted(read(tmp_path).notes) == ["child", "parent"]


@pytest.mark.parametrize(
    ("patterns", "names", "wanted"),
    [
        ((), ["anything"], True),
        (("*gemm*",), ["Gemm.__call__", "kernel_cutlass_gemm_0"], True),
        (("gemm",), ["Gemm", "a_gemm"], False),
        (("x", "Gemm.*"), ["Gemm.__call__"], True),
    ],
)
def test_patterns_choose_by_any_name(tmp_path: Path, patterns: tuple[str, ...], names: list[str], wanted: bool) -> None:
    recorder = Recorder(Journal(str(tmp_path)), WatchSettings(only=patterns))
    assert recorder.wants(names) == wanted


LINES = UserLines([[Frame("a.py", 1, 2, "f"), Frame("b.py", 3, 4, "g")]], {"a.py": "x = 1\n"})
TRACED = TracedKernel(
    bytecode=b"ML\xefR",
    name="gemm",
    function="Gemm.__call__",
    symbol="cutlass___call__",
    kernels=["kernel_cutlass_kernel_0"],
    file="gemm.py",
    line=7,
    parameters=[],
    target="sm_90a",
    options="opt-level=3",
    locations=True,
    lines=LINES,
    called_from=CallSite((), None),
    trace_seconds=0.5,
)


def test_the_recorder_writes_each_kernel_once(tmp_path: Path) -> None:
    recorder = Recorder(Journal(str(tmp_path)), WatchSettings())
    others = [replace(TRACED, bytecode=b"ML\xefRx"), replace(TRACED, options="opt-level=2", lines=None)]
    keys = [recorder.traced(each) for each in (TRACED, TRACED, *others)]
    assert keys[0] == keys[1] and len({*keys}) == 3
    recorder.compiled(keys[0], 2.0, None)
    for _ in range(150):
        recorder.repeated(keys[2])
    recorder.repeated(keys[0])
    recorder.close()
    recording = read(tmp_path)
    kernels = recording.kernels
    assert {each: kernel.traces for each, kernel in kernels.items()} == {keys[0]: 3, keys[2]: 151, keys[3]: 1}
    assert (kernels[keys[0]].trace_seconds, kernels[keys[0]].compile_seconds) == (0.5, 2.0)
    assert [recording.module(each) for each in kernels] == [TRACED.bytecode, others[0].bytecode, others[1].bytecode]
    encoded = [recording.lines(each) for each in kernels]
    assert [data and decode_lines(data) for data in encoded] == [LINES, LINES, None]


@pytest.mark.parametrize("settings", [WatchSettings(("*gemm*", "softmax"), lines=True), WatchSettings()])
def test_settings_cross_through_the_environment(
    settings: WatchSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = settings.environment(tmp_path, {"PYTHONPATH": "/mine", "HOME": "/root"})
    assert environment["PYTHONPATH"] == f"{HOOK}{os.pathsep}/mine"
    assert environment["HOME"] == "/root"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert WatchSettings.from_environment() == settings


HOSTILE = "<script>alert(1)</script>\"'&</td>"


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    site = {"frames": [{"file": HOSTILE, "line": 1, "function": HOSTILE}], "users": 0}
    recording = recorded(
        tmp_path,
        name=f"../../{HOSTILE}",
        function=HOSTILE,
        kernels=[HOSTILE],
        parameters=[[HOSTILE, HOSTILE, HOSTILE]],
        target=HOSTILE,
        file=HOSTILE,
        line=1,
        called_from=site,
    )
    (kernel,) = recording.kernels.values()
    compilation = Compilation("k", HOSTILE, "", current_versions(), status="ok")
    compilation.resources = [KernelResources(HOSTILE, 8, 0, None, None, 0, 0, 0, None, None)] * 2
    recording.notes.append(HOSTILE)
    outcome = Outcome(Job("0" * 32, kernel, HOSTILE, "plain"), compilation, HOSTILE, has_report=True)
    program = {"command": HOSTILE, "status": 0, "ended": HOSTILE}
    text = page(index_data(recording, [outcome], program))
    assert text.count("<script") == 1, "that of the page itself"
    assert text.count("&lt;script&gt;alert(1)") > 8
    assert text.count("<td") == 11


def test_several_kernels_of_one_launch_are_told_apart(tmp_path: Path) -> None:
    (kernel,) = recorded(tmp_path).kernels.values()
    compilation = Compilation("k", "sm_90a", "", current_versions(), status="ok")
    compilation.resources = [
        KernelResources(f"kernel_cutlass_{name}__0", registers, 0, 4, 8, 0, 0, 0, None, None)
        for name, registers in (("first", 32), ("second", 255))
    ]
    remarks = [Remark("remark", "a", None), Remark("warning", "b", "x.py:1:1"), Remark("remark", "c", None)]
    compilation.analyses = [Analysis("check-spills", 0, remarks=remarks)]
    outcome = Outcome(Job("0" * 32, kernel, "sm_90a", "gemm-sm_90a"), compilation)
    text = page(index_data(Recording(tmp_path), [outcome]))
    assert "first: 32<br>second: 255" in text
    assert "first: 12 B<br>second: 12 B" in text
    assert ">2 remarks, 1 warning</td>" in text
    assert "<td>ok</td>" in text
    assert "did not end" in text
    assert Page(text.encode()).title == "Watched kernels", "each element is ended where it may be"


def test_the_programs_options_are_taken_over() -> None:
    text = "opt-level=1  preserve-line-info=true enable-assertions=true ptx-options='-O1 -v' dump-ptx-path='/tmp/x'"
    options = wheel_options(text)
    assert (options.opt_level, options.preserve_line_info, options.enable_assertions) == (1, True, True)
    assert options.ptx_options == "-O1 -v"
    assert wheel_options("opt-level=-3").opt_level == 3


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("python -I x.py", "-I"),
        ("/usr/bin/python3.11 -uE x.py", "-E"),
        ("python -X importtime -S x.py", "-S"),
        ("python -Wignore x.py -I", None),
        ("python -m pip -I", None),
        ("python --version -I", "-I"),
        ("torchrun -I", None),
    ],
)
def test_isolated_pythons_are_noticed(command: str, option: str | None) -> None:
    assert ignoring_option(command.split()) == option


def test_a_new_watch_takes_the_place_of_an_earlier_one_and_of_nothing_else(tmp_path: Path) -> None:
    recorded(tmp_path / "seen")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    folder.remove_finished(tmp_path / "seen")
    (tmp_path / "seen/kernels").symlink_to(outside)
    folder.prepare(tmp_path / "seen")
    assert [each.name for each in (tmp_path / "seen").iterdir()] == [".cutecc-watch"]
    assert (outside / "file").exists()
    (tmp_path / "seen/mine.txt").touch()
    with pytest.raises(UsageError, match="not of a watch"):
        folder.prepare(tmp_path / "seen")


@pytest.mark.parametrize("name", ["recorded/interview.wav", "kernels/mine.cu", "index.html"])
def test_files_that_only_have_a_name_of_a_watch_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match="not of a watch"):
        folder.prepare(tmp_path)
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_finishing_takes_away_nothing_that_an_earlier_finishing_did_not_make(tmp_path: Path, is_recorded: bool) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/mine.cu").touch()
    if is_recorded:
        recorded(tmp_path)
    with pytest.raises(UsageError, match=r"kernels is not of a watch"):
        folder.remove_finished(tmp_path)
    assert (tmp_path / "kernels/mine.cu").exists()


def test_finishing_again_takes_away_what_was_finished_and_leaves_what_was_recorded(tmp_path: Path) -> None:
    recorded(tmp_path)
    (tmp_path / "mine.txt").touch()
    for _ in range(3):
        folder.remove_finished(tmp_path)
        assert {each.name for each in tmp_path.iterdir()} == {".cutecc-watch", "recorded", "mine.txt"}
        (tmp_path / "kernels/gemm-sm_90a").mkdir(parents=True)
        for name in ("index.html", "index.json"):
            (tmp_path / name).touch()


def test_what_cannot_be_read_while_the_program_runs_leaves_it_alone(cutecc: Run, tmp_path: Path) -> None:
    program = "import os, time; os.makedirs('seen/recorded/1-a.jsonl'); time.sleep(0.6); print('ran')"
    done = cutecc("watch", "-o", "seen", "--live", "--", sys.executable, "-c", program)
    assert done.stdout == "ran\n"
    assert "1-a.jsonl" in done.stderr


def test_a_bug_of_ours_is_the_error_of_one_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = recorded(tmp_path)

    def fail(_request: CompileRequest) -> Compilation:
        raise ValueError("a bug")

    monkeypatch.setattr(finishing, "lower_in_worker", fail)
    finisher = finishing.Finisher(tmp_path, targets=[], reports=False, workers=1, command=[])
    finisher.add(recording)
    (outcome,) = finisher.outcomes(recording)
    assert (outcome.compilation, outcome.error) == (None, "internal error: ValueError: a bug")


def test_a_list_that_cannot_be_written_leaves_the_programs_status(cutecc: Run, tmp_path: Path) -> None:
    program = "import os; os.makedirs('seen/index.json'); raise SystemExit(7)"
    done = cutecc("watch", "-o", "seen", "--", sys.executable, "-c", program, status=7)
    assert "cannot write the list of kernels to seen" in done.stderr


@pytest.mark.parametrize("damaged", [b"nothing", zlib.compress(b'{"chains": [], "failure": "\xff"}')])
def test_user_lines_survive_a_file(damaged: bytes) -> None:
    assert decode_lines(encode_lines(LINES)) == LINES
    with pytest.raises(RecordError):
        decode_lines(damaged)


def test_a_journal_with_a_line_that_is_no_text_is_read_on(tmp_path: Path) -> None:
    recorded(tmp_path)
    (journal,) = (tmp_path / "recorded").glob("*.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"event":"note","time":1,"message":"\xe2"}\n')
    found = read(tmp_path)
    assert len(found.kernels) == 1
    assert "a line that cannot be read" in found.notes[0]


def test_the_users_frame_is_not_a_librarys() -> None:
    frames = (CallFrame("lib.py", 1, "f"), CallFrame("mine.py", 2, "g"))
    assert CallSite(frames, 1).users_frame == frames[1]
    assert CallSite(frames, None).users_frame == frames[0]
    assert CallSite((), None).users_frame is None


def test_the_recorder_brings_no_packages_into_the_program(tmp_path: Path) -> None:
    code = """
        import sys
        before = {*sys.modules}
        import cutecc.watching.recorder
        names = {name.partition(".")[0] for name in {*sys.modules} - before}
        print(sorted(names - {*sys.stdlib_module_names}))
    """
    done = python(code, tmp_path, watch="")
    assert (done.stdout, done.stderr) == ("['cutecc']\n", "")


def test_cutecc_is_found_where_it_is_not_installed(tmp_path: Path) -> None:
    # Python without installed packages, so that only the standard library and the hook are there.
    code = f"""
        import sys
        sys.path[:] = [path for path in sys.path if "site-packages" not in path and path != {str(HOOK.parents[2])!r}]
        sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in getattr(each, "__module__", "")]
        {fake_dsl(tmp_path, "class BaseDSL: pass")}
        import cutlass.base_dsl.dsl
        print(sys.modules["cutecc"].__file__)
    """
    done = python(code, tmp_path)
    assert "UnknownDslError" in done.stderr
    assert Path(done.stdout.strip()) == HOOK.parents[1] / "__init__.py"
