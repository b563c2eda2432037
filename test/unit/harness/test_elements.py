"""Elements in numpy: narrow floats against torch's own, bits for bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutecc.arguments.dtypes import find_numeric_type, numeric_types
from cutecc.errors import UsageError
from cutecc.harness.elements import Elements, elements_of

TORCH = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu"}
UNSUPPORTED = {"i128", "u128", "f6E3M2FN", "f6E2M3FN", "fnv8E5M3FNU", "f6E3M2FNx4", "f6E2M3FNx4", "f4E2M1FNx2"}
SUPPORTED = [dtype.name for dtype in numeric_types() if dtype.name not in UNSUPPORTED]


def elements(name: str) -> Elements:
    dtype = find_numeric_type(name)
    assert dtype is not None
    return elements_of(dtype)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_types_that_numpy_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        elements(name)


@pytest.mark.parametrize("name", TORCH)
def test_every_code_has_the_value_that_torch_gives_it(torch: Any, name: str) -> None:
    codes = np.arange(256, dtype="u1")
    expected = torch.from_numpy(codes).view(getattr(torch, TORCH[name])).float().numpy()
    np.testing.assert_array_equal(elements(name).decode(codes), expected)


def test_bf16_rounds_as_torch_does(torch: Any) -> None:
    values = np.random.default_rng(0).standard_normal(10_000, dtype="f4")
    expected = torch.from_numpy(values).bfloat16()
    codes = elements("bf16").encode(values)
    np.testing.assert_array_equal(codes.view("i2"), expected.view(torch.int16).numpy())
    np.testing.assert_array_equal(elements("bf16").decode(codes), expected.float().numpy())


def test_what_is_in_the_middle_is_rounded_to_even_as_a_gpu_does() -> None:
    """Else `ulp = 0` refuses what a conversion gives."""
    kind = elements("f8E4M3FN")
    codes = kind.encode(np.array([1.0625, 1.1875, 1.3125, -1.1875], "f4"))
    assert kind.decode(codes).tolist() == [1.0, 1.25, 1.25, -1.25]
    assert not (codes & 1).any()


def test_the_largest_values_of_the_formats() -> None:
    largest = {"f8E4M3FN": 448, "f8E4M3": 240, "f8E5M2": 57344, "f8E4M3B11FNUZ": 30, "f4E2M1FN": 6}
    for name, expected in largest.items():
        table = elements(name).decode(np.arange(1 << elements(name).dtype.width, dtype="u1"))
        assert table[np.isfinite(table)].max() == expected
    codes = np.arange(16, dtype="u1")
    assert elements("f4E2M1FN").decode(codes[:8]).tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert elements("i4").decode(codes).tolist() == [*range(8), *range(-8, 0)]


@pytest.mark.parametrize("name", SUPPORTED)
def test_random_elements_are_values_of_the_type(name: str) -> None:
    kind = elements(name)
    codes = kind.random(1000, np.random.default_rng(1))
    values = kind.decode(codes)
    assert codes.dtype == kind.code
    assert values.dtype == kind.value
    np.testing.assert_array_equal(kind.encode(values), codes)
    assert len(np.unique(values)) > 1
    if kind.is_float:
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", SUPPORTED)
def test_elements_that_share_a_byte_come_back(name: str) -> None:
    kind = elements(name)
    codes = kind.random(64, np.random.default_rng(2))
    packed = kind.pack(codes)
    assert (
        packed.size * 8
        == 64 * (1 if kind.dtype.kind == "bool" else kind.dtype.width) * (8 if kind.dtype.kind == "bool" else 1)
        or name == "tf32"
    )
    np.testing.assert_array_equal(kind.unpack(packed), codes)


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_the_poison_of_floats_is_nan(name: str) -> None:
    kind = elements(name)
    assert np.isnan(kind.decode(np.full(kind.code.itemsize, kind.poison, "u1").view(kind.code))).all()


@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "f64", "i8", "u32", "bool"])
def test_random_elements_do_not_depend_on_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = elements(name).random(1000, np.random.default_rng(1))
    monkeypatch.setattr("cutecc.harness.elements._CHUNK", 64)
    np.testing.assert_array_equal(elements(name).random(1000, np.random.default_rng(1)), whole)


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ", "f8E8M0FNU", "f4E2M1FN"])
def test_steps_count_the_numbers_between(name: str) -> None:
    kind = elements(name)
    codes = np.arange(1 << kind.dtype.width, dtype=f"<u{kind.code.itemsize}").view(kind.code)
    codes = codes[~np.isnan(kind.decode(codes))]
    values = kind.decode(codes).astype("f8")
    rank = np.unique(values, return_inverse=True)[1]
    generator = np.random.default_rng(0)
    one, two = generator.integers(0, len(codes), (2, 10_000))
    expected = np.abs(rank[one].astype("i8") - rank[two])
    np.testing.assert_array_equal(kind.ulps(codes[one], codes[two]), expected)
    neighbours = np.unique(np.abs(values))
    neighbours = neighbours[np.isfinite(neighbours) & (neighbours > 0)]
    normal = neighbours[len(neighbours) // 4 :]
    assert (np.diff(normal) / normal[:-1]).max() <= kind.largest_step


@pytest.mark.parametrize("name", ["f64", "f32"])
def test_steps_of_wide_types(name: str) -> None:
    kind = elements(name)
    x = np.array([1.0, -1.0, 0.0, 5e-324 if name == "f64" else 1e-45, np.finfo(kind.value).max], kind.value)
    with np.errstate(over="ignore"):
        next_up = np.nextafter(x, np.array(np.inf, kind.value))
    np.testing.assert_array_equal(kind.ulps(x, next_up), np.ones(5))
    np.testing.assert_array_equal(kind.ulps(x, x), np.zeros(5))
    assert int(kind.ulps(-x[-1:], x[-1:])[0]) == 2 * int(kind.ulps(x[-1:], np.zeros(1, kind.value))[0])
    assert elements("tf32").ulps(np.float32([1.0]), np.float32([1 + 2**-10]))[0] == 1
