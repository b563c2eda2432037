"""Places in shared memory, and fragments, are called what the kernel's source calls them."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import cutecc
from cutecc.emulator.memory.names import Names
from cutecc.errors import DeadlockError, FaultError
from cutecc.record.variables import Variable

KERNEL = textwrap.dedent(
    """
    import cutlass
    from cutlass import cute

    @cute.struct
    class Storage:
        full: cute.struct.MemRange[cutlass.Int64, 2]
        flag: cutlass.Int32
        left: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 256], 128]

    def new_tile(allocator, layout):
        return allocator.allocate_tensor(cutlass.Float16, layout.outer, 128, swizzle=layout.inner)

    @cute.kernel
    def read_kernel(y: cute.Tensor, layout: cute.ComposedLayout, i: cutlass.Int32, j: cutlass.Int32):
        allocator = cutlass.utils.SmemAllocator()
        storage = allocator.allocate(Storage)
        numbers = allocator.allocate_array(cutlass.Int32, 9)
        padded = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((8, 64), stride=(65, 1)), 16)
        first = new_tile(allocator, layout)
        second = new_tile(allocator, layout)
        left = storage.left.get_tensor(cute.make_layout((16, 16)))
        y[0] = storage.flag.ptr.load().to(cutlass.Float32)
        y[1] = (numbers + i).load().to(cutlass.Float32)
        y[2] = padded[i, j]
        y[3] = first[i, j].to(cutlass.Float32)
        y[4] = second[i, j].to(cutlass.Float32)
        y[5] = left[i, 3]
        for k in cutlass.range(i, unroll=1):
            y[6] = left[j % 16, k]

    @cute.jit
    def read(y: cute.Tensor, i: cutlass.Int32, j: cutlass.Int32):
        kind = cute.nvgpu.warpgroup.SmemLayoutAtomKind.K_SW128
        atom = cute.nvgpu.warpgroup.make_smem_layout_atom(kind, cutlass.Float16)
        layout = cute.tile_to_shape(atom, (8, 64), (0, 1))
        read_kernel(y, layout, i, j).launch(grid=[1, 1, 1], block=[1, 1, 1])

    @cute.kernel
    def wait_kernel(y: cute.Tensor):
        allocator = cutlass.utils.SmemAllocator()
        storage = allocator.allocate(Storage)
        cute.arch.mbarrier_init(storage.full.data_ptr() + 1, 1)
        cute.arch.mbarrier_wait(storage.full.data_ptr() + 1, 0)
        y[0] = 1.0

    @cute.jit
    def wait(y: cute.Tensor):
        wait_kernel(y).launch(grid=[1, 1, 1], block=[1, 1, 1])
    """
)
SPECS = {"read": {"y": "f32[8]", "i": "i32", "j": "i32"}, "wait": {"y": "f32[8]"}}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, cutecc.Kernel]:
    """`read` and `wait`, each out of a bundle."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "names.py").write_text(KERNEL)
    options = cutecc.CompileOptions(line_info=True)
    jobs = [
        cutecc.Job(f"{folder}/names.py", function=name, args=specs, target="sm_90a", options=options)
        for name, specs in SPECS.items()
    ]
    compiled: dict[str, cutecc.Kernel] = {}
    for name, kernel in zip(SPECS, cutecc.compile_many(jobs), strict=True):
        assert isinstance(kernel, cutecc.Kernel)
        kernel.save(folder / f"{name}.cutecc")
        compiled[name] = cutecc.load(folder / f"{name}.cutecc")
    return compiled


@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 1), (3, 17), (5, 40), (7, 63)])
def test_places_have_the_names_and_coordinates_of_the_source(kernels: dict[str, cutecc.Kernel], i: int, j: int) -> None:
    found = kernels["read"].emulate(np.zeros(8, "f4"), i, j, check="initialisation").findings
    addresses = [each.address or "" for each in found]
    assert all(re.search(r" \(shared\+\d+\)$", each) for each in addresses)
    expected = ["storage.flag", f"numbers[{i}]", f"padded[{i}, {j}]", f"first[{i}, {j}]", f"second[{i}, {j}]"]
    expected += [f"storage.left[{i}, 3]", *([f"storage.left[{j % 16}, {i - 1}]"] if i else [])]
    assert [each.partition(" (")[0] for each in addresses] == expected


def test_an_mbarrier_has_the_name_of_its_member(kernels: dict[str, cutecc.Kernel]) -> None:
    with pytest.raises(DeadlockError, match=r"the mbarrier at storage\.full\[1\] \(shared\+8\)"):
        kernels["wait"](np.zeros(8, "f4"), device="cpu")


def test_what_is_past_the_end_has_no_name(kernels: dict[str, cutecc.Kernel]) -> None:
    with pytest.raises(FaultError, match=r"at shared\+\d+, (just|\d+ bytes) past the end of 5,?\d+ bytes"):
        kernels["read"](np.zeros(8, "f4"), 0, 1_000_000, device="cpu")


TILE = Variable("k", "shared", "tile", None, 16, 64, 32, [[(2, 1), (2, 4)], [(2, 2)]])


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (1024, None),
        (1040, "tile[0, 0]"),
        (1044, "tile[1, 0]"),
        (1050, "tile[0, 1] + 2 bytes"),
        (1056, "tile[2, 0]"),
        (1068, "tile[3, 1]"),
        (1072, "tile + 32 bytes"),
        (1104, None),
    ],
)
def test_elements_inside_of_them_and_gaps(address: int, name: str | None) -> None:
    """The offset 16 behind 1,024 bytes that are the system's."""
    assert Names((TILE,)).shared(address, 1024) == name


def test_kernels_have_their_own() -> None:
    assert Names.of([TILE], "k").variables == (TILE,)
    assert Names.of([TILE], "other").shared(1040, 1024) is None
