"""What `cutecc prove` says, and its statuses: of proofs that are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner, Result

from cutecc.cli import prove as command
from cutecc.emulator.checks.finding import Finding, Place
from cutecc.emulator.orders.kept_schedule import KeptSchedule
from cutecc.errors import Error, SourceLocation, UsageError
from cutecc.passes.dumps import Stage, stage_line
from cutecc.proving.problems import Problem
from cutecc.proving.proof import Proof
from cutecc.proving.witness import Witness
from cutecc.report.proof_file import read_proofs

_LINE = SourceLocation("kernel.py", 7)
_PROBLEM = Problem("race", "warp 0 writes what warp 1 reads", _LINE, SourceLocation("kernel.py", 5))
_FINDING = Finding("race", "writes shared memory", Place(_LINE, 1, "st.shared", (0, 0, 0), (0, 0, 0)))


def _prove(proof: Proof, monkeypatch: pytest.MonkeyPatch, *options: str) -> Result:
    def proofs(text: str, values: dict[str, Any]) -> list[Proof]:
        return [proof]

    monkeypatch.setattr(command, "_proofs", proofs)
    return CliRunner().invoke(command.prove, ["kernel.py", *options])


def _suspicious(**more: Any) -> Proof:
    return Proof("suspicious", "kernel", problems=[_PROBLEM], sizes={"f(argument 1[1,0,1])": 5}, **more)


def test_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With sizes in the user's names, what the emulator finds, and the command that finds it again."""
    proof = _suspicious(witness=Witness({"M": 64, "K": 320}, "0:1", "random", [_FINDING]))
    proof.answer = "refuted"
    found = _prove(proof, monkeypatch, "--arg", "a=f16[?M, ?K]")
    assert found.exit_code == 1
    assert "kernel.py: refuted: with M=64, K=320 it fails on the emulator" in found.output
    assert "kernel.py:7: race: warp 0 writes what warp 1 reads" in found.output
    assert "with the schedule random, finds:" in found.output
    again = "cutecc sanitize kernel.py --arg 'a=f16[?M, ?K]' --size M=64,K=320 --blocks 0:1 --schedule random --seed 0"
    assert f"reproduce: {again}" in found.output


def test_refuted_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = _suspicious(witness=Witness({"K": 320}, "0:1", "random", [_FINDING]))
    (found,) = json.loads(_prove(proof, monkeypatch, "--json").output)
    assert found["witness"]["sizes"] == {"K": 320} and found["witness"]["findings"][0]["kind"] == "race"
    assert found["reproduce"].endswith("--size K=320 --blocks 0:1 --schedule random --seed 0")
    profile = "cutecc profile kernel.py --size K=320 --blocks 0 --schedule random --seed 0 --device cpu"
    assert found["timeline"] == f"{profile} --timeline kernel.timeline.json --json kernel.profile.json"


def test_an_order_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a file, where none of the usual schedules shows it."""
    monkeypatch.chdir(tmp_path)
    order = KeptSchedule("kernel", "digest", 0, [0], [])
    found = _prove(_suspicious(witness=Witness({}, "0:1", "all", [_FINDING], order)), monkeypatch)
    assert "cutecc sanitize kernel.py --blocks 0:1 --schedule replay:kernel.schedule.json --seed 0" in found.output
    assert KeptSchedule.load("kernel.schedule.json") == order


def test_suspicious(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was tried is told."""
    found = _prove(_suspicious(tried=["K=320: round-robin, random", "K=384: round-robin"]), monkeypatch)
    assert found.exit_code == 1
    assert "no run on the emulator shows it; what was tried:\n    K=320: round-robin, random\n    K=384" in found.output


def test_preconditions_in_the_users_names(monkeypatch: pytest.MonkeyPatch) -> None:
    number = "f(argument 1[1,0,0])"
    proof = Proof("proved", "kernel", least={number: 1}, below={number: [_PROBLEM]})
    assert f"every size, with {number} at least 1\n  with less of {number}:" in _prove(proof, monkeypatch).output
    proof.preconditions[number] = "M at least 1"
    found = _prove(proof, monkeypatch)
    assert found.exit_code == 0
    assert "every size, with M at least 1\n  with less of M:" in found.output


