"""Bare pointers in calls on the CPU: memory is behind them as far as somebody has said so, and no farther."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from emulated_kernels import SCALE, compilation, host_program

import cutecc
from cutecc.emulator import parallel
from cutecc.errors import ArgumentError, EmulatorError, FaultError, SanitizerError
from cutecc.kernel import Kernel
from cutecc.record import Parameter, Signature
from cutecc.record.bundle import write_bundle
from cutecc.record.host_program import (
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchSite,
    Leaf,
    ParameterWrite,
)

SIZE = 64
"""Elements that a call multiplies: two blocks."""


def pointer_kernel(body: str = SCALE, spec: str = "ptr<f32>") -> Kernel:
    """`scale(x, size: i32, factor: f32, stream)` of a bare pointer."""
    leaves = (Leaf("pointer", "i64"), Leaf("scalar", "i32"), Leaf("scalar", "f32"), Leaf("stream", "i64"))
    record = compilation(body, host=replace(host_program(), arguments=[HostArgument([leaf]) for leaf in leaves]))
    specs = {"x": spec, "size": "i32", "factor": "f32", "stream": "stream"}
    record.signature = Signature("scale", [Parameter(*each) for each in specs.items()])
    return Kernel(record)


def two_pointers_kernel(**specs: str) -> Kernel:
    """`copy(a, b)`: the first 32 elements of one to the other; `specs` are other parameters that make up the two."""
    ptx = """\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 b)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    mov.u32 %r1, %tid.x;
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    st.global.f32 [%rd5], %f1;
    ret;
}
"""
    entry = KernelEntry("copy", [KernelParameter(0, 8, 8), KernelParameter(8, 8, 8)], 16)
    types = ["i64", "i64", "i64", "i32", "i32", "i32", "i32"]
    numbers = [Instruction("constant", results=[3 + i], immediate=n) for i, n in enumerate((1, 32, 0))]
    writes = [ParameterWrite(0, 0), ParameterWrite(8, 1)]
    launch = Instruction("launch", [], [6], launch=LaunchSite(0, (3, 3, 3), (4, 3, 3), 5, 2, [], writes))
    body = Block([*numbers, launch, Instruction("return_if_error", [6])], yields=[5])
    leaves = (Leaf("pointer", "i64"), Leaf("pointer", "i64"), Leaf("stream", "i64"))
    program = HostProgram("host_copy", [HostArgument([leaf]) for leaf in leaves], types, [entry], body)  # pyright: ignore
    record = compilation(text=ptx, host=program)
    specs = {**(specs or {"a": "ptr<f32>", "b": "ptr<f32>"}), "stream": "stream"}
    record.signature = Signature("copy", [Parameter(*each) for each in specs.items()])
    return Kernel(record)


def numbers(count: int = SIZE) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype="f4")


def aligned(count: int, kind: str) -> np.ndarray[Any, Any]:
    size = count * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, "u1")
    return memory[-memory.ctypes.data % 64 :][:size].view(kind)


# Where the extent comes from.


def test_an_address_alone_is_refused() -> None:
    x = numbers()
    with pytest.raises(
        ArgumentError, match=f"'x' is the address 0x{x.ctypes.data:x}, and nothing says how many"
    ) as found:
        pointer_kernel()(x.ctypes.data, SIZE, 2.0, device="cpu")
    assert found.value.hints == [
        "pass the array itself, not its address",
        "or say it in the call: extent={'x': x.nbytes}",
    ]
    assert x.tolist() == numbers().tolist()


@pytest.mark.parametrize("extent", [4 * SIZE, {"x": 4 * SIZE}, np.int64(4 * SIZE)])
def test_the_call_says_it(extent: Any) -> None:
    x = numbers()
    pointer_kernel()(x.ctypes.data, SIZE, 2.0, device="cpu", extent=extent)
    assert x.tolist() == (2 * numbers()).tolist()


def test_an_array_for_the_pointer_says_it() -> None:
    x = numbers()
    pointer_kernel()(x, SIZE, 2.0, device="cpu")
    assert x.tolist() == (2 * numbers()).tolist()
    with pytest.raises(EmulatorError, match=r"x \+ 256 bytes, just past its end"):
        pointer_kernel()(x, SIZE + 32, 2.0, device="cpu")


def test_a_spec_of_ones_own_says_it() -> None:
    x = numbers(2 * SIZE)
    kernel = pointer_kernel(spec=f"ptr<f32>={SIZE}")
    kernel(x.ctypes.data, SIZE, 2.0, device="cpu")
    assert x.tolist() == [*(2 * numbers()), *range(SIZE, 2 * SIZE)]
    with pytest.raises(EmulatorError, match=r"x \+ 256 bytes, just past its end"):
        kernel(x.ctypes.data, 2 * SIZE, 2.0, device="cpu")
    kernel(x.ctypes.data, 2 * SIZE, 2.0, device="cpu", extent=8 * SIZE)  # the call's word goes first


def test_the_spec_of_a_loaded_kernel_is_its_makers_word(tmp_path: Path) -> None:
    x = numbers()
    write_bundle(tmp_path / "scale.cutecc", [pointer_kernel(spec=f"ptr<f32>={SIZE}").compilation])
    loaded = cutecc.load(tmp_path / "scale.cutecc")
    with pytest.raises(ArgumentError, match="nothing says how many bytes"):
        loaded(x.ctypes.data, SIZE, 2.0, device="cpu")
    loaded(x.ctypes.data, SIZE, 2.0, device="cpu", extent=x.nbytes)
    assert x.tolist() == (2 * numbers()).tolist()


def test_an_address_inside_of_an_array_of_the_call() -> None:
    whole = numbers(96)
    copy = two_pointers_kernel()
    copy(whole, whole.ctypes.data + 4 * 64, device="cpu")
    assert whole.tolist() == [*range(64), *range(32)]
    with pytest.raises(EmulatorError, match=r"a \+ 384 bytes, just past its end, at \[96\] of shape \(96\)"):
        copy(whole, whole.ctypes.data + 4 * 65, device="cpu")
    with pytest.raises(ArgumentError, match="'b' is the address"):
        copy(whole, whole.ctypes.data + whole.nbytes, device="cpu")


def test_an_address_inside_of_an_array_with_negative_strides() -> None:
    """The array's memory begins at its last element: reads there are in bounds, and writes behind the first are not."""
    memory = numbers(96)
    with pytest.raises(EmulatorError, match=r"writes 4 bytes outside .* b \+ 256 bytes, just past its end"):
        two_pointers_kernel()(memory.ctypes.data, memory[63::-1], device="cpu")
    assert memory[64:].tolist() == list(range(64, 96))


