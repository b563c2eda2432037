"""A mistake in a check ends the checks; what they had found, and the run, stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checked_kernels import KERNEL
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.checks import containment
from cutecc.emulator.checks.checker import Checker
from cutecc.emulator.checks.races import Races
from cutecc.emulator.checks.selection import ALL
from cutecc.emulator.checks.undefined import Undefined
from cutecc.emulator.launch import BlocksRun
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.report import stopped_lines

BODY = """
  st.shared.b32 [%r5], 1;
  ld.shared.b32 %r9, [%r6];
  mbarrier.init.shared.b64 [%r7], 64;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  atom.shared.add.u32 %r10, [%r3+512], 1;
  st.global.b32 [%rd3], %r9;
  st.global.b32 [%rd3+4096], %r9;
"""


def emulate(blocks: int = 1, schedule: Any = "round-robin") -> BlocksRun:
    array = np.zeros(1024, np.int32)
    options = EmulatorOptions(check=ALL, schedule=schedule)
    found = run_text(
        KERNEL.replace("BODY", BODY), launch_of(addresses_of(array), blocks, 64), allocations_of(array), options
    )
    assert array[:64].all(), "the kernel has run to its end"
    return found


def fail(*args: object, **kwargs: object) -> None:
    raise IndexError("index 416 is out of bounds")


def test_the_kernel_has_several_problems() -> None:
    found = emulate()
    assert {each.kind for each in found.findings} == {"out-of-bounds", "race", "uninitialised-shared"}
    assert not found.stopped


@pytest.mark.parametrize("blocks", [1, 600])
@pytest.mark.parametrize("method", ["access", "release", "acquire", "fence", "end", "__init__"])
def test_what_a_check_fails_at_is_told_and_the_rest_goes_on(
    method: str, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checker, method, fail)
    found = emulate(blocks)
    assert "out-of-bounds" in {each.kind for each in found.findings}
    (stopped,) = found.stopped
    assert stopped.checks == ALL - {"bounds", "barriers"}
    assert stopped.reason == "IndexError: index 416 is out of bounds"
    assert "in fail" in stopped.trace
    text = "\n".join(stopped_lines(stopped))
    assert "warning: the checks accumulators, initialisation, layouts, proxies, races ended here" in text
    assert "please report it" in text


def test_hooks_around_instructions_are_contained_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Undefined, "begin", fail)
    found = emulate()
    assert [each.kind for each in found.findings] == ["out-of-bounds"]
    assert len(found.stopped) == 1


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
def test_findings_of_before_survive(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race is found; then the checks fail at an atomic."""
    access = Checker.access

    def failing(checker: Checker, gang: Any, lanes: Any, operation: Any, *args: Any) -> None:
        if operation.form.opcode == "atom":
            fail()
        access(checker, gang, lanes, operation, *args)

    monkeypatch.setattr(Checker, "access", failing)
    found = emulate(schedule=schedule)
    assert {each.kind for each in found.findings} >= {"race", "out-of-bounds"}
    assert len(found.stopped) == 1


def test_findings_survive_a_failure_of_the_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is said about races when all are found, and of what barriers are left behind."""
    with monkeypatch.context() as patched:
        patched.setattr(Races, "settle", fail)
        found = emulate()
    assert {each.kind for each in found.findings} >= {"race", "out-of-bounds"}
    assert len(found.stopped) == 1
    with monkeypatch.context() as patched:
        patched.setattr(containment, "report_leftovers", fail)
        found = emulate()
    assert {each.kind for each in found.findings} >= {"race", "out-of-bounds"}
    assert len(found.stopped) == 1
