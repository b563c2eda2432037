"""`cutecc watch` on programs that compile kernels: what they do stays theirs, and every kernel is recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cutecc.record.folder import read_folder
from cutecc.watching.settings import HOOK

KERNELS = """
    import os
    import cutlass
    import cutlass.cute as cute

    @cute.kernel
    def scale_kernel(a: cute.Tensor, factor: cutlass.Constexpr):
        thread, _, _ = cute.arch.thread_idx()
        a[thread] = a[thread] * factor

    @cute.jit
    def scale(a: cute.Tensor, factor: cutlass.Constexpr):
        scale_kernel(a, factor).launch(grid=(1, 1, 1), block=(32, 1, 1))

    @cute.jit
    def broken(a: cute.Tensor):
        raise ValueError("no such mode")

    def vector(size=None):
        shape = (cute.sym_int() if size is None else size,)
        return cute.runtime.make_fake_compact_tensor(cutlass.Float32, shape, stride_order=(0,))
"""
"""A module of kernels."""

PROGRAM = """
    import hashlib, multiprocessing, subprocess, sys, traceback
    import cutlass
    import cutlass.cute as cute
    from kernels import broken, scale, vector

    def compiled(factor):
        return cute.compile(scale, vector(), factor, options="--keep-ptx --opt-level 2")

    def in_child():
        cute.compile(scale, vector(), 4.0)
        print("child", flush=True)

    if __name__ == "__main__":
        for factor in (2.0, 3.0, 2.0):
            print(hashlib.sha256(compiled(factor).__ptx__.encode()).hexdigest())
        try:
            cute.compile(broken, vector(8))
        except Exception:
            traceback.print_exc(file=sys.stdout)
        process = multiprocessing.get_context("spawn").Process(target=in_child)
        process.start()
        process.join()
        finders = [getattr(each, "__name__", type(each).__name__) for each in sys.meta_path]
        print(sys.argv[1:], finders, [path for path in sys.path if "hook" in path], flush=True)
        print("to standard error", file=sys.stderr)
        raise SystemExit(3)
"""
"""A program: two kernels of one name, one of them twice, one that does not trace, one in another process."""


@dataclass
class Run:
    """A program that was run."""

    done: subprocess.CompletedProcess[str]
    folder: Path

    @property
    def index(self) -> dict[str, Any]:
        return json.loads((self.folder / "index.json").read_text())


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "CUTE_DSL_ARCH": "sm_90a", "CUTECC_CACHE": "0", **variables}


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment(**variables), capture_output=True, text=True, timeout=120
    )


def watch(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "cutecc", "watch", *arguments], folder, **variables)


def write(folder: Path, program: str, name: str = "program.py") -> None:
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(textwrap.dedent(KERNELS))
    (folder / name).write_text(textwrap.dedent(program))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The program without a watch."""
    folder = tmp_path_factory.mktemp("plain") / "same"
    write(folder, PROGRAM)
    return run([sys.executable, "program.py", "--watched", "no"], folder)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("plain") / "same"
    write(folder, PROGRAM)
    done = watch(folder, "-o", "seen", "--lines", "--", sys.executable, "program.py", "--watched", "no")
    return Run(done, folder / "seen")


@pytest.mark.slow
def test_a_program_does_the_same_when_it_is_watched(plain: subprocess.CompletedProcess[str], watched: Run) -> None:
    def of_any_folder(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if "File " not in line)

    assert plain.returncode == watched.done.returncode == 3
    assert of_any_folder(plain.stdout) == of_any_folder(watched.done.stdout)
    assert plain.stdout.count("File ") == watched.done.stdout.count("File ")
    own = [line for line in watched.done.stderr.splitlines() if not line.startswith("cutecc watch: ")]
    assert own == plain.stderr.splitlines() == ["to standard error"]


def test_every_kernel_is_recorded_once(watched: Run) -> None:
    kernels = watched.index["kernels"]
    assert [each["arguments"] for each in kernels] == [
        {"a": "f32[?]:(1)", "factor": f"const({factor})"} for factor in (2.0, 3.0, 4.0)
    ]
    assert [each["traces"] for each in kernels] == [2, 1, 1]
    assert [each["record"] for each in kernels] == [
        f"kernels/{name}" for name in ("scale-sm_90a", "scale-2-sm_90a", "scale-3-sm_90a")
    ]
    assert [each["status"] for each in kernels] == ["ok"] * 3
    assert all(each["resources"][0]["registers"] > 0 for each in kernels)
    assert len(watched.index["processes"]) == 2
    assert all(each["program_compile_seconds"] > 0 for each in kernels)
    assert not watched.index["notes"]


