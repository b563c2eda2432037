"""What a function's parameters are: declared, annotated, or told by their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from numbers import Real
from typing import Any

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.declarations import Column, Declaration, Full, Row, Scalar, Size, declared, kind_of
from cutecc.operations.epilogue.source import WrittenFunction, frame_of
from cutecc.operations.epilogue.values import ACCUM, Input
from cutecc.support.locations import Frame
from cutecc.support.spelling import close_names

_BLAS_SCALARS = {"alpha": 1.0, "beta": 0.0}
"""Parameters that are scalars of the compute type when nothing else is said, and what they then are."""


def inputs_of(written: WrittenFunction, operands: Mapping[str, Any], compute: str, size: Size | None) -> list[Input]:
    """The inputs of a function, in the order of its parameters; arrays stand for operands of a product of `size`."""
    parameters = list(inspect.signature(written.function, follow_wrapped=False).parameters.values())
    if not parameters or parameters[0].name != ACCUM:
        raise EpilogueError(
            f"the first parameter of an epilogue is {ACCUM}, the product's accumulators",
            written.parameter(parameters[0].name) if parameters else written.location,
            hints=[f"def {written.function.__name__.strip('<>')}({ACCUM}, …)"],
        )
    names = [parameter.name for parameter in parameters]
    found: list[Input] = []
    for parameter in parameters[1:]:
        place = written.parameter(parameter.name)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise EpilogueError(
                f"{stars}{parameter.name}: each operand of an epilogue is a parameter of its own",
                written.location,
                hints=["name the operands one by one"],
            )
        declaration = _declaration(written, parameter, operands, compute, size)
        if declaration is None:
            unknown = [name for name in operands if name not in names]
            close = close_names(parameter.name, unknown)
            raise EpilogueError(
                f"what the operand {parameter.name} is has not been said",
                place,
                hints=[
                    *(f"there is {name}, which is no parameter: is it meant?" for name in close),
                    f'declare it: {parameter.name}=Full("f16"), Row("f16"), Column("f16") or Scalar("f32")',
                ],
            )
        found.append(_input(parameter.name, declaration, frame_of(place)))
    return found


def _input(name: str, declaration: Declaration, place: Frame | None) -> Input:
    is_scalar = isinstance(declaration, Scalar)
    return Input(
        name,
        kind_of(declaration),
        declaration.dtype,
        declaration.layout if isinstance(declaration, Full) else "row",
        0 if is_scalar else declaration.alignment,
        not is_scalar or declaration.in_memory,
        declaration.default if is_scalar else None,
        place,
    )


def _declaration(
    written: WrittenFunction,
    parameter: inspect.Parameter,
    operands: Mapping[str, Any],
    compute: str,
    size: Size | None,
) -> Declaration | None:
    name, default = parameter.name, parameter.default
    number = float(default) if isinstance(default, Real) else None
    if name in operands:
        given = declared(name, operands[name], compute=compute, size=size)
        if isinstance(given, Scalar) and not given.in_memory and given.default is None and number is not None:
            return Scalar(given.dtype, number)
        return given
    annotation: Any = parameter.annotation
    if isinstance(annotation, str):
        try:
            scope = written.function.__globals__ | inspect.getclosurevars(written.function).nonlocals
            annotation = eval(annotation, {"Full": Full, "Row": Row, "Column": Column, "Scalar": Scalar} | scope)
        except EpilogueError as error:
            error.location = written.parameter(name)
            raise
        except Exception:
            annotation = None
    if isinstance(annotation, Full | Row | Column | Scalar):
        return annotation
    if number is not None:
        return Scalar(compute, number)
    return Scalar(compute, _BLAS_SCALARS[name]) if name in _BLAS_SCALARS else None
