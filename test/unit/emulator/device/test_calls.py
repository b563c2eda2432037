"""Calls with `device="cpu"`, and `Kernel.emulate`: the same kernel objects as on a GPU, on arrays of the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_kernels import COUNT, PAST_THE_END, PRINT, compilation, host_program, ptx

import cutecc
from cutecc.emulator.names import CALL_NAMES
from cutecc.emulator.options import BlockSample, EmulatorOptions
from cutecc.errors import ArgumentError, EmulatorError, LaunchError, SanitizerError, UsageError
from cutecc.kernel import Kernel, KernelSet
from cutecc.runtime import calls
from cutecc.target import known_targets


@pytest.fixture(autouse=True)
def _no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a driver: whoever asks for one is found out."""

    def driver() -> None:
        raise LaunchError("the driver was asked for")

    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", driver)


def numbers(count: int = 64) -> np.ndarray:
    return np.arange(count, dtype="f4")


def test_a_call_works_in_place_and_has_ended_when_it_returns() -> None:
    kernel, x = Kernel(compilation()), numbers()
    assert kernel(x, 2.0, device="cpu") is None
    np.testing.assert_array_equal(x, 2 * numbers())
    kernel(factor=0.5, x=x, stream=0, device="cpu")
    np.testing.assert_array_equal(x, numbers())


def test_arguments_are_checked_as_on_a_gpu() -> None:
    kernel = Kernel(compilation())
    with pytest.raises(ArgumentError, match="its elements are f64, not f32"):
        kernel(numbers().astype("f8"), 2.0, device="cpu")
    with pytest.raises(ArgumentError, match="missing argument 'factor'"):
        kernel(numbers(), device="cpu")
    gpu = SimpleNamespace(
        __cuda_array_interface__={"shape": (64,), "typestr": "<f4", "data": (0x10000, False), "version": 3}
    )
    with pytest.raises(ArgumentError, match="'x' lives on cuda, and this call runs on the CPU"):
        kernel(gpu, 2.0, device="cpu")
    with pytest.raises(ArgumentError, match="'x' is a type, but the kernel takes"):
        kernel(np.ndarray, 2.0, device="cpu")
    for device in ("tpu", np.array(["cpu", "cuda"])):
        with pytest.raises(ArgumentError, match="no device is called"):
            kernel(numbers(), 2.0, device=device)
    with pytest.raises(ArgumentError) as caught:
        kernel.emulate(numbers(), 2.0, checks=True)
    assert "did you mean check?" in caught.value.hints


def test_without_device_the_call_is_for_a_gpu() -> None:
    kernel = Kernel(compilation())
    for call in (kernel, KernelSet({"sm_90a": kernel})):
        with pytest.raises(LaunchError, match="the driver was asked for"):
            call(numbers(), 2.0)
        with pytest.raises(LaunchError, match="the driver was asked for"):
            call(numbers(), 2.0, device="cuda")


def test_arrays_of_the_cpu_on_a_gpu_get_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", lambda: SimpleNamespace())
    with pytest.raises(ArgumentError) as caught:
        Kernel(compilation())(numbers(), 2.0)
    assert caught.value.message == "argument 'x' lives on the CPU: move it with .cuda()"
    assert 'device="cpu"' in caught.value.hints[-1]
    with pytest.raises(ArgumentError) as caught:
        Kernel(compilation())(numbers(), 2.0, check="all")
    assert 'device="cpu"' in caught.value.hints[0]


def test_only_the_array_interface() -> None:
    x = numbers()
    bare = SimpleNamespace(__array_interface__=x.__array_interface__, owner=x)
    Kernel(compilation())(bare, 3.0, device="cpu")
    np.testing.assert_array_equal(x, 3 * numbers())


def test_nobody_writes_to_an_array_that_is_read_only() -> None:
    x = numbers()
    x.flags.writeable = False
    with pytest.raises(EmulatorError):
        Kernel(compilation())(x, 3.0, device="cpu")
    np.testing.assert_array_equal(x, numbers())


def test_a_fault_is_an_error_that_names_the_line_and_the_element(tmp_path: Path) -> None:
    source = tmp_path / "kernel.py"
    source.write_text("\n" * 6 + "    y[i] = x[i + 1]\n")
    kernel = Kernel(compilation(text=ptx(PAST_THE_END).replace("kernel.py", str(source))))
    with pytest.raises(EmulatorError) as caught:
        kernel(numbers(), 1.0, device="cpu")
    assert not isinstance(caught.value, SanitizerError)
    assert str(caught.value.location) == f"{source}:7:5"
    assert "block (1, 0, 0), thread (31, 0, 0)" in caught.value.message
    assert "x + 256 bytes" in caught.value.message


