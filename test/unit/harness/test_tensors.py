"""What lies around the elements of a tensor."""

from __future__ import annotations

import numpy as np
import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.harness.tensors import Tensor


@pytest.mark.parametrize("spec", ["u8[32]", "f4E2M1FN[64]", "f16[16]"])
def test_guards_are_as_long_before_as_behind(spec: str) -> None:
    """In bytes of the device, also where elements share one; what is written there is counted."""
    tensor = Tensor("x", parse_spec(spec), exact_alignment=False)  # pyright: ignore
    data = tensor.to_bytes().copy()
    behind = tensor.offset + 32
    assert data.size == tensor.bytes == behind + tensor.offset
    assert tensor.take_bytes(data.copy()) == 0
    data[-1] ^= 0xFF
    data[tensor.offset : behind] = 0
    assert tensor.take_bytes(data.copy()) == tensor.elements.per_byte
    assert not np.any(tensor.values)
