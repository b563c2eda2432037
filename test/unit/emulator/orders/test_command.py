"""`cutecc sanitize --schedule all`: its last line, its files, its status, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from explored import Kernel, by_warp, initialised_mbarriers

import cutecc
from cutecc.cli.main import cutecc as command
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import UsageError

_TWO = "  @%p5 atom.shared.add.u32 %r10, [%r9+64], 1;\n"
"""As many orders as the warps have."""
_STUCK = """
  setp.ne.u32 %p1, %r10, 0;
  @%p1 bra END;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;
  @!%p3 bra WAIT;
"""
LATE = initialised_mbarriers(1) + "  mov.u32 %r10, 9;\n" + _TWO + by_warp("  nop;", _STUCK.replace("nop", ""))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one. `fine.ptx` has two orders, and of those of `late.ptx` the second hangs."""
    monkeypatch.chdir(tmp_path)
    for name, body in (("fine", initialised_mbarriers(1) + _TWO), ("late", LATE.replace("  nop;\n", ""))):
        (tmp_path / f"{name}.ptx").write_text(Kernel(body, 2).launched().work.ptx.text)
    return tmp_path


class Run:
    """`cutecc sanitize`, in this process."""

    def __init__(self, file: str, *options: str) -> None:
        launch = ["--grid", "1", "--block", "64", "--shared-bytes", "4096"]
        result = CliRunner().invoke(command, ["sanitize", file, *launch, *options])
        self.status, self.output, self.error = result.exit_code, result.output, result.exception

    @property
    def verdict(self) -> str:
        """The last line."""
        return self.output.rstrip().splitlines()[-1]


def test_nothing_is_found(folder: Path) -> None:
    result = Run("fine.ptx", "--schedule", "all")
    assert (result.verdict, result.status) == ("no deadlock and no race in any of 2 orders of this launch", 0)
    result = Run("fine.ptx", "--schedule", "all", "--budget", "1")
    # Lines are as wide as the terminal.
    text = " ".join(result.output.split())
    assert "in 1 order of this launch, and there may be more: the budget of 1 order ended" in text
    assert result.status == 2


def test_an_order_is_kept_and_repeated(folder: Path) -> None:
    result = Run("late.ptx", "--schedule", "all", "--json")
    found: dict[str, Any] = json.loads(result.output)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["schedule"]) == ("deadlock", "replay:kernel.schedule.json")
    assert finding["reproduce"].endswith("--schedule replay:kernel.schedule.json --seed 0")
    assert (found["runs"][0]["orders"]["executed"], found["runs"][0]["orders"]["complete"]) == (2, True)
    again = Run("late.ptx", "--schedule", "replay:kernel.schedule.json")
    assert (again.verdict, again.status) == ("1 problem found", 1)
    other = Run("fine.ptx", "--schedule", "replay:kernel.schedule.json")
    assert isinstance(other.error, UsageError)
    Run("late.ptx", "--schedule", "all", "--keep-schedule", "mine.json")
    assert (folder / "mine.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "9s"], "--budget is of all orders"),
        (["--keep-schedule", "a.json"], "--keep-schedule is of all orders"),
        (["--schedule", "all", "--budget", "soon"], "'soon' is no budget"),
        (["--schedule", "al"], "no schedule is called 'al'"),
        (["--schedule", "replay:"], "no schedule is called 'replay:'"),
        (["--schedule", "all", "--untrusted"], "an untrusted kernel runs in a process of its own"),
    ],
)
def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    result = Run("fine.ptx", *options)
    assert isinstance(result.error, UsageError)
    assert message in result.error.message


def test_from_python(folder: Path) -> None:
    def emulate(schedule: str) -> Any:
        options = EmulatorOptions(check=True, schedule=schedule)
        text = (folder / "late.ptx").read_text()
        return cutecc.emulate_ptx(text, grid=1, block=64, shared_bytes=4096, args=[], options=options)

    found = emulate("all")
    assert found.summary() == "kernel for sm_90a: 1 block, 2 orders"
    (witness,) = found.orders.witnesses
    witness.schedule.save("kept.json")
    (finding,) = emulate("replay:kept.json").findings
    assert (finding.kind, finding.schedule) == ("deadlock", "replay:kept.json")


def test_a_budget_is_of_all_orders() -> None:
    with pytest.raises(UsageError, match="a budget is how many orders are tried"):
        EmulatorOptions(schedule="random", budget="9s")
    assert np.isclose(EmulatorOptions(schedule="all", budget="1.5min").budget.seconds or 0, 90)
