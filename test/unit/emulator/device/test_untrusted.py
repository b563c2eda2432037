"""Kernels of unknown origin: the same results as of others, from a process that can do nothing else."""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_kernels import COUNT, PAST_THE_END, PRINT, SCALE, compilation, host_program, ptx

import cutecc
from cutecc.emulator.report import finding_lines
from cutecc.emulator.untrusted import confinement as asked
from cutecc.emulator.untrusted import worker
from cutecc.emulator.untrusted.messages import Confined, Ended, Printed, decode, encode
from cutecc.emulator.untrusted.worker import Death
from cutecc.errors import EmulatorError, Error, LaunchError, LimitError, RecordError, UsageError
from cutecc.kernel import Kernel, KernelSet

LIMITS = cutecc.STRICT_LIMITS


def numbers(count: int = 64) -> np.ndarray:
    """Aligned to 64 bytes: how many sectors an access has depends on it."""
    memory = np.empty(4 * count + 64, np.uint8)
    start = -memory.ctypes.data % 64
    data = memory[start : start + 4 * count].view("f4")
    data[:] = np.arange(count)
    return data


def test_a_call_gives_what_another_gives() -> None:
    for body, count in ((SCALE, 64), (SCALE, 32 * 600), (PRINT, 96), (COUNT, 64)):
        alone, apart = numbers(count), numbers(count)
        shown: list[str] = []
        first = Kernel(compilation(body)).emulate(alone, 3.0, counters=True, check="all")
        kernel = Kernel(compilation(body), untrusted=True)
        second = kernel.emulator.emulate(
            (apart, 3.0), {}, cutecc.EmulatorOptions(counters=True, check="all"), show=shown.append
        )
        np.testing.assert_array_equal(alone, apart)
        assert first.findings == second.findings and first.launches == second.launches
        assert first.counters is not None and second.counters is not None
        assert first.counters.to_dict() == second.counters.to_dict()
        assert first.printed == second.printed == "".join(shown)
        assert (first.confined_by, second.confined_by[0]) == ([], "setrlimit")


def test_findings_and_errors_are_those_of_other_calls() -> None:
    for check in (None, "all"):
        ended: list[Any] = []
        for untrusted in (False, True):
            kernel, x = Kernel(compilation(PAST_THE_END), untrusted), numbers(32)
            try:
                ended.append(kernel.emulate(x, 2.0, check=check).findings)
            except Error as error:
                ended.append((type(error), error.message, str(error.location), error.notes, error.hints))
        # Of an untrusted one no line of a file is shown.
        assert str(ended[0]) == str(ended[1]).replace("length=0", "length=1")


def test_it_runs_on_no_gpu_and_goes_to_no_tool() -> None:
    kernel = Kernel(compilation(), untrusted=True)
    for call in (kernel, kernel.prepare, KernelSet({"sm_90a": kernel}), pickle.loads(pickle.dumps(kernel))):
        with pytest.raises(LaunchError) as caught:
            call(numbers(), 2.0)
        assert caught.value.message == "scale is untrusted, and runs on the CPU emulator alone"
        assert 'pass device="cpu"' in caught.value.hints[0]
    with pytest.raises(Error, match="is untrusted: its cubin is not given to nvdisasm"):
        _ = kernel.sass
    x = numbers()
    kernel(x, 2.0, device="cpu")
    np.testing.assert_array_equal(x, 2 * numbers())


def test_its_limits_are_strict_unless_others_are_given() -> None:
    record = compilation(host=host_program(grid=(2 << 20, 1, 1)))
    with pytest.raises(LimitError, match=r"a launch has 2,097,152 blocks, more than the limit of 1,048,576 blocks"):
        Kernel(record, untrusted=True).emulate(numbers(), 2.0)
    kernel = Kernel(compilation("AGAIN: bra AGAIN;"), untrusted=True)
    with pytest.raises(LimitError, match=r"more than the limit of 0\.5 s"):
        kernel.emulate(numbers(), 2.0, limits=cutecc.Limits(seconds=0.5))


def test_ptx_alone_is_confined_and_bounded_as_bundles_are() -> None:
    def emulated(text: str, options: cutecc.EmulatorOptions = cutecc.EmulatorOptions()) -> cutecc.Emulation:
        return cutecc.emulate_ptx(text, grid=1, block=32, args=[x, 32, 2.0], options=options, untrusted=True)

    x = numbers(32)
    assert emulated(ptx()).confined_by
    np.testing.assert_array_equal(x, 2 * numbers(32))
    with pytest.raises(LimitError, match=r"more than the limit of 0\.5 s"):
        emulated(ptx("AGAIN: bra AGAIN;"), cutecc.EmulatorOptions(limits=cutecc.Limits(seconds=0.5)))
    with pytest.raises(LimitError, match=r"the PTX has .* more than the limit of 16\.0 MiB"):
        emulated("//" + " " * (16 << 20))


