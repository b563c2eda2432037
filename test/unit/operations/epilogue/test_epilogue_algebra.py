"""Random functions: what is traced, written, turned and simplified computes what the function itself does."""

from __future__ import annotations

import itertools
import linecache
import re
from types import FunctionType
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue import Column, Epilogue, Full, Row, Scalar
from cutecc.operations.epilogue.reference import evaluate, evaluate_function

many = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

L, M, N = 2, 3, 4
DECLARED: dict[str, Any] = {
    **{"C": Full("f16"), "w": Full("f32", "column"), "r": Row("f16"), "c": Column("bf16")},
    **{"s": Scalar("f32", in_memory=True), "alpha": Scalar("f32", 1.0), "beta": Scalar("f32", 0.0)},
}
SHAPES = {"C": (L, M, N), "w": (L, M, N), "r": (L, N), "c": (L, M), "s": (L,), "alpha": (), "beta": ()}
TRANSPOSED = {"C": (0, 2, 1), "w": (0, 2, 1)}
_names = itertools.count()

OPERANDS = st.sampled_from(["accum", "accum", *DECLARED])
NUMBERS = st.sampled_from(["0.5", "2", "0", "1", "-1.25", "3.0", "-1"])
COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
FORMS = [
    *("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} * {n})", "({n} - {0})", "({0} + {n})"),
    *("({n} / (abs({0}) + 0.5))", "maximum({0}, {1})", "minimum({0}, {n})", "max({0}, {1}, {n})", "min({n}, {0})"),
    *("tanh({0})", "sigmoid({0})", "erf({0})", "relu({0})", "gelu({0})", "hardswish({0})", "leaky_relu({0}, 0.5)"),
    *("sqrt(abs({0}) + 0.5)", "rsqrt(abs({0}) + 0.5)", "log(abs({0}) + 0.5)", "exp(clamp({0}, -3, 3))", "(-{0})"),
    *("({0}) ** 2", "({0}) ** 5", "silu({0})", "gelu_tanh({0})", "where({0} {c} {n}, {0}, {1})"),
    *("where(({0} {c} {1}) & ({0} > {n}), {0}, {n})", "where(({0} {c} {1}) | ({0} > {n}), {0}, {n})"),
]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """An expression that depends on an operand: what is of numbers alone, Python computes."""
    if not depth or draw(st.integers(0, 3)) == 0:
        return draw(OPERANDS)
    form = draw(st.sampled_from(FORMS))
    first = draw(expressions(depth - 1))
    second = draw(expressions(depth - 1)) if "{1}" in form else ""
    return form.format(first, second, n=draw(NUMBERS), c=draw(COMPARISONS))


@st.composite
def written(draw: st.DrawFn) -> FunctionType:
    """A function of `accum` and of what occurs in its source, with one to four results."""
    body = [f"accum + {draw(expressions())}", *draw(st.lists(expressions().map("accum * {}".format), max_size=1))]
    axes = st.sampled_from(["sum({}, axis=0)", "max({}, axis=1)", "min({})", "sum({}, axis=1)", "max({}, axis=0)"])
    lines = [f"    x{index} = {each}" for index, each in enumerate(body)]
    for index, reduction in enumerate(draw(st.lists(axes, max_size=2))):
        lines.append(f"    y{index} = {reduction.format(draw(st.sampled_from(['x0', f'x{len(body) - 1}'])))}")
    names = [line.split()[0] for line in lines]
    source = "\n".join(lines)
    words = set(re.findall(r"[A-Za-z_]\w*", source))
    used = [name for name in DECLARED if name in words]
    text = f"def f(accum{''.join(f', {name}' for name in used)}):\n{source}\n    return {', '.join(names)}\n"
    file = f"<epilogue {next(_names)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def traced(function: FunctionType, accumulator: str = "f32") -> Epilogue:
    used = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    names = linecache.getlines(function.__code__.co_filename)[-1].replace(",", "").split()[1:]
    lines = {line.split()[0]: line for line in linecache.getlines(function.__code__.co_filename)[1:-1]}
    declared: dict[str, Any] = {name: DECLARED[name] for name in used}
    for index, name in enumerate(names):
        if name[0] == "x":
            declared["D" if not index else name] = Full("f16")
        else:
            axis = lines[name].rpartition("axis=")[2][0] if "axis=" in lines[name] else ""
            declared[name] = {"0": Row("f32"), "1": Column("f32"), "": Scalar("f32")}[axis]
    return Epilogue.trace(function, accumulator, **declared)


