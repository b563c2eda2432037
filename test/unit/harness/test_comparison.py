"""Comparing outputs: what counts as equal, and what is said about what is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.errors import UsageError
from cutecc.harness.comparison import Comparison, compare
from cutecc.harness.tensors import Tensor
from cutecc.record import Workload


def written(spec: str, values: object) -> Tensor:
    tensor = Tensor("y", parse_spec(spec), exact_alignment=True)  # pyright: ignore
    if values is not None:
        tensor.codes[...] = tensor.elements.encode(np.asarray(values))
    return tensor


def compared(spec: str, values: object, expected: object, tolerance: float | None = 0.0) -> Comparison:
    return compare(written(spec, values), np.asarray(expected), Workload(tolerance=tolerance))


def test_the_relative_error_is_that_of_the_definition() -> None:
    y = np.array([3.0, -4.0, 0.0, 5.0])
    x = y + np.array([0.0, 0.25, -0.5, 0.0])
    scale = math.sqrt((9 + 16 + 0 + 25) / 4)
    found = compared("f64[4]", x, y, 0.2)
    assert found.max_absolute_error == 0.5
    assert found.max_relative_error == pytest.approx(0.5 / scale)
    assert found.ok
    tight = compared("f64[4]", x, y, 0.1)
    assert (tight.wrong, tight.first and tight.first.coordinate) == (1, (2,))


def test_the_tolerance_itself_is_still_right() -> None:
    assert compared("f64[1]", [1.5], [1.0], 0.25).ok
    assert not compared("f64[1]", [1.5], [1.0], 0.2499).ok


def test_the_first_wrong_element() -> None:
    expected = np.arange(12.0).reshape(3, 4)
    values = expected.copy()
    values[1, 2], values[2, 0] = 99, 98
    found = compared("f32[3, 4]:(5, 1)", values, expected, 1e-6)
    assert found.problems() == ["2 of 12 elements of y differ", "the first at y[1, 2]: 99.0, expected 6.0"]


def test_elements_never_written_are_told_apart() -> None:
    tensor = written("f32[5]", None)
    tensor.codes[:3] = [0, 1, 7]
    found = compare(tensor, np.arange(5, dtype="f4"), Workload(tolerance=1e-6))
    assert (found.wrong, found.unwritten) == (3, 2)
    assert found.problems()[:2] == ["2 elements of y were never written", "1 of 5 elements of y differs"]
    assert found.max_absolute_error == math.inf


def test_a_value_of_8_bits_may_be_the_poison() -> None:
    tensor = written("i8[3]", None)
    tensor.codes[:2] = [0, 1]
    found = compare(tensor, np.arange(3, dtype="i1"), Workload())
    told = "1 element of y was never written, or given the value that outputs begin with"
    assert found.problems()[0] == told


def test_of_a_sample_of_blocks_only_what_was_written_counts() -> None:
    tensor = written("f32[4]", None)
    tensor.codes[:2] = [1.0, 3.0]
    found = compare(tensor, np.array([1.0, 2.0, 3.0, 4.0], "f4"), Workload(tolerance=0.0), sampled=True)
    assert (found.wrong, found.unwritten, found.max_absolute_error) == (1, 0, 1.0)
    assert compare(tensor, np.array([1.0, 3.0, 3.0, 4.0], "f4"), Workload(tolerance=0.0), sampled=True).ok


def test_an_element_that_the_reference_leaves_alone_may_stay_poisoned() -> None:
    tensor = written("f16[4]", None)
    expected = tensor.values
    tensor.codes[0] = expected[0] = 2.0
    found = compare(tensor, expected, Workload(tolerance=0.0))
    assert found.ok
    assert found.max_absolute_error == 0.0


def test_a_poisoned_integer_that_is_right_by_chance_is_right() -> None:
    assert compare(written("u8[2]", None), np.array([0xCD, 0xCD], "u1"), Workload(tolerance=0.0)).ok


def test_nan_equals_nan_but_not_the_poison() -> None:
    assert compared("f32[2]", [np.nan, 1.0], [np.nan, 1.0]).ok
    assert not compared("f32[2]", [np.nan, 1.0], [2.0, 1.0], 0.99).ok
    assert compare(written("f32[2]", None), np.array([np.nan, 1.0], "f4"), Workload(tolerance=0.99)).wrong == 2


def test_a_reference_that_expects_nan_everywhere_compares_nothing() -> None:
    found = compared("f32[2]", [np.nan, np.nan], [np.nan, np.nan])
    assert not found.ok
    assert "expects NaN in all of y" in found.problems()[0]


def test_infinities() -> None:
    assert compared("f32[2]", [np.inf, 1.0], [np.inf, 1.0]).ok
    for value, expected in ((np.inf, 1.0), (1.0, np.inf), (-np.inf, np.inf)):
        assert not compared("f32[2]", [value, 1.0], [expected, 1.0], 0.5).ok


def test_large_integers_are_compared_exactly() -> None:
    big = 2**62
    found = compared("i64[2]", [big, big + 1], [big, big], 0.0)
    # The difference of 1 is lost in f64, and still the element is wrong.
    assert found.wrong == 1


def test_stray_bytes_make_an_output_wrong() -> None:
    found = compare(written("f32[1]", [1.0]), np.ones(1, "f4"), Workload(tolerance=0.0), stray_bytes=3)
    assert not found.ok
    assert found.problems() == ["3 bytes around the elements of y were overwritten"]


@pytest.mark.parametrize(("spec", "step"), [("f8E4M3FN[2]", 0.125), ("bf16[2]", 2.0**-7), ("f32[2]", 2.0**-23)])
def test_steps_of_a_type(spec: str, step: float) -> None:
    expected = np.array([1.0, 1.0])
    for ulp, off, ok in ((0, 0, True), (0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)):
        found = compare(written(spec, expected + np.array([0, off * step])), expected, Workload(ulp=ulp))
        assert (found.ok, found.allowed) == (ok, f"{ulp} ulp")
    assert found.problems() == []
    wrong = compare(written(spec, expected - np.array([0, step])), expected, Workload(ulp=1))
    # Below a power of two steps are half as wide.
    assert wrong.problems()[1] == f"the first at y[1]: {1 - step}, expected 1.0 (2 ulp)"


def test_the_reference_is_rounded_to_the_type() -> None:
    """What lies between two numbers of the type is the nearer one; what no number reaches is the largest."""
    assert compare(written("bf16[2]", [1.0, 3.0]), np.array([1.0 + 2**-9, 3.005]), Workload(ulp=0)).ok
    assert not compare(written("bf16[1]", [1.0]), np.array([1.0 + 2**-8 + 2**-20]), Workload(ulp=0)).ok
    assert compare(written("f8E4M3FN[1]", [448.0]), np.array([1e6]), Workload(ulp=0)).ok


def test_either_bound_will_do() -> None:
    """Where a sum cancels, an element is many steps off, and as near as the sum's rounding lets it be."""
    expected = np.array([1000.0, 1e-6])
    tensor = written("bf16[2]", [1000.0, 2e-6])
    assert compare(tensor, expected, Workload(ulp=1)).problems()[0] == "1 of 2 elements of y differs"
    assert compare(tensor, expected, Workload(tolerance=1e-6, ulp=1)).ok
    assert not compare(written("bf16[2]", [1016.0, 1e-6]), expected, Workload(tolerance=1e-6, ulp=1)).ok


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [("f64[1]", "1e-09"), ("f32[1]", "0.0001"), ("tf32[1]", "0.001"), ("f16[1]", "0.002"), ("i32[1]", "0")]
    + [(f"{name}[1]", "1 ulp or 0.0001") for name in ("bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU")],
)
def test_what_is_allowed_by_default(spec: str, allowed: str) -> None:
    assert compared(spec, [1], [1], None).allowed == allowed
    if "ulp" in allowed:
        assert not compare(written(spec, [1.0]), np.array([4.0]), Workload()).ok


def test_steps_do_not_count_for_integers_and_nan() -> None:
    assert not compare(written("i32[1]", [3]), np.array([4]), Workload(ulp=5)).ok
    assert not compare(written("f32[1]", [np.nan]), np.array([np.inf], "f4"), Workload(ulp=1 << 23)).ok
    assert not compare(written("f32[1]", None), np.array([np.inf], "f4"), Workload(ulp=1 << 23)).ok


def test_outputs_of_no_elements_and_of_no_modes() -> None:
    assert compared("f32[?=0, 4]", np.zeros((0, 4)), np.zeros((0, 4))).ok is None
    assert compared("f32[]", 2.0, 2.0).ok
    assert compared("f32[]", 2.0, 3.0).problems()[-1] == "the first at y[]: 2.0, expected 3.0"


def test_a_reference_of_another_shape() -> None:
    with pytest.raises(UsageError, match=r"returns \(3,\) for 'y', which has shape \(4,\)"):
        compared("f32[4]", [1, 2, 3, 4], [1, 2, 3])
