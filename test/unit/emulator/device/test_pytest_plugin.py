"""`cutecc_device`, as tests of other projects use it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_kernels import PAST_THE_END, compilation

from cutecc.harness.copies import CallCopies, copied
from cutecc.kernel import Kernel, KernelSet
from cutecc.pytest_plugin import CuteccDevice

pytestmark = pytest.mark.slow

pytest_plugins = ("pytester",)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs a test module with the plugin, in a process of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    Kernel(compilation()).save(pytester.path / "scale.cutecc")
    Kernel(compilation(PAST_THE_END)).save(pytester.path / "wrong.cutecc")

    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(
            "import cutecc, numpy as np\n"
            "scale, wrong = cutecc.load('scale.cutecc'), cutecc.load('wrong.cutecc')\n"
            "x = np.arange(64, dtype='f4')\n" + text
        )
        return pytester.runpytest_subprocess("-p", "cutecc.pytest_plugin", "-p", "no:cacheprovider", *options)

    return run


def test_tests_of_a_user(run: Callable[..., pytest.RunResult]) -> None:
    done = run(
        """
def test_results_by_position_and_name(cutecc_device):
    assert (cutecc_device.run(scale, x, 2.0)[0] == 2 * x).all()
    assert (cutecc_device.run(scale, x=x, factor=3.0)["x"] == 3 * x).all()
    results = cutecc_device.run(scale, x, factor=2.0)
    assert results["x"] is results[0] and results["factor"] == 2.0
    assert x[1] == 1
    assert cutecc_device.emulation.options.check

def test_what_the_emulator_finds_fails(cutecc_device):
    cutecc_device.run(wrong, x, 2.0)

def test_a_fault_without_checks_fails(cutecc_device):
    cutecc_device.run(wrong, x, 2.0, check=False)

def test_an_argument_that_does_not_fit_fails(cutecc_device):
    cutecc_device.run(scale, x[:, None], 2.0)

def test_no_such_result(cutecc_device):
    try:
        cutecc_device.run(scale, x, 2.0)["z"]
    except KeyError as error:
        assert "'z'; there are x, factor" in str(error)
"""
    )
    done.assert_outcomes(passed=2, failed=3)
    done.stdout.fnmatch_lines(
        ["*the emulator found 2 problems in scale*", "*out-of-bounds*", "*outside of all memory*"]
    )
    # Where CI is set pytest's summary, which repeats the messages, is not cut.
    said = done.stdout.str().partition("short test summary info")[0]
    assert said.count("the emulator found 2 problems in scale (") == 1
    assert "\nout-of-bounds at kernel.py:7: " in said  # the first line, which the summary repeats
    assert "During handling" not in said and "cutecc/" not in said.partition("FAILURES")[2]


def test_options(run: Callable[..., pytest.RunResult]) -> None:
    text = """
def test_it(cutecc_device):
    cutecc_device.run(scale, x, 2.0)
    options = cutecc_device.emulation.options
    assert (options.check, options.schedule, options.seed) == (frozenset(), "random", 5)
    assert not cutecc_device.on_gpu