def data(seed: int, epilogue: Epilogue) -> tuple[Any, dict[str, Any]]:
    random = np.random.default_rng(seed)
    names = {each.name for each in epilogue.inputs}
    accum = random.standard_normal((L, M, N))
    return accum, {name: random.standard_normal(shape) for name, shape in SHAPES.items() if name in names}


def close(left: Any, right: Any) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@many
@given(written(), st.integers(0, 9))
def test_the_graph_computes_what_the_function_does(function: FunctionType, seed: int) -> None:
    epilogue = traced(function)
    accum, operands = data(seed, epilogue)
    found = evaluate(epilogue, accum, operands)
    for name, value in evaluate_function(function, epilogue, accum, operands).items():
        close(found[name].exact, value)


@many
@given(written())
def test_the_text_comes_back_and_tracing_again_is_the_same(function: FunctionType) -> None:
    epilogue = traced(function)
    again = Epilogue.from_json(epilogue.to_json())
    assert again == epilogue
    assert again.to_json() == epilogue.to_json()
    assert traced(function).to_json() == epilogue.to_json()
    anonymous = Epilogue.from_json(epilogue.to_json(places=False))
    assert anonymous == epilogue
    assert anonymous.key == epilogue.key
    assert len(str(epilogue).split("\n")) == 1 + len(epilogue.operands) + len(epilogue.steps)
    source = linecache.getlines(function.__code__.co_filename)
    for step in epilogue.steps:
        assert step.place is not None
        assert 1 < step.place.line < len(source)
        assert 0 < step.place.column <= len(source[step.place.line - 1])


@many
@given(written(), st.integers(0, 9))
def test_transposed_is_the_epilogue_of_the_transposed_product(function: FunctionType, seed: int) -> None:
    epilogue = traced(function)
    turned = epilogue.transposed()
    assert turned.transposed() == epilogue
    accum, operands = data(seed, epilogue)
    found = evaluate(epilogue, accum, operands)
    other = {name: value.transpose(TRANSPOSED.get(name, range(value.ndim))) for name, value in operands.items()}
    for name, value in evaluate(turned, accum.transpose(0, 2, 1), other).items():
        exact = value.exact.transpose(0, 2, 1) if value.exact.ndim == 3 else value.exact
        close(exact, found[name].exact)


@many
@given(written(), st.sampled_from([0.0, 1.0, -1.0, 0.5]), st.sampled_from([0.0, 1.0, -1.0, 2.0]), st.integers(0, 9))
def test_constants_for_scalars_change_no_result(function: FunctionType, alpha: float, beta: float, seed: int) -> None:
    epilogue = traced(function)
    names = {each.name for each in epilogue.inputs}
    values = {name: value for name, value in (("alpha", alpha), ("beta", beta)) if name in names}
    bound = epilogue.bound(**values)
    assert not {each.name for each in bound.inputs} & set(values)
    accum, operands = data(seed, epilogue)
    found = evaluate(bound, accum, operands)
    expected = evaluate(epilogue, accum, operands | values)
    for name, value in expected.items():
        # 0 times what is infinite or none is 0 where it is known before.
        finite = np.isfinite(value.exact)
        assume(finite.all())
        close(found[name].exact, value.exact)


@many
@given(written(), st.integers(0, 9))
def test_without_the_source_it_is_the_epilogue_of_beta_0(function: FunctionType, seed: int) -> None:
    epilogue = traced(function)
    accum, operands = data(seed, epilogue)
    try:
        without = epilogue.without_source()
    except EpilogueError:
        assert epilogue.source is not None
        return
    assert without.source is None
    if epilogue.source is None:
        assert without == epilogue
        return
    found = evaluate(without, accum, operands)
    for name, value in evaluate(epilogue, accum, operands | {"beta": 0.0}).items():
        assume(np.isfinite(value.exact).all())
        close(found[name].exact, value.exact)
