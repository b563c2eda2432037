"""`cutecc run` on an imaginary GPU, whose kernels are Python functions over its memory."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from click.testing import CliRunner
from fake_cuda import STREAM, FakeCuda

from cutecc.arguments.grammar import parse_spec
from cutecc.cli import device as devices
from cutecc.cli import loading
from cutecc.cli import run as run_command
from cutecc.cli.subject import Function, Subject
from cutecc.errors import TraceError, UsageError
from cutecc.record import Workload
from cutecc.runtime.workspace import Workspace

EXAMPLES = Path(__file__).parents[3] / "examples"


class PythonKernel:
    """A kernel that is a function over numpy views of the imaginary GPU's memory."""

    def __init__(self, cuda: FakeCuda, function: Callable[..., None]) -> None:
        self.compilation = SimpleNamespace(name="double", target="sm_90a", artifacts=[])
        self._cuda = cuda
        self._function = function

    def __call__(self, *, stream: int, **arguments: Any) -> None:
        assert stream == STREAM
        views = {name: self._view(value) for name, value in arguments.items()}
        self._cuda.work("double", 50.0, lambda: self._function(**views))

    def _view(self, value: Any) -> Any:
        if not hasattr(value, "__cuda_array_interface__"):
            return value
        return np.asarray(SimpleNamespace(__array_interface__=value.__cuda_array_interface__, keep=value))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs `cutecc run` for `y = 2 * x`, done by a function."""
    (tmp_path / "check.py").write_text("def twice(x):\n    return x * 2\n\ndef thrice(x):\n    return x * 3\n")
    (tmp_path / "double.py").touch()
    monkeypatch.chdir(tmp_path)

    def go(
        function: Callable[..., None],
        *options: str,
        reference: str | None = "twice",
        outputs: Sequence[str] = ("y",),
        x: str = "f32[?M=3, ?N=40]:(?LD{i64}=50, 1)",
        y: str = "f32[?M, ?N]",
        tolerance: float = 1e-6,
        record: str | None = None,
    ) -> Any:
        cuda = FakeCuda()
        subject = Subject(
            PythonKernel(cuda, function),  # pyright: ignore[reportArgumentType]
            {"x": parse_spec(x), "y": parse_spec(y)},
            Workload([*outputs], tolerance, "8 * M * N", None),
            Function("check.py", reference) if reference else None,
            record=record,
        )
        monkeypatch.setattr(devices, "open_device", lambda name: Workspace(driver=cuda))
        monkeypatch.setattr(loading, "load_subject", lambda *args, **kwargs: subject)
        return CliRunner().invoke(run_command.run, ["double.py", "--device", "cuda:0", *options])

    return go


def double(x: Any, y: Any) -> None:
    y[...] = 2 * x


def test_a_right_kernel(run: Any) -> None:
    result = run(double)
    assert result.exit_code == 0, result.output
    assert "double for sm_90a on Imaginary GPU: M=3, N=40, LD=50; seed 0" in result.output
    assert "ok" in result.output
    assert "WRONG" not in result.output


def test_a_wrong_kernel_ends_with_status_1_and_says_where(run: Any) -> None:
    def off(x: Any, y: Any) -> None:
        double(x, y)
        y[1, 7] = 99

    result = run(off)
    assert result.exit_code == 1
    assert "WRONG" in result.output
    assert "1 of 120 elements of y differs" in result.output
    assert "the first at y[1, 7]: 99.0, expected" in result.output


def test_elements_that_a_kernel_forgets(run: Any) -> None:
    def partly(x: Any, y: Any) -> None:
        y[:, :30] = 2 * x[:, :30]

    result = run(partly, "--quiet")
    assert result.exit_code == 1
    assert result.output.startswith("30 elements of y were never written\n")


def test_a_kernel_that_writes_too_far(run: Any) -> None:
    def far(x: Any, y: Any) -> None:
        double(x, y)
        np.lib.stride_tricks.as_strided(y, (1, 121), (0, 4))[0, 120] = 0

    result = run(far)
    assert result.exit_code == 1
    assert "4 bytes around the elements of y were overwritten" in result.output


def test_sizes_of_the_user_and_several_seeds(run: Any) -> None:
    shapes: list[tuple[int, ...]] = []
    first: list[float] = []

    def keep(x: Any, y: Any) -> None:
        shapes.append(x.shape)
        first.append(float(x[0, 0]))
        double(x, y)

    result = run(keep, "--size", "M=7,N=11", "--size", "LD=13", "--runs", "3", "--seed", "5", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert shapes == [(7, 11)] * 3
    assert len(set(first)) == 3
    assert [each["sizes"] for each in found["runs"]] == [{"M": 7, "N": 11, "LD": 13}] * 3
    assert [each["seed"] for each in found["runs"]] == [5, 6, 7]
    assert found["ok"] is True
    assert found["runs"][0]["outputs"][0]["max_absolute_error"] == 0.0


def test_several_sizes_run_in_turn(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")

    def small(x: Any, y: Any) -> None:
        double(x, y)
        y[8:] = 0

    result = run(small, "--size", "M=7,9,N=11,30", "--runs", "2", "--save", "out.npz")
    assert result.exit_code == 1
    head, sources, _, _, *table = result.output.splitlines()
    assert head == "double for sm_90a on Imaginary GPU: M=7, N=11, LD=50; M=9, N=30, LD=50; seeds 0 to 1"
    assert sources == "reference: check.py; outputs, tolerance, arguments: double.py"
    found = [line.split() for line in table if line.strip()]
    assert found[0] == ["M=7,", "N=11,", "LD=50"]
    assert found[1][0] == "y" and found[1][2] == "7×11" and found[1][-1] == "ok"
    assert found[2] == ["M=9,", "N=30,", "LD=50"]
    assert found[3][0] == "y" and found[3][2] == "9×30" and found[3][-2:] == ["30", "WRONG"]
    assert "M=9, N=30, LD=50, seed 1: 30 of 270 elements of y differ" in result.output
    assert "M=7, N=11, LD=50, seed" not in result.output
    with np.load(tmp_path / "out.npz") as saved:
        assert saved["y"].shape == (9, 30)
    data = json.loads(run(double, "--size", "M=7,9", "--json").output)
    assert [each["sizes"]["M"] for each in data["runs"]] == [7, 9]
    assert data["ok"] is True


def test_an_error_says_at_which_of_several_sizes(run: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros((3, 40), "f4"))
    result = run(double, "--inputs", "in.npz", "--size", "M=3,4")
    assert isinstance(result.exception, UsageError)
    assert result.exception.notes == ["with M=4"]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (40, ["output", "rel error", "differ"]),
        (60, ["output", "shape", "rel error", "tolerance", "differ"]),
        (80, ["output", "type", "shape", "abs error", "rel error", "tolerance", "differ"]),
    ],
)
def test_a_narrow_terminal_has_fewer_columns(
    run: Any, monkeypatch: pytest.MonkeyPatch, width: int, columns: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(double).output.splitlines()
    headings = next(line for line in lines if line.startswith("output"))
    assert " ".join(headings.split()) == " ".join(columns)
    row = next(line.split() for line in lines if line.startswith("y "))
    assert row[0] == "y" and row[-1] == "ok" and len(row) == len(columns) + 1
    assert max(map(len, lines)) <= width


def test_a_wrong_verdict_names_the_command_that_looks_further(run: Any) -> None:
    options = ("--size", "M=3,N=4", "--seed", "7", "--arg", "x=f32[?M,?N]", "--without", "cse#1", "--fast-math")
    hint = (
        "hint: cutecc sanitize double.py --arg 'x=f32[?M,?N]' --size M=3,N=4 --seed 7 --without 'cse#1' --fast-math "
        "looks for races and bad accesses"
    )
    wrong = run(lambda x, y: None, *options, "--save", "out.npz")
    assert wrong.output.splitlines()[-1] == hint
    assert "sanitize" not in run(lambda x, y: None, *options, "--quiet").output
    assert "sanitize" not in run(double, *options).output


def test_the_command_that_looks_further_loads_the_same_passes(run: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    wrong = run(lambda x, y: None, "--load", "mine.py")
    assert wrong.output.splitlines()[-1].startswith("hint: cutecc sanitize double.py --load mine.py looks")


def test_large_arguments_are_announced(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(double).stderr == ""
    monkeypatch.setattr("cutecc.cli.emulation._LARGE_BYTES", 1)
    said = run(double).stderr.splitlines()
    assert said == ["making 0.0 GB of arguments …", "computing twice …", "reading what the kernel wrote …"]


def test_what_is_saved_is_whole_or_not_there(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(file: Any, **arrays: Any) -> None:
        file.write(b"PK")
        raise KeyboardInterrupt

    (tmp_path / "out.npz").write_bytes(b"before")
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr(np, "savez", interrupted)
    run(double, "--save", "out.npz")
    assert (tmp_path / "out.npz").read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_is_saved_goes_where_it_leads(run: Any, tmp_path: Path) -> None:
    (tmp_path / "link.npz").symlink_to("real.npz")
    assert run(double, "--save", "link.npz").exit_code == 0
    assert (tmp_path / "link.npz").is_symlink() and np.load(tmp_path / "real.npz")["y"].shape == (3, 40)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    run(double, "--save", "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and os.read(reader, 2) == b"PK"
    os.close(reader)
    assert "cannot write .: Is a directory" in str(run(double, "--save", ".").exception)


@pytest.mark.parametrize("option", ["--outputs=y", "--tolerance=1e-3"])
def test_what_decides_is_refused_where_nothing_is_compared(run: Any, option: str) -> None:
    result = run(double, option, reference=None)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (
        f"{option.partition('=')[0]} is of a comparison, and there is no reference\n"
        "hint: name one with --reference FILE.py:NAME, or leave it out"
    )


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("function", [double, lambda x, y: None])
def test_a_full_disk_takes_no_verdict_away(run: Any, function: Any, options: list[str]) -> None:
    saved = run(function, "--save", "/dev/full", *options)
    assert saved.stdout == run(function, *options).stdout
    message = "cannot write /dev/full: No space left on device"
    hint = "free some space, or name another file"
    if function is double:
        assert str(saved.exception) == f"{message}\nhint: {hint}"
    else:
        # What is wrong decides about the status.
        assert (saved.exit_code, saved.stderr) == (1, f"error: {message}\nhint: {hint}\n")


@pytest.mark.parametrize("name", ["empty.npz", "single.npy", "text.npz"])
def test_inputs_that_are_no_arrays_by_name(run: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.npz").touch()
    np.save(tmp_path / "single.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("numbers")
    result = run(double, "--inputs", name)
    assert isinstance(result.exception, UsageError) and f"{name} is no .npz file" in str(result.exception)


def test_json_of_a_failure_is_json(run: Any) -> None:
    result = run(lambda x, y: None, "--json")
    assert result.exit_code == 1
    output = json.loads(result.output)["runs"][0]["outputs"][0]
    assert (output["unwritten"], output["max_absolute_error"], output["first"]["value"]) == (120, None, "nan")


def test_another_reference(run: Any) -> None:
    assert run(double, "--reference", "check.py:thrice").exit_code == 1
    assert run(double, "--reference", "check.py:twice", reference=None).exit_code == 0


def test_a_reference_that_leaves(run: Any, tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text("def leave(x):\n    raise SystemExit(3)\n")
    result = run(double, "--reference", "leaves.py:leave")
    assert isinstance(result.exception, TraceError)
    assert "leaves.py:2" in str(result.exception) and "the reference 'leave' fails: SystemExit" in str(result.exception)
    assert "--reference takes FILE.py:NAME" in str(run(double, "--reference", "").exception)


def test_without_a_reference_nothing_is_compared_and_it_says_so(run: Any) -> None:
    result = run(double, reference=None)
    assert result.exit_code == 0
    assert "nothing was compared: it has no reference" in result.output


def test_arrays_in_and_out(run: Any, tmp_path: Path) -> None:
    x = np.arange(120, dtype="f4").reshape(3, 40)
    np.savez(tmp_path / "in.npz", x=x)
    result = run(double, "--inputs", "in.npz", "--save", "out.npz")
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "out.npz") as saved:
        np.testing.assert_array_equal(saved["y"], 2 * x)


def test_sizes_are_those_of_the_arrays(run: Any, tmp_path: Path) -> None:
    x = np.arange(88, dtype="i8").reshape(8, 11)
    np.savez(tmp_path / "in.npz", x=x)
    shapes: list[Any] = []

    def keep(x: Any, y: Any) -> None:
        shapes.append((x.shape, x.dtype))
        double(x, y)

    assert run(keep, "--inputs", "in.npz", "--size", "LD=20").exit_code == 0
    assert shapes == [((8, 11), np.dtype("f4"))]
    assert "in which size 'M' is 8; --size has 9" in str(run(keep, "--inputs", "in.npz", "--size", "M=9").exception)


def test_sizes_that_nobody_gives_are_chosen_and_told(run: Any, tmp_path: Path) -> None:
    result = run(double, x="f32[?M, ?N{div=8}]")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == ["M=33, N=136: chosen, for no --size gives them"]
    assert "on Imaginary GPU: M=33, N=136; seed 0" in result.stdout
    result = run(double, "--size", "N=8,16", x="f32[?M, ?N{div=8}]")
    assert result.stderr.splitlines() == ["M=33: chosen, for no --size gives it"]
    assert run(double, "-q", x="f32[?M, ?N]").output == ""
    np.savez(tmp_path / "in.npz", x=np.ones((5, 6)))
    assert run(double, "--inputs", "in.npz", x="f32[?M, ?N]").stderr == ""


def test_many_sizes_are_told_in_short(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of it parts a seed from its number, or ends in blanks."""
    for width in (60, 69, 75, 87):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run(double, "--size", "M=1,2,3,4,5,6,7", "--seed", "123").output.splitlines()
        head = " ".join(" ".join(lines[:2]).split())
        assert "Imaginary GPU: M=1, N=40, LD=50; …; M=7, N=40, LD=50 (7 in turn); seed 123" in head
        assert any("seed 123" in line for line in lines[:2])
        assert all(line == line.rstrip() for line in lines)


