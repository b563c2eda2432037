"""Functions become graphs: names, scopes, operands by declaration and by example."""

from __future__ import annotations

import functools
import linecache
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue import Column, Epilogue, Full, Row, Scalar
from cutecc.operations.epilogue.functions import maximum, relu, where
from cutecc.operations.operand import Operand

max_of_the_module = max


def operations(epilogue: Epilogue) -> list[tuple[Any, ...]]:
    return [(step.operation, *step.arguments) for step in epilogue.steps]


def results(epilogue: Epilogue) -> list[str]:
    return [output.name for output in epilogue.outputs]


def test_a_function_is_its_steps_and_the_places_where_they_are_written() -> None:
    def fused(accum: Any, C: Any, alpha: Any, beta: Any, bias: Any) -> Any:
        x = alpha * accum + beta * C + bias
        D = relu(x)
        row_sum = sum(D, axis=1)  # type: ignore[call-overload]
        return D, row_sum

    epilogue = Epilogue.trace(fused, C=Full("f16"), bias=Row("bf16"), D=Full("f16"), row_sum=Column("f32"))
    assert operations(epilogue) == [
        ("mul", "alpha", "accum"),
        ("mul", "beta", "C"),
        ("add", "%0", "%1"),
        ("add", "%2", "bias"),
        ("max", "%3", 0.0),
    ]
    first = fused.__code__.co_firstlineno
    assert [(step.place.line - first, step.place.column) for step in epilogue.steps if step.place] == [
        (1, 13),
        (1, 29),
        (1, 13),
        (1, 13),
        (2, 13),
    ]
    assert {step.place.file for step in epilogue.steps if step.place} == {__file__}
    assert [(each.name, each.kind, each.dtype, each.in_memory, each.default) for each in epilogue.inputs] == [
        ("C", "full", "f16", True, None),
        ("alpha", "scalar", "f32", False, 1.0),
        ("beta", "scalar", "f32", False, 0.0),
        ("bias", "row", "bf16", True, None),
    ]
    assert [(each.name, each.kind, each.dtype, each.value, each.reduction) for each in epilogue.outputs] == [
        ("D", "full", "f16", "%4", "none"),
        ("row_sum", "column", "f32", "%4", "sum"),
    ]
    assert epilogue.name == "fused"
    assert epilogue.has_reductions and not epilogue.is_identity


