"""Arguments of operations in the memory of a GPU, or of this process for the emulator, as torch tensors.

Around every matrix, and between its rows, is poison: what a kernel reads there spoils its result, and what it writes
there is seen.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.harness.elements import Elements, elements_of
from cutecc.operations.operand import Operand

INTERLEAVED = 32
_PAGE = 256
"""Bytes: what allocations are aligned to, and how much poison is before and behind."""
_TORCH = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
}


def elements(dtype: str) -> Elements:
    """How numpy holds a type."""
    found = find_numeric_type(dtype)
    assert found is not None, dtype
    return elements_of(found)


@dataclass
class Stored:
    """An array in the memory of a device, among poison."""

    dtype: str
    tensor: Any
    """As a call takes it; of mode `array` the first matrix."""
    codes: Any
    """What is in it, as numpy's view of `image`; (L, rows, columns), (L, extent) or interleaved."""
    image: Any
    """The bytes that were written to the device, poison included."""
    memory: Any
    """The bytes on the device."""
    offset: int
    """Where `image` begins in `memory`."""
    keeps_rows: bool = False
    """Of an interleaved matrix: whether 32 rows are together, not 32 columns."""

    def put(self) -> None:
        """Copy `image` to the device."""
        torch: Any = importlib.import_module("torch")
        self.memory[self.offset : self.offset + self.image.size].copy_(torch.from_numpy(self.image))

    def fetch(self) -> Any:
        """The bytes that the device has now."""
        return self.memory[self.offset : self.offset + self.image.size].cpu().numpy()

    def codes_in(self, image: Any) -> Any:
        """The codes of this array in other bytes of the same layout."""
        first = self.codes.__array_interface__["data"][0] - self.image.__array_interface__["data"][0]
        return np.ndarray(self.codes.shape, self.codes.dtype, image.data, first, self.codes.strides)

    def decode(self, image: Any | None = None) -> Any:
        """The values as f64; of an interleaved matrix (L, rows, columns)."""
        codes = self.codes if image is None else self.codes_in(image)
        values = elements(self.dtype).decode(np.ascontiguousarray(codes)).astype(np.float64)
        if values.ndim == 4:
            batches, groups, lines, _ = values.shape
            found = values.transpose(0, 2, 1, 3).reshape(batches, lines, groups * INTERLEAVED)
            return found.transpose(0, 2, 1) if self.keeps_rows else found
        return values


def matrix(operand: Operand, rows: int, columns: int, batches: int, device: str, *, batched: bool) -> Stored:
    """A matrix of poison, or a batch of them: aligned to what the operand promises and to no more."""
    kind = elements(operand.dtype)
    width = kind.code.itemsize
    if operand.is_interleaved:
        grouped, lines = (columns, rows) if operand.is_along_rows else (rows, columns)
        shape = (batches, grouped // INTERLEAVED, lines, INTERLEAVED)
        count = int(np.prod(shape))
        strides = (count // batches, lines * INTERLEAVED, INTERLEAVED, 1)
    else:
        lines, length = (rows, columns) if operand.layout == "row" else (columns, rows)
        align = operand.alignment
        leading = -(-length // align) * align + (align if align > 1 else 3)
        step = leading * lines + 2 * align
        count = step * batches
        shape = (batches, rows, columns)
        strides = (step, leading, 1) if operand.layout == "row" else (step, 1, leading)
    start = _PAGE + (operand.alignment_bytes if operand.alignment_bytes < 16 else 0)
    stored = _stored(operand.dtype, shape, strides, count * width, start, device)
    stored.keeps_rows = not operand.is_along_rows
    stored.tensor = stored.tensor if batched else stored.tensor[0]
    return stored


def vector(dtype: str, extent: int | None, batches: int, device: str, alignment: int, *, batched: bool) -> Stored:
    """A row or column of poison, one for each matrix; without an extent, a scalar for each."""
    width = elements(dtype).code.itemsize
    length = 1 if extent is None else extent
    step = -(-length // alignment) * alignment
    start = _PAGE + (alignment * width if alignment * width < 16 and extent is not None else 0)
    stored = _stored(dtype, (batches, length), (step, 1), step * batches * width, start, device)
    if extent is None:
        stored.tensor = stored.tensor[:, 0]
    stored.tensor = stored.tensor if batched else stored.tensor[0]
    return stored


def _stored(dtype: str, shape: Sequence[int], strides: Sequence[int], size: int, start: int, device: str) -> Stored:
    kind = elements(dtype)
    width = kind.code.itemsize
    image = np.full(start + size + _PAGE, kind.poison, np.uint8)
    codes = np.ndarray(shape, kind.code, image.data, start, [step * width for step in strides])
    torch: Any = importlib.import_module("torch")  # only where a test runs
    memory = torch.empty(image.size + _PAGE + 16, dtype=torch.uint8, device=device)
    offset = -memory.data_ptr() % _PAGE
    assert (offset + start) % width == 0
    # A view of another type begins where that type can: at the page, not at the tensor's own beginning.
    typed = memory[offset : offset + image.size // 16 * 16].view(getattr(torch, _TORCH[dtype]))
    tensor = torch.as_strided(typed, tuple(shape), tuple(strides), typed.storage_offset() + start // width)
    stored = Stored(dtype, tensor, codes, image, memory, offset)
    stored.put()
    return stored
