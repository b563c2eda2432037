"""What is no epilogue is refused at its place in the function: file, line, column, the line itself, and a hint."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.errors import EpilogueError
from cutecc.operations import Gemm
from cutecc.operations.epilogue import Column, Epilogue, Full, Row, Scalar
from cutecc.operations.epilogue.declarations import Declaration
from cutecc.operations.epilogue.functions import to

START, END = "⟦", "⟧"
"""Around what the caret underlines; they are taken out before Python sees the source. Without an end, only where it
begins counts: of jumps, versions of Python note more or less of the statement."""


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., EpilogueError]:
    """Traces `f` of a marked source, and checks that the error is at the mark."""

    def check(source: str, **operands: Any) -> EpilogueError:
        file = tmp_path / "mine.py"
        line = 1 + source[: source.index(START)].count("\n")
        marked = source.split("\n")[line - 1]
        column = 1 + marked.index(START)
        text = marked.replace(START, "").replace(END, "")
        file.write_text(source.replace(START, "").replace(END, ""))
        scope: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), scope)
        with pytest.raises(EpilogueError) as caught:
            Epilogue.trace(scope["f"], **({"D": Full("f16")} | operands))
        error = caught.value
        assert error.location is not None
        assert (error.location.file, error.location.line, error.location.column) == (str(file), line, column)
        length = marked.index(END) - marked.index(START) - 1 if END in marked else error.location.length
        shown = str(error).split("\n")
        assert shown[0] == f"{file}:{line}:{column}: {error.message}"
        assert shown[1] == f"  {text}"
        assert shown[2] == f"  {' ' * (column - 1)}{'^' * length}"
        assert error.hints or "Error: " in error.message
        return error

    return check


EXPRESSIONS = [
    # What Python or a library would have to know.
    ("max(accum, 0) if ⟦accum > 0⟧ else accum", "a value is not known while the function is traced: `if`", "where("),
    ("⟦accum > 0 and accum", "is not known", "&, |, ~"),
    ("⟦not accum⟧", "is not known", "where("),
    ("⟦0 < accum < 1", "is not known", "where("),
    ("⟦accum == 1 or 2", "is not known", "where("),
    ("⟦accum in [1, 2]⟧", "is not known", "where("),
    ("⟦builtins.max(accum, 0)⟧", "is not known", "max(x, y)"),
    ("⟦math.exp(accum)⟧", "it has no float", "write exp(x)"),
    ("⟦int(accum)⟧", "it has no int", "without the module"),
    ("⟦[1, 2][accum]⟧", "it has no index", ""),
    ("⟦complex(accum)⟧", "it has no complex", ""),
    ("⟦np.exp(accum)⟧", "numpy's exp of a value", "write exp(…)"),
    ("⟦np.maximum(accum, 0)⟧", "numpy's maximum of a value", "write maximum(…)"),
    ("⟦np.fabs(accum)⟧", "numpy's fabs of a value", "write abs(…)"),
    ("⟦np.cbrt(accum)⟧", "numpy's cbrt of a value", "there are: abs, clamp"),
    ("⟦np.clip(accum, 0, 1)⟧", "numpy's clip of a value", "write clamp(…)"),
    ("⟦np.where(accum > 0, 1, 0)⟧", "numpy's where of a value", "write where(…)"),
    ("⟦np.ones(3) * accum⟧", "of an array that is no operand", "make it a parameter"),
    ("⟦accum * np.ones(3)⟧", "mul of an array that is no operand", "bias=Row('f16')"),
    # What a value does not have.
    ("⟦accum[0]⟧", "a value cannot be indexed", "any one element"),
    ("⟦len(accum)⟧", "len of a value", "any one element"),
    ("⟦list(accum)⟧", "", ""),
    ("⟦round(accum)⟧", "round of a value", "x.to('i32')"),
    ("⟦math.floor(accum)⟧", "floor of a value", "x.to('i32')"),
    ("⟦math.ceil(accum)⟧", "ceil of a value", "x.to('i32')"),
    ("⟦math.trunc(accum)⟧", "trunc of a value", "x.to('i32')"),
    ("⟦accum.T⟧", "a value has no T", "to(dtype)"),
    ("⟦accum.clip⟧(0, 1)", "a value has no clip", "functions are called by name"),
    ("⟦accum // 2⟧", "// of a value", "operators:"),
    ("⟦2 // accum⟧", "// of a value", "operators:"),
    ("⟦accum % 2⟧", "% of a value", "operators:"),
    ("⟦accum @ accum⟧", "@ of a value", "operators:"),
    ("⟦accum ^ 1⟧", "^ of a value", "operators:"),
    ("⟦accum << 1⟧", "<< of a value", "operators:"),
    ("⟦1 >> accum⟧", "", "operators:"),
    ("⟦accum ** 2.5⟧", "** with an exponent that is no small number", "exp(y * log(x))"),
    ("⟦accum ** 17⟧", "** with an exponent", "from -16 to 16"),
    ("⟦accum ** accum⟧", "** with an exponent", "exp(y * log(x))"),
    ("⟦accum ** 0⟧", "** with 0 is 1", "write 1"),
    ("⟦2 ** accum⟧", "** with a value as the exponent", "exp(x * c)"),
    # Arguments that a step does not take.
    ("⟦accum + 'a'⟧", "add of a str", "values and numbers"),
    ("⟦accum * None⟧", "mul of None", "values and numbers"),
    ("⟦accum + [1]⟧", "add of a list", "values and numbers"),
    ("⟦accum + math.nan⟧", "add of NaN", "a constant is"),
    ("⟦exp(accum > 0)⟧", "exp of a condition", "where(condition, 1, 0)"),
    ("⟦(accum > 0) * accum⟧", "mul of a condition", "where(condition, 1, 0)"),
    ("⟦where(accum, 1, 0)⟧", "where needs a condition", "x != 0"),
    ("⟦accum & 1⟧", "and needs a condition", "x != 0"),
    ("⟦~accum⟧", "not needs a condition", "x != 0"),
    ("⟦accum.to('f17')⟧", "cannot be of type f17", "did you mean f1"),
    ("⟦accum.to('i64')⟧", "cannot be of type i64", "types: f64, f32"),
    ("⟦sum(accum, axis=2)⟧", "sum over axis 2", "axis=0"),
    ("⟦max(accum, axis='rows')⟧", "max over axis rows", "axis=1 one for each row"),
    ("⟦min(accum, axis=True)⟧", "min over axis True", "axis=0"),
    ("⟦sum(accum > 0)⟧", "sum of a condition", "where(condition, 1, 0)"),
    ("accum - ⟦max(3 * (bias + 1), axis=1)⟧", "max of a row value", "before the launch"),
    ("⟦accum - max(accum, axis=1)⟧", "sub of a max over the product", "return the reduction"),
    ("⟦exp(sum(accum))⟧", "exp of a sum over the product", "return the reduction"),
    ("⟦sum(accum.sum(axis=0))⟧", "sum of a sum over the product", "return the reduction"),
    # Python's own complaints.
    ("⟦gellu⟧(accum)", "NameError: name 'gellu' is not defined", "did you mean gelu?"),
    ("⟦acum⟧ + 1", "NameError: name 'acum' is not defined", "did you mean accum?"),
    ("⟦qqq⟧ + 1", "NameError", "functions: abs, clamp"),
    ("äöü(accum, '→') + ⟦accum[0]⟧", "a value cannot be indexed", ""),
]


@pytest.mark.parametrize(("expression", "message", "hint"), EXPRESSIONS, ids=[each[0] for each in EXPRESSIONS])
def test_expressions_that_are_none(
    refused: Callable[..., EpilogueError], expression: str, message: str, hint: str
) -> None:
    head = "import math, builtins, numpy as np\ndef äöü(x, y): return x\ndef f(accum, bias, C=0.0):\n"
    error = refused(f"{head}    D = {expression}\n    return D + C + bias\n", bias=Row("f16"))
    assert message in error.message
    assert hint in "\n".join(error.hints)


STATEMENTS = [
    ("def f(accum):\n    x = accum * 2\n    if ⟦x > 0⟧:\n        x = x + 1\n    return x", "is not known"),
    ("def f(accum):\n    while ⟦bool(accum)⟧:\n        pass\n    return accum", "is not known"),
    ("def f(accum):\n    ⟦x, y⟧ = accum\n    return x", "cannot be iterated over"),
    ("def f(accum):\n    assert ⟦accum > 0\n    return accum", "is not known"),
    ("def f(accum):\n    return ⟦accum + 1 > 2⟧", "the result D is a condition"),
    ("def f(accum):\n    return ⟦3⟧", "the result D is an int that does not depend on the product"),
    ("⟦def f⟧(accum):\n    D = accum", "the function returns nothing"),
    ("def f(accum):\n    return ⟦()⟧", "the function returns no results"),
    ("def f(accum):\n    return ⟦{}⟧", "the function returns no results"),
    ("def f(accum):\n    return accum, ⟦accum * 2⟧", "result 2 has no name"),
    ("def f(accum):\n    D = accum\n    return D, ⟦D⟧", "a result cannot be called D: that is a result already"),
    ("def f(accum, alpha):\n    D = accum * alpha\n    return D, ⟦alpha⟧", "the result alpha is scalar"),
    ("def f(accum):\n    pair = accum, accum\n    return ⟦pair⟧", "what the 2 results are called cannot be told"),
    (
        "flag = 1\ndef f(accum):\n    a = b = accum\n    if flag: return a, b\n    return ⟦b, a⟧",
        "what the 2 results are called cannot be told: several return statements",
    ),
    ("def f(accum):\n    D = accum\n    aux = D + 1\n    return D, ⟦aux⟧", "what the result aux is has not been said"),
    ("def f(accum):\n    r = sum(accum, axis=1)\n    return ⟦r⟧", "D is the product's result of M×N elements"),
    ("def f(accum, beta):\n    return ⟦beta * 2⟧", "the result D is scalar: results are M×N"),
    ("def f(accum, ⟦beta⟧):\n    unused = beta * accum\n    return accum", "no result depends on the operand beta"),
    ("def f(accum, alpha,\n      ⟦gamma⟧):\n    return accum * gamma", "what the operand gamma is has not been said"),
    ("def f(⟦x⟧, alpha):\n    return x * alpha", "the first parameter of an epilogue is accum"),
    ("⟦def f⟧():\n    return 1", "the first parameter of an epilogue is accum"),
    ("⟦def f⟧(accum, *rest):\n    return accum", "*rest: each operand"),
    ("⟦def f⟧(accum, **rest):\n    return accum", "*rest: each operand"),
    ("⟦def f⟧(accum):\n    yield accum", "not a generator"),
    ("f = lambda ⟦x⟧: x", "the first parameter of an epilogue is accum"),
    ("f = lambda accum: ⟦accum[1]⟧", "a value cannot be indexed"),
    ("def helper(x):\n    return ⟦x[0]⟧\ndef f(accum):\n    return helper(accum)", "a value cannot be indexed"),
    ("def f(accum):\n    return ⟦len(1)⟧", "TypeError: object of type 'int' has no len()"),
    ("def f(accum):\n    return accum * (⟦1 / 0⟧)", "ZeroDivisionError"),
    ("def f(accum):\n    D = ⟦sum(accum, accum)⟧\n    return D", "sum over axis <value accum: full>"),
    ("def f(accum):\n    return ⟦f(accum)⟧", "RecursionError"),
]


@pytest.mark.parametrize(("source", "message"), STATEMENTS, ids=[each[0] for each in STATEMENTS])
def test_functions_that_are_none(refused: Callable[..., EpilogueError], source: str, message: str) -> None:
    error = refused(f"# A file\n{source}\n")
    assert message in error.message


def test_what_torch_asks_is_answered_with_the_languages_function(refused: Callable[..., EpilogueError]) -> None:
    """As torch does it: a function of its own asks an argument's class what to do."""
    source = (
        "def relu(x):\n    return type(x).__torch_function__(relu, (), (x,))\n"
        "def f(accum, bias):\n    D = torch.relu⟦(accum)\n    return D + bias\n"
    ).replace("torch.relu⟦(accum)", "relu(accum)")
    error = refused(source.replace("return type", "return ⟦type").replace("(x,))", "(x,))⟧"), bias=Row("f16"))
    assert error.message == "torch's relu of a value"
    assert error.hints == ["write relu(…)"]