def test_names_that_nobody_imported_are_the_languages_and_the_module_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def shared(x):\n"
        "    return max(x, 0.5) * exp(x)\n"
        "def f(accum):\n"
        "    return shared(min(accum, 2, 1)) + abs(accum)\n"
    )
    scope: dict[str, Any] = {"__name__": "mine"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    before = {name: value for name, value in scope.items() if name != "__builtins__"}
    epilogue = Epilogue.trace(scope["f"], D=Full("f32"))
    assert [operation for operation, *_ in operations(epilogue)] == ["min", "min", "max", "exp", "mul", "abs", "add"]
    assert {name: value for name, value in scope.items() if name != "__builtins__"} == before
    assert scope["__builtins__"]["max"] is max_of_the_module
    with pytest.raises(NameError, match="exp"):
        scope["shared"](1.0)
    # The place of a step of a function of the module's is in that function.
    assert [step.place.line for step in epilogue.steps if step.place] == [4, 4, 2, 2, 2, 4, 4]


def test_names_of_the_module_come_before_the_languages() -> None:
    scope: dict[str, Any] = {"exp": lambda x: x + 7}
    exec("def f(accum):\n    return exp(accum)\n", scope)
    assert operations(Epilogue.trace(scope["f"], D="f16")) == [("add", "accum", 7.0)]


def test_constants_are_the_numbers_of_the_moment_of_tracing() -> None:
    scale = np.float32(0.5)

    def f(accum: Any) -> Any:
        return where(scale > accum, scale * accum - 3, accum + np.float64(2) / 4)

    scale = np.float32(1.5)
    assert operations(Epilogue.trace(f, D="f16")) == [
        ("lt", "accum", 1.5),
        ("mul", 1.5, "accum"),
        ("sub", "%1", 3.0),
        ("add", "accum", 0.5),
        ("where", "%0", "%2", "%3"),
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("accum ** 3", [("mul", "accum", "accum"), ("mul", "%0", "accum")]),
        ("accum ** -2", [("mul", "accum", "accum"), ("div", 1.0, "%0")]),
        ("accum ** 0.5", [("sqrt", "accum")]),
        ("accum ** -0.5", [("rsqrt", "accum")]),
        ("accum ** 1", []),
        ("+accum", []),
        ("-accum / 4", [("neg", "accum"), ("div", "%0", 4.0)]),
        ("4 / accum", [("div", 4.0, "accum")]),
        ("1 - accum", [("sub", 1.0, "accum")]),
        ("where(accum > 0, accum, inf)", [("gt", "accum", 0.0), ("where", "%0", "accum", "inf")]),
        ("clamp(accum, -inf, 6)", [("max", "accum", "-inf"), ("min", "%0", 6.0)]),
        (
            "where((accum >= 1) & ~(accum == 2) | (accum != 3), 1, 0)",
            [
                ("ge", "accum", 1.0),
                ("eq", "accum", 2.0),
                ("not", "%1"),
                ("and", "%0", "%2"),
                ("ne", "accum", 3.0),
                ("or", "%3", "%4"),
                ("where", "%5", 1.0, 0.0),
            ],
        ),
        ("where(0 < accum, accum, 1)", [("gt", "accum", 0.0), ("where", "%0", "accum", 1.0)]),
        ("max(accum, 1, accum * 2)", [("mul", "accum", 2.0), ("max", "accum", 1.0), ("max", "%1", "%0")]),
        ("sum([accum, 1, accum])", [("add", "accum", 1.0), ("add", "%0", "accum")]),
        ("where(True, accum, 1) + where(1 > 2, accum, 1)", [("add", "accum", 1.0)]),
        ("max([accum, 1])", [("max", "accum", 1.0)]),
        (
            "max(3, 4) * accum + sum(range(3)) + min(2, 5)",
            [("mul", 4.0, "accum"), ("add", "%0", 3.0), ("add", "%1", 2.0)],
        ),
        ("exp(0) * accum", [("mul", 1.0, "accum")]),
        ("accum.to('float16')", [("to", "accum")]),
        ("to(accum, 'f32')", []),
        ("accum * accum + accum * accum", [("mul", "accum", "accum"), ("add", "%0", "%0")]),
        ("sigmoid(accum) + tanh(log(sqrt(rsqrt(erf(accum)))))", None),
    ],
)
def test_expressions(expression: str, expected: list[Any] | None) -> None:
    scope: dict[str, Any] = {"inf": math.inf}
    exec(f"def f(accum):\n    return {expression}\n", scope)
    epilogue = Epilogue.trace(scope["f"], D="f16")
    found = operations(epilogue)
    assert found == expected or expected is None
    assert Epilogue.from_json(epilogue.to_json()) == epilogue
    if expected is None:
        assert [each[0] for each in found] == ["sigmoid", "erf", "rsqrt", "sqrt", "log", "tanh", "add"]


