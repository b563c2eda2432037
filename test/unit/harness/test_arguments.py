"""Arguments made from specs: laid out, aligned, guarded and poisoned as promised."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeCuda

from cutecc.arguments.arrays import describe_array, read_array
from cutecc.arguments.grammar import parse_spec
from cutecc.errors import UsageError
from cutecc.harness.arguments import Arguments, check_memory, make_arguments, specs_of
from cutecc.harness.on_device import DeviceArguments, DeviceArray, HostMemory
from cutecc.record import Parameter, Signature
from cutecc.runtime.workspace import Workspace
from cutecc.support.capacity import available_bytes


def arguments(outputs: tuple[str, ...] = (), exact_alignment: bool = True, /, **texts: str) -> Arguments:
    specs = {name: parse_spec(text) for name, text in texts.items()}
    made = make_arguments(specs, outputs, exact_alignment=exact_alignment)
    made.randomize(0)
    return made


def test_what_a_reference_sees() -> None:
    made = arguments(
        ("y",),
        x="bf16[?M=3, ?N=5]:(?LD{i64}=8, 1)",
        y="f16[?M]",
        n="i32=3",
        flag="bool=True",
        tile="const(64)",
        stream="stream",
        pair="(f32[?N], f32=0.5)",
        nothing="none",
        p="ptr<i32>=7",
    )
    values = made.values()
    assert list(values) == ["x", "y", "n", "flag", "pair", "nothing", "p"]
    assert (values["x"].shape, values["x"].dtype) == ((3, 5), np.dtype("f4"))
    assert np.isfinite(values["x"]).all()
    assert np.isnan(values["y"]).all()
    assert (values["n"], values["flag"], values["nothing"]) == (3, True, None)
    assert values["pair"][0].shape == (5,)
    assert values["pair"][1] == 0.5
    assert (values["p"].shape, values["p"].dtype) == ((7,), np.dtype("i4"))
    assert made.sizes == {"M": 3, "N": 5, "LD": 8}


def test_values_depend_on_the_seed_and_the_name_alone() -> None:
    first, second = arguments(a="f32[100]", b="f32[100]"), arguments(b="f32[100]")
    np.testing.assert_array_equal(first.values()["b"], second.values()["b"])
    assert (first.values()["a"] != first.values()["b"]).any()
    first.randomize(1)
    assert (first.values()["b"] != second.values()["b"]).any()


def test_normal_numbers_and_small_integers() -> None:
    values = arguments(x="f32[100000]", i="i64[1000]", u="u16[1000]", b="bool[1000]").values()
    assert abs(values["x"].mean()) < 0.02
    assert abs(values["x"].std() - 1) < 0.02
    assert (values["i"].min(), values["i"].max()) >= (-128, 100)
    assert values["i"].max() <= 127
    assert 200 < values["u"].max() <= 255
    assert 300 < values["b"].sum() < 700


@pytest.mark.parametrize(("spec", "multiple"), [("f32[8]", 4), ("f16[8] align=16", 16), ("f64[8] align=128", 128)])
def test_the_first_element_is_aligned_as_promised_and_no_better(spec: str, multiple: int) -> None:
    (exact,), (generous,) = arguments(x=spec).tensors, arguments((), False, x=spec).tensors
    assert exact.offset % multiple == 0
    assert exact.offset % (2 * multiple) != 0
    assert generous.offset % 256 == 0


@pytest.mark.parametrize(
    "spec", ["f32[4, 6]:(1, 5)", "f16[?M=3, 8]:(16, 1)", "i8[2, 3, 5] order=(0, 1, 2)", "f4E2M1FN[4, 6]"]
)
def test_what_the_device_sees(spec: str) -> None:
    made = arguments(x=spec)
    (tensor,) = made.tensors
    with Workspace(driver=FakeCuda()) as workspace:
        on_device = DeviceArguments(made, workspace)
        on_device.upload()
        array: DeviceArray = on_device.by_name["x"]
        read = read_array(array)
        assert read is not None
        assert (read.shape, read.stride) == (tensor.shape, tensor.placement.stride)
        assert (read.address, read.place) == (array.data_ptr(), "cuda:0")
        assert str(describe_array(read).dtype) == spec.partition("[")[0]
        assert on_device.download() == {"x": 0}


def test_an_interface_that_numpy_understands() -> None:
    made = arguments(x="f32[3, 4]:(8, 1)")
    with Workspace(driver=FakeCuda()) as workspace:
        on_device = DeviceArguments(made, workspace)
        on_device.upload()

        class Host:
            __array_interface__ = on_device.by_name["x"].__cuda_array_interface__

        np.testing.assert_array_equal(np.asarray(Host()), made.values()["x"])


def write(cuda: FakeCuda, address: int, *values: int) -> None:
    cuda.array(address, len(values))[:] = values


def test_bytes_written_outside_of_a_tensor_are_counted() -> None:
    cuda = FakeCuda()
    made = arguments(("y",), y="u8[3, 4]:(6, 1)")
    with Workspace(driver=cuda) as workspace:
        on_device = DeviceArguments(made, workspace)
        on_device.upload()
        start = on_device.by_name["y"].data_ptr()
        for row in range(3):
            write(cuda, start + 6 * row, 1, 2, 3, 4)
        assert on_device.download() == {"y": 0}
        assert made.values()["y"].tolist() == [[1, 2, 3, 4]] * 3
        write(cuda, start + 4, 9)  # in the gap after the first row
        write(cuda, start - 2, 9, 9)  # before
        write(cuda, start + 16, 9, 9, 9)  # after
        assert on_device.download() == {"y": 6}
        assert made.values()["y"].tolist() == [[1, 2, 3, 4]] * 3


def test_arrays_of_the_user() -> None:
    made = arguments(("y",), x="bf16[4]", y="f32[4]")
    made.assign({"x": np.arange(4.0), "y": np.ones(4)})
    assert made.values()["x"].tolist() == [0, 1, 2, 3]
    assert made.values()["y"].tolist() == [1, 1, 1, 1]
    with pytest.raises(UsageError, match="no tensor is called 'z'"):
        made.assign({"z": np.ones(4)})
    with pytest.raises(UsageError, match=r"'x' has shape \(5,\), but the kernel's has \(4,\)"):
        made.assign({"x": np.ones(5)})


@pytest.mark.parametrize(
    ("outputs", "texts", "message"),
    [
        (("z",), {"x": "f32[4]"}, "output 'z' is no tensor"),
        ((), {"n": "i32"}, "argument 'n' has no value to run with"),
        (("y",), {"y": "f32[4, 8]:(4, 1)"}, "elements of output 'y' overlap"),
        ((), {"x": "f32[4]@smem"}, "'x' lies in smem"),
        ((), {"x": "f32[4]:(-1,)"}, "negative stride"),
    ],
)
def test_arguments_that_cannot_be_made(outputs: tuple[str, ...], texts: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        arguments(outputs, **texts)


def test_an_input_may_overlap_itself() -> None:
    values = arguments(x="f32[4, 8]:(0, 1)").values()["x"]
    assert (values == values[0]).all()


def test_constants_without_a_spelling_are_left_out() -> None:
    """As in a call."""
    taken = Signature("f", [Parameter("a", "f32[?=4]"), Parameter("op", "object<function>", "cutlass.Constexpr")])
    assert make_arguments(specs_of(taken), ["a"]).by_name.keys() == {"a"}


@pytest.mark.parametrize("spec", ["object<Plan>", "(f32, object<Plan>)"])
def test_objects_of_the_program_are_named_in_the_refusal(spec: str) -> None:
    with pytest.raises(UsageError, match=r"'op' is .*object<Plan>.*, an object of the program that compiled"):
        specs_of(Signature("f", [Parameter("op", spec)]))


def test_outputs_in_a_tuple() -> None:
    made = arguments(("pair[1]",), pair="(f32[4], f32[4])")
    assert [tensor.name for tensor in made.outputs] == ["pair[1]"]
    assert np.isnan(made.values()["pair"][1]).all()
    assert len(arguments(("pair",), pair="(f32[4], f32[4])").outputs) == 2


@pytest.mark.parametrize("size", [10**13, 10**14])
def test_more_than_memory_holds(size: int) -> None:
    with pytest.raises(UsageError, match=r"argument 'a' has [\d,]+ bytes, which this machine cannot hold"):
        make_arguments({"a": parse_spec("f32[?M]")}, [], sizes={"M": size})


def test_empty_tensors_overlap_nothing() -> None:
    for text in ("f32[45, ?M]", "f32[?M, 45]", "f32[4, ?M]:(0, 1)"):
        made = make_arguments({"y": parse_spec(text)}, ["y"], sizes={"M": 0})
        made.randomize(0)
        assert made.values()["y"].size == 0


def test_arguments_that_memory_does_not_hold_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecc.support.capacity.available_bytes", lambda: 1_000_000)
    fitting = "f32[100000]"
    arguments((), x=fitting)
    for texts in ({"x": fitting, "y": fitting}, {"pair": f"({fitting}, {fitting})"}):
        with pytest.raises(UsageError) as caught:
            arguments((), **texts)
        assert "the arguments and a copy of each have 1,604,096 bytes" in caught.value.message
        assert "this machine cannot hold: it has 1,000,000 left" in caught.value.message
        assert caught.value.hints == ["give smaller sizes"]
    with pytest.raises(UsageError, match=r"argument 'x' has 4,0.* bytes, which this machine cannot hold"):
        arguments((), x="f32[1000000]")


def test_the_copies_of_the_emulator_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = arguments((), x="f32[100000]")
    monkeypatch.setattr("cutecc.support.capacity.available_bytes", lambda: 500_000)
    with pytest.raises(UsageError, match=r"the emulator's copies .* have 80\d,\d{3} bytes"):
        DeviceArguments(made, HostMemory())


@pytest.mark.parametrize(
    ("on_cpu", "compared", "factor"), [(False, False, 2), (True, False, 4), (False, True, 9), (True, True, 9)]
)
def test_what_a_run_takes(monkeypatch: pytest.MonkeyPatch, on_cpu: bool, compared: bool, factor: int) -> None:
    """bf16 has values of four bytes: with four copies of them, nine times the tensor."""
    specs = {"x": parse_spec("bf16[?N=4]")}
    sizes = {"N": 500_000}
    needed = factor * 1_000_000
    monkeypatch.setattr("cutecc.support.capacity.available_bytes", lambda: needed + 100_000)
    check_memory(specs, sizes, on_cpu=on_cpu, compared=compared)
    monkeypatch.setattr("cutecc.support.capacity.available_bytes", lambda: needed)
    with pytest.raises(UsageError, match=r"a run with 0.0 GB of arguments takes about \d,\d{3},\d{3} bytes"):
        check_memory(specs, sizes, on_cpu=on_cpu, compared=compared)


def test_a_container_has_less_than_its_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cutecc.support.capacity._CGROUP", tmp_path)
    of_machine = available_bytes()
    for name, text in (("max", "3000000"), ("current", "2500000"), ("stat", "anon 5\ninactive_file 400000")):
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    assert available_bytes() == 900_000
    (tmp_path / "memory.max").write_text("max\n")
    assert of_machine is None or (available_bytes() or 0) > 900_000


def test_memory_that_is_left() -> None:
    left = available_bytes()
    assert left is None or left > 1 << 20


def test_host_allocations_are_far_apart() -> None:
    """An access past the end of one is found to be bad, and not taken for one of its neighbour."""
    with HostMemory() as memory:
        starts = sorted(memory.allocate(1000) for _ in range(20))
    assert min(after - before for before, after in pairwise(starts)) > 1 << 20
