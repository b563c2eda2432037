"""An epilogue from a plain Python function: called once with symbolic values, named by what it returns."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, cast

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue import functions
from cutecc.operations.epilogue.binding import pruned
from cutecc.operations.epilogue.declarations import example_size
from cutecc.operations.epilogue.parameters import inputs_of
from cutecc.operations.epilogue.results import output_of, results_of
from cutecc.operations.epilogue.source import WrittenFunction, definition_location, failing_location, function_node
from cutecc.operations.epilogue.symbolic import Trace, Value
from cutecc.operations.epilogue.values import ACCUM, ACCUMULATORS, Argument, Input, Output, Step
from cutecc.operations.epilogue.verification import compute_type
from cutecc.operations.words import article
from cutecc.support.spelling import did_you_mean


class Traced(NamedTuple):
    """The parts of an epilogue, as it has them."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    accumulator: str
    compute: str
    name: str


def trace(function: Callable[..., Any], /, accumulator: str = "f32", **operands: Any) -> Traced:
    """The epilogue that a plain Python function describes.

        def f(accum, C, alpha, beta, bias):
            D = gelu(alpha * accum + beta * C + bias)
            row_sum = sum(D, axis=1)
            return D, row_sum

        trace(f, C=Full("f16"), bias=Row("f16"), D=Full("f16"), row_sum=Column("f32"))

    The first parameter is `accum`, the product's accumulators of type `accumulator`; the others are inputs. Results are
    called as the names in the `return` statement, or as the keys of a dictionary; the first one is `D` when none is
    called so.

    `operands` says what each is: `Full`, `Row`, `Column`, `Scalar`, a matrix's `Operand`, for C and results a text such
    as `f16:row`, or an array like those of a launch. With arrays, `D`, `C` or `accum=(M, N)`, or (M, N, batches), gives
    the product's size. An annotation (`bias: Row("f16")`) or a number as the default (`slope=0.1`) says so too; `alpha`
    and `beta` are 1 and 0 by themselves.

    Within the function the names of `cutecc.operations.epilogue.functions` are known, unless its module has others.

    Raises `EpilogueError` with the place in the function for all that is not the language's.
    """
    plain = _plain_function(function)
    if accumulator not in ACCUMULATORS:
        raise EpilogueError(
            f"there are no accumulators of type {accumulator}", hints=[f"types: {', '.join(ACCUMULATORS)}"]
        )
    written = WrittenFunction(plain, function_node(plain))
    compute = "f64" if accumulator == "f64" else "f32"
    size = example_size(operands)
    inputs = inputs_of(written, operands, compute, size)
    running = Trace(written.file, compute, functions.__all__)
    results = results_of(written, running, _called(written, running, inputs))
    outputs = [output_of(result, operands, compute, size) for result in results]
    _refuse_unknown(written, operands, [each.name for each in (*inputs, *outputs)])
    steps, outputs = pruned(running.steps, outputs)
    _refuse_unused(written, inputs, steps, outputs)
    name = plain.__name__.strip("<>")
    return Traced(tuple(inputs), steps, outputs, accumulator, compute_type(accumulator, steps, outputs), name)


def _plain_function(function: Any) -> FunctionType:
    if isinstance(function, FunctionType):
        flags = function.__code__.co_flags
        if not flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            return function
    kind = type(cast("object", function)).__name__
    location = definition_location(function) if isinstance(function, FunctionType) else None
    raise EpilogueError(
        f"an epilogue is a plain Python function, not {article('generator' if location else kind)}",
        location,
        hints=["def epilogue(accum, C, alpha, beta): return alpha * accum + beta * C"],
    )


def _called(written: WrittenFunction, builder: Trace, inputs: Sequence[Input]) -> Any:
    """What the function returns for symbolic values, in a scope that knows the language."""
    function = with_language(written.function)
    values = {ACCUM: Value(builder, ACCUM, "full")}
    values |= {each.name: Value(builder, each.name, each.kind) for each in inputs}
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for parameter in inspect.signature(function, follow_wrapped=False).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = values[parameter.name]
        else:
            positional.append(values[parameter.name])
    try:
        return function(*positional, **keywords)
    except EpilogueError as error:
        if error.location is None:
            error.location = failing_location(error.__traceback__, written.file) or written.location
        raise error.with_traceback(None) from None
    except Exception as error:
        location = failing_location(error.__traceback__, written.file) or written.location
        hints = _name_hints(error.name, inputs) if isinstance(error, NameError) else []
        raise EpilogueError(f"{type(error).__name__}: {error}", location, hints=hints) from None


def with_language(function: FunctionType) -> FunctionType:
    """The function, seeing the language's names where its module and Python have none of their own, or Python's.

    So do the functions of its module that it calls. The module itself does not change.
    """
    scope: dict[str, Any] = dict(function.__globals__)
    language = {name: getattr(functions, name) for name in functions.__all__}
    scope["__builtins__"] = vars(builtins) | language
    for name, value in function.__globals__.items():
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            scope[name] = _in_scope(value, scope)
    return _in_scope(function, scope)


def _in_scope(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _name_hints(name: str | None, inputs: Sequence[Input]) -> list[str]:
    known = [*functions.__all__, ACCUM, *(each.name for each in inputs)]
    return did_you_mean(name or "", known) or [f"functions: {', '.join(functions.__all__)}"]


def _refuse_unknown(written: WrittenFunction, operands: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in operands:
        # Only says how large the product is.
        if name in names or name == ACCUM:
            continue
        raise EpilogueError(
            f"the function has no parameter and no result called {name}",
            written.location,
            hints=did_you_mean(name, names) or [f"it has {', '.join(names)}"],
        )


def _refuse_unused(
    written: WrittenFunction, inputs: Sequence[Input], steps: Sequence[Step], outputs: Sequence[Output]
) -> None:
    used: set[Argument] = {argument for step in steps for argument in step.arguments}
    used.update(each.value for each in outputs)
    for each in inputs:
        if each.name not in used:
            raise EpilogueError(
                f"no result depends on the operand {each.name}",
                written.parameter(each.name),
                hints=["remove the parameter, or return what is computed from it"],
            )
