"""`cutecc sanitize`, and `cutecc run` on the CPU emulator: the commands themselves, on kernels of the DSL."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from terminals import on_a_terminal

import cutecc as cutecc_library
from cutecc.cli import emulation, main
from cutecc.cli.emulation import BlockProgress
from cutecc.record import Workload
from cutecc.record.bundle import write_bundle

ADD = Path(__file__).parents[3] / "examples" / "elementwise_add.py"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "80"}

REVERSE = '''\
"""Reverses each block's 64 elements through shared memory."""

# cutecc: entry = "reverse"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=128] align=16"
# cutecc: args.y = "f32[?N] align=16"
# cutecc: outputs = ["y"]
# cutecc: reference = "reference"

import cutlass
from cutlass import cute


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    tile[thread] = x[block * 64 + thread]
    BARRIER
    y[block * 64 + thread] = tile[63 - thread]


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor):
    reverse_kernel(x, y).launch(grid=[cute.size(x) // 64, 1, 1], block=[64, 1, 1])


def reference(x):
    return x.reshape(-1, 64)[:, ::-1].reshape(-1)
'''


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, cutecc_in: Any) -> Path:
    """A folder with `racy.py`, and bundles of it, of its clean twin and of the element-wise add."""
    folder = tmp_path_factory.mktemp("bundles")
    (folder / "racy.py").write_text(REVERSE.replace("BARRIER", "pass"))
    (folder / "clean.py").write_text(REVERSE.replace("BARRIER", "cute.arch.sync_threads()"))
    for source, targets in ((folder / "clean.py", "sm_80,sm_90a"), (ADD, "sm_90a")):
        bundle = ["--bundle", source.stem + ".cutecc", "--line-info", "--quiet", "--target", targets]
        cutecc_in(folder, "compile", source, *bundle)
    return folder


@pytest.mark.slow
def test_a_race_is_found_at_its_lines_and_found_again(cutecc: Any, bundles: Path) -> None:
    racy = bundles / "racy.py"
    result = cutecc("sanitize", racy, status=1, env=NO_GPU)
    lines = result.stdout.splitlines()
    assert lines[0] == "reverse for sm_80 on the CPU emulator: N=128"
    said = " ".join(" ".join(lines[1:6]).split())
    assert (
        said.startswith("checked: accumulators, ")
        and "races; 2 blocks; round-robin, random, adversarial, seed 0" in said
    )
    assert "--runs 9 takes each schedule three times" in said
    assert all(len(line) <= 80 or str(racy) in line for line in lines)
    text = result.stdout
    assert f"{racy}:21:" in text and f"{racy}:19:" in text
    assert "y[block * 64 + thread] = tile[63 - thread]" in text and "tile[thread] = x[block * 64 + thread]" in text
    assert "shared+" in text and "of block (0, 0, 0)" in text
    again = [line.partition("reproduce: ")[2] for line in lines if "reproduce: " in line][-1]
    command = shlex.split(again)
    assert command[:-1] == ["cutecc", "sanitize", str(racy), "--schedule", "round-robin", "--seed"]
    found = json.loads(cutecc(*command[1:], "--json", status=1).stdout)
    assert found["ok"] is False and len(found["runs"]) == 1
    assert {each["kind"] for each in found["findings"]} >= {"race"}
    for each in found["findings"]:
        assert {each["place"]["line"], each["other"]["line"] if each["other"] else 19} <= {19, 21}
        assert each["reproduce"] == again


def test_a_clean_kernel(cutecc: Any, bundles: Path) -> None:
    clean = bundles / "clean.cutecc"
    result = cutecc("sanitize", clean, "--size", "N=192", "--runs", "3", "--blocks", "2", env=NO_GPU)
    said = " ".join(result.stdout.split())
    assert "reverse for sm_90a on the CPU emulator" in said
    assert "a sample of 2 of 3 blocks; round-robin, random, adversarial, seed 0" in said
    assert result.stdout.endswith("nothing found\n")
    assert cutecc("sanitize", clean, "-q", "--check", "races").stdout == ""


@pytest.mark.slow
def test_which_runs_there_are(cutecc: Any, bundles: Path) -> None:
    def runs(*options: str) -> list[tuple[str, int, int]]:
        told = json.loads(cutecc("sanitize", bundles / "clean.cutecc", *options, "--json").stdout)["runs"]
        return [(run["schedule"], run["seed"], run["blocks"]) for run in told]

    three = ["round-robin", "random", "adversarial"]
    assert runs("--seed", "4") == [(each, 4, 2) for each in three]
    assert runs("--runs", "1") == [("round-robin", 0, 2)]
    assert runs("--runs", "5") == [(three[number % 3], number // 3, 2) for number in range(5)]
    assert runs("--schedule", "random") == [("random", 0, 2)]
    assert runs("--schedule", "random", "--runs", "2") == [("random", 0, 2), ("random", 1, 2)]
    # 8,192 threads run at a time: of blocks that have nothing to do with each other the others take as many.
    large = ["--size", f"N={64 * 300}"]
    assert runs(*large) == [("round-robin", 0, 300), ("random", 0, 128), ("adversarial", 0, 128)]
    assert runs(*large, "--blocks", "200") == [(each, 0, 200) for each in three]
    assert runs(*large, "--runs", "3") == [(each, 0, 300) for each in three]


def test_runs_beside_each_other_find_the_same(bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        result = CliRunner().invoke(main.cutecc, ["sanitize", str(bundles / "racy.py"), "--json"])
        assert result.exit_code == 1, result.output
        return re.sub(r'"seconds": [\d.]+', "", result.output)

    apart = told()
    monkeypatch.setattr("cutecc.cli.checked_runs._WORTH_SECONDS", 0.0)
    monkeypatch.setattr("cutecc.emulator.options.available_cores", lambda: 2)
    assert told() == apart


@pytest.mark.slow
def test_several_sizes(cutecc: Any, bundles: Path) -> None:
    racy = bundles / "racy.py"
    result = cutecc("sanitize", racy, "--size", "N=64,192", "--check=races", status=1, env={"COLUMNS": "200"})
    head, checked, *rest = result.stdout.splitlines()
    assert head == "reverse for sm_80 on the CPU emulator: N=64; N=192"
    assert (
        checked
        == "checked: barriers, bounds, races; 1 block, 3 blocks; 6 runs, round-robin, random, adversarial, seed 0"
    )
    (again,) = [line.partition("reproduce: ")[2] for line in rest if "reproduce: " in line]
    assert again == f"cutecc sanitize {racy} --check races --size N=64 --schedule round-robin --seed 0"
    found = json.loads(cutecc(*shlex.split(again)[1:], "--json", status=1).stdout)
    assert [run["sizes"] for run in found["runs"]] == [{"N": 64}]
    clean = bundles / "elementwise_add.cutecc"
    assert "multiples of 4" in cutecc("sanitize", clean, "--size", "M=1,N=8,7", status=2).stderr


@pytest.mark.slow
def test_what_one_line_does_wrong_is_said_once(cutecc: Any, tmp_path: Path) -> None:
    (tmp_path / "unguarded.py").write_text(ADD.read_text().replace(", pred=in_bounds", ""))
    result = cutecc("sanitize", "unguarded.py", "--size", "M=33,N=132", "--check", "bounds", status=1, env=NO_GPU)
    heads = [line.partition(": ")[0] for line in result.stdout.splitlines() if ": out-of-bounds: " in line]
    lines = (tmp_path / "unguarded.py").read_text().splitlines()
    assert heads == [f"unguarded.py:{n}:5" for n, line in enumerate(lines, 1) if line.startswith("    cute.copy(")]
    assert "of shape (33," in result.stdout and result.stdout.endswith("3 problems found\n")


@pytest.mark.parametrize("plain", [False, True])
def test_colours_of_a_terminal(command: Path, bundles: Path, plain: bool) -> None:
    arguments = ["sanitize", bundles / "racy.py", "--check", "races"]
    status, text = on_a_terminal(command, arguments, errors=False, **NO_GPU, NO_COLOR="1" if plain else "")
    assert status == 1
    assert "race: reads" in text and ("\x1b[" in text) is not plain


def test_wrong_requests(cutecc: Any, bundles: Path) -> None:
    clean = bundles / "clean.cutecc"
    assert "there is no check 'speed'" in cutecc("sanitize", clean, "--check", "speed", status=2).stderr
    assert "did you mean races?" in cutecc("sanitize", clean, "--check", "race", status=2).stderr
    assert "did you mean random?" in cutecc("sanitize", clean, "--schedule", "randon", status=2).stderr
    assert "folder without a record" in cutecc("sanitize", ".", status=2).stderr
    assert "no schedule is called 'fast'" in cutecc("sanitize", clean, "--schedule", "fast", status=2).stderr
    assert "'x' names no blocks" in cutecc("run", clean, "--device", "cpu", "--blocks", "x", status=2).stderr
    assert "',' names no check" in cutecc("sanitize", clean, "--check", ",", status=2).stderr
    assert "no schedule is called ''" in cutecc("sanitize", clean, "--schedule", "", status=2).stderr
    assert "no device is called ''" in cutecc("run", clean, "--device", "", status=2).stderr
    on_gpu = cutecc("run", clean, "--device", "cuda:0", "--processes", "1", status=2).stderr
    assert "--processes is for the CPU emulator" in on_gpu
    on_gpu = cutecc("run", clean, "--device", "cuda:0", "--blocks", "1", status=2).stderr
    assert "--blocks is for the CPU emulator" in on_gpu
    other = cutecc("run", ADD, "--device", "cpu", "--target", "sm_80,sm_100a", status=2).stderr
    assert "--target sm_80, sm_100a: the emulator runs code for one target at a time" in other
    assert "the CPU emulator has no times" in cutecc("bench", clean, "--device", "cpu", status=2).stderr


def test_only_what_is_found_ends_with_status_1(cutecc: Any, bundles: Path) -> None:
    clean = bundles / "clean.cutecc"
    refused = cutecc("sanitize", clean, "--size", "N=63", status=2)
    assert "which has no blocks" in refused.stderr and refused.stdout == ""
    refused = cutecc("sanitize", clean, "--size", "N=64,63", status=2)
    assert "note: with N=63" in refused.stderr
    (bundles / "broken.py").write_text("1 / 0\n")
    assert "ZeroDivisionError" in cutecc("sanitize", bundles / "broken.py", status=2).stderr
    assert "which has no blocks" in cutecc("run", clean, "--device", "cpu", "--size", "N=63", status=1).stderr


@pytest.mark.slow
def test_where_there_is_no_gpu_a_run_is_on_the_cpu(cutecc: Any, tmp_path: Path) -> None:
    result = cutecc("run", ADD, "--size", "M=33,N=132", "--save", "c.npz", env=NO_GPU)
    first, second, *rest = result.stdout.splitlines()
    assert first == "no GPU here: running on the CPU emulator"
    assert second == "elementwise_add for sm_80 on the CPU emulator: M=33, N=132; seed 0"
    assert rest[-1].split()[-1] == "ok"
    with np.load(tmp_path / "c.npz") as saved:
        assert np.isfinite(saved["c"]).all() and saved["c"].shape == (33, 132)


def test_a_right_verdict_on_a_terminal_says_what_was_not_checked(command: Path, bundles: Path) -> None:
    arguments = ["run", bundles / "clean.cutecc", "--device", "cpu", "--size", "N=64"]
    arguments += ["--reference", bundles / "clean.py:reference"]
    settings = {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200", "NO_COLOR": "1"}
    status, text = on_a_terminal(command, arguments, errors=False, **settings)
    assert status == 0
    last = f"not checked for races and bad accesses: cutecc sanitize {bundles / 'clean.cutecc'} --size N=64 does"
    assert last in text


@pytest.mark.slow
def test_a_fault_of_a_run_names_the_command_that_tells_more(cutecc: Any, bundles: Path, tmp_path: Path) -> None:
    """In JSON too, with the status of the error."""
    (tmp_path / "far.py").write_text((bundles / "clean.py").read_text().replace("y[block", "y[3 + block"))
    result = cutecc("run", "far.py", "--seed", "3", "--json", status=1, env=NO_GPU)
    hint = "cutecc sanitize far.py --seed 3 looks for"
    assert hint in result.stderr
    found = json.loads(result.stdout)
    error = found["error"]
    assert found["ok"] is False and (error["type"], error["file"], error["line"]) == ("FaultError", "far.py", 21)
    assert error["message"].startswith("block (1, 0, 0), thread (61, 0, 0) and 2 more threads: writes 4 bytes")
    assert error["hints"][0].startswith(hint)
    refused = json.loads(cutecc("sanitize", "far.py", "--size", "K=3", "--json", status=2).stdout)
    assert refused["ok"] is False and refused["error"]["message"] == "no size is called 'K'"


def test_a_damaged_bundle_is_a_wrong_request(cutecc: Any, tmp_path: Path) -> None:
    (tmp_path / "junk.cutecc").write_text("junk")
    for command in ("run", "sanitize"):
        assert "is not a bundle" in cutecc(command, "junk.cutecc", status=2, env=NO_GPU).stderr


def test_the_verdict_of_a_sample_and_counters(cutecc: Any, tmp_path: Path, bundles: Path) -> None:
    (tmp_path / "sums.py").write_text(
        '# cutecc: outputs = ["c"]\n\ndef plus(a, b):\n    return a + b\n\ndef minus(a, b):\n    return a - b\n'
    )
    command = ("run", bundles / "elementwise_add.cutecc", "--device", "cpu", "--size", "M=33,N=132", "--blocks", "2")
    right = json.loads(cutecc(*command, "--counters", "--json", "--reference", "sums.py:plus").stdout)
    assert right["ok"] is True and right["device"] == "the CPU emulator" and right["target"] == "sm_90a"
    run = right["runs"][0]["emulator"]
    assert (run["blocks"], run["total_blocks"]) == (2, 6)
    kernel = run["counters"]["kernels"][0]
    assert kernel["total"]["warps"] > 0 and any(line.get("line") for line in kernel["lines"])
    wrong = cutecc(*command, "--counters", "--reference", "sums.py:minus", status=1, env=NO_GPU).stdout
    assert wrong.startswith("elementwise_add for sm_90a on the CPU emulator: M=33, N=132; seed 0\n")
    assert "WRONG" in wrong and "never written" not in wrong
    assert "a sample of 2 of 6 blocks ran: what the others write was not compared" in wrong
    assert "elementwise_add.py:" in wrong and "sectors" in wrong


def forged(source: Path, target: Path, **changes: Any) -> None:
    """A bundle as somebody makes it who wants it to pass: each artifact's note, or the record, changed."""
    loaded = cutecc_library.load(source)
    assert isinstance(loaded, cutecc_library.Kernel)
    record = replace(loaded.compilation, **changes)
    record.files = loaded.compilation.files
    write_bundle(target, [record])


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload", [Workload([], 1e308), Workload(["a"]), Workload(["c"], 0.9), Workload(ulp=1 << 40)]
)
def test_a_bundle_sets_no_bar_for_its_own_verdict(
    cutecc: Any, tmp_path: Path, bundles: Path, workload: Workload
) -> None:
    forged(bundles / "elementwise_add.cutecc", tmp_path / "forged.cutecc", workload=workload)
    (tmp_path / "mine.py").write_text("def half(a, b):\n    return a + b / 2\n\ndef whole(a, b):\n    return a + b\n")
    command = ("run", "forged.cutecc", "--device", "cpu", "--size", "M=8,N=8", "--outputs", "c", "--reference")
    assert "WRONG" in cutecc(*command, "mine.py:half", status=1).stdout
    found = json.loads(cutecc(*command, "mine.py:whole", "--json").stdout)
    assert found["ok"] is True and found["cubin_of_ptx"] is True
    assert found["from"] == {"outputs": "the command line", "tolerance": "by type", "arguments": "forged.cutecc"}


@pytest.mark.slow
def test_a_record_that_does_not_note_what_its_cubin_is_of(cutecc: Any, tmp_path: Path, bundles: Path) -> None:
    made = cutecc_library.load(bundles / "elementwise_add.cutecc").compilation  # pyright: ignore
    older = [msgspec.structs.replace(each, sha256=None, ptx_sha256=None) for each in made.artifacts]
    forged(bundles / "elementwise_add.cutecc", tmp_path / "older.cutecc", artifacts=older)
    said = "older.cutecc does not note that its cubin is of this PTX: a GPU may run other code"
    options = ("older.cutecc", "--size", "M=8,N=8")
    for command in (("run", *options, "--device", "cpu"), ("sanitize", *options)):
        assert said in " ".join(cutecc(*command).stdout.split())
        assert json.loads(cutecc(*command, "--json").stdout)["cubin_of_ptx"] is False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time of `BlockProgress`, in seconds."""
    now = [0.0]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    yield now


def test_a_long_run_says_how_far_it_is(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with BlockProgress(lambda: clock[0], may_sample=False) as progress:
        for done in range(11):
            clock[0] = 10.0 * done
            progress("gemm", 100 * done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "gemm: 400 of 1,000 blocks after 40 s",
        "gemm: 800 of 1,000 blocks after 80 s",
    ]
    assert emulation._LINE_EVERY_SECONDS == 30


@pytest.mark.parametrize(
    ("first", "blocks", "time"),
    [
        (0.05, 1000, None),
        (0.5, 1000, None),
        (4.0, 20, "80 s"),
        (4.0, 1000, "67 min"),
        (12.0, 1000, "3 h"),
        (12.0, 100_000, "14 days"),
    ],
)
def test_how_long_all_blocks_take(
    clock: list[float], capsys: pytest.CaptureFixture[str], first: float, blocks: int, time: str | None
) -> None:
    """Said once, by the first blocks that took long enough to tell."""
    with BlockProgress(lambda: clock[0]) as progress:
        progress("gemm", 0, blocks)
        for done in (1, 2):
            clock[0] = first * done
            progress("gemm", done, blocks)
    said = f"gemm: 1 of {blocks:,} blocks after {first:.0f} s; all take about {time} (--blocks 4 runs a sample)\n"
    assert capsys.readouterr().err == (said if time else "")


def test_blocks_none_of_which_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(emulation, "_SILENT_SECONDS", 0.0)
    for may_sample, blocks, line in (
        (True, 1024, "0 of 1,024 blocks after 0 s (--blocks 4 runs a sample)"),
        (True, 1, "0 of 1 block after 0 s"),
        (False, 1024, "0 of 1,024 blocks after 0 s"),
    ):
        with BlockProgress(may_sample=may_sample) as progress:
            progress("gemm", 0, blocks)
            said = ""
            while "\n" not in said:
                said += capsys.readouterr().err
        assert said == f"gemm: {line}\n"


ENDLESS = """\
# cutecc: entry = "endless"
# cutecc: args.x = "i32[4]"
import cutlass
from cutlass import cute
@cute.kernel
def endless_kernel(x: cute.Tensor):
    i = cutlass.Int32(1)
    while i != 0:
        i = i + x[0] * 2
        x[1] = i
@cute.jit
def endless(x: cute.Tensor):
    endless_kernel(x).launch(grid=[1, 1, 1], block=[1, 1, 1])
"""


@pytest.mark.slow
def test_a_loop_without_an_end_says_where_it_is(tmp_path: Path) -> None:
    """Also when it is interrupted."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    script = "from cutecc.cli import emulation, main; emulation._SILENT_SECONDS = 0.5; main.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "run", "endless.py", "--device", "cpu"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    line = r"\S+: 0 of 1 block after \d+ s; warp 0 of block \(0, 0, 0\) at endless\.py:(8|9|10)\n"
    assert re.fullmatch(line, told), told
    where, _, interrupted = rest.rstrip().rpartition("\n")
    assert re.fullmatch(line, where.rstrip() + "\n") and interrupted == "interrupted; what was written stays", rest
    assert process.returncode == 130


def test_a_mistake_in_a_check_is_told_with_what_was_found_before(
    bundles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks fail where the block's barrier is; what was before it stays, and clean is no verdict."""

    def fail(*args: object) -> None:
        raise IndexError("no such place")

    monkeypatch.setattr("cutecc.emulator.checks.checker.Checker.release", fail)
    monkeypatch.setenv("COLUMNS", "120")
    result = CliRunner().invoke(main.cutecc, ["sanitize", str(bundles / "clean.cutecc")])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "warning: the checks accumulators, initialisation, layouts, proxies, races ended here, under" in said
    assert "by a mistake of cutecc's own: IndexError: no such place" in said
    assert "Traceback" not in said
    assert result.output.endswith("nothing found, and not all was checked\n")
    result = CliRunner().invoke(main.cutecc, ["sanitize", str(bundles / "clean.cutecc"), "--json"])
    told = json.loads(result.output)
    assert told["ok"] is False and not told["findings"]
    assert "in fail" in told["stopped"][0]["traceback"]
