"""The graph as a value: its text, what it refuses, what becomes of it with constants."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue import Column, Epilogue, Full, Row, Scalar
from cutecc.operations.epilogue.values import Input, Output, Step
from cutecc.support.locations import Frame


def biased(accum: Any, C: Any, alpha: Any, beta: Any, bias: Any) -> Any:
    D = max(alpha * accum + beta * C + bias, 0.0)
    top = max(D, axis=0)  # type: ignore[call-overload]
    return D, top


@pytest.fixture
def epilogue() -> Epilogue:
    return Epilogue.trace(
        biased, C=Full("f16", "column", 4), bias=Row("f16"), beta=Scalar("f32"), D=Full("i8"), top=Row("f32")
    )


def test_the_text_is_json_and_comes_back(epilogue: Epilogue) -> None:
    text = epilogue.to_json()
    assert b"\n" not in text
    plain = json.loads(text)
    assert plain["steps"][0] == {
        "name": "%0",
        "operation": "mul",
        "arguments": ["alpha", "accum"],
        "kind": "full",
        "dtype": "",
        "place": [__file__, biased.__code__.co_firstlineno + 1, 13],
    }
    again = Epilogue.from_json(text)
    assert again == epilogue
    assert hash(again) == hash(epilogue)
    assert again.to_json() == text
    assert again.steps[0].place == Frame(__file__, biased.__code__.co_firstlineno + 1, 13)
    assert pickle.loads(pickle.dumps(epilogue)).to_json() == text


def test_places_and_names_do_not_count(epilogue: Epilogue) -> None:
    moved = dataclasses.replace(
        epilogue,
        name="other",
        steps=tuple(dataclasses.replace(each, place=Frame("other.py", 1, 1)) for each in epilogue.steps),
    )
    assert moved == epilogue
    assert moved.key == epilogue.key
    assert moved.to_json(places=False) == epilogue.to_json(places=False)
    assert __file__.encode() not in epilogue.to_json(places=False)
    changed = dataclasses.replace(epilogue, steps=(*epilogue.steps[:-1], dataclasses.replace(epilogue.steps[-1])))
    assert changed == epilogue
    other = epilogue.with_operand("bias", dtype="bf16")
    assert other != epilogue
    assert other.key != epilogue.key


def test_the_key_is_the_same_in_another_process(epilogue: Epilogue) -> None:
    script = (
        "import sys\nfrom cutecc.operations.epilogue.graph import Epilogue\n"
        "print(Epilogue.from_json(sys.stdin.read()).key)\n"
        "assert 'numpy' not in sys.modules and 'cutlass' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], input=epilogue.to_json(), stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == epilogue.key
    assert len(epilogue.key) == 64


def test_transposed_rows_are_columns(epilogue: Epilogue) -> None:
    turned = epilogue.transposed()
    assert [(each.name, each.kind, each.layout) for each in turned.operands] == [
        ("C", "full", "row"),
        ("alpha", "scalar", "row"),
        ("beta", "scalar", "row"),
        ("bias", "column", "row"),
        ("D", "full", "column"),
        ("top", "column", "row"),
    ]
    assert turned != epilogue
    assert turned.transposed() == epilogue
    interleaved = epilogue.with_operand("D", layout="column_interleaved32")
    assert interleaved.transposed().operand("D").layout == "row_interleaved32"  # type: ignore[union-attr]


def test_one_operand_changes(epilogue: Epilogue) -> None:
    changed = epilogue.with_operand("D", dtype="f16", layout="column", alignment=2)
    assert [(each.dtype, each.layout, each.alignment, each.conversion) for each in changed.outputs] == [
        ("f16", "column", 2, "round"),
        ("f32", "row", 4, "round"),
    ]
    # The widest alignment is of the new type; what is not named stays.
    assert epilogue.with_operand("C", dtype="i8").source == dataclasses.replace(
        epilogue.inputs[0], dtype="i8", alignment=16
    )
    assert epilogue.with_operand("C", layout="row").source == dataclasses.replace(epilogue.inputs[0], layout="row")
    assert epilogue.with_operand("D", dtype="i8") == epilogue
    with pytest.raises(EpilogueError, match="the epilogue has no operand E") as caught:
        epilogue.with_operand("E", dtype="f16")
    assert caught.value.hints == ["its operands are: C, alpha, beta, bias, D, top"]


def test_text_for_people(epilogue: Epilogue) -> None:
    assert str(epilogue.without_places()).split("\n") == [
        "epilogue: accum f32, in f32",
        "  C: full f16:column:4",
        "  alpha: scalar f32 = 1.0",
        "  beta: scalar f32",
        "  bias: row f16",
        "  %0 = mul alpha, accum",
        "  %1 = mul beta, C",
        "  %2 = add %0, %1",
        "  %3 = add %2, bias",
        "  %4 = max %3, 0.0",
        "  D: full i8:row:16 = clamp(%4)",
        "  top: row f32 = round(max %4)",
    ]
    line = biased.__code__.co_firstlineno + 1
    assert f"# {__file__}:{line}:13" in str(epilogue).split("\n")[5]
    gated = Epilogue.trace(lambda accum, g: accum * (g * 2).to("f16"), g=Scalar("f16", in_memory=True), D="f16")
    assert "  g: scalar f16 in memory" in str(gated)
    assert "%1 = to %0, f16 : scalar" in str(gated)


def operations(epilogue: Epilogue) -> list[tuple[Any, ...]]:
    return [(step.name, step.operation, *step.arguments) for step in epilogue.steps]


def test_without_the_source(epilogue: Epilogue) -> None:
    without = epilogue.without_source()
    assert [each.name for each in without.operands] == ["alpha", "bias", "D", "top"]
    assert operations(without) == [
        ("%0", "mul", "alpha", "accum"),
        ("%1", "add", "%0", "bias"),
        ("%2", "max", "%1", 0.0),
    ]
    assert without.source is None
    assert without.without_source() is without
    assert [each.place for each in without.steps] == [epilogue.steps[index].place for index in (0, 3, 4)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda accum, C, alpha, beta: alpha * accum + C * beta, [("mul", "alpha", "accum")]),
        (lambda accum, C, alpha, beta: beta * C + alpha * accum, [("mul", "alpha", "accum")]),
        (lambda accum, C, alpha, beta: beta * (C - accum) + alpha * accum, [("mul", "alpha", "accum")]),
        (lambda accum, C, alpha, beta: beta * abs(C) - alpha * accum, [("mul", "alpha", "accum"), ("neg", "%0")]),
        (lambda accum, C, beta: accum - beta * C / 2, []),
        (lambda accum, C, beta: accum * (1 + beta * C), []),
        (lambda accum, C, beta: accum * (beta * C - 1), [("neg", "accum")]),
        (lambda accum, C, beta: (beta * C - 1) * accum, [("neg", "accum")]),
        (lambda accum, C, beta: accum * exp(beta * C) / (1 + beta), []),  # type: ignore[name-defined]  # noqa: F821
        (lambda accum, C, beta: where(accum > 0, beta * C, 0 - beta * C) + accum, []),  # type: ignore[name-defined]  # noqa: F821
        (lambda accum, C, beta: max(beta * C, -beta - 3, axis=None) + accum, []),
        (lambda accum, C, beta: accum + log(beta * C), [("log", 0.0), ("add", "accum", "%0")]),  # type: ignore[name-defined]  # noqa: F821
        (lambda accum, C, beta: accum * 0 + beta * C, [("mul", "accum", 0.0)]),
    ],
)
def test_what_beta_scales_goes_with_it(function: Any, expected: list[Any]) -> None:
    epilogue = Epilogue.trace(function, C=Full("f16"), D=Full("f16"))
    without = epilogue.without_source()
    assert [each[1:] for each in operations(without)] == expected
    assert without.source is None


@pytest.mark.parametrize(
    "function",
    [
        lambda accum, C: accum + C,
        lambda accum, C, beta: accum * beta + C,
        lambda accum, C, beta: accum * where(C > 0, beta, 1),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_a_source_that_counts_whatever_beta_is(function: Any) -> None:
    epilogue = Epilogue.trace(function, C=Full("f16"), D=Full("f16"))
    with pytest.raises(EpilogueError, match="the epilogue lambda reads C whatever beta is") as caught:
        epilogue.without_source()
    assert f"{__file__}:{function.__code__.co_firstlineno}:" in caught.value.message
    assert caught.value.hints


def test_numbers_of_a_launch_become_constants(epilogue: Epilogue) -> None:
    one = epilogue.bound(alpha=1.0)
    assert operations(one) == [
        ("%0", "mul", "beta", "C"),
        ("%1", "add", "accum", "%0"),
        ("%2", "add", "%1", "bias"),
        ("%3", "max", "%2", 0.0),
    ]
    assert epilogue.bound(alpha=2.0).steps[0].arguments == (2.0, "accum")
    plain = Epilogue.trace(lambda accum, C, alpha, beta: alpha * accum + beta * C, "i32", C="i32", D="i32")
    assert plain.compute == "f32"
    identity = plain.bound(alpha=1, beta=0)
    assert identity.is_identity
    assert identity.compute == "i32"


def test_a_result_that_does_not_depend_on_the_product_any_more_is_still_of_each_element(epilogue: Epilogue) -> None:
    nothing = epilogue.bound(alpha=0, beta=0)
    assert [(each.name, each.kind, each.value) for each in nothing.outputs] == [
        ("D", "full", "%2"),
        ("top", "row", "%4"),
    ]
    assert operations(nothing)[:3] == [
        ("%0", "max", "bias", 0.0),
        ("%1", "eq", "accum", "accum"),
        ("%2", "where", "%1", "%0", "%0"),
    ]
    assert [each.kind for each in nothing.steps] == ["row", "full", "full", "full", "full"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gamma": 1.0}, "gamma is no scalar input of the epilogue"),
        ({"bias": 1.0}, "bias is no scalar input"),
        ({"D": 1.0}, "D is no scalar input"),
        ({"alpha": float("inf")}, "alpha cannot be the constant inf"),
    ],
)
def test_what_cannot_be_a_constant(epilogue: Epilogue, values: dict[str, float], message: str) -> None:
    with pytest.raises(EpilogueError, match=message) as caught:
        epilogue.bound(**values)
    assert caught.value.hints


@pytest.mark.parametrize("text", ["", "{", "[]", '{"inputs":[]}', '{"inputs":3,"steps":[],"outputs":[]}', b"\xff\xfe"])
def test_other_texts_are_refused(text: str | bytes) -> None:
    with pytest.raises(EpilogueError, match="this is no epilogue"):
        Epilogue.from_json(text)


X = Input("x", "row", "f16")
D = Output("D", "full", "f16", "accum")
ADD = Step("%0", "add", ("accum", "x"), "full")


@pytest.mark.parametrize(
    ("inputs", "steps", "outputs", "message"),
    [
        ([X], [ADD], [], "an epilogue without results"),
        ([X], [dataclasses.replace(ADD, name="%1")], [D], "step 0 is called %1, not %0"),
        ([X], [dataclasses.replace(ADD, arguments=("accum",))], [D], "add takes 2 arguments, not 1"),
        ([X], [dataclasses.replace(ADD, arguments=("accum", "y"))], [D], "%0 refers to y, which is nothing before it"),
        (
            [X],
            [dataclasses.replace(ADD, arguments=("accum", "%0"))],
            [D],
            "%0 refers to %0, which is nothing before it",
        ),
        ([X], [dataclasses.replace(ADD, arguments=("accum", float("nan")))], [D], "%0 has the constant nan"),
        ([X], [dataclasses.replace(ADD, arguments=("accum", float("inf")))], [D], "%0 has the constant inf"),
        ([X], [dataclasses.replace(ADD, kind="row")], [D], "%0 is full, not row"),
        ([X], [dataclasses.replace(ADD, dtype="f16")], [D], "%0: add of type f16"),
        ([X], [Step("%0", "to", ("x",), "row", "f17")], [D], "%0: to of type f17"),
        ([X], [Step("%0", "not", ("x",), "row")], [D], "%0: not needs a condition there"),
        (
            [X],
            [Step("%0", "lt", ("x", 0.0), "row"), Step("%1", "exp", ("%0",), "row")],
            [D],
            "exp cannot take a condition",
        ),
        ([X], [Step("%0", "where", ("x", 0.0, "x"), "row")], [D], "where needs a condition there"),
        ([X], [], [dataclasses.replace(D, value="x")], "the output D is of x, which is no number for each element"),
        ([], [Step("%0", "lt", ("accum", 0.0), "full")], [dataclasses.replace(D, value="%0")], "is of %0"),
        ([X], [], [dataclasses.replace(D, value="%7")], "the output D is of %7"),
        ([X, X], [], [D], "an operand cannot be called x"),
        ([X], [], [D, dataclasses.replace(D, name="x")], "an operand cannot be called x"),
        ([dataclasses.replace(X, name="accum")], [], [D], "an operand cannot be called accum"),
        ([dataclasses.replace(X, name="inf")], [], [D], "an operand cannot be called inf"),
        ([dataclasses.replace(X, name="a b")], [], [D], "an operand cannot be called a b"),
        ([dataclasses.replace(X, dtype="f6")], [], [D], "x cannot be of type f6"),
        ([dataclasses.replace(X, layout="column")], [], [D], "x has a layout, but is no full operand"),
        ([dataclasses.replace(X, alignment=3)], [], [D], "x has an alignment of 3 elements"),
        ([dataclasses.replace(X, in_memory=False)], [], [D], "x is row, and not in memory"),
        ([dataclasses.replace(X, default=1.0)], [], [D], "x cannot have 1.0 as its default"),
        ([Input("s", "scalar", "f32", default=1.0)], [], [D], "s cannot have 1.0 as its default"),
        ([], [], [dataclasses.replace(D, reduction="sum")], "the output D is full with the reduction sum"),
        ([], [], [dataclasses.replace(D, kind="row")], "the output D is row with the reduction none"),
        ([], [], [dataclasses.replace(D, conversion="fast_clamp")], "type f16 cannot be converted by fast_clamp"),
        ([], [], [dataclasses.replace(D, dtype="i8")], "type i8 cannot be converted by round"),
        ([], [], [dataclasses.replace(D, dtype="i32", conversion="fast_clamp")], "cannot be converted by fast_clamp"),
    ],
)
def test_graphs_that_are_none(inputs: list[Input], steps: list[Step], outputs: list[Output], message: str) -> None:
    with pytest.raises(EpilogueError) as caught:
        Epilogue(tuple(inputs), tuple(steps), tuple(outputs))
    assert message in caught.value.message
    good = Epilogue((X,), (ADD,), (dataclasses.replace(D, value="%0"),))
    text = json.loads(good.to_json(places=False))
    written: dict[str, Any] = {"inputs": inputs, "steps": steps, "outputs": outputs}
    text |= {key: [dataclasses.asdict(each) for each in value] for key, value in written.items()}
    # A text that somebody else wrote is looked at just as much; NaN is no JSON.
    with pytest.raises(EpilogueError):
        Epilogue.from_json(json.dumps(text))


@pytest.mark.parametrize(
    ("accumulator", "compute", "message"),
    [("bf16", "f32", "no accumulators of type bf16"), ("i32", "f32", "in i32, not in f32"), ("f64", "f32", "in f64")],
)
def test_types_that_are_computed_with(accumulator: str, compute: str, message: str) -> None:
    with pytest.raises(EpilogueError, match=message):
        Epilogue((), (), (D,), accumulator, compute)


def test_column_operands_and_reductions_are_told() -> None:
    def f(accum: Any, c: Any) -> Any:
        D = accum * c
        return {"D": D, "total": D.sum(), "least": min(D, axis=1)}  # type: ignore[call-overload]

    epilogue = Epilogue.trace(f, c=Column("f16"), D=Full("f16"), total=Scalar("f64"), least=Column("f32"))
    assert epilogue.has_reductions
    assert [each.kind for each in epilogue.transposed().operands] == ["row", "full", "scalar", "row"]
    assert not Epilogue((), (), (D,)).has_reductions
    assert Epilogue((), (), (D,)).is_identity