@pytest.mark.parametrize(
    "text", [".global .b8 large[2147483648];", ".global .b8 a[1000000000]; .global .b8 b[1000000000];"]
)
def test_memory_beyond_the_limit(text: str) -> None:
    record = compilation(text=ptx(declarations=text))
    with pytest.raises(LimitError, match=r"more than the limit of 1\.0 GiB"):
        Kernel(record, untrusted=True).emulate(numbers(), 2.0)


def test_memory_that_no_estimate_knows_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses it: here of the decoder, for a PTX of many instructions."""
    body = "add.u32 %r5, %r5, 1;\n" * 60_000
    kernel = Kernel(compilation(body), untrusted=True)
    limits = cutecc.Limits(memory=8 << 20)
    with pytest.raises(LimitError, match=r"the kernel's run takes more than the limit of 8\.0 MiB"):
        kernel.emulate(numbers(32), 2.0, limits=limits)


def test_time_that_is_not_spent_between_instructions() -> None:
    """A text that takes long to read is ended from outside."""
    body = "AGAIN: add.u32 %r5, %r5, 1;\n" + "@%p1 bra AGAIN; add.u32 %r5, %r5, 1;\n" * 100_000
    with pytest.raises(LimitError, match=r"the kernel runs more than the limit of 0.1 s"):
        Kernel(compilation(body), untrusted=True).emulate(numbers(32), 2.0, limits=cutecc.Limits(seconds=0.1))


def test_a_worker_that_died_is_replaced() -> None:
    kernel, x = Kernel(compilation(), untrusted=True), numbers()
    kernel.emulate(x, 2.0)
    process = asked.confinement._worker
    assert process is not None
    process.kill()
    with pytest.raises(EmulatorError, match=r"the process of untrusted kernels: .* SIGKILL"):
        kernel.emulate(x, 2.0)
    kernel.emulate(x, 2.0)
    np.testing.assert_array_equal(x, 4 * numbers())


def test_the_thread_that_made_the_worker_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "confinement", asked.Confinement())
    kernel, x = Kernel(compilation(), untrusted=True), numbers()
    for _ in range(2):
        thread = threading.Thread(target=kernel.emulate, args=(x, 2.0))
        thread.start()
        thread.join()
    np.testing.assert_array_equal(x, 4 * numbers())


@pytest.mark.parametrize(
    ("death", "kind", "message"),
    [
        (
            Death(-signal.SIGSEGV, False),
            EmulatorError,
            "the process in which the untrusted kernel ran was ended by SIGSEGV",
        ),
        (Death(-signal.SIGXCPU, False), LimitError, "the kernel runs more than"),
        (Death(-signal.SIGKILL, True), LimitError, "the kernel runs more than"),
        (Death(3, False), LimitError, "the kernel's run takes more than"),
        (Death(0, False), EmulatorError, "ran ended with status 0 and no answer"),
    ],
)
def test_how_a_process_ends_that_does_not_answer(death: Death, kind: type[Error], message: str) -> None:
    failure = asked._failure(death, LIMITS)
    assert type(failure) is kind and message in failure.message


@pytest.mark.parametrize(
    "said",
    [
        b"no JSON\n",
        b'{"type": "other"}\n',
        b'{"type": "printed", "text": 3}\n',
        b'{"type": "ended", "findings": [{"kind": "none"}]}\n',
        b"[" * 100_000 + b"\n",
        b"\x80\x04\x95" + b"pickle\n",
        b"\xff\xfe\n",
    ],
)
def test_what_a_process_says_is_not_believed(said: bytes) -> None:
    with pytest.raises(EmulatorError, match="is not understood"):
        asked._Hearing(None, None).hear(said)


def test_what_a_process_says_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "_MOST_SAID", 1000)
    hearing = asked._Hearing(None, None)
    with pytest.raises(LimitError, match="says more than"):
        for _ in range(100):
            hearing.hear(b"x" * 100)


def test_a_message_in_pieces() -> None:
    shown: list[str] = []
    hearing = asked._Hearing(shown.append, None)
    for byte in encode(Printed("one\ntwo")) + encode(Printed("three")):
        hearing.hear(bytes([byte]))
    assert shown == ["one\ntwo", "three"] and decode(encode(Printed("x"))) == Printed("x")


def test_an_error_of_an_unknown_class_is_the_emulators() -> None:
    said = (
        b'{"type":"ended","findings":[],"stopped":[],"counters":null,"launches":[],'
        b'"failure":{"kind":"SystemExit","message":"m","location":null,"notes":[],"hints":[]}}\n'
    )
    hearing = asked._Hearing(None, None)
    hearing.hear(said)
    assert hearing.outcome is not None and type(hearing.outcome.failure) is EmulatorError


def test_a_process_that_closes_the_pipe_and_goes_on_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_on(call: Any, memory: Any, sender: int) -> None:
        os.close(sender)
        time.sleep(600)

    monkeypatch.setattr(worker, "_run", goes_on)
    monkeypatch.setattr(worker, "_GRACE_SECONDS", 0.0)
    call = SimpleNamespace(limits=cutecc.Limits(seconds=0.3))
    start = time.monotonic()
    assert worker.serve(call, None, lambda data: None) == Death(-signal.SIGKILL, True)  # pyright: ignore
    assert 0.3 <= time.monotonic() - start < 60


def test_no_file_is_shown_that_the_kernel_names(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("one\n" * 6 + "the secret\n")
    record = compilation(text=ptx(PAST_THE_END).replace("kernel.py", str(secret)))
    kernel, x = Kernel(record, untrusted=True), numbers(32)
    with pytest.raises(EmulatorError) as caught:
        kernel.emulate(x, 2.0)
    assert str(secret) in str(caught.value) and "the secret" not in str(caught.value)
    for finding in kernel.emulate(x, 2.0, check="all").findings:
        assert "the secret" not in "\n".join(finding_lines(finding))
    with pytest.raises(EmulatorError, match="the secret"):
        Kernel(record).emulate(x, 2.0)


def test_what_confines_is_said_first_and_once() -> None:
    said = [Confined(["setrlimit"]), Confined(["everything"]), Ended([], [], None, [], None)]
    hearing = asked._Hearing(None, None)
    hearing.hear(b"".join(map(encode, said)))
    assert hearing.outcome is not None and hearing.outcome.confined_by == ["setrlimit"]


def test_a_callback_may_not_call_another() -> None:
    kernel, x = Kernel(compilation(PRINT), untrusted=True), numbers(96)
    with pytest.raises(EmulatorError, match="is called while another one runs"):
        kernel.emulator.emulate((x, 1.0), {}, show=lambda text: kernel.emulate(x, 1.0) and None)
    assert kernel.emulate(x, 1.0).printed


@pytest.mark.parametrize("limits", [{"seconds": float("inf")}, {"seconds": 1e19}, {"memory": 10**30}])
def test_limits_that_are_none(limits: Any) -> None:
    kernel, x = Kernel(compilation(), untrusted=True), numbers()
    kernel.emulate(x, 2.0, limits=cutecc.Limits(**limits))
    np.testing.assert_array_equal(x, 2 * numbers())


def test_an_interrupt_ends_the_call_and_not_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = Kernel(compilation(PRINT), untrusted=True), numbers(96)

    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel.emulator.emulate((x, 1.0), {}, show=interrupted)
    assert kernel.emulate(x, 1.0).printed == "block 0\nblock 1\nblock 2\n"


def test_a_forked_child_has_a_worker_of_its_own() -> None:
    kernel, x = Kernel(compilation(), untrusted=True), numbers()
    kernel.emulate(x, 2.0)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            kernel.emulate(x, 3.0)
            status = 0 if (x == 6 * numbers()).all() else 2
        finally:
            os._exit(status)
    kernel.emulate(x, 5.0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(x, 10 * numbers())


def test_calls_leave_no_descriptors_and_no_processes() -> None:
    kernel, x = Kernel(compilation(), untrusted=True), numbers()
    kernel.emulate(x, 1.0)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        kernel.emulate(x, 1.0)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_loading(tmp_path: Path) -> None:
    path = tmp_path / "scale.cutecc"
    Kernel(compilation()).save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    kernel = cutecc.load(path, untrusted=True, sha256=digest.upper())
    assert isinstance(kernel, Kernel) and kernel.untrusted
    x = numbers()
    kernel(x, 2.0, device="cpu")
    np.testing.assert_array_equal(x, 2 * numbers())
    with pytest.raises(RecordError) as caught:
        cutecc.load(path, sha256="0" * 64)
    assert caught.value.message == f"{path} is not the bundle that was asked for"
    assert caught.value.notes == [f"its SHA-256 is {digest}"]
    for wrong in ("", "00", digest[:-1] + "g", digest + "0"):
        with pytest.raises(UsageError, match="is no digest"):
            cutecc.load(path, sha256=wrong)
    with pytest.raises(UsageError, match="is a folder, and sha256= is of a bundle"):
        cutecc.load(tmp_path, sha256=digest)
    assert not cutecc.load(path).untrusted  # pyright: ignore[reportAttributeAccessIssue]