def test_with_checks_a_fault_is_a_finding() -> None:
    kernel, x = Kernel(compilation(PAST_THE_END)), numbers()
    with pytest.raises(SanitizerError) as caught:
        kernel(x, 1.0, device="cpu", check="bounds", schedule="random", seed=5)
    (finding,) = caught.value.findings
    assert (finding.kind, finding.place.block, finding.place.thread) == ("out-of-bounds", (1, 0, 0), (31, 0, 0))
    assert (finding.schedule, finding.seed) == ("random", 5)
    text = str(caught.value)
    for part in (
        "1 problem in scale (schedule random, seed 5)",
        "kernel.py:7:5",
        "thread (31, 0, 0) of block (1, 0, 0)",
    ):
        assert part in text
    assert kernel.emulate(numbers(), 1.0, check=["bounds"]).findings[0].address == finding.address


def test_code_without_lines_says_once_how_to_get_them() -> None:
    bare = ptx(PAST_THE_END).replace(".loc 1 7 4", "")
    kernel = Kernel(compilation(text=bare))
    with pytest.raises(EmulatorError) as fault:
        kernel(numbers(), 1.0, device="cpu")
    with pytest.raises(SanitizerError) as found:
        kernel(numbers(), 1.0, device="cpu", check=True)
    assert len(found.value.findings) == 2
    for error in (fault, found):
        assert str(error.value).count("hint: compile it with line info") == 1
        assert "cutecc.CompileOptions(line_info=True)" in str(error.value)
        assert "--line-info" in str(error.value)
    with_lines = Kernel(compilation(PAST_THE_END))
    with pytest.raises(EmulatorError) as caught:
        with_lines(numbers(), 1.0, device="cpu")
    assert "line info" not in str(caught.value)
    with pytest.raises(SanitizerError) as caught:
        with_lines(numbers(), 1.0, device="cpu", check=True)
    assert "line info" not in str(caught.value)


def test_an_emulation_says_what_ran() -> None:
    x = numbers(320)
    found = Kernel(compilation()).emulate(x, 2.0, blocks="0:3", counters=True, schedule="adversarial", seed=9)
    np.testing.assert_array_equal(x[:96], 2 * numbers(96))
    np.testing.assert_array_equal(x[96:], numbers(320)[96:])
    assert found.ok and (found.blocks, found.total_blocks) == (3, 10)
    assert found.summary() == "scale for sm_90a: a sample of 3 of 10 blocks, adversarial (seed 9)"
    assert found.launches[0].blocks == range(3)
    assert found.counters is not None and found.counters.total().global_requests == 6


def test_what_is_printed_of_an_emulation_is_short() -> None:
    x = np.arange(64, dtype="f4")
    found = Kernel(compilation()).emulate(x, 2.0, counters=True)
    assert repr(found) == "<Emulation scale for sm_90a: 2 blocks, round-robin, no findings>"
    assert repr(found.counters) == f"<Counters of scale: {found.counters.total().warps:,} warp instructions>"
    wrong = Kernel(compilation(PAST_THE_END)).emulate(x, 2.0, check="bounds")
    assert repr(wrong) == "<Emulation scale for sm_90a: 2 blocks, round-robin, 1 finding>"


def test_counters_of_several_launches_are_added() -> None:
    kernel = Kernel(compilation(host=host_program(launches=3)))
    found = kernel.emulate(numbers(), 1.0, counters=True)
    assert found.counters is not None and found.counters.total().global_requests == 3 * 2 * 2
    assert found.summary() == "scale for sm_90a: 6 blocks in 3 launches, round-robin"


def test_options_as_one_object() -> None:
    options = EmulatorOptions(blocks=BlockSample(count=1))
    assert Kernel(compilation()).emulate(numbers(), 2.0, emulator=options).blocks == 1
    with pytest.raises(UsageError, match="beside emulator= there is seed="):
        Kernel(compilation()).emulate(numbers(), 2.0, emulator=options, seed=3)


def test_every_option_of_the_emulator_is_known_where_calls_are_read() -> None:
    assert {*calls._ON_CPU} == {*CALL_NAMES}


def test_a_parameter_with_the_name_of_an_option_goes_first() -> None:
    kernel = Kernel(compilation(names=("device", "seed")))
    with pytest.raises(LaunchError, match="the driver was asked for"):
        kernel(device=numbers(), seed=2.0)
    x = numbers()
    found = kernel.emulate(device=x, seed=2.0, emulator=EmulatorOptions(seed=3))
    np.testing.assert_array_equal(x, 2 * numbers())
    assert found.options.seed == 3


def test_tensors_that_share_memory() -> None:
    x = numbers(128)
    Kernel(compilation())(x[32:96], 2.0, device="cpu")
    np.testing.assert_array_equal(x[32:96], 2 * numbers(128)[32:96])
    np.testing.assert_array_equal(x[:32], numbers(32))