def test_a_real_kernel_goes_to_the_driver(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The driver records and executes nothing, so every output keeps its poison."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "runtime"))
    from recording import RecordingDriver

    driver, cuda = RecordingDriver(), FakeCuda()
    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", lambda: driver)
    monkeypatch.setattr(devices, "open_device", lambda name: Workspace(driver=cuda))
    monkeypatch.setenv("CUTECC_NATIVE", "0")
    command = [str(EXAMPLES / "elementwise_add.py"), "--size", "M=33,N=12", "--no-cache", "--runs", "2"]
    command += ["--device", "cuda:0"]
    assert run_command.run.main(command, standalone_mode=False) == 1
    assert "seed 1: 396 elements of c were never written" in capfd.readouterr().out
    assert [launch.stream for launch in driver.launches] == [STREAM] * 2
    pointers = np.frombuffer(driver.launches[0].parameters, "<u8")
    assert pointers[0] % 16 == 0
    assert pointers[0] % 32 == 16


def test_a_gpu_that_is_not_there(cutecc: Any, tmp_path: Path) -> None:
    command = ("run", EXAMPLES / "elementwise_add.py", "--device", "cuda:0")
    result = cutecc(*command, status=1, env={"CUDA_VISIBLE_DEVICES": ""})
    assert "error: " in result.stderr
    assert "CUDA driver" in result.stderr
    assert "cutecc compile FILE.py --bundle FILE.cutecc" in result.stderr
    assert not any(tmp_path.iterdir())


def test_a_file_without_outputs_is_not_called_right(run: Any) -> None:
    result = run(double, "--json", outputs=[])
    assert json.loads(result.output)["ok"] is None
    assert "nothing was compared: no outputs are named (--outputs NAME)\n" in run(double, outputs=[]).output


def test_what_is_no_kernel_is_told_from_what_is_near(cutecc: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from cutlass import cute\n\n\n@cute.jit\ndef mine(x):\n    pass\n")
    (tmp_path / "two.py").write_text("from mine import mine\n")
    (tmp_path / "manifest.json").touch()
    assert "it imports mine: name its file, mine.py" in cutecc("run", "two.py", "--device=cpu", status=2).stderr
    refused = cutecc("run", tmp_path / "manifest.json", status=2).stderr
    said = f"is neither a Python file, nor a bundle (.cutecc), nor PTX (.ptx)\nhint: name its folder: {tmp_path}\n"
    assert said in refused


def test_wrong_requests(cutecc: Any, tmp_path: Path) -> None:
    """All of them are found before a GPU is asked for."""
    file = EXAMPLES / "elementwise_add.py"
    assert "there is no file nothing.py" in cutecc("run", "nothing.py:add", status=2).stderr
    assert "there is no file nothing.cutecc" in cutecc("bench", "nothing.cutecc", status=2).stderr
    assert "No such option '--stop-after'" in cutecc("run", file, "--stop-after", "cse", status=2).stderr
    assert "there is no file no.py" in cutecc("run", file, "--reference", "no.py:f", status=2).stderr
    assert "there is no folder nowhere" in cutecc("run", file, "--save", "nowhere/c.npz", status=2).stderr
    refused = cutecc("run", file, "--inputs", file, status=2).stderr
    assert "is no .npz file of numbers" in refused and "pickle" not in refused
    assert "no device is called 'tpu:0'" in cutecc("run", file, "--device", "tpu:0", status=2).stderr
    (tmp_path / "kernel.py").touch()
    for command in ("run", "sanitize", "bench"):
        assert "hint: did you mean kernel.py?" in cutecc(command, "kernl.py:add", status=2).stderr
    refused = cutecc("run", file, "--reference", "kernels.py:f", status=2).stderr
    assert "there is no file kernels.py" in refused and "did you mean kernel.py?" in refused
    assert "--size takes NAME=NUMBER" in cutecc("run", file, "--size", "100", status=2).stderr


# What decides: a record is not asked.


def wrong_by_a_tenth(x: Any, y: Any) -> None:
    y[...] = 2.2 * x


@pytest.fixture
def judged(run: Any, tmp_path: Path) -> Callable[..., Any]:
    """Runs a kernel out of a bundle against a reference of the user's, `check` for its header."""

    def go(function: Callable[..., None], *options: str, check: str = "", **more: Any) -> Any:
        text = (tmp_path / "check.py").read_text()
        (tmp_path / "user.py").write_text(f"{check}\n{text}\n{_MORE}")
        names = [] if "--reference" in options else ["--reference", "user.py:twice"]
        return run(function, *names, *options, reference=None, record="double.cutecc", **more)

    return go


_MORE = """
def all_of(x):
    return x, x * 2

def both(x, y):
    return [1.0] * len(x), y
"""
OUTPUTS = '# cutecc: outputs = ["y"]'


@pytest.mark.parametrize("outputs", [[], ["x"], ["y"]])
@pytest.mark.parametrize("tolerance", [1e308, float("inf"), 0.5])
def test_a_bundle_sets_no_bar(judged: Any, outputs: list[str], tolerance: float) -> None:
    more = {"outputs": outputs, "tolerance": tolerance}
    assert judged(double, check=OUTPUTS, **more).exit_code == 0
    wrong = judged(wrong_by_a_tenth, check=OUTPUTS, **more)
    assert wrong.exit_code == 1 and "120 of 120 elements of y differ" in wrong.output


def test_no_bar_of_a_bundle_counts(judged: Any) -> None:
    random = np.random.default_rng(28)
    odd = [0.0, -1.0, 1e308, float("inf"), float("nan"), 2.0**64]
    for _ in range(attacks(5)):
        outputs = [str(each) for each in random.permutation(["x", "y", "z", ""])[: random.integers(4)]]
        tolerance = float(random.choice([*odd, *10.0 ** random.uniform(-300, 300, 3)]))
        assert judged(wrong_by_a_tenth, check=OUTPUTS, outputs=outputs, tolerance=tolerance).exit_code == 1


def test_a_verdict_says_who_decides(judged: Any) -> None:
    text = judged(double, check=OUTPUTS).output
    assert "\nreference, outputs: user.py; tolerance: by type; arguments: double.py\n" in text
    found = json.loads(judged(double, "--outputs", "y", "--tolerance", "1e-3", "--json").output)
    assert found["from"] == {"outputs": "the command line", "tolerance": "the command line", "arguments": "double.py"}
    assert found["reference"] == "user.py:twice" and found["runs"][0]["outputs"][0]["tolerance"] == 1e-3
    header = f"{OUTPUTS}\n# cutecc: ulp = 1"
    found = json.loads(judged(double, "--json", check=header).output)
    assert found["from"]["tolerance"] == "user.py" and found["runs"][0]["outputs"][0]["ulp"] == 1


def test_what_the_command_line_says_goes_first(judged: Any, run: Any) -> None:
    assert judged(wrong_by_a_tenth, "--tolerance", "0.2", check=f"{OUTPUTS}\n# cutecc: tolerance = 0").exit_code == 0
    assert run(wrong_by_a_tenth, "--tolerance", "0.2").exit_code == 0
    assert run(wrong_by_a_tenth, "--outputs", "y", outputs=["x"]).exit_code == 1


def test_without_names_all_arrays_count(judged: Any) -> None:
    """Nothing is poisoned then, and what the kernel only reads has to be as it was."""
    whole = ("--reference", "user.py:all_of")
    assert judged(double, *whole).exit_code == 0
    assert "outputs: all arrays; tolerance: by type" in judged(double, *whole).output

    def spoil(x: Any, y: Any) -> None:
        double(x, y)
        x[0, 0] += 1

    assert "1 of 120 elements of x differs" in judged(spoil, *whole).output
    assert judged(lambda x, y: None, *whole).exit_code == 1
    refused = judged(double)
    assert isinstance(refused.exception, UsageError)
    assert "the reference returns 1 arrays, and the outputs are x, y" in str(refused.exception)
    assert "--outputs c, or in the file of the reference" in str(refused.exception)


@pytest.mark.parametrize("bar", ["tolerance = 1.0", "tolerance = 1e308", "tolerance = inf", "tolerance = nan"])
def test_a_bar_that_is_none_is_refused_before_there_is_a_run(judged: Any, run: Any, bar: str) -> None:
    ran: list[int] = []
    refused = judged(lambda x, y: ran.append(1), check=f"{OUTPUTS}\n# cutecc: {bar}")
    assert isinstance(refused.exception, UsageError) and "bounds nothing" in str(refused.exception)
    refused = judged(lambda x, y: ran.append(1), check=f"{OUTPUTS}\n# cutecc: ulp = 8388609")
    assert "8,388,609 ulp of f32 bound nothing" in str(refused.exception)
    refused = run(lambda x, y: ran.append(1), tolerance=float(bar.rpartition(" ")[2]))
    assert "bounds nothing" in str(refused.exception)
    assert not ran


def test_outputs_without_elements_as_the_user_asks_are_no_verdict(judged: Any) -> None:
    options = ("--size", "M=0", "--outputs", "y")
    result = judged(double, *options, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["ok"] is None and found["runs"][0]["outputs"][0]["ok"] is None
    text = judged(double, *options).output
    assert "nothing was compared: no output has an element" in text and "empty" in text and "ok" not in text
    swept = judged(double, "--size", "M=0,3", "--outputs", "y", "--json")
    found = json.loads(swept.output)
    assert swept.exit_code == 0 and found["ok"] is True
    assert [run["outputs"][0]["ok"] for run in found["runs"]] == [None, True]


EMPTY = "f32[?M=0, ?N=40]:(?LD{i64}=50, 1)"


def test_outputs_without_elements_that_nobody_asked_for_could_not_be_checked(judged: Any, run: Any) -> None:
    """As when a bundle asks for no elements."""
    result = judged(double, check=OUTPUTS, x=EMPTY)
    assert result.exit_code == 2, result.output
    assert "not checked: with M=0, N=40, LD=50, there is no element of y; --size gives other sizes" in result.output
    assert "ok" not in result.output.partition("differ")[2].partition("\n")[2]
    assert "not checked: " in judged(double, "--quiet", check=OUTPUTS, x=EMPTY).output
    found = json.loads(judged(double, "--json", check=OUTPUTS, x=EMPTY).output)
    assert found["ok"] is None and found["runs"][0]["unchecked"] == ["y"]
    assert judged(double, "--size", "M=3", check=OUTPUTS, x=EMPTY).exit_code == 0
    # A size of the user's is no excuse for another one.
    assert judged(double, "--size", "N=3,4", check=OUTPUTS, x=EMPTY).exit_code == 2
    assert run(double, x=EMPTY).exit_code == 2


def test_an_output_with_elements_does_not_hide_one_without(judged: Any) -> None:
    """The table has rows for both, and what is wrong counts before what could not be checked."""
    options = ("--reference", "user.py:both", "--outputs", "x,y")
    specs = {"x": "f32[?N=40]", "y": "f32[?M=0, ?N]"}
    assert judged(lambda x, y: x.fill(1), *options, **specs).exit_code == 2
    assert judged(lambda x, y: x.fill(2), *options, **specs).exit_code == 1