def test_two_addresses_in_one_array_that_is_no_argument() -> None:
    """Neither reaches farther than was said of it."""
    whole = numbers(96)
    first, second = whole.ctypes.data, whole.ctypes.data + 4 * 64
    copy = two_pointers_kernel()
    copy(first, second, device="cpu", extent={"a": 128, "b": 128})
    assert whole.tolist() == [*range(64), *range(32)]
    with pytest.raises(EmulatorError, match=r"b \+ 124 bytes, just past its end"):
        copy(first, second, device="cpu", extent={"a": 128, "b": 124})


def test_extents_that_overlap_are_one_stretch() -> None:
    whole = numbers(96)
    two_pointers_kernel()(whole.ctypes.data, whole[16:], device="cpu", extent=128)
    assert whole[48:].tolist() == list(range(48, 96))


def test_null_has_nothing_behind_it() -> None:
    b = numbers()
    with pytest.raises(EmulatorError, match="0x0"):
        two_pointers_kernel()(0, b, device="cpu")
    with pytest.raises(EmulatorError, match="0x0"):
        two_pointers_kernel()(0, b, device="cpu", extent={"a": 4096})


def test_no_bytes() -> None:
    x = numbers()
    with pytest.raises(EmulatorError, match=r"x \+ 0 bytes, just past its end"):
        pointer_kernel()(x.ctypes.data, SIZE, 2.0, device="cpu", extent=0)


# What is beyond.