def test_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = Proof("cannot tell", "kernel", reason="the address is not known", location=_LINE)
    found = _prove(proof, monkeypatch)
    assert found.exit_code == 2
    assert "kernel.py: cannot tell\n  kernel.py:7: the address is not known" in found.output


def test_several_kernels_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = ("kernel_cutlass_fill_tensorptr_0", "kernel_cutlass_drain_tensorptr_0")
    monkeypatch.setattr(command, "_proofs", lambda text, values: [Proof("proved", each) for each in symbols])
    found = CliRunner().invoke(command.prove, ["kernel.py"])
    assert found.exit_code == 0
    assert "kernel.py (fill): proved" in found.output and "kernel.py (drain): proved" in found.output


def _of_three(text: str, values: dict[str, Any]) -> list[Proof] | Error:
    return UsageError(f"there is no file {text}") if text == "missing.py" else [Proof("proved", "kernel")]


def test_one_that_cannot_be_looked_at_is_no_end_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_proofs", _of_three)
    found = CliRunner().invoke(command.prove, ["first.py", "missing.py", "last.py"])
    assert found.exit_code == 2
    assert "first.py: proved" in found.output and "last.py: proved" in found.output
    assert "error: there is no file missing.py" in found.output


def test_errors_as_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the others, a report reads the proofs."""
    monkeypatch.setattr(command, "_proofs", _of_three)
    found = CliRunner().invoke(command.prove, ["missing.py", "last.py", "--json"])
    failed, proved = json.loads(found.stdout)
    assert (failed["file"], failed["ok"], failed["error"]["type"]) == ("missing.py", False, "UsageError")
    assert (proved["file"], proved["answer"]) == ("last.py", "proved")
    (tmp_path / "proofs.json").write_text(found.stdout)
    assert [each.answer for each in read_proofs(tmp_path / "proofs.json")] == ["proved"]


def test_a_proof_outlives_the_failure_of_its_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the emulator does not run is no witness, and no reason to forget what was found."""

    def fails(*_: object) -> None:
        raise UsageError("the emulator does not run it")

    monkeypatch.setattr("cutecc.cli.loading.load_subject", lambda *_, **__: MagicMock())
    monkeypatch.setattr("cutecc.proving.witness.refute", fails)
    proof = _suspicious()
    command._replay([proof], "kernel.py", {"replay": 1.0, "args": (), "entry": None, "target": None})
    assert (proof.answer, proof.tried) == ("suspicious", ["nothing: the emulator does not run it"])


def test_a_module_as_it_was_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Has no arguments to run it with."""
    (tmp_path / "theirs.sm_90a.mlirbc").write_bytes(b"ML\xefR")
    given: list[tuple[bytes, str]] = []

    def proofs(data: bytes, target: str, seconds: float) -> list[Proof]:
        given.append((data, target))
        return [_suspicious()]

    monkeypatch.setattr("cutecc.proving.modules.prove_apart", proofs)
    found = CliRunner().invoke(command.prove, [str(tmp_path / "theirs.sm_90a.mlirbc")])
    assert found.exit_code == 1 and given == [(b"ML\xefR", "sm_90a")]
    assert "nothing: a module does not say what arguments it is called with" in found.output


def test_a_module_of_a_later_stage(tmp_path: Path) -> None:
    stage = Stage("sm_90a", "kernel", after="convert-scf-to-cf")
    (tmp_path / "late.mlir").write_text(f"{stage_line(stage)}module {{}}\n")
    found = CliRunner().invoke(command.prove, [str(tmp_path / "late.mlir")])
    assert found.exit_code == 2
    assert "is a module after convert-scf-to-cf, which does not say what copies move" in found.output