DECLARATIONS: list[tuple[Callable[[], Declaration], str, str]] = [
    (lambda: Full("f17"), "operands of an epilogue cannot be of type f17", "types: f64"),
    (lambda: Row("f4E2M1FN"), "cannot be of type f4E2M1FN", "types: f64"),
    (lambda: Column("floot16"), "cannot be of type floot16", "did you mean f16?"),
    (lambda: Scalar(np.complex64), "cannot be of type complex64", "types: f64"),  # type: ignore[arg-type]
    (lambda: Scalar("f32", float("nan")), "a scalar cannot have nan as its default", "finite"),
    (lambda: Scalar("f32", 1.0, in_memory=True), "a scalar in memory cannot have 1.0", "a number of a launch"),
    (lambda: Full("f16", conversion="fast_clamp"), "f16 results cannot be converted by fast_clamp", "round, clamp"),
    (lambda: Full("i8", conversion="round"), "i8 results cannot be converted by round", "clamp, fast_clamp"),
    (lambda: Full("i32", conversion="fast_clamp"), "i32 results cannot be converted by fast_clamp", "clamp"),
]


@pytest.mark.parametrize(("declare", "message", "hint"), DECLARATIONS)
def test_declarations_that_are_wrong_are_so_where_they_are_written(
    declare: Callable[[], Declaration], message: str, hint: str
) -> None:
    with pytest.raises(EpilogueError) as caught:
        declare()
    error = caught.value
    assert message in error.message
    assert hint in "\n".join(error.hints)
    assert error.location is not None
    assert (error.location.file, error.location.line) == (__file__, declare.__code__.co_firstlineno)
    assert error.location.text is not None
    assert error.location.text[(error.location.column or 0) - 1 :].startswith(("Full(", "Row(", "Column(", "Scalar("))