def test_beyond_is_a_fault_and_a_finding() -> None:
    """The rest of the array is the process's memory, and none of the kernel's."""
    x = numbers(2 * SIZE)
    kernel = pointer_kernel()
    with pytest.raises(EmulatorError, match=r"x \+ 256 bytes, just past its end"):
        kernel(x.ctypes.data, 2 * SIZE, 2.0, device="cpu", extent=4 * SIZE)
    assert x[SIZE:].tolist() == numbers(2 * SIZE)[SIZE:].tolist()
    with pytest.raises(SanitizerError, match="x"):
        kernel(x.ctypes.data, 2 * SIZE, 2.0, device="cpu", extent=4 * SIZE, check="bounds")
    found = kernel.emulate(ctypes.c_void_p(x.ctypes.data), 2 * SIZE, 2.0, extent=4 * SIZE, check="bounds").findings
    assert {each.kind for each in found} == {"out-of-bounds"}
    assert found[0].address == "x + 256 bytes, just past its end"


@pytest.mark.parametrize("offset", [-4, 4 * SIZE, 1 << 20, -(1 << 20), 5 << 20])
def test_nothing_of_the_process_is_in_reach(offset: int) -> None:
    """The attack: one store somewhere into the heap."""
    x = numbers()
    body = f"st.global.f32 [%rd1+{offset}], %f1;" if offset >= 0 else f"st.global.f32 [%rd1{offset}], %f1;"
    with pytest.raises(EmulatorError, match="writes 4 bytes outside of all memory"):
        pointer_kernel(body)(x.ctypes.data, SIZE, 2.0, device="cpu", extent=x.nbytes)


def test_no_offset_reaches_beyond(tmp_path: Path) -> None:
    """Stores at any offset, of a bundle that promises itself a terabyte: in the extent, or nowhere."""
    random = np.random.default_rng(28)
    memory = numbers(3 * SIZE)
    for number in range(attacks(25)):
        start, size = int(random.integers(0, SIZE)), int(random.integers(0, 4 * SIZE))
        offset = int(random.integers(-8, 8 * SIZE)) if number % 2 else int(random.integers(-(1 << 40), 1 << 40))
        body = f"mov.u64 %rd5, {offset & (1 << 64) - 1}; add.s64 %rd5, %rd1, %rd5; st.global.u8 [%rd5], 255;"
        write_bundle(tmp_path / "k.cutecc", [pointer_kernel(body, spec="ptr<f32>=274877906944").compilation])
        kernel, address = cutecc.load(tmp_path / "k.cutecc"), memory.ctypes.data + 4 * start
        before = memory.view("u1").copy()
        with pytest.raises(ArgumentError, match="nothing says how many bytes"):
            kernel(address, 32, 2.0, device="cpu")
        if 0 <= offset < size:
            kernel(address, 32, 2.0, device="cpu", extent=size)
            before[4 * start + offset] = 255
        else:
            with pytest.raises(FaultError, match=r"writes 1 bytes? outside of all memory"):
                kernel(address, 32, 2.0, device="cpu", extent=size)
        assert (memory.view("u1") == before).all()


def test_a_kernel_that_was_loaded_stays_so_in_another_process(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [pointer_kernel(spec=f"ptr<f32>={SIZE}").compilation])
    sent = pickle.loads(pickle.dumps(cutecc.load(tmp_path / "k.cutecc")))
    with pytest.raises(ArgumentError, match="nothing says how many bytes"):
        sent(numbers().ctypes.data, SIZE, 2.0, device="cpu")


def test_memory_that_nobody_may_write_stays_so() -> None:
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ)
    address = np.frombuffer(memory, "f4").ctypes.data
    with pytest.raises(EmulatorError, match="memory that is read-only at x"):
        pointer_kernel()(address, SIZE, 2.0, device="cpu", extent=4 * SIZE)


def test_memory_of_no_process() -> None:
    with pytest.raises(ArgumentError, match="'x' is the address 0x1000; at 0x1000 this process has no memory"):
        pointer_kernel()(4096, SIZE, 2.0, device="cpu", extent=256)
    x = numbers()
    with pytest.raises(ArgumentError, match=r"with 1,152,921,504,606,846,976 bytes behind it; at 0x"):
        pointer_kernel()(x.ctypes.data, SIZE, 2.0, device="cpu", extent=1 << 60)


