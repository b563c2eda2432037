"""Arrays of every library, as they describe themselves."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from gpu_arrays import CupyLike, DlpackArray, InterfaceArray, TorchLike

from cutecc.arguments import dlpack
from cutecc.arguments.arrays import Array, read_array
from cutecc.errors import SpecError


def read(value: Any, **options: Any) -> Array:
    array = read_array(value, **options)
    assert array is not None
    return array


def test_torch_like() -> None:
    array = read(TorchLike("float16", (4, 6), (8, 1), 0x400, "cuda:1"))
    assert array == Array("float16", (4, 6), (8, 1), 0x400, "cuda", 1, "torch")
    assert array.place == "cuda:1"


def test_cuda_array_interface() -> None:
    array = read(InterfaceArray("f2", (4, 6), 0x400, strides=(16, 2), stream=7))
    assert array == Array("float16", (4, 6), (8, 1), 0x400, "cuda", None, "gpu_arrays", 7)
    assert array.place == "cuda"


def test_cuda_array_interface_without_strides_is_row_major() -> None:
    assert read(InterfaceArray("f4", (2, 3, 4), strides=None)).stride == (12, 4, 1)
    assert read(InterfaceArray("f4", (2, 3, 4), version=2)).stride == (12, 4, 1)


def test_cuda_array_interface_of_an_object_without_a_dtype() -> None:
    class Buffer:
        def __init__(self, typestr: str) -> None:
            self.__cuda_array_interface__ = {"shape": (3,), "typestr": typestr, "data": (0x400, False), "version": 3}

    assert read(Buffer("|u1")) == Array("uint8", (3,), (1,), 0x400, "cuda", None, __name__)
    assert [read(Buffer(typestr)).dtype for typestr in ("<f2", "<i8", "|b1")] == ["float16", "int64", "bool"]
    with pytest.raises(SpecError, match="elements of type >f4"):
        read_array(Buffer(">f4"))


def test_cupy_says_its_device() -> None:
    assert read(CupyLike("f4", (3,))).ordinal == 0
    assert read(CupyLike("f4", (3,))).library == "cupy"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (InterfaceArray("f4", (3,), mask=object()), "a masked array"),
        (InterfaceArray("f4", (3,), strides=(6,)), "strides of (6,) bytes are not whole elements of 4 bytes"),
        (
            TorchLike("float4_e2m1fn_x2", (4, 4), (8, 2)),
            "pairs of 4-bit floats that lie along no mode: none has stride 1",
        ),
        (np.zeros(3, ">f4"), "elements of type >f4, which no GPU reads"),
        (DlpackArray((3,), version=(2, 1)), "DLPack version 2.1; cutecc reads up to 1.x"),
    ],
)
def test_refused(array: object, message: str) -> None:
    with pytest.raises(SpecError) as error:
        read_array(array)
    assert error.value.message == message


@pytest.mark.parametrize("value", [3, 2.5, "x", None, (1, 2), np.float32(3), object()])
def test_what_is_no_array(value: object) -> None:
    assert read_array(value) is None


def test_pairs_are_unpacked_unless_the_pair_is_the_element() -> None:
    pairs = TorchLike("float4_e2m1fn_x2", (4, 8), (8, 1))
    assert (read(pairs).dtype, read(pairs).shape, read(pairs).stride) == ("float4_e2m1fn", (4, 16), (16, 1))
    packed = read(pairs, unpack=False)
    assert (packed.dtype, packed.shape, packed.stride) == ("f4E2M1FNx2", (4, 8), (8, 1))
    column_major = read(TorchLike("float4_e2m1fn_x2", (8, 4), (1, 8)))
    assert (column_major.shape, column_major.stride) == ((16, 4), (1, 16))


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_dlpack(version: tuple[int, int] | None) -> None:
    owner = DlpackArray((4, 6), (8, 1), bits=16, byte_offset=32, device=(dlpack.CUDA, 2), version=version)
    array = read(owner)
    assert array == Array("float16", (4, 6), (8, 1), 0x30000 + 32, "cuda", 2, "gpu_arrays")
    assert owner.streams == [-1]
    assert owner.given_back == 1


def test_dlpack_without_strides_is_row_major() -> None:
    assert read(DlpackArray((2, 3, 4))).stride == (12, 4, 1)
    assert read(DlpackArray(())).shape == ()


@pytest.mark.parametrize(
    ("code", "bits", "lanes", "dtype"),
    [
        (0, 64, 1, "int64"),
        (1, 8, 1, "uint8"),
        (2, 64, 1, "float64"),
        (4, 16, 1, "bfloat16"),
        (6, 8, 1, "bool"),
        (10, 8, 1, "float8_e4m3fn"),
        (12, 8, 1, "float8_e5m2"),
        (14, 8, 1, "float8_e8m0fnu"),
        (17, 4, 1, "float4_e2m1fn"),
        (17, 4, 2, "float4_e2m1fn"),
        (5, 64, 1, "complex64"),
        (2, 32, 4, "float32_x4"),
    ],
)
def test_dlpack_types(code: int, bits: int, lanes: int, dtype: str) -> None:
    assert read(DlpackArray((8,), code=code, bits=bits, lanes=lanes)).dtype == dtype


def test_dlpack_streams_follow_the_protocol() -> None:
    owner = DlpackArray((8,), device=(dlpack.CUDA, 3))
    asked: list[int] = []

    def stream(ordinal: int) -> int:
        asked.append(ordinal)
        return 0 if len(asked) == 1 else 0x77

    read(owner, stream=stream)
    read(owner, stream=stream)
    assert asked == [3, 3]
    assert owner.streams == [1, 0x77]  # there is no 0: the legacy default stream is 1
    on_cpu = DlpackArray((8,), device=(dlpack.CPU, 0))
    assert read(on_cpu, stream=stream).place == "cpu"
    assert on_cpu.streams == [None]


def test_an_interface_that_says_nothing_of_streams_gives_way_to_dlpack() -> None:
    class Both(DlpackArray):
        dtype = np.dtype("f4")

        @property
        def __cuda_array_interface__(self) -> dict[str, object]:
            return {"shape": (9,), "typestr": "<f4", "data": (0, False), "version": version}

    version = 2
    assert read(Both((8,))).shape == (8,)
    version = 3
    assert read(Both((8,))).shape == (9,)


def test_dlpack_that_refuses() -> None:
    class Refusing(DlpackArray):
        def __dlpack__(self, **options: object) -> object:
            raise BufferError("not today")

    with pytest.raises(SpecError, match="its __dlpack__ refuses: not today"):
        read_array(Refusing((8,)))


@pytest.mark.slow
def test_numpy_through_dlpack_leaks_nothing() -> None:
    class Other:
        def __init__(self) -> None:
            self.array = np.zeros((4, 8), np.float32).T

        def __dlpack__(self, **options: Any) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> object:
            return self.array.__dlpack_device__()

    other = Other()
    before = sys.getrefcount(other.array)
    found = [read(other) for _ in range(10)]
    gc.collect()
    after = sys.getrefcount(other.array)
    assert after == before
    assert found[0] == Array("float32", (8, 4), (1, 8), other.array.ctypes.data, "cpu", None, __name__)


def test_properties_that_raise_do_not_apply() -> None:
    class Like(DlpackArray):
        @property
        def __cuda_array_interface__(self) -> object:
            raise RuntimeError("use detach()")

    assert read(Like((8,))).shape == (8,)


class TestTorch:
    @pytest.mark.parametrize(
        "dtype", ["float32", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "bool", "uint16", "int64"]
    )
    def test_types(self, torch: Any, dtype: str) -> None:
        tensor = torch.zeros(16, dtype=torch.uint8).view(getattr(torch, dtype))
        array = read(tensor)
        assert (array.dtype, array.device, array.ordinal) == (dtype, "cpu", None)
        assert array.address == tensor.data_ptr()

    def test_pairs(self, torch: Any) -> None:
        array = read(torch.zeros(4, 8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))
        assert (array.dtype, array.shape) == ("float4_e2m1fn", (4, 16))

    def test_parameters_and_subclasses(self, torch: Any) -> None:
        class Mine(torch.Tensor):
            pass

        assert read(torch.nn.Parameter(torch.zeros(4, 8))).shape == (4, 8)
        assert read(torch.zeros(4, 8, requires_grad=True)).stride == (8, 1)
        assert read(torch.zeros(4, 8).T.as_subclass(Mine)).stride == (1, 8)

    def test_without_memory(self, torch: Any) -> None:
        with pytest.raises(SpecError, match="a Tensor without strided memory"):
            read_array(torch.zeros(2, 2).to_sparse())
        assert read(torch.zeros(2, 2, device="meta")).place == "meta"

    def test_another_path_sees_the_same(self, torch: Any) -> None:
        tensor = torch.zeros(5, 6, 7).permute(2, 0, 1)[:, 1:]
        ours, theirs = read(tensor), dlpack.read(tensor, None)
        assert (ours.shape, ours.stride, ours.address) == (theirs.shape, theirs.strides, theirs.address)


def test_cute_tensors() -> None:
    runtime = pytest.importorskip("cutlass.cute.runtime")
    array = np.zeros((4, 8), np.float32)
    found = read(runtime.from_dlpack(array))
    assert found == Array("Float32", (4, 8), (8, 1), array.ctypes.data, "cpu", None, "cutlass")