"""
    options = ("--cutecc-device=cpu", "--cutecc-check=none", "--cutecc-schedule=random", "--cutecc-seed=5")
    run(text, *options).assert_outcomes(passed=1)
    failed = run(text, "--cutecc-device=cuda")
    failed.assert_outcomes(errors=1)
    failed.stdout.fnmatch_lines(["*--cutecc-device=cuda, and this machine has no GPU*"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--cutecc-schedule=foo", "no schedule is called 'foo'"),
        ("--cutecc-schedule=replay:a.json", "a kept schedule is of one kernel"),
        ("--cutecc-check=rases", "rases"),
        ("--cutecc-check=", "'' names no check"),
        ("--cutecc-seed=-1", "a seed is a number from 0 on, not '-1'"),
        ("--cutecc-seed=x", "a seed is a number from 0 on, not 'x'"),
    ],
)
def test_options_that_are_none_are_refused_at_once(
    run: Callable[..., pytest.RunResult], option: str, message: str
) -> None:
    done = run("def test_nothing():\n    pass\n", option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert message in done.stderr.str()


def test_an_array_that_no_kernel_reads_is_named() -> None:
    device = CuteccDevice(on_cpu=True, on_gpu=False, check=None)
    with pytest.raises(pytest.fail.Exception, match="argument 0: elements of type >f4"):
        device.run(Kernel(compilation()), np.zeros(64, ">f4"), 2.0)
    with pytest.raises(pytest.fail.Exception, match="'x': elements of type >f4"):
        device.run(Kernel(compilation()), factor=2.0, x=np.zeros(64, ">f4"))


def test_a_plain_host_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `cutecc.jit` takes it; what it does not take is said."""
    (tmp_path / "fill.py").write_text(
        "from cutlass import cute\n\n\n@cute.kernel\ndef fill_kernel(x: cute.Tensor):\n"
        "    x[cute.arch.thread_idx()[0]] = 7.0\n\n\n@cute.jit\ndef fill(x: cute.Tensor):\n"
        "    fill_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    fill = importlib.import_module("fill").fill
    device = CuteccDevice(on_cpu=True, on_gpu=False, check="bounds")
    assert (device.run(fill, np.zeros(32, "f4"))["x"] == 7).all()
    with pytest.raises(pytest.fail.Exception, match=r"^out-of-bounds at fill.py:6: writes 4 bytes") as caught:
        device.run(fill, np.zeros(31, "f4"))
    assert "the emulator found 1 problem in fill" in str(caught.value)
    with pytest.raises(pytest.fail.Exception, match="takes a host function: '5' is of type int"):
        device.run(5, np.zeros(32, "f4"))


def test_results_of_a_set_of_kernels_by_name() -> None:
    x = np.arange(64, dtype="f4")
    device = CuteccDevice(on_cpu=True, on_gpu=False, check=None)
    kernels = KernelSet({target: Kernel(compilation(target=target)) for target in ("sm_80", "sm_90a")})
    np.testing.assert_array_equal(device.run(kernels, x, 2.0)["x"], 2 * x)


def test_the_emulator_and_a_gpu_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The "GPU" is NumPy, on the copies that a GPU would get."""
    x = np.arange(64, dtype="f4")
    device = CuteccDevice(on_cpu=True, on_gpu=True, check=None)
    factor = 2.0

    def run_on_gpu(copies: CallCopies, kernel: Any) -> None:
        copies.args[0][...] *= factor

    monkeypatch.setattr(CallCopies, "run_on_gpu", run_on_gpu)
    np.testing.assert_array_equal(device.run(Kernel(compilation()), x, 2.0)[0], 2 * x)
    factor = 2.001
    with pytest.raises(pytest.fail.Exception) as caught:
        device.run(Kernel(compilation()), x, 2.0)
    assert "the emulator and the GPU differ:\n54 of 64 elements of argument 0 differ\n" in str(caught.value)
    device.run(Kernel(compilation()), x, 2.0, tolerance=1e-2)


def test_a_gpu_gets_the_bytes_of_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from fake_cuda import FakeCuda

    from cutecc.runtime.workspace import Workspace

    x = np.arange(60, dtype="f4").reshape(6, 10)[::2, 3:8]
    copies = copied((x, 2.0), {"y": (x, np.zeros(3, "f8"))})
    assert copies.args[0] is copies.kwargs["y"][0] and copies.args[1] == 2.0

    cuda = FakeCuda()

    def kernel(first: Any, factor: float, *, y: Any, stream: int) -> None:
        assert (first.shape, first.stride(), first.dtype, first.device.type) == ((3, 5), (20, 1), "float32", "cuda")
        assert first.data_ptr() % 16 == x.ctypes.data % 16 and y[0] is first
        interface = {"shape": (3, 5), "typestr": "<f4", "strides": (80, 4), "data": (first.data_ptr(), False)}
        view = np.asarray(SimpleNamespace(__array_interface__={**interface, "version": 3}))
        np.testing.assert_array_equal(view, x)
        view *= factor

    copies.run_on_gpu(kernel, Workspace(driver=cuda))
    np.testing.assert_array_equal(copies.args[0], 2 * np.arange(60, dtype="f4").reshape(6, 10)[::2, 3:8])
    assert x[0, 0] == 3


def test_copies_keep_layout_and_alignment() -> None:
    x = np.arange(24, dtype="i2").reshape(4, 6)[::-1, ::2]
    copy = copied((x,), {}).args[0]
    np.testing.assert_array_equal(copy, x)
    assert copy.strides == x.strides and (copy.ctypes.data - x.ctypes.data) % 512 == 0
    copy[...] = 7
    assert x[0, 0] == 18
    assert copied((np.zeros((0, 3), "f4"),), {}).args[0].shape == (0, 3)
