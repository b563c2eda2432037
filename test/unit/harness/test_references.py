"""Every kernel of the repository can be tried: inputs from its header, its reference, its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import KERNEL_NAMES
from fake_cuda import FakeCuda

from cutecc.arguments.sizes import unify_sizes
from cutecc.errors import TraceError, UsageError
from cutecc.frontend.companions import call_reference
from cutecc.frontend.header import read_header
from cutecc.frontend.size_arithmetic import evaluate
from cutecc.harness.arguments import make_arguments
from cutecc.harness.comparison import compare
from cutecc.harness.on_device import DeviceArguments
from cutecc.harness.reference import bind_by_name, expected_outputs
from cutecc.record import Parameter, Signature
from cutecc.runtime.binding import Binder
from cutecc.runtime.workspace import Workspace
from cutecc.support.isolation import Worker

ROOT = Path(__file__).parents[3]
PATHS = {path.stem: path for folder in ("test/kernels", "examples") for path in (ROOT / folder).glob("*.py")}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all kernel files, which import the DSL."""
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_a_kernel_can_be_tried(name: str, worker: Worker) -> None:
    path = PATHS[name]
    header = read_header(path)
    arguments = make_arguments(header.args, header.outputs)
    arguments.randomize(0)
    for arithmetic in (header.bytes, header.flops):
        assert arithmetic is None or evaluate(arithmetic, arguments.sizes) > 0
    if header.reference is None:
        assert not arguments.outputs
        return
    expected = worker.call(
        "cutecc.frontend.companions:call_reference", str(path), header.reference, arguments.values(), header.outputs
    )
    assert arguments.outputs
    for tensor, wanted in zip(arguments.outputs, expected, strict=True):
        assert wanted.dtype == tensor.elements.value, tensor.name
        # A kernel that does nothing is found out, and one that writes what is expected is right.
        untouched = compare(tensor, wanted, header.workload)
        assert untouched.unwritten == untouched.wrong > 0
        tensor.codes[...] = tensor.elements.encode(wanted)
        assert compare(tensor, wanted, header.workload).ok


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_kernel_takes_its_arguments(path: Path) -> None:
    header = read_header(path)
    arguments = make_arguments(header.args, header.outputs)
    specs = unify_sizes(header.args)
    signature = Signature(path.stem, [Parameter(name, str(spec)) for name, spec in specs.items()])
    with Workspace(driver=FakeCuda()) as workspace:
        on_device = DeviceArguments(arguments, workspace)
        Binder(signature).check((), {**on_device.by_name, "stream": workspace.stream}, place="cuda")


def test_arguments_go_to_the_parameters_that_name_them() -> None:
    arguments = {"a": 1, "b": 2, "c": 3}
    assert bind_by_name(lambda c, a: (c, a), arguments, "f")() == (3, 1)
    assert bind_by_name(lambda a, extra=5: (a, extra), arguments, "f")() == (1, 5)
    assert bind_by_name(lambda **all: all, arguments, "f")() == arguments
    assert bind_by_name(lambda x, y, z: (x, y, z), arguments, "f")() == (1, 2, 3)
    with pytest.raises(UsageError, match="'f' does not take the kernel's arguments"):
        bind_by_name(lambda x, y: None, arguments, "f")


def test_what_a_reference_returns() -> None:
    array = np.ones(3)
    assert len(expected_outputs(array, ["y"])) == 1
    assert len(expected_outputs((array, array), ["y", "z"])) == 2
    with pytest.raises(UsageError, match="returns 1 arrays, and the outputs are y, z"):
        expected_outputs(array, ["y", "z"])
    for nothing in (None, "text", np.array([None])):
        with pytest.raises(UsageError, match="returns no array of numbers for 'y'"):
            expected_outputs((nothing,), ["y"])


def test_a_reference_in_a_file_without_the_dsl(tmp_path: Path) -> None:
    file = tmp_path / "check.py"
    file.write_text("def twice(x):\n    return 2 * x\n\ndef broken(x):\n    return x.nonsense\n")
    (found,) = call_reference(str(file), "twice", {"x": np.ones(3), "y": np.zeros(3)}, ["y"])
    assert found.tolist() == [2, 2, 2]
    with pytest.raises(UsageError, match="has no function 'twic'") as missing:
        call_reference(str(file), "twic", {}, [])
    assert missing.value.hints == ["did you mean twice?"]
    with pytest.raises(TraceError, match="the reference 'broken' fails: AttributeError") as failed:
        call_reference(str(file), "broken", {"x": np.ones(3)}, ["y"])
    assert failed.value.location is not None
    assert failed.value.location.line == 5


def test_modules_beside_a_file_are_its_own(tmp_path: Path) -> None:
    """Two files import a module of the same name, each from its folder."""
    for number, folder in enumerate(("one", "two"), start=1):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.py").write_text(f"FACTOR = {number}\n")
        text = "from beside import FACTOR\ndef reference(x):\n    return FACTOR * x\n"
        (tmp_path / folder / "check.py").write_text(text)
    arguments = {"x": np.arange(3)}
    for number, folder in enumerate(("one", "two"), start=1):
        (expected,) = call_reference(str(tmp_path / folder / "check.py"), "reference", arguments, ["x"])
        np.testing.assert_array_equal(expected, number * np.arange(3))
