"""The reference in numpy: rounding against types that numpy has, shapes, and formulas written once more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import EpilogueError
from cutecc.harness.elements import elements_of
from cutecc.operations.epilogue import NAMES, Column, Epilogue, Full, Row, Scalar, functions, named_epilogue
from cutecc.operations.epilogue.reference import evaluate, evaluate_function
from cutecc.operations.epilogue.rounding import rounded
from cutecc.operations.operand import Operand

many = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.floats(-600, 600, width=16).map(float)


def same(left: Any, right: Any) -> bool:
    return bool(np.array_equal(np.asarray(left, np.float64), np.asarray(right, np.float64), equal_nan=True))


@many
@given(numbers)
def test_rounding_is_numpys_where_numpy_has_the_type(number: float) -> None:
    with np.errstate(all="ignore"):
        assert same(rounded(number, "f16"), np.float16(number))
        assert same(rounded(number, "f32"), np.float32(number))
        assert same(rounded(number, "f64"), number)


@many
@given(st.floats(width=32))
def test_bf16_is_the_upper_half_of_f32(number: float) -> None:
    bf16 = find_numeric_type("bf16")
    assert bf16 is not None
    elements = elements_of(bf16)
    if not math.isnan(number):
        assert same(rounded(number, "bf16"), elements.decode(elements.encode(np.array([number], "f4")))[0])
    else:
        assert np.isnan(rounded(number, "bf16"))


@many
@given(st.floats(-1000, 1000), st.sampled_from(["f8E4M3FN", "f8E5M2"]))
def test_8_bit_floats_are_the_nearest_of_all_their_values(number: float, name: str) -> None:
    dtype = find_numeric_type(name)
    assert dtype is not None
    values = elements_of(dtype).decode(np.arange(256, dtype="u1")).astype(np.float64)
    values = values[np.isfinite(values)]
    distance = np.abs(values - number).min()
    found = float(rounded(number, name))
    assert found in values
    assert abs(found - number) == distance


@pytest.mark.parametrize(
    ("dtype", "conversion", "given", "expected"),
    [
        (
            "f8E4M3FN",
            None,
            [464.0, 1e9, -np.inf, np.nan, 2.0**-10, 2.0**-10 * 1.01],
            [448, 448, -448, np.nan, 0, 2**-9],
        ),
        ("f8E5M2", None, [61440.0, np.inf, 1.125, 1.375, 2.0**-17], [57344, 57344, 1.0, 1.5, 0]),
        ("f16", None, [65519.0, 65520.0, -1e9, np.nan], [65504, np.inf, -np.inf, np.nan]),
        ("f16", "clamp", [65519.0, 65520.0, -np.inf, np.nan], [65504, 65504, -65504, np.nan]),
        ("bf16", "clamp", [np.inf, 1e39], [2.0**127 * (2 - 2**-7)] * 2),
        ("f32", "clamp", [1e39], [float(np.finfo("f").max)]),
        ("i8", None, [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128, -128.5, -129, np.inf, np.nan], None),
        ("u8", "fast_clamp", [0.5, 1.5, -0.5, -3, 254.5, 255.5, -np.inf, np.nan], [0, 2, 0, 0, 254, 255, 0, 0]),
        (
            "i32",
            "clamp",
            [2.0**31 - 0.5, 2.0**31, -(2.0**40), 0.5, np.inf],
            [2**31 - 1, 2**31 - 1, -(2**31), 0, 2**31 - 1],
        ),
    ],
)
def test_edges_of_types(dtype: str, conversion: Any, given: list[float], expected: list[float] | None) -> None:
    expected = expected or [0, 2, 2, 0, -2, 127, 127, -128, -128, 127, 0]
    assert same(rounded(given, dtype, conversion), expected)


L, M, N = 3, 4, 5


def matrices(seed: int = 0) -> Any:
    return np.random.default_rng(seed)


def fused(accum: Any, C: Any, alpha: Any, beta: Any, bias: Any, scale: Any, gate: Any) -> Any:
    D = gelu((alpha * accum + beta * C + bias) * scale)  # type: ignore[name-defined]  # noqa: F821
    aux = D * gate
    row_sum = sum(D, axis=1)  # type: ignore[call-overload]
    top = max(aux, axis=0)  # type: ignore[call-overload]
    least = min(aux)
    return D, aux, row_sum, top, least


def traced(**changes: Any) -> Epilogue:
    operands: dict[str, Any] = {
        **{"C": Full("f16"), "bias": Row("f16"), "scale": Column("f32"), "gate": Scalar("f16", in_memory=True)},
        **{"D": Full("f16"), "aux": Full("bf16"), "row_sum": Column("f32"), "top": Row("f16")},
        "least": Scalar("f32"),
    }
    return Epilogue.trace(fused, **(operands | changes))


def test_every_kind_of_operand_and_result() -> None:
    random = matrices()
    accum, C = random.standard_normal((2, L, M, N))
    bias, scale, gate = random.standard_normal((L, N)), random.standard_normal((L, M)), random.standard_normal(L)
    operands = {"C": C, "alpha": 0.5, "beta": -2.0, "bias": bias, "scale": scale, "gate": gate}
    found = evaluate(traced(), accum, operands)
    x = (0.5 * accum - 2.0 * C + bias[:, None, :]) * scale[:, :, None]
    D = 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    aux = D * gate[:, None, None]
    expected = {"D": D, "aux": aux, "row_sum": D.sum(2), "top": aux.max(1), "least": aux.min((1, 2))}
    assert list(found) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].exact, value, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found["D"].rounded, found["D"].exact.astype(np.float16).astype(np.float64))
    np.testing.assert_array_equal(found["row_sum"].rounded, found["row_sum"].exact.astype("f").astype("d"))
    for name, value in evaluate_function(fused, traced(), accum, operands).items():
        np.testing.assert_allclose(value, found[name].exact, rtol=1e-12, atol=1e-13)


def test_without_batches() -> None:
    random = matrices(1)
    accum, C = random.standard_normal((2, M, N))
    bias, scale = random.standard_normal(N), random.standard_normal((M, 1))
    found = evaluate(traced(), accum, {"C": C, "beta": 1, "bias": bias, "scale": scale, "gate": 2.0})
    assert {name: each.exact.shape for name, each in found.items()} == {
        **{"D": (M, N), "aux": (M, N), "row_sum": (M,), "top": (N,), "least": ()},
    }
    same_batches = evaluate(
        traced(),
        np.stack([accum] * 2),
        {"C": C, "alpha": 1, "beta": 1, "bias": bias[None], "scale": scale[:, 0], "gate": [2.0]},
    )
    for name, each in found.items():
        assert same(same_batches[name].exact, np.stack([each.exact] * 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias": None}, "the operand bias is missing"),
        ({"C": np.zeros((M, N + 1))}, r"the operand C of shape \(4, 6\) is not full of 4×5, 3 batches"),
        ({"bias": np.zeros((M,))}, "the operand bias of shape"),
        ({"scale": np.zeros((2, M))}, "the operand scale of shape"),
        ({"gate": np.zeros((2,))}, "the operand gate of shape"),
    ],
)
def test_operands_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    good = {"C": np.zeros((L, M, N)), "bias": np.zeros(N), "scale": np.zeros(M), "gate": 1.0}
    with pytest.raises(EpilogueError, match=message):
        evaluate(traced(), np.zeros((L, M, N)), good | change)


FORMULAS = {
    "linear_combination": lambda x: x,
    "linear_combination_clamp": lambda x: x,
    "relu": lambda x: x if x > 0 else 0.0,
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "hardswish": lambda x: 0.0 if x <= -3 else x if x >= 3 else x * (x + 3) / 6,
    "gelu": lambda x: x * (1 - math.erfc(x / math.sqrt(2)) / 2),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_named_epilogues_are_their_formulas(name: str) -> None:
    random = matrices(2)
    accum, C = 3 * random.standard_normal((2, M, N))
    expected = np.vectorize(FORMULAS[name])(0.75 * accum - 1.5 * C)
    epilogue = named_epilogue(name, d="f32", c="f16")
    found = evaluate(epilogue, accum, {"C": C, "alpha": 0.75, "beta": -1.5})["D"].exact
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert epilogue.name == name
    expected = np.vectorize(FORMULAS[name])(0.75 * accum)
    without = named_epilogue(name, d=Operand("f32", "column", 2))
    np.testing.assert_allclose(evaluate(without, accum, {"alpha": 0.75})["D"].exact, expected, rtol=1e-12, atol=1e-15)
    assert "C" not in [each.name for each in without.operands]
    assert [(each.layout, each.alignment) for each in without.outputs] == [("column", 2)]
    # As a function over numbers it is the same.
    if function := getattr(functions, name, None):
        assert function(0.3) == pytest.approx(FORMULAS[name](0.3))
        assert function(-2.5) == pytest.approx(FORMULAS[name](-2.5))


def test_the_names_are_all_there() -> None:
    assert set(NAMES) == {"identity", "linear_combination_fast_clamp", *FORMULAS}
    assert named_epilogue("identity", d="f16").is_identity
    assert named_epilogue("identity", d="i32", accumulator="i32").compute == "i32"
    assert named_epilogue("gelu", d="i8", accumulator="i32").compute == "f32"
    assert named_epilogue("gelu", d="f64", accumulator="f64").inputs[0].dtype == "f64"


def test_clamps_of_integers_saturate() -> None:
    accum = np.array([[1000.0, -1000.0, 2.5, 3.5]])
    for name in ("linear_combination_clamp", "linear_combination_fast_clamp", "linear_combination"):
        epilogue = named_epilogue(name, d="i8", accumulator="i32")
        assert epilogue.outputs[0].conversion == ("fast_clamp" if "fast" in name else "clamp")
        assert evaluate(epilogue, accum)["D"].rounded.tolist() == [[127, -128, 2, 4]]
    clamped = named_epilogue("linear_combination_clamp", d="f16")
    assert evaluate(clamped, accum * 1e6)["D"].rounded.tolist() == [[65504, -65504, 65504, 65504]]
    assert named_epilogue("linear_combination", d="f16").outputs[0].conversion == "round"


@pytest.mark.parametrize(
    ("name", "operands", "message", "hint"),
    [
        ("geul", {"d": "f16"}, "there is no epilogue called geul", "did you mean gelu?"),
        ("quux", {"d": "f16"}, "there is no epilogue called quux", "names: identity"),
        ("identity", {"d": "f16", "c": "f16"}, "the epilogue identity reads no source", "linear_combination"),
        ("linear_combination_fast_clamp", {"d": "f16"}, "8-bit integers, not f16", "linear_combination_clamp"),
        ("linear_combination_fast_clamp", {"d": "i32"}, "8-bit integers, not i32", "linear_combination_clamp"),
        ("gelu", {"d": Row("f16")}, "D is a matrix", 'd=Full("f16")'),
        ("gelu", {"d": "f17"}, "cannot be of type f17", "types:"),
    ],
)
def test_names_that_do_not_fit(name: str, operands: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(EpilogueError) as caught:
        named_epilogue(name, **operands)
    assert message in caught.value.message
    assert hint in "\n".join(caught.value.hints)


def test_what_is_no_number_stays_none_as_on_a_gpu() -> None:
    epilogue = Epilogue.trace(lambda accum: max(min(accum, 1), 0), D=Full("f16"))
    found = evaluate(epilogue, np.array([[np.nan, 7.0, -7.0, np.inf]]))["D"].rounded
    assert same(found, [[np.nan, 1.0, 0.0, 1.0]])


@pytest.mark.parametrize("x", [np.array([[-2.0, 0.0, 3.0]]), -2.0, 3.0])
def test_functions_take_arrays_and_numbers(x: Any) -> None:
    assert same(functions.relu(x), np.where(np.asarray(x) > 0, x, 0))
    assert same(functions.identity(x), x)
    assert same(functions.clamp(x, -1, 1), np.clip(x, -1, 1))
    assert same(functions.abs(x), np.abs(x))
    assert same(functions.max(x, 1.0), np.maximum(x, 1))
    assert same(functions.min(x, 1.0, 0.0), np.minimum(x, 0))
    assert same(functions.to(np.asarray(x) / 3, "f16"), (np.asarray(x) / 3).astype(np.float16))
    cubic = np.asarray(x) + 0.044715 * np.asarray(x) ** 3
    assert functions.gelu_tanh(x) == pytest.approx(x * (1 + np.tanh(math.sqrt(2 / math.pi) * cubic)) / 2)
    assert functions.gelu_tanh(x) == pytest.approx(functions.gelu(x), abs=3e-3)
    assert functions.rsqrt(functions.exp(x)) == pytest.approx(np.exp(-np.asarray(x) / 2))
    assert functions.log(functions.exp(x)) == pytest.approx(x)
    assert functions.sqrt(functions.abs(x)) == pytest.approx(np.sqrt(np.abs(x)))
    assert functions.erf(x) == pytest.approx(np.vectorize(math.erf)(x))


def test_reductions_of_arrays_are_over_the_last_two_axes() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    assert same(functions.sum(array, axis=0), array.sum(1))
    assert same(functions.max(array, axis=1), array.max(2))
    assert same(functions.min(array), array.min((1, 2)))
    assert functions.sum([1, 2, 3]) == 6
    assert functions.max([1, 5, 3]) == 5
    assert functions.min(iter([4, 2])) == 2
    with pytest.raises(TypeError):
        functions.max()
