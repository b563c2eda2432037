"""`--untrusted` and `--limit`: bundles of unknown origin on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_kernels import PAST_THE_END, PRINT, compilation

from cutecc.kernel import Kernel

pytestmark = pytest.mark.slow

ADD = Path(__file__).parents[3] / "examples" / "elementwise_add.py"


def cutecc(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cutecc", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return saved(tmp_path, "ld.global.f32 %f2, [%rd3]; add.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;")


def saved(folder: Path, body: str) -> Path:
    path = folder / "kernel.cutecc"
    Kernel(compilation(body)).save(path)
    return path


def test_a_run_says_what_confines_it(bundle: Path) -> None:
    done = cutecc("run", bundle, "--untrusted", "--size", "N=64", "--arg", "factor=f32=2.0")
    assert done.returncode == 0, done.stderr
    assert "untrusted: it ran in a process of its own, confined by setrlimit, " in done.stdout
    assert "on the CPU emulator" in done.stdout and "no GPU here" not in done.stderr
    run = ("run", bundle, "--untrusted", "--size", "N=64", "--arg", "factor=f32=2.0", "--json")
    assert json.loads(cutecc(*run).stdout)["runs"][0]["emulator"]["confined_by"][0] == "setrlimit"


def test_what_is_found_is_found(tmp_path: Path) -> None:
    done = cutecc("sanitize", saved(tmp_path, PAST_THE_END), "--untrusted", "--size", "N=64", "--arg", "factor=f32=2.0")
    assert done.returncode == 1 and "out-of-bounds" in done.stdout
    assert "confined by setrlimit" in done.stdout


def test_a_limit_has_a_status_of_its_own(tmp_path: Path) -> None:
    path = saved(tmp_path, "AGAIN: bra AGAIN;")
    given = (path, "--size", "N=64", "--arg", "factor=f32=2.0", "--limit", "seconds=0.5")
    for command in ("run", "sanitize"):
        for untrusted in ((), ("--untrusted",)):
            device = ("--device", "cpu") if command == "run" else ()
            done = cutecc(command, *given, *untrusted, *device)
            assert done.returncode == 3, (command, untrusted, done.stderr)
            assert "error: the kernel runs more than the limit of 0.5 s" in done.stderr
            assert "hint: for a kernel that you trust: --limit seconds=N" in done.stderr


def test_arguments_that_a_bundle_asks_for_have_a_limit(bundle: Path) -> None:
    given = ("--untrusted", "--arg", "factor=f32=2.0", "--size", "N=268435457")
    for command in ("run", "sanitize"):
        done = cutecc(command, bundle, *given)
        assert done.returncode == 3 and "the arguments take 1.0 GiB, more than the limit of 1.0 GiB" in done.stderr


def test_printed_text_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    record = compilation(PRINT)
    name = record.artifacts[1].file
    # "block %d\n" becomes "\x1b[2J %d\n".
    record.files[name] = record.files[name].replace(b"{98, 108, 111, 99, 107,", b"{27, 91, 50, 74, 107,")
    path = tmp_path / "kernel.cutecc"
    Kernel(record).save(path)
    done = cutecc("run", path, "--untrusted", "--size", "N=64", "--arg", "factor=f32=2.0")
    assert r"\x1b[2Jk 0" in done.stdout and "\x1b" not in done.stdout


PTX = Path(__file__).parents[3] / "examples" / "ptx"
SUM = ("--grid", "4", "--block", "64", "--arg", "x=f32[256]", "--arg", "sums=f32[4]", "--arg", "n=i32=256")


def test_ptx() -> None:
    done = cutecc("run", PTX / "block_sum.ptx", *SUM, "--untrusted", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["emulator"]["confined_by"][0] == "setrlimit"
    done = cutecc("sanitize", PTX / "unordered_sum.ptx", *SUM, "--untrusted")
    assert done.returncode == 1 and "race" in done.stdout and "confined by setrlimit" in done.stdout
    # What a file of that name has is none of the kernel's.
    assert "part[thread] +=" not in done.stdout


@pytest.mark.parametrize(
    ("limit", "what"), [("ptx=1KiB", "1.0 KiB"), ("registers=3", "3 registers"), ("seconds=0.2", "0.2 s")]
)
def test_limits_of_ptx(limit: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "loop.ptx"
    text = (PTX / "block_sum.ptx").read_text()
    path.write_text(text.replace("ret;", "again: bra again;"))
    done = cutecc("run", path, *SUM, "--untrusted", "--limit", limit)
    assert done.returncode == 3 and f"more than the limit of {what}" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("run", PTX / "block_sum.ptx", *SUM, "--untrusted", "--device", "cuda:0"),
            "--untrusted is for the CPU emulator",
        ),
        (("run", ADD, "--untrusted"), "--untrusted is for bundles and PTX, and compiling"),
        (("sanitize", ADD, "--untrusted"), "--untrusted is for bundles and PTX, and compiling"),
        (("run", "BUNDLE", "--untrusted", "--device", "cuda:0"), "--untrusted is for the CPU emulator"),
        (("run", "BUNDLE", "--limit", "seconds=1", "--device", "cuda:0"), "--limit is for the CPU emulator"),
        (("run", "BUNDLE", "--device", "cpu", "--limit", "secands=1"), "there is no limit 'secands'"),
        (("run", "BUNDLE", "--device", "cpu", "--limit", "memory=much"), "'memory=much' is no limit"),
    ],
)
def test_what_is_refused(arguments: tuple[str | Path, ...], message: str, bundle: Path) -> None:
    done = cutecc(*(bundle if each == "BUNDLE" else each for each in arguments))
    assert done.returncode == 2 and message in done.stderr, done.stderr