def test_a_kernel_is_recorded_with_its_caller(watched: Run) -> None:
    first = watched.index["kernels"][0]
    assert first["called_from"]["user"].endswith("program.py:8 in compiled")
    assert [frame.rpartition(" ")[2] for frame in first["called_from"]["stack"]] == ["compiled", "<module>"]
    assert first["defined_at"].endswith("kernels.py:12")
    assert first["program_target"] == "sm_90a"


def test_a_kernel_that_does_not_trace_is_listed(watched: Run) -> None:
    (failed,) = watched.index["failed_traces"]
    assert failed["name"] == "broken"
    assert failed["error"] == "ValueError: no such mode"
    assert failed["called_from"]["user"].endswith("program.py:18 in <module>")


def test_a_record_is_like_any_other(watched: Run) -> None:
    record = read_folder(watched.folder / "kernels" / "scale-sm_90a")
    assert record.status == "ok"
    assert record.options["opt-level"] == 2
    assert record.signature is not None
    assert record.signature.function == "scale"
    assert {"ptx", "cubin", "host-program", "stages"} <= {artifact.kind for artifact in record.artifacts}
    ptx = record.artifact("ptx")
    assert ptx is not None
    assert b"kernels.py" in ptx


@pytest.mark.slow
def test_commands_take_what_a_watch_made(watched: Run, tmp_path: Path) -> None:
    def cutecc(*arguments: object) -> str:
        done = run([sys.executable, "-m", "cutecc", *map(str, arguments)], tmp_path, NO_COLOR="1")
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = watched.folder / "kernels" / "scale-sm_90a"
    assert cutecc("check", folder) == "scale for sm_90a: nothing found; 19 of 19 checks ran\n"
    lines = cutecc("check", watched.folder, "--only=check-spills").splitlines()
    assert lines == ["scale for sm_90a: nothing found; 1 of 1 checks ran"] * 3
    assert cutecc("report", folder) == "scale-sm_90a.html\n"
    assert (tmp_path / "scale-sm_90a.html").read_bytes() == (folder / "report.html").read_bytes()
    assert "cuda.kernel" in cutecc("show", folder, "--after", "cse#1")
    assert "--- 00 traced\n+++ 14 cse#1" in cutecc("diff", folder, "traced", "cse#1")
    explained = cutecc("explain", folder, "kernels.py:9")
    assert "a[thread] = a[thread] * factor" in explained and "st.global" in explained


def test_the_page_lists_the_kernels(watched: Run) -> None:
    page = (watched.folder / "index.html").read_text()
    for text in ("scale", "program.py:8 in compiled", "const(3.0)", "sm_90a", "no such mode", "it ended with status 3"):
        assert text in page
    assert 'href="kernels/scale-2-sm_90a/report.html"' in page
    assert (watched.folder / "kernels/scale-2-sm_90a/report.html").stat().st_size > 10_000
    assert "3 kernels recorded, 1 that did not trace: seen/index.html" in watched.done.stderr


