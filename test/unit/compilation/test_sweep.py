"""Compiling many kernels: order, failures, any executor, a cluster that loses a worker."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import cutecc
from cutecc.compilation.sweep import Job, Result, compile_many
from cutecc.errors import Error, TraceError, UsageError
from cutecc.support.isolation import ProcessDied

ROOT = Path(__file__).parents[3]
KERNELS = ROOT / "test" / "kernels"
COPY, CONSTANTS = KERNELS / "vector_copy.py", KERNELS / "constexpr_args.py"
ABORTS = "import os\nos.abort()\n"


@pytest.mark.slow
def test_results_come_in_order_and_failures_stay_alone(tmp_path: Path) -> None:
    aborts = tmp_path / "aborts.py"
    aborts.write_text(ABORTS)
    seen: list[tuple[Job, Result]] = []
    jobs = [
        Job(str(COPY), target="sm_80"),
        Job(str(tmp_path / "missing.py")),
        Job(str(aborts), target="sm_80"),
        Job(str(COPY), target="sm_90a"),
        Job(str(COPY), args={"nothing": "f32"}, target="sm_80"),
        Job(str(COPY), target="sm_80,sm_90a"),
        CONSTANTS,
    ]
    results = compile_many(jobs, workers=2, progress=lambda job, result: seen.append((job, result)))
    first, missing, aborted, second, wrong_spec, two_targets, third = results
    assert isinstance(first, cutecc.Kernel)
    assert ".target sm_80" in first.ptx
    assert isinstance(missing, UsageError)
    assert "missing.py" in missing.message
    assert isinstance(aborted, ProcessDied)
    assert isinstance(second, cutecc.Kernel)
    assert ".target sm_90a" in second.ptx
    assert isinstance(wrong_spec, UsageError)
    assert isinstance(two_targets, UsageError)
    assert "one target" in two_targets.message
    assert isinstance(third, cutecc.Kernel)
    assert third.compilation.name != first.compilation.name
    assert len(seen) == len(jobs)
    assert sorted(isinstance(result, Error) for _, result in seen) == [False] * 3 + [True] * 4


@pytest.mark.slow
def test_a_configuration_is_an_entry(tmp_path: Path) -> None:
    gemm = ROOT / "examples" / "gemm.py"
    entries = ["Gemm(tile=(64, 64))", "Gemm(tile=(128, 256))", "Gemm(tile=(1, 1))"]
    small, large, wrong = compile_many([Job(str(gemm), entry=entry, output=None) for entry in entries], workers=2)
    assert isinstance(small, cutecc.Kernel)
    assert isinstance(large, cutecc.Kernel)
    assert small.cubin != large.cubin
    assert isinstance(wrong, Error)
    assert "tile (1, 1)" in wrong.message


@pytest.mark.slow
def test_any_executor_will_do() -> None:
    with ThreadPoolExecutor(2) as executor:
        kernels = compile_many([COPY, CONSTANTS, COPY], executor=executor)
        assert all(isinstance(kernel, cutecc.Kernel) for kernel in kernels)
        assert executor.submit(int, "7").result() == 7  # it is still open


def test_workers_and_an_executor_exclude_each_other() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(UsageError, match="workers or an executor"):
        compile_many([COPY], workers=1, executor=executor)


@pytest.mark.parametrize("workers", [0, -1])
def test_without_workers_nothing_is_compiled(workers: int) -> None:
    with pytest.raises(UsageError, match=f"workers={workers} compiles nothing"):
        compile_many([COPY], workers=workers)


class LosesEverything(Executor):
    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        future.set_exception(OSError("the cluster is gone"))
        return future


def test_a_failure_of_the_executors_is_an_error_of_ours() -> None:
    (result,) = compile_many([COPY], executor=LosesEverything())
    assert isinstance(result, Error)
    assert "OSError: the cluster is gone" in result.message


def test_a_trace_error_keeps_its_place(tmp_path: Path) -> None:
    kernel = tmp_path / "wrong.py"
    kernel.write_text(
        textwrap.dedent("""
        from cutlass import cute

        @cute.jit
        def wrong(x: cute.Tensor):
            x.missing()
        """)
    )
    (error,) = compile_many([Job(str(kernel), args={"x": "f32[?]"}, target="sm_80")], workers=1)
    assert isinstance(error, TraceError)
    assert error.location is not None
    assert error.location.line == 6


ON_DASK = """
import json, sys
import cutecc
from distributed import Client, LocalCluster

if __name__ == "__main__":
    jobs = [cutecc.Job(file, target="sm_80") for file in sys.argv[1:]]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with Client(cluster) as client:
            results = cutecc.compile_many(jobs, executor=client.get_executor())
    print(json.dumps([str(each) if isinstance(each, cutecc.Error) else each.ptx for each in results]))
"""


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    # The first process that runs it dies on the way; the job goes to another.
    kernel, marker, script = tmp_path / "fatal_once.py", tmp_path / "died", tmp_path / "sweep.py"
    kernel.write_text(
        f"{COPY.read_text()}\nimport os, signal\nif not os.path.exists({str(marker)!r}):\n"
        f"    open({str(marker)!r}, 'w').write(str(os.getpid()))\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    script.write_text(ON_DASK)
    done = run_apart(script, kernel, COPY, tmp_path / "no.py")
    survived, other, missing = json.loads(done.splitlines()[-1])
    assert int(marker.read_text()) > 0
    assert survived == other
    assert ".target sm_80" in other
    assert "there is no file" in missing


def run_apart(*command: object) -> str:
    """The output of a Python program: a cluster runs the main module again in each of its workers."""
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_example_runs_on_a_cluster() -> None:
    pytest.importorskip("distributed")
    script = ROOT / "examples" / "sweeps" / "tiles_on_dask.py"
    lines = run_apart(script, "--tiles", "64x64,128x128,128x100", "--workers", "2").splitlines()
    assert lines[0].split() == ["tile", "registers", "spills", "shared", "memory"]
    assert [line.split()[0] for line in lines[1:]] == ["64x64", "128x128", "128x100"]
    assert "tile (128, 100)" in lines[3]
    assert int(lines[1].split()[1]) > 0


def test_files_with_helpers_of_the_same_name(tmp_path: Path) -> None:
    """One worker traces both; each has the helper that lies beside it."""
    source = (
        "import index\n"
        "from cutlass import cute\n"
        "@cute.kernel\n"
        "def kernel(x: cute.Tensor):\n"
        "    x[0] = x[index.VALUE]\n"
        "@cute.jit\n"
        "def launch(x: cute.Tensor):\n"
        "    kernel(x).launch(grid=[1, 1, 1], block=[1, 1, 1])\n"
    )
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "kernel.py").write_text(source)
        (folder / "index.py").write_text(f"VALUE = {value}\n")
    jobs = [Job(str(tmp_path / str(value) / "kernel.py"), args={"x": "f32[?]"}, target="sm_80") for value in (1, 2)]
    first, second = compile_many(jobs, workers=1)
    assert isinstance(first, cutecc.Kernel)
    assert isinstance(second, cutecc.Kernel)
    assert first.ptx is not None
    assert second.ptx is not None
    assert "+4]" in first.ptx
    assert "+8]" in second.ptx


def test_two_jobs_for_one_folder_are_refused(tmp_path: Path) -> None:
    jobs = [Job(str(COPY), target=target, output=tmp_path / "record") for target in ("sm_80", "sm_90a")]
    with pytest.raises(UsageError, match="two jobs would be written to"):
        compile_many(jobs)
    assert not (tmp_path / "record").exists()
