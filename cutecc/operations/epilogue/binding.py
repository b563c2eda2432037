"""Constants in the place of scalars: the epilogue that is left when a number is known before the launch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.values import ACCUM, INFINITIES, Argument, Kind, Operation, Output, Step
from cutecc.operations.epilogue.verification import compute_type, joined

if TYPE_CHECKING:
    from cutecc.operations.epilogue.graph import Epilogue

SOURCE = "C"
SCALE = "beta"
"""What scales the source: with 0 for it, BLAS does not read the source, which may hold anything."""


def _rsqrt(x: float) -> float:
    return 1 / math.sqrt(x)


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


_FOLDED: Mapping[str, Callable[..., Any]] = {
    "add": float.__add__,
    "sub": float.__sub__,
    "mul": float.__mul__,
    "div": float.__truediv__,
    "max": max,
    "min": min,
    "neg": float.__neg__,
    "abs": math.fabs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": _rsqrt,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "erf": math.erf,
    "normal_cdf": _normal_cdf,
}


def bind(epilogue: Epilogue, values: Mapping[str, float]) -> Epilogue:
    """`epilogue` with constants for some of its scalar inputs, without the steps and inputs that then do not count.

    0 times anything is 0, as BLAS has it for alpha and beta, and 0 divided by anything. Only what follows from the
    constants is simplified. Raises `EpilogueError` for names that are no scalar inputs, and for what is not finite.
    """
    _check_scalars(epilogue, values)
    known: dict[Argument, Argument] = {name: float(value) for name, value in values.items()}
    steps: list[Step] = []
    kinds: dict[Argument, Kind] = {ACCUM: "full"}
    kinds.update({each.name: each.kind for each in epilogue.inputs})
    for step in epilogue.steps:
        arguments = tuple(known.get(each, each) for each in step.arguments)
        if arguments != step.arguments:
            simpler = _simplified(step.operation, arguments)
            if not isinstance(simpler, tuple):
                known[step.name] = simpler
                continue
            step = replace(step, operation=simpler[0], arguments=simpler[1])
        kind = joined(kinds.get(each, "scalar") for each in step.arguments)
        steps.append(replace(step, kind=kind))
        kinds[step.name] = kind
    outputs: list[Output] = []
    for output in epilogue.outputs:
        value = known.get(output.value, output.value)
        if kinds.get(value) != "full":
            # What is left of the output is the same along rows or columns; `where` gives it to each element.
            everywhere = f"{output.name}?"
            steps.append(Step(everywhere, "eq", (ACCUM, ACCUM), "full", place=output.place))
            steps.append(Step(f"{everywhere}:", "where", (everywhere, value, value), "full", place=output.place))
            value = f"{everywhere}:"
        outputs.append(replace(output, value=str(value)))
    kept, found = pruned(steps, outputs)
    read = {argument for step in kept for argument in step.arguments} | {each.value for each in found}
    compute = compute_type(epilogue.accumulator, kept, found)
    inputs = tuple(each for each in epilogue.inputs if each.name in read)
    return replace(epilogue, inputs=inputs, steps=kept, outputs=found, compute=compute)


def _check_scalars(epilogue: Epilogue, values: Mapping[str, float]) -> None:
    scalars = [each.name for each in epilogue.inputs if each.kind == "scalar"]
    for name, value in values.items():
        if name not in scalars:
            raise EpilogueError(
                f"{name} is no scalar input of the epilogue", hints=[f"it has {', '.join(scalars) or 'none'}"]
            )
        if not math.isfinite(value):
            raise EpilogueError(f"{name} cannot be the constant {value}", hints=["pass it at the launch"])


def drop_source(epilogue: Epilogue) -> Epilogue:
    """`epilogue` for beta = 0, in which C is not read; itself when there is no C.

    Raises `EpilogueError` where C counts whatever beta is.
    """
    if epilogue.source is None:
        return epilogue
    if epilogue.operand(SCALE) in epilogue.inputs:
        without = bind(epilogue, {SCALE: 0.0})
        if without.source is None:
            return without
    uses = next((each for each in epilogue.steps if SOURCE in each.arguments), None)
    place = f" ({uses.place.file}:{uses.place.line}:{uses.place.column})" if uses and uses.place else ""
    raise EpilogueError(
        f"the epilogue {epilogue.name} reads C whatever beta is{place}".replace("  ", " "),
        hints=["give C, or multiply it with beta: beta * C is 0 without C"],
    )


def _simplified(
    operation: Operation, arguments: tuple[Argument, ...]
) -> Argument | tuple[Operation, tuple[Argument, ...]]:
    """What an operation on these arguments is: a constant, one of them, or an operation on some of them."""
    constants = [INFINITIES.get(each) if isinstance(each, str) else each for each in arguments]
    match operation, constants:
        case ("mul", [0.0, _] | [_, 0.0]) | ("div", [0.0, _]):
            return 0.0
        case ("add", [_, 0.0]) | ("sub", [_, 0.0]) | ("mul", [_, 1.0]) | ("div", [_, 1.0]):
            return arguments[0]
        case ("add", [0.0, _]) | ("mul", [1.0, _]):
            return arguments[1]
        case ("sub", [0.0, None]) | ("mul", [-1.0, None]):
            return "neg", (arguments[1],)
        case ("mul", [None, -1.0]):
            return "neg", (arguments[0],)
        case ("where", _) if arguments[1] == arguments[2]:
            return arguments[1]
        case _:
            numbers = [each for each in constants if each is not None]
            value = _value(operation, numbers) if len(numbers) == len(arguments) else None
            return (operation, arguments) if value is None else value


def _value(operation: Operation, numbers: list[float]) -> Argument | None:
    """What an operation on numbers is; none when that is no number, or has to be known to the kernel."""
    if operation not in _FOLDED:
        return None
    try:
        value = float(_FOLDED[operation](*numbers))
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else next((name for name, each in INFINITIES.items() if each == value), None)


def pruned(steps: Sequence[Step], outputs: Sequence[Output]) -> tuple[tuple[Step, ...], tuple[Output, ...]]:
    """The steps that outputs depend on, named in their order, and the outputs that refer to them by these names."""
    needed: set[Argument] = {each.value for each in outputs}
    for step in reversed(steps):
        if step.name in needed:
            needed.update(step.arguments)
    kept = [step for step in steps if step.name in needed]
    names: dict[Argument, str] = {step.name: f"%{index}" for index, step in enumerate(kept)}
    renamed = tuple(
        replace(step, name=names[step.name], arguments=tuple(names.get(each, each) for each in step.arguments))
        for step in kept
    )
    return renamed, tuple(replace(each, value=names.get(each.value, each.value)) for each in outputs)