@pytest.mark.slow
def test_a_variable_does_the_same_and_the_rest_comes_later(tmp_path: Path) -> None:
    program = """
        import os
        import cutlass.cute as cute
        from kernels import broken, scale, vector
        from cutecc.watching.recorder import Recorder

        cute.compile(scale, vector(16), 2.0)
        cute.compile(scale, vector(), 2.0)
        try:
            cute.compile(broken, vector())
        except ValueError:
            pass

        # The recorder breaks, and the program does not notice.
        def fail(self, kernel):
            raise OSError("the disk is full")
        Recorder.traced = fail
        cute.compile(scale, vector(), 5.0)
        os._exit(0)
    """
    write(tmp_path, program)
    variables = {"CUTECC_WATCH": "seen", "CUTECC_WATCH_ONLY": "nothing, *_scale_kernel_*", "PYTHONPATH": str(HOOK)}
    done = run([sys.executable, "program.py"], tmp_path, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = watch(tmp_path, "--finish", "seen", "--no-reports", "--json", "--target", "sm_80")
    assert done.returncode == 0, done.stderr
    index = json.loads(done.stdout)
    assert [(each["target"], each["program_target"], each["report"]) for each in index["kernels"]] == [
        ("sm_80", "sm_90a", None)
    ] * 2
    assert (index["program"], index["failed_traces"]) == (None, [])
    assert index["notes"] == ["a kernel was not recorded: OSError: the disk is full"]
    assert not (tmp_path / "seen/kernels/scale-sm_80/report.html").exists()


@pytest.mark.slow
def test_a_failure_to_find_lines_is_not_the_programs(tmp_path: Path) -> None:
    breaking = """
        import cutecc.frontend.user_lines as user_lines

        def failing(*_):
            raise RuntimeError("lost")

        user_lines._Places._make = failing
    """
    program = (
        textwrap.dedent(breaking) + textwrap.dedent(PROGRAM).partition("    try:")[0] + "    raise SystemExit(3)\n"
    )
    write(tmp_path / "own", program)
    done = watch(tmp_path / "own", "-o", "seen", "--lines", "--no-reports", "--", sys.executable, "program.py")
    assert done.returncode == 3
    hashes = done.stdout.splitlines()
    assert len(hashes) == 3 and hashes[0] == hashes[2] != hashes[1]
    index = json.loads((tmp_path / "own" / "seen" / "index.json").read_text())
    assert [each["name"] for each in index["kernels"]] == ["scale", "scale"]
    assert index["notes"] == ["scale: some operations have no line: RuntimeError: lost"]


@pytest.mark.slow
def test_signals_and_their_ends_are_the_programs(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        print("ready", flush=True)
        time.sleep(30)
        """,
    )
    command = [sys.executable, "-m", "cutecc", "watch", "-q", "--", sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 7
    done = watch(tmp_path, "-q", "--", sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode == -signal.SIGTERM


def test_a_program_without_kernels(tmp_path: Path) -> None:
    done = watch(tmp_path, "--", sys.executable, "-c", "import sys; print('cutecc' in sys.modules); sys.exit(4)")
    assert (done.returncode, done.stdout) == (4, "False\n")
    assert done.stderr == (
        "cutecc watch: the program compiled no kernel through the CuTe DSL that was to be recorded\n"
    )
    assert "compiled no kernel" in (tmp_path / "cutecc-watch/index.html").read_text()


def test_a_python_that_ignores_the_hook_is_told_of(tmp_path: Path) -> None:
    done = watch(tmp_path, "--", sys.executable, "-uI", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert done.stderr.splitlines() == [
        "cutecc watch: python -I does not read PYTHONPATH: no kernel will be recorded",
        "cutecc watch: no Python process of the program has read PYTHONPATH, so that no kernel was recorded",
    ]


@pytest.mark.parametrize("value", ["0", ""])
def test_off_is_off(tmp_path: Path, value: str) -> None:
    program = "import sys; print([type(each).__name__ for each in sys.meta_path if hasattr(each, '_folder')])"
    done = run([sys.executable, "-c", program], tmp_path, PYTHONPATH=str(HOOK), CUTECC_WATCH=value)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert list(tmp_path.iterdir()) == []


def test_the_variable_turns_the_command_off_too(tmp_path: Path) -> None:
    done = watch(tmp_path, "--", sys.executable, "-c", "print('ran')", CUTECC_WATCH="0")
    assert (done.stdout, done.stderr) == ("ran\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_cannot_run(tmp_path: Path) -> None:
    done = watch(tmp_path, "--", "./not-there")
    assert done.returncode == 127
    assert "error: cannot run ./not-there: No such file or directory" in done.stderr


def test_a_folder_of_the_users_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("mine")
    done = watch(tmp_path, "-o", "site", "--", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds files that are not of a watch" in done.stderr
    assert (tmp_path / "site/index.html").read_text() == "mine"


def test_a_program_that_is_not_there_leaves_what_was_recorded(cutecc: Run, tmp_path: Path) -> None:
    folder = tmp_path / "cutecc-watch"
    folder.mkdir()
    for name in (".cutecc-watch", "index.html"):
        (folder / name).write_text("earlier")
    refused = cutecc("watch", "--", "no-such-program", status=127).stderr
    assert "cannot run no-such-program: No such file or directory" in refused
    assert (folder / "index.html").read_text() == "earlier"


def test_a_module_that_is_exported_before_any_pass_is_recorded(tmp_path: Path) -> None:
    program = """
        import cutlass.cute as cute
        from kernels import scale, vector
        print(type(cute.compile.to_precompiled_mlir(scale, vector(), 2.0)).__name__)
    """
    write(tmp_path, program)
    done = watch(tmp_path, "-o", "seen", "--no-reports", "--", sys.executable, "program.py")
    assert done.stdout == "PreCompiledMlirArtifact\n"
    (kernel,) = Run(done, tmp_path / "seen").index["kernels"]
    assert (kernel["name"], kernel["error"], kernel["program_error"]) == ("scale", None, None)
