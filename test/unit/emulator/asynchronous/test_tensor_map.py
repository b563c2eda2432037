"""TMA descriptors: the driver's bytes, its rules, and fields replaced in place."""

from __future__ import annotations

import json
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import pytest

from cutecc.emulator.tensor_map import INVALID_VALUE, decode, encode, fault, pack, replace
from cutecc.runtime.launch import TensorMap

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("tensor_maps.jsonl").read_text().splitlines()
]
"""What `cuTensorMapEncodeTiled` of a driver made of arguments for an H200: bytes, or a status."""


def of_row(row: dict[str, Any]) -> TensorMap:
    fields = {name: value for name, value in row.items() if name not in ("hex", "status")}
    return TensorMap(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})


@pytest.mark.parametrize("row", [row for row in ROWS if not row["status"]])
def test_a_descriptor_has_the_bytes_that_the_driver_writes(row: dict[str, Any]) -> None:
    assert encode(of_row(row)) == bytes.fromhex(row["hex"])
    assert decode(bytes.fromhex(row["hex"])) == of_row(row)


@pytest.mark.parametrize("row", [row for row in ROWS if row["status"]])
def test_what_the_driver_does_not_accept_is_no_descriptor(row: dict[str, Any]) -> None:
    assert row["status"] == INVALID_VALUE
    assert encode(of_row(row)) == INVALID_VALUE


GOOD = TensorMap(6, 0x7F0000001000, (1024, 512), (2048,), (64, 64), (1, 1), 0, 3, 2, 0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"address": 0x7F0000001008}, "address 0x7f0000001008 is no multiple of 16"),
        ({"strides": (2056,)}, "stride 2056 is no multiple of 16"),
        ({"box": (128, 64)}, "rows of 256 bytes are longer than the swizzle's 128"),
        ({"box": (4, 64)}, "rows of 8 bytes are no multiple of 16"),
        ({"box": (64, 257)}, "is not 1 to 256"),
        ({"interleave": 1}, "a tensor of rank 2 cannot be interleaved"),
        ({"data_type": 2, "box": (16, 64), "fill": 1}, "cannot be filled with NaN"),
        ({"sizes": (1024,) * 6}, "rank 6 is not 1 to 5"),
        ({"strides": ()}, "do not fit the rank 2"),
        ({"swizzle": 0, "box": (256, 256), "data_type": 7}, "the box has 262144 bytes, more than 232448"),
    ],
)
def test_a_refusal_says_why(change: dict[str, Any], text: str) -> None:
    assert fault(GOOD) is None
    refused = with_fields(GOOD, **change)
    assert text in (fault(refused) or "")
    assert encode(refused) == INVALID_VALUE


@pytest.mark.parametrize("data", [bytes(128), b"\xff" * 128, pack(GOOD)[:64]])
def test_other_bytes_are_no_descriptor(data: bytes) -> None:
    assert decode(data) is None


@pytest.mark.parametrize(
    ("name", "mode", "value", "change"),
    [
        ("global_address", 0, 0x7F0000002000, {"address": 0x7F0000002000}),
        ("global_dim", 1, 77, {"sizes": (1024, 77)}),
        ("global_stride", 0, 1 << 38, {"strides": (1 << 38,)}),
        ("box_dim", 0, 32, {"box": (32, 64)}),
        ("element_stride", 1, 2, {"element_strides": (1, 2)}),
        ("elemtype", 0, 10, {"data_type": 9}),
        ("swizzle_mode", 0, 1, {"swizzle": 1}),
        ("swizzle_mode", 0, 0, {"swizzle": 0}),
        ("interleave_layout", 0, 1, {"interleave": 1}),
        ("fill_mode", 0, 1, {"fill": 1}),
    ],
)
def test_a_field_is_replaced_alone(name: str, mode: int, value: int, change: dict[str, Any]) -> None:
    assert decode(replace(pack(GOOD), name, mode, value)) == with_fields(GOOD, **change)


@pytest.mark.parametrize("value", [8, 63, 1 << 62])
def test_a_swizzle_that_there_is_not(value: int) -> None:
    """A kernel may give any number, of 64 bits too: that power of two is not for memory to hold."""
    assert replace(pack(GOOD), "swizzle_mode", 0, value) == replace(pack(GOOD), "swizzle_mode", 0, 4 + value % 4)


def test_an_unknown_field_is_none() -> None:
    with pytest.raises(KeyError):
        replace(pack(GOOD), "colour", 0, 1)


def test_the_bytes_of_cutes_own_host_code_are_read() -> None:
    """A descriptor of f32[70, 132] with a box of 64 by 32, as a host program of the CuTe DSL computes it."""
    head = "200bbe2f50560000920304002100000000000000000000000000000000000000"
    rest = "83000000450000000000000000000000000000000000003f1f00000000000000"
    found = decode(bytes.fromhex(head + rest + "00" * 64))
    assert found == TensorMap(7, 0x56502FBE0B20, (132, 70), (528,), (64, 32), (1, 1), 0, 0, 2, 0)
