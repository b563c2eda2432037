"""What is copied before a Hopper GEMM: which operands, the copies bit by bit, and products that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from products import Matrix, _Emulator, _workspace, describe, multiply

import cutecc
from cutecc.emulator.options import EmulatorOptions
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import signature, workspace
from cutecc.operations.kernels.operand_copies import copied_bytes, is_read_along_k, operand_copies
from cutecc.operations.validity import refusal

pytestmark = pytest.mark.slow

INSTRUCTIONS = {
    "f32": ("wgmma:64x{n}x8:tf32:tf32:f32", 32),
    "f16": ("wgmma:64x{n}x16:f16:f16:f32", 64),
    "f8E4M3FN": ("wgmma:64x{n}x32:f8E4M3FN:f8E4M3FN:f32", 128),
    "i8": ("wgmma:64x{n}x32:i8:i8:i32:multiply_add_saturate", 128),
}
"""By the type of A and B: the instruction, and the K of a tile."""
ERRORS = {"f32": 1e-3, "f16": 1e-6, "f8E4M3FN": 1e-3, "i8": 0}
"""Relative to the products of absolute values: tf32 has 11 digits, sums of fp8 are cut off."""


def hopper(a: str, b: str, n: int = 64, d: str | None = None, **parts: Any) -> GemmDescription:
    """The GEMM that stores its sums, of tiles with 64 rows."""
    dtype = a.split(":")[0]
    instruction, k = INSTRUCTIONS[dtype]
    result = d or ("i32:row:1" if dtype == "i8" else "f32:row:1")
    tile = f"64x{n}x{k}:stages=2:warps=1x1x1:schedule=cooperative"
    description = describe(instruction.format(n=n), tile, a, b, result, target="sm_90a", **parts)
    assert refusal(description) is None
    return description


@pytest.mark.parametrize(
    ("a", "b", "copied"),
    [
        ("f16:row:8", "f16:row:8", {}),
        ("f16:column:8", "f16:row:4", {"b": False}),
        ("f16:row:1", "f16:column:2", {"a": False, "b": False}),
        ("f32:row:4", "f32:column:4", {}),
        ("f32:column:4", "f32:row:4", {"a": True, "b": True}),
        ("f8E4M3FN:row:8", "f8E4M3FN:row:1", {"a": False, "b": True}),
        ("i8:row:16", "i8:row:16", {"b": True}),
    ],
)
def test_what_is_copied_and_transposed(a: str, b: str, copied: dict[str, bool]) -> None:
    description = hopper(a, b)
    found = operand_copies(description)
    assert {each.name: each.is_transposed for each in found} == copied
    assert workspace.needs_workspace(description) == bool(copied)
    for each in found:
        along_k = each.is_k_major or each.is_transposed
        assert is_read_along_k(description, each.name) == along_k
    regions = workspace.regions(description, 67, 45, 77, 2, 1)
    assert sum(each.bytes for each in regions) == copied_bytes(description, 67, 45, 77, 2)


def test_copies_take_whole_vectors() -> None:
    # Of A 20 floats of K in each of 5 rows, of B 12 in each of 18 rows: 17 and 9, filled up to 16 bytes.
    assert copied_bytes(hopper("f32:row:1", "f32:column:4"), 5, 18, 17, 3) == 5 * 20 * 4 * 3
    assert copied_bytes(hopper("f32:row:4", "f32:row:4"), 5, 18, 9) == 18 * 12 * 4
    assert copied_bytes(hopper("f16:column:1", "f16:row:8"), 5, 18, 9) == 9 * 8 * 2
    other = describe("simt:1x1x1:f32:f32:f32", "32x32x8:stages=3:warps=1x1x1", *["f32:row:1"] * 3)
    assert copied_bytes(other, 5, 18, 9) == 0


class _Shifted(Matrix):
    """A matrix that begins right behind a multiple of 256 bytes, as far as its alignment allows."""

    def _poisoned(self, *shape: int) -> Any:
        return super()._poisoned(int(np.prod(shape)) + self.operand.alignment)[self.operand.alignment :].reshape(shape)


def copy(description: GemmDescription, kernel: cutecc.Kernel, m: int, n: int, k: int, batches: int) -> list[Any]:
    """Run the copies alone; returns what is found in each and what is expected, and bank conflicts."""
    generator = np.random.default_rng(0)
    a = _Shifted(description.a, m, k, batches, rows_contiguous=description.a.layout == "row").randomize(generator)
    b = _Shifted(description.b, n, k, batches, rows_contiguous=description.b.layout == "column").randomize(generator)
    d = Matrix(description.d, m, n, batches, rows_contiguous=True)
    space = _workspace(description, m, n, k, batches, None)
    emulator = _Emulator(kernel.compilation, kernel.launcher.binder)
    arguments = ((m, n, k, batches), a, b, (d,), space, None, 132, 0)
    emulation = emulator.emulate(arguments, {}, EmulatorOptions(check=True, counters=True))
    assert emulation.findings == [] and emulation.counters is not None
    for each in emulation.counters.instructions:
        if (m, n, k) == WHOLE:
            assert each.counts.shared_wavefronts == each.counts.shared_ideal_wavefronts, each.form
    regions = {each.name: each for each in workspace.regions(description, m, n, k, batches, 1)}
    pairs = []
    for each in operand_copies(description):
        codes = (a if each.name == "a" else b).codes
        lines = codes.transpose(2, 0, 1) if is_read_along_k(description, each.name) else codes.transpose(2, 1, 0)
        filled = np.zeros((*lines.shape[:2], -(-lines.shape[2] // each.vector) * each.vector), codes.dtype)
        filled[:, :, : lines.shape[2]] = lines
        region = regions[workspace.copy_name(each.name)]
        assert region.bytes == filled.nbytes
        pairs.append((space[region.offset : region.offset + region.bytes].view(codes.dtype), filled.ravel()))
    return pairs


WHOLE = (256, 128, 256)
"""Whole tiles of transposed copies only."""


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("f16:row:1", "f16:row:4"),
        ("f32:column:2", "f32:column:1"),
        ("i8:row:2", "i8:row:8"),
    ],
)
def test_copies_bit_by_bit(a: str, b: str) -> None:
    from cutecc.operations.kernels.operand_copies_kernel import OperandCopies
    from cutecc.operations.kernels.sm90_kernel import Sm90Gemm

    class Copies(Sm90Gemm):
        def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
            OperandCopies(self.description).launch(problem, a, b, workspace, slices, stream)

    description = hopper(a, b)
    compiled = cutecc.compile(Copies(description), *signature.specs(description).values(), target="sm_90a", cache=False)
    assert isinstance(compiled, cutecc.Kernel) and ".local" not in compiled.ptx
    for sizes in (*WHOLE, 1), (70, 139, 300, 2), (3, 1, 5, 1), (1, 17, 2, 3):
        for found, expected in copy(description, compiled, *sizes):
            assert np.array_equal(found, expected), sizes


@pytest.mark.parametrize(
    ("a", "b", "sizes", "parts"),
    [
        ("f32:column:4", "f32:row:1", (70, 40, 75), {"n": 24, "mode": "split_k_parallel", "slices": 2}),
        ("f16:column:1", "f16:row:2", (70, 35, 131), {"n": 8, "mode": "batched", "batches": 2}),
        ("i8:column:1", "i8:row:16", (70, 35, 269), {"n": 32, "mode": "split_k_serial", "slices": 2}),
    ],
)
def test_products_of_copies(a: str, b: str, sizes: tuple[int, int, int], parts: dict[str, Any]) -> None:
    how = {name: parts.pop(name) for name in ("batches", "slices") if name in (parts := dict(parts))}
    found = multiply(hopper(a, b, **parts), *sizes, **how)
    assert found.emulation.findings == [] and found.error <= ERRORS[a.split(":")[0]]