def test_several_processes_share_what_is_behind_a_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    real = parallel._run_in_processes  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(parallel, "_run_in_processes", lambda *args: (used.append(1), real(*args)))
    x = numbers(32 * 600)
    pointer_kernel()(x.ctypes.data, x.size, 2.0, device="cpu", extent=x.nbytes, processes=2)
    assert used and x.tolist() == (2 * numbers(x.size)).tolist()


# What `extent=` may be.


@pytest.mark.parametrize(
    ("extent", "message"),
    [
        (-1, "extent= of 'x' is -1, which is no number of bytes"),
        (True, "extent= of 'x' is True"),
        (1.5, "extent= of 'x' is 1.5"),
        ("256", "extent= of 'x' is '256'"),
        ({"x": None}, "extent= of 'x' is None"),
        ({"y": 4}, "extent= names 'y', which is no pointer of the kernel"),
        ({"size": 4}, "extent= names 'size', which is no pointer of the kernel"),
        ({3: 4}, "extent= names '3'"),
    ],
)
def test_what_is_no_extent(extent: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pointer_kernel()(numbers().ctypes.data, SIZE, 2.0, device="cpu", extent=extent)


def test_a_pointer_in_a_tuple_goes_by_its_place() -> None:
    whole, copy = numbers(96), two_pointers_kernel(pair="(ptr<f32>, ptr<f32>)")
    first, second = whole.ctypes.data, whole.ctypes.data + 256
    with pytest.raises(ArgumentError, match=r"'pair\[1\]' is the address .* nothing says") as found:
        copy((first, second), device="cpu", extent={"pair[0]": 128})
    assert found.value.hints[1] == "or say it in the call: extent={'pair[1]': x.nbytes}"
    copy((first, second), device="cpu", extent={"pair[0]": 128, "pair[1]": 128})
    assert whole[64:].tolist() == list(range(32))


def test_functions_that_are_compiled_when_called_take_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cutlass")
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "kernels")
    import cutlass
    from cutlass.cute.runtime import make_ptr

    gather = cutecc.jit(importlib.import_module("pointer_args").pointer_args)
    table, indices, out = aligned(512, "f2"), aligned(2, "i4"), aligned(512, "f2")
    table[:], indices[:] = np.arange(512), [1, 0]
    types = (cutlass.Float16, 16), (cutlass.Int32, 4), (cutlass.Float16, 16)
    arrays = (table, indices, out)
    given = [
        make_ptr(kind, array.ctypes.data, cutlass.cute.AddressSpace.gmem, assumed_align=align)
        for array, (kind, align) in zip(arrays, types, strict=True)
    ]
    extent = {name: array.nbytes for name, array in zip(("table", "indices", "out"), arrays, strict=True)}
    gather(*given, 2, 2, 256, device="cpu", extent=extent)
    assert out.tolist() == [*range(256, 512), *range(256)]
    with pytest.raises(FaultError, match=r"at out \+ 1008 bytes"):
        gather(*given, 2, 2, 256, device="cpu", extent=extent | {"out": 1020})


def test_extents_are_of_bare_pointers() -> None:
    x = numbers(96)
    with pytest.raises(ArgumentError, match="'x', which is given as an array"):
        pointer_kernel()(x, SIZE, 2.0, device="cpu", extent={"x": 4})
    with pytest.raises(ArgumentError, match="one bare pointer, and this one has none"):
        pointer_kernel()(x, SIZE, 2.0, device="cpu", extent=4)
    with pytest.raises(ArgumentError, match="one bare pointer, and behind a null pointer is no memory: x"):
        pointer_kernel()(0, SIZE, 2.0, device="cpu", extent=4)
    with pytest.raises(ArgumentError, match="one bare pointer, and this one has 2: a, b"):
        two_pointers_kernel()(x.ctypes.data, x.ctypes.data, device="cpu", extent=4)


def test_a_call_on_a_gpu_takes_no_extent() -> None:
    kernel = pointer_kernel()
    with pytest.raises(ArgumentError, match="no parameter 'extent'") as found:
        kernel.check(numbers().ctypes.data, SIZE, 2.0, extent=256)
    assert 'extent= is for calls on the CPU emulator: pass device="cpu" too' in found.value.hints