@pytest.mark.parametrize(
    ("call", "kind", "reduction"),
    [
        ("sum(accum)", "scalar", "sum"),
        ("sum(accum, axis=(0, 1))", "scalar", "sum"),
        ("max(accum, axis=0)", "row", "max"),
        ("min(accum, axis=-2)", "row", "min"),
        ("accum.max(axis=1)", "column", "max"),
        ("accum.sum(-1)", "column", "sum"),
        ("accum.min()", "scalar", "min"),
    ],
)
def test_reductions(call: str, kind: str, reduction: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f(accum):\n    return {{'D': accum, 'r': {call}}}\n", scope)
    output = Epilogue.trace(scope["f"], D="f16", r="f32").operand("r")
    assert output is not None
    assert (output.kind, getattr(output, "reduction", None)) == (kind, reduction)


def test_results_are_called_as_what_is_returned() -> None:
    def named(accum: Any) -> Any:
        D = accum + 1
        aux = accum * 2
        return aux, D

    def unnamed(accum: Any) -> Any:
        doubled = accum * 2
        return accum + 1, doubled

    def one(accum: Any) -> Any:
        y = accum + 1
        return y

    def dictionary(accum: Any) -> Any:
        return {"first": accum + 1, "other": accum}

    def branches(accum: Any, *, alpha: Any) -> Any:
        if aux_too:
            aux = accum
            return accum * alpha, aux
        return accum * alpha

    assert results(Epilogue.trace(named, D="f16", aux="f16")) == ["aux", "D"]
    assert results(Epilogue.trace(unnamed, D="f16", doubled="f16")) == ["D", "doubled"]
    assert results(Epilogue.trace(one, D="f16")) == ["D"]
    assert results(Epilogue.trace(dictionary, D="f16", other="f16")) == ["D", "other"]
    aux_too = True
    assert results(Epilogue.trace(branches, D="f16", aux="f16")) == ["D", "aux"]
    aux_too = False
    assert results(Epilogue.trace(branches, D="f16")) == ["D"]
    assert results(Epilogue.trace(lambda accum: -accum, D="f16")) == ["D"]
    assert [each.place.line for each in Epilogue.trace(one, D="f16").outputs if each.place] == [
        one.__code__.co_firstlineno + 2
    ]


def test_lambdas_of_one_line_are_told_apart() -> None:
    pair = (lambda accum, C: (accum + C, accum), lambda accum, C: accum - C)
    with pytest.raises(EpilogueError, match=": a result cannot be called accum") as error:
        Epilogue.trace(pair[0], C="f16", D="f16")
    assert str(error.value).split("\n")[1].index("accum)") == str(error.value).split("\n")[2].index("^")
    epilogue = Epilogue.trace(pair[1], C="f16", D="f16")
    line = linecache.getline(__file__, epilogue.inputs[0].place.line)  # type: ignore[union-attr]
    assert [line[each.place.column - 1 :][:9] for each in epilogue.outputs if each.place] == ["accum - C"]
    assert [line[each.place.column - 1 :][:12] for each in epilogue.inputs if each.place] == ["C: accum - C"]


def test_functions_without_a_file_have_places_too() -> None:
    scope: dict[str, Any] = {}
    exec("def f(accum):\n    D = accum + 1\n    return D\n", scope)
    epilogue = Epilogue.trace(scope["f"], D="f16")
    assert [(step.place.file, step.place.line) for step in epilogue.steps if step.place] == [("<string>", 2)]
    scope = {}
    exec("def f(accum):\n    return accum, accum\n", scope)
    with pytest.raises(EpilogueError, match="what the 2 results are called cannot be told"):
        Epilogue.trace(scope["f"], D="f16")


def test_what_nothing_depends_on_is_left_out_and_the_rest_numbered() -> None:
    def f(accum: Any) -> Any:
        unused = accum * 3
        D = accum + 1
        del unused
        return D * 2

    assert operations(Epilogue.trace(f, D="f16")) == [("add", "accum", 1.0), ("mul", "%0", 2.0)]


def test_kinds_of_steps_are_their_operands() -> None:
    def f(accum: Any, r: Any, c: Any, s: Any, t: Any) -> Any:
        return accum + ((r * s) * 2 + (c + t)) + s * t

    epilogue = Epilogue.trace(f, r=Row("f16"), c=Column("f16"), s=Scalar(), t=Scalar("f16", in_memory=True), D="f16")
    assert [(step.operation, step.kind) for step in epilogue.steps] == [
        ("mul", "row"),
        ("mul", "row"),
        ("add", "column"),
        ("add", "full"),
        ("add", "full"),
        ("mul", "scalar"),
        ("add", "full"),
    ]


@pytest.mark.parametrize(
    ("accumulator", "steps", "compute"),
    [
        *(("i32", False, "i32"), ("i32", True, "f32"), ("f64", False, "f64"), ("f64", True, "f64")),
        *(("f16", False, "f32"), ("f16", True, "f32"), ("f32", True, "f32")),
    ],
)
def test_compute_types(accumulator: str, steps: bool, compute: str) -> None:
    def f(accum: Any) -> Any:
        return accum + 1 if steps else accum

    epilogue = Epilogue.trace(f, accumulator, D=Full("f32"))
    assert (epilogue.accumulator, epilogue.compute, epilogue.is_identity) == (accumulator, compute, not steps)


def test_a_reduction_of_integers_is_computed_in_f32() -> None:
    epilogue = Epilogue.trace(lambda accum: {"D": accum, "m": max(accum)}, "i32", D="i32", m="f32")
    assert (epilogue.steps, epilogue.compute) == ((), "f32")


def test_operands_are_declared_in_many_ways() -> None:
    def f(accum: Any, C: Any, a: Row("f16"), slope=0.25, *, gate: Scalar("bf16", in_memory=True)) -> Any:  # type: ignore
        D = accum * slope + C + a * gate
        return D

    epilogue = Epilogue.trace(f, C=Operand("f16", "column", 2), D="f16:row:4")
    assert [(each.name, each.kind, each.dtype, each.layout, each.alignment) for each in epilogue.operands] == [
        ("C", "full", "f16", "column", 2),
        ("a", "row", "f16", "row", 8),
        ("slope", "scalar", "f32", "row", 4),
        ("gate", "scalar", "bf16", "row", 8),
        ("D", "full", "f16", "row", 4),
    ]
    assert [each.default for each in epilogue.inputs] == [None, None, 0.25, None]
    assert [each.in_memory for each in epilogue.inputs] == [True, True, False, True]
    # What is said at the call counts more; a default stays a default.
    other = Epilogue.trace(f, C="f32", slope=Scalar("f64"), a=Column("f32"), gate=2.0, D="i8")
    assert [(each.kind, each.dtype, each.default) for each in other.inputs] == [
        ("full", "f32", None),
        ("column", "f32", None),
        ("scalar", "f64", 0.25),
        ("scalar", "f32", None),
    ]
    assert [each.conversion for each in other.outputs] == ["clamp"]


@pytest.mark.parametrize("dtype", ["f16", "float16", "Half", np.float16, np.dtype("float16"), "torch.float16"])
def test_types_have_many_names(dtype: Any) -> None:
    assert Full(dtype).dtype == "f16"


M, N = 6, 10


def arrays(**shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: np.zeros(shape, np.float16) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        *(((M, N), "full"), ((3, M, N), "full"), ((N,), "row"), ((1, N), "row"), ((3, 1, N), "row")),
        *(((M, 1), "column"), ((3, M, 1), "column"), ((), "scalar"), ((1,), "scalar"), ((3, 1, 1), "scalar")),
    ],
)
def test_arrays_say_what_operands_are(shape: tuple[int, ...], kind: str) -> None:
    def f(accum: Any, x: Any) -> Any:
        return accum + x

    for size in ({"D": np.zeros((M, N), np.float32)}, {"D": "f32", "accum": (M, N)}, {"D": np.zeros((3, M, N), "f")}):
        epilogue = Epilogue.trace(f, x=np.zeros(shape, np.float16), **size)
        assert [(each.kind, each.dtype, each.in_memory) for each in epilogue.inputs] == [(kind, "f16", True)]
        assert [(each.kind, each.dtype) for each in epilogue.outputs] == [("full", "f32")]