def test_annotations_that_are_wrong_are_so_at_the_parameter(refused: Callable[..., EpilogueError]) -> None:
    head = "from __future__ import annotations\n"
    error = refused(f'{head}def f(accum, ⟦bias: Row("f17")⟧):\n    return accum + bias\n')
    assert "cannot be of type f17" in error.message


def f(accum: Any, x: Any) -> Any:
    return accum + x


M, N = 6, 10


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"x": np.zeros((M,), "e")}, "the operand x of shape (6,) does not fit a product of (6, 10)", "columns (6, 1)"),
        ({"x": np.zeros((N, M), "e")}, "does not fit", "full operands are (6, 10), rows (10,) or (1, 10)"),
        ({"x": np.zeros((2, N), "e")}, "does not fit", 'x=Row("f16")'),
        ({"x": np.zeros((1, 1, M, N), "e")}, "does not fit", ""),
        ({"x": np.zeros((1, 1), "e"), "D": np.zeros((M, 1), "e")}, "can be row or scalar", 'Row("f16") or x=Scalar('),
        (
            {"x": np.zeros((1, N), "e"), "D": np.zeros((1, N), "e")},
            "can be full or row",
            'x=Full("f16") or x=Row("f16")',
        ),
        ({"x": np.zeros((M, 1), "e"), "D": np.zeros((M, 1), "e")}, "can be full or column", 'x=Column("f16")'),
        ({"x": np.zeros((N,), "e"), "D": Full("f16")}, "only the size of the product tells", "accum=(M, N)"),
        ({"x": np.zeros((M, N), "D")}, "operands of an epilogue cannot be of type complex128", "types:"),
        ({"x": np.zeros((M, N), ">f2")}, "which no GPU reads", ""),
        ({"x": np.zeros((2 * M, 2 * N), "e")[::2, ::2]}, "neither rows nor columns", "contiguous copy"),
        ({"x": "f16"}, "a str does not say what the operand x is", 'x=Full("f16"), Row, Column or Scalar'),
        ({"x": [1, 2]}, "a list does not say", "declare it"),
        ({"x": Row("f16"), "D": "f16:middle"}, "the operand D: unknown layout 'middle'", "known: row"),
        ({"x": Row("f16"), "D": np.zeros((M,), "e")}, "the operand D of shape (6,)", "full operands are"),
        ({"x": Row("f16"), "y": Row("f16")}, "no parameter and no result called y", "it has x, D"),
        ({"x": Row("f16"), "xx": Row("f16")}, "no parameter and no result called xx", "did you mean x?"),
        ({"x": Row("f16"), "D": Row("f16")}, "the result D is full, and declared row", 'D=Full("f16")'),
    ],
)
def test_operands_that_do_not_fit(given: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(EpilogueError) as caught:
        Epilogue.trace(f, **({"D": np.zeros((M, N), "e")} | given))
    assert message in caught.value.message
    assert hint in "\n".join(caught.value.hints)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize("given", [max, functools.partial(f, x=1), int, "accum", None, f.__get__(1)])
def test_what_is_no_plain_function(given: Any) -> None:
    with pytest.raises(EpilogueError, match="an epilogue is a plain Python function, not a") as caught:
        Epilogue.trace(given, D="f16")
    assert caught.value.hints


def test_what_is_no_plain_function_has_its_article() -> None:
    with pytest.raises(EpilogueError, match="not an int"):
        Epilogue.trace(5, D="f16")  # type: ignore[arg-type]


def test_accumulators_that_do_not_exist() -> None:
    with pytest.raises(EpilogueError, match="there are no accumulators of type bf16") as caught:
        Epilogue.trace(f, "bf16", x=Row("f16"), D="f16")
    assert caught.value.hints == ["types: f64, f32, f16, i32"]


def test_values_of_another_function() -> None:
    kept: list[Any] = []

    def first(accum: Any) -> Any:
        kept.append(accum)
        return accum

    def second(accum: Any) -> Any:
        return accum + kept[0]

    Epilogue.trace(first, D="f16")
    with pytest.raises(EpilogueError, match="add of a value of another function"):
        Epilogue.trace(second, D="f16")


def test_the_error_has_no_frames_of_the_language() -> None:
    """What is shown of a failure without a catcher is the user's call, and the message."""
    with pytest.raises(EpilogueError) as caught:
        Epilogue.trace(lambda accum: accum[0], D="f16")
    frames = [str(entry.path) for entry in caught.traceback]
    assert not any(frame.endswith("symbolic.py") for frame in frames)
    assert caught.value.__suppress_context__


def test_numbers_that_are_no_types_of_arrays() -> None:
    with pytest.raises(EpilogueError, match="cannot be of type f3"):
        to(np.ones(3), "f3")


@pytest.mark.parametrize(
    "line", ["⟦accum if flag else 0", "⟦range(flag)⟧ and accum"], ids=["what decides", "how often"]
)
def test_a_default_makes_an_operand_that_python_does_not_know(refused: Callable[..., EpilogueError], line: str) -> None:
    error = refused(f"def f(accum, flag=1):\n    D = {line}\n    return D\n")
    assert error.hints[-1].startswith("flag is an operand, which each call gives anew")


def test_an_operand_that_is_no_parameter_may_be_meant() -> None:
    def f(accum: Any, bias: Any) -> Any:
        D = accum + bias
        return D

    with pytest.raises(EpilogueError, match="what the operand bias is has not been said") as caught:
        Epilogue.trace(f, bais=Row("f16"), D=Full("f16"))
    assert caught.value.hints[0] == "there is bais, which is no parameter: is it meant?"


def test_a_wrong_declaration_is_where_the_operation_is_described() -> None:
    def f(accum: Any, bias: Any) -> Any:
        D = accum + bias
        return D

    with pytest.raises(EpilogueError) as caught:
        Gemm("f16:row", "f16:column", epilogue=f, operands={"bias": None}, target="sm_90a")
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    with pytest.raises(EpilogueError, match="cannot have a as its default"):
        Scalar("f32", default="a")  # pyright: ignore[reportArgumentType]


def test_operands_are_given_by_name() -> None:
    def f(accum: Any, bias: Any) -> Any:
        D = accum + bias
        return D

    wrong: Any = [Row("f16")]
    with pytest.raises(EpilogueError, match="operands are given by name, not as a list"):
        Gemm("f16:row", "f16:column", epilogue=f, operands=wrong, target="sm_90a")
    arrays = [np.zeros((8, 8), np.float16) for _ in range(3)]
    with pytest.raises(EpilogueError, match="operands are given by name, not as a list"):
        Gemm.for_arguments(*arrays[:2], D=arrays[2], epilogue=f, operands=wrong, target="sm_90a")
