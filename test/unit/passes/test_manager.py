"""Running pipelines: the order of things, and what becomes of failures."""

from __future__ import annotations

import signal

import pytest
from sample_passes import ADD, Broken, Rename

from cutecc.errors import PassError, UsageError
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.instrumentation import VerifyEach
from cutecc.passes.manager import Observer
from cutecc.passes.pipeline import Pipeline, parse_pass
from cutecc.passes.wheel import check_registered


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.entries: list[str] = []

    def started(self, pipeline, module):
        self.entries.append(f"started {pipeline}")

    def before(self, position, module):
        self.entries.append(f"before {position.index}/{position.total} {position.pass_.name}")

    def after(self, position, module, seconds):
        assert seconds > 0
        self.entries.append(f"after {position.index} {'@twice(' in to_text(module)}")

    def failed(self, position, error, seconds):
        self.entries.append(f"failed {position.index} {error.message}")


@pytest.fixture
def module():
    with fresh_context():
        yield parse(ADD)


def test_passes_run_in_order_and_observers_are_told(module) -> None:
    diary = Diary()
    manager.run(Pipeline((*Pipeline.parse("cse").passes, Rename())), module, [diary])
    assert diary.entries == [
        "started cse,test-rename",
        "before 1/2 cse",
        "after 1 True",
        "before 2/2 test-rename",
        "after 2 False",
    ]
    assert "@twice_renamed" in to_text(module)
    assert to_text(module).count("arith.addi") == 1


def test_positions_count_from_the_whole_pipeline(module) -> None:
    diary = Diary()
    manager.run(Pipeline((Rename(),)), module, [diary], offset=41)
    assert diary.entries[1:] == ["before 42/42 test-rename", "after 42 False"]


def test_without_observers(module) -> None:
    manager.run(Pipeline((Rename(suffix="_x"),)), module)
    assert "@twice_x" in to_text(module)


@pytest.mark.parametrize("how", ["pass-error", "usage-error", "exception"])
def test_a_failing_pass_ends_the_run_with_its_name(module, how) -> None:
    diary = Diary()
    with pytest.raises(PassError) as caught:
        manager.run(Pipeline((Rename(), Broken(how), Rename())), module, [diary])
    assert caught.value.pass_name == "test-broken"
    assert diary.entries[-2] == "before 2/3 test-broken"
    assert diary.entries[-1] == f"failed 2 {caught.value.message}"


def test_what_a_pass_says_is_kept(module) -> None:
    with pytest.raises(PassError, match="cannot rewrite this") as caught:
        manager.run_pass(Broken("pass-error"), module)
    assert str(caught.value.location) == "kernel.py:7:3"
    assert caught.value.__cause__ is None, "the pass's own error, not another one around it"

    with pytest.raises(PassError) as caught:
        manager.run_pass(Broken("usage-error"), module)
    error = caught.value
    assert (error.message, error.notes, error.hints) == ("no such thing", ["a note"], ["a hint"])
    assert isinstance(error.__cause__, UsageError)

    with pytest.raises(PassError, match="internal error: ZeroDivisionError: division by zero") as caught:
        manager.run_pass(Broken("exception"), module)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failing_pass_of_the_wheels(module) -> None:
    diary = Diary()
    module = parse(b"gpu.module @m { gpu.func @k() kernel { gpu.return } }")
    pipeline = Pipeline.parse("cse,gpu.module(cuda-compute-target{chip=sm_9999}),canonicalize")
    with pytest.raises(PassError) as caught:
        manager.run(pipeline, module, [diary])
    assert caught.value.pass_name == "cuda-compute-target"
    assert caught.value.message.startswith("pass cuda-compute-target failed: ")
    assert "sm_9999" in caught.value.message
    assert diary.entries[-1].startswith("failed 2 ")


def test_plugins_are_verified_and_others_only_by_an_observer(module, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PassError, match="pass test-broken left an invalid module: "):
        manager.run(Pipeline((Broken("invalid-module"),)), module)
    monkeypatch.setattr(Broken, "provider", "cutecc")
    manager.run(Pipeline((Broken("invalid-module"),)), module)


def test_verify_each_blames_the_pass_that_left_the_module_invalid(module) -> None:
    diary = Diary()
    with pytest.raises(PassError) as caught:
        manager.run(Pipeline((Rename(), Broken("invalid-module"), Rename())), module, [VerifyEach(), diary])
    assert caught.value.message.startswith("pass test-broken left an invalid module: ")
    assert diary.entries[-1].startswith("failed 2 pass test-broken left an invalid module")


def test_verify_each_accepts_what_is_valid(module) -> None:
    manager.run(Pipeline.parse("cse,canonicalize"), module, [VerifyEach()])


def test_an_observers_own_failure_is_not_blamed_on_the_pass(module) -> None:
    class Full(Observer):
        def after(self, position, module, seconds):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        manager.run(Pipeline((Rename(),)), module, [Full()])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no-such-pass", "no pass is called 'no-such-pass'"),
        ("cse{speed=3}", "pass cse does not take the options '{speed=3}'"),
        ("canonicalize{max-iterations=many}", "pass canonicalize does not take the options"),
    ],
)
def test_what_the_wheel_does_not_know(text: str, message: str) -> None:
    with fresh_context(), pytest.raises(UsageError) as caught:
        check_registered(parse_pass(text))
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("meant", ["cute-desugar", "unfold-layouts", "check-coalescing", "arith-expand", "open"])
def test_whoever_has_a_pass_or_pipeline_a_misspelled_name_is_told(meant: str) -> None:
    with fresh_context(), pytest.raises(UsageError) as caught:
        check_registered(parse_pass(f"{meant[:2]}{meant[3:]}"))
    assert caught.value.hints[0] == f"did you mean {meant}?"


def test_a_pass_in_the_wrong_place() -> None:
    with fresh_context(), pytest.raises(UsageError) as caught:
        check_registered(parse_pass("cuda-compute-target"))
    assert caught.value.message == "pass cuda-compute-target does not run on a module"


def test_what_the_wheel_knows() -> None:
    with fresh_context():
        check_registered(parse_pass("canonicalize{max-iterations=3}"))


@pytest.mark.parametrize(
    ("failure", "text"),
    [(SystemExit(4), "SystemExit: 4"), (GeneratorExit(), "GeneratorExit"), (ValueError(), "ValueError")],
)
def test_a_pass_cannot_end_the_program(module, monkeypatch: pytest.MonkeyPatch, failure, text: str) -> None:
    monkeypatch.setattr(Broken, "run", raising(failure))
    with pytest.raises(PassError) as caught:
        manager.run(Pipeline((Broken(),)), module)
    assert caught.value.message == f"pass test-broken failed with an internal error: {text}"


def test_an_interrupt_is_the_users_unless_interrupts_are_ignored(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "run", raising(KeyboardInterrupt()))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            manager.run(Pipeline((Broken(),)), module)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with pytest.raises(PassError, match="failed with an internal error: KeyboardInterrupt\n"):
            manager.run(Pipeline((Broken(),)), module)
    finally:
        signal.signal(signal.SIGINT, before)


def raising(failure: BaseException):
    def run(self, module):
        raise failure

    return run
