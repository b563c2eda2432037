"""Arithmetic over named sizes: its values, and everything that it is not."""

import pytest

from cutecc.errors import UsageError
from cutecc.frontend.size_arithmetic import check, evaluate

SIZES = {"M": 3, "N": 5, "K": 8}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * M * N * K", 240),
        ("(M * K + N * K) * 2", 128),
        ("-M + +N", 2),
        ("K // M + K / 4", 4.0),
        ("M ** 2", 9),
        ("min(M, N, K) + max(M, 4)", 7),
        (" 1e3 ", 1000.0),
        ("7", 7),
    ],
)
def test_value(text: str, value: float) -> None:
    check(text, SIZES)
    assert evaluate(text, SIZES) == value


@pytest.mark.parametrize(
    ("text", "column", "length", "message"),
    [
        ("2 * Q", 5, 1, "unknown size 'Q'"),
        ("M if N else K", 1, 13, "not arithmetic"),
        ("M < N", 1, 5, "not arithmetic"),
        ("M % N", 1, 5, "not arithmetic"),
        ("~M", 1, 2, "not arithmetic"),
        ("M + abs(N)", 5, 6, "not arithmetic"),
        ("min()", 1, 5, "not arithmetic"),
        ("min(M, key=N)", 1, 13, "not arithmetic"),
        ("M.real", 1, 6, "not arithmetic"),
        ("[M][0]", 1, 6, "not arithmetic"),
        ("True + M", 1, 4, "not arithmetic"),
        ("'a' * M", 1, 3, "not arithmetic"),
        ("__import__('os').system('true')", 1, 31, "not arithmetic"),
        ("(lambda: M)()", 1, 13, "not arithmetic"),
        ("2 * * M", 5, 1, "not arithmetic"),
        ("", 1, 1, "not arithmetic"),
        ("-" * 900 + "M", 1, 901, "more than 200 operations one in another"),
        ("M" + " + N" * 250, 1, 1001, "more than 200 operations one in another"),
    ],
)
def test_what_is_no_arithmetic(text: str, column: int, length: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(text, SIZES)
    location = caught.value.location
    assert location is not None
    assert (location.column, location.length) == (column, length)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M / (N - 5)", "division by zero"),
        ("M // (N - 5)", "division by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("1e308 * 10", "too large"),
        ("(-8) ** 0.5", "not a real number"),
        ("X", "size 'X' has no value"),
    ],
)
def test_values_that_there_are_not(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        evaluate(text, SIZES)


def test_close_names_are_guessed() -> None:
    with pytest.raises(UsageError, match=r"did you mean rows\?"):
        check("row * 2", ["rows", "columns"])