@pytest.mark.parametrize(
    ("targets", "taken"),
    [
        (("sm_100a", "sm_80", "sm_90a"), "sm_90a"),
        (("sm_100a", "sm_86"), "sm_86"),
        (("sm_100a", "sm_120f", "sm_103"), "sm_120f"),
        (("sm_110a",), "sm_110a"),
    ],
)
def test_of_several_targets_the_newest_that_was_compared_with_a_gpu(targets: tuple[str, ...], taken: str) -> None:
    kernels = KernelSet({target: Kernel(compilation(target=target)) for target in targets})
    assert kernels.emulate(numbers(), 2.0).target == taken
    x = numbers()
    kernels(x, 2.0, device="cpu")
    np.testing.assert_array_equal(x, 2 * numbers())


@pytest.mark.parametrize("target", [target.name for target in known_targets()])
def test_every_target_is_emulated(target: str) -> None:
    x = numbers()
    Kernel(compilation(target=target))(x, 2.0, device="cpu")
    np.testing.assert_array_equal(x, 2 * numbers())


def test_a_record_without_ptx() -> None:
    with pytest.raises(LaunchError, match="its record has no PTX"):
        Kernel(compilation(has_ptx=False))(numbers(), 2.0, device="cpu")


def test_what_the_kernel_prints(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = Kernel(compilation(PRINT))
    kernel(numbers(96), 1.0, device="cpu")
    assert capsys.readouterr().out == "block 0\nblock 1\nblock 2\n"
    assert kernel.emulate(numbers(96), 1.0).printed == "block 0\nblock 1\nblock 2\n"
    assert capsys.readouterr().out == ""


def test_atomics_of_several_blocks() -> None:
    counted = np.zeros(64, "f4")
    Kernel(compilation(COUNT)).emulate(counted, 1.0, processes=2)
    assert counted.view("u4")[0] == 64


def test_it_needs_neither_cuda_nor_the_dsl(tmp_path: Path) -> None:
    cutecc.Kernel(compilation()).save(tmp_path / "scale.cutecc")
    code = """
import sys
import numpy as np
for name in ("cuda", "cuda.bindings", "cutlass", "torch"):
    sys.modules[name] = None
import cutecc
x = np.ones(64, "f4")
kernel = cutecc.load(sys.argv[1])
kernel(x, 4.0, device="cpu", check=True)
print(x.sum(), kernel.emulate(x, 1.0).target)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "scale.cutecc"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "256.0 sm_90a\n", done.stderr


def test_further_calls_on_a_gpu_are_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """`device=` is looked for where a call is not like the last one, and nowhere else."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "runtime"))
    from gpu_arrays import TorchOnGpu
    from recording import RecordingDriver

    driver = RecordingDriver()
    monkeypatch.setattr("cutecc.runtime.cuda_bindings.cuda_driver", lambda: driver)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=TorchOnGpu))  # pyright: ignore[reportArgumentType]
    monkeypatch.setenv("CUTECC_NATIVE", "0")
    kernel, x = Kernel(compilation()), TorchOnGpu("float32", (64,))
    for _ in range(3):
        kernel(x, 1.0)
    with monkeypatch.context() as changed:
        changed.setattr(type(kernel.launcher.binder), "names_device", _fail)
        kernel(x, 1.0)
    assert len(driver.launches) == 4
    y = numbers()
    kernel(y, 2.0, device="cpu")
    np.testing.assert_array_equal(y, 2 * numbers())


def _fail(*_: Any) -> None:
    raise AssertionError("a call like the last one looks for device=")


def test_a_mistake_in_the_checks_is_told_and_no_clean_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise IndexError("no such place")

    monkeypatch.setattr("cutecc.emulator.checks.checker.Checker.access", fail)
    clean, wrong = Kernel(compilation()), Kernel(compilation(PAST_THE_END))
    x = numbers()
    found = clean.emulate(x, 2.0, check=True)
    np.testing.assert_array_equal(x, 2 * numbers())
    assert not found.ok and not found.findings
    assert [each.reason for each in found.stopped] == ["IndexError: no such place"]
    with pytest.raises(EmulatorError, match="not all of it was checked") as caught:
        clean(x, 2.0, device="cpu", check=True)
    assert "by a mistake of cutecc's own: IndexError: no such place" in "".join(caught.value.notes)
    with pytest.raises(SanitizerError, match="out-of-bounds") as found_too:
        wrong(x, 2.0, device="cpu", check=True)
    assert "the checks bounds and barriers" in str(found_too.value) or "barriers and bounds" in str(found_too.value)


def test_an_error_after_a_finding_leaves_the_finding() -> None:
    kernel = Kernel(compilation(PAST_THE_END + " multimem.red.global.add.u32 [%rd1], 1;"))
    found = kernel.emulate(numbers(), 2.0, check=True)
    assert found.findings[0].kind == "out-of-bounds"
    (stopped,) = found.stopped
    assert "does not model" in stopped.reason and not stopped.trace and "bounds" in stopped.checks
    with pytest.raises(SanitizerError, match="the run ended here"):
        found.raise_findings()