def test_arrays_say_how_they_lie_in_memory() -> None:
    def f(accum: Any, x: Any, y: Any, C: Any) -> Any:
        return accum + x + y + C

    whole = np.zeros((M * N * 2 + 64,), np.float16)
    start = -(whole.ctypes.data // 2) % 8
    aligned = whole[start : start + M * 8]
    given = {
        "x": aligned.reshape(8, M).T,
        "y": aligned.reshape(M, 8),
        "C": whole[start + 1 : start + 1 + M * 8].reshape(M, 8),
        "D": np.zeros((8, M), np.int8).T,
    }
    epilogue = Epilogue.trace(f, **given)
    assert [(each.name, each.layout, each.alignment) for each in epilogue.operands] == [
        ("x", "column", 2),  # 6 elements from one column to the next
        ("y", "row", 8),
        ("C", "row", 1),
        ("D", "column", 2),
    ]


@pytest.mark.parametrize(
    ("kind", "shapes"),
    [
        ("column", [(M,), (1, M), (3, M), (M, 1), (3, M, 1)]),
        ("row", [(N,), (1, N), (3, N), (3, 1, N)]),
        ("scalar", [(), (1,), (3,), (1, 1), (3, 1, 1)]),
    ],
)
def test_of_results_only_the_size_has_to_fit(kind: str, shapes: list[tuple[int, ...]]) -> None:
    axis = {"column": 1, "row": 0, "scalar": None}[kind]
    for shape in shapes:
        given = arrays(D=(M, N), r=shape)
        output = Epilogue.trace(lambda accum: {"D": accum, "r": accum.sum(axis)}, **given).operand("r")
        assert output is not None and output.kind == kind
    with pytest.raises(EpilogueError, match=r"the operand r of shape \(7, 7\) does not fit a product of \(6, 10\)"):
        Epilogue.trace(lambda accum: {"D": accum, "r": accum.sum(axis)}, **arrays(D=(M, N), r=(7, 7)))


def test_the_wrapper_of_a_function_is_what_is_traced() -> None:
    def doubled(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(accum: Any) -> Any:
            return 2 * function(accum)

        return wrapper

    @doubled
    def f(accum: Any) -> Any:
        return accum + 1

    assert operations(Epilogue.trace(f, D="f16")) == [("add", "accum", 1.0), ("mul", 2.0, "%0")]


def test_functions_that_are_imported_are_the_same_as_plain_names() -> None:
    def imported(accum: Any) -> Any:
        return maximum(accum, 0.5)

    def plain(accum: Any) -> Any:
        return max(accum, 0.5)

    epilogues = [Epilogue.trace(each, D="f16") for each in (imported, plain)]
    assert epilogues[0] == epilogues[1]
    assert epilogues[0].key == epilogues[1].key
    assert epilogues[0].to_json() != epilogues[1].to_json()
    assert epilogues[0].to_json(places=False) == epilogues[1].to_json(places=False)
