"""What a function returns: which results there are, what they are called, and what becomes of them in memory."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cutecc.errors import EpilogueError, SourceLocation
from cutecc.operations.epilogue.declarations import Full, Scalar, Size, declared, kind_of
from cutecc.operations.epilogue.source import WrittenFunction, frame_of, node_location, result_nodes
from cutecc.operations.epilogue.symbolic import Trace, Value
from cutecc.operations.epilogue.values import Output, default_conversion
from cutecc.operations.words import article

RESULT = "D"
"""The result of the product itself: the first that a function returns, when none is called so."""


@dataclass(frozen=True)
class Result:
    """A value that the function returns."""

    name: str
    value: Value
    place: SourceLocation


def results_of(written: WrittenFunction, builder: Trace, returned: Any) -> list[Result]:
    """Each result with its name and place, one of them called `D`."""
    if isinstance(returned, dict):
        names = [str(name) for name in cast("dict[Any, Any]", returned)]
        values = list(cast("dict[Any, Any]", returned).values())
        places = [_return_location(written)] * len(values)
    else:
        many = isinstance(returned, (tuple, list))
        values = list(cast("Sequence[Any]", returned)) if many else [returned]
        names, places = _returned_names(written, len(values), many)
    if not values:
        raise EpilogueError("the function returns no results", _return_location(written), hints=["return D"])
    for name, value, place in zip(names, values, places, strict=True):
        _check_result(builder, name, value, place)
    if RESULT not in names:
        names[0] = RESULT
    inputs = inspect.signature(written.function, follow_wrapped=False).parameters
    for index, (name, place) in enumerate(zip(names, places, strict=True)):
        if name in inputs or name in names[:index]:
            what = "an operand that is read" if name in inputs else "a result already"
            raise EpilogueError(
                f"a result cannot be called {name}: that is {what}", place, hints=["give it a name of its own"]
            )
    return [Result(*each) for each in zip(names, values, places, strict=True)]


def _returned_names(written: WrittenFunction, count: int, many: bool) -> tuple[list[str], list[SourceLocation]]:
    found = [] if written.node is None else [_elements(each) for each in result_nodes(written.node)]
    fitting = [each for each in found if len(each) == count]
    spellings = {tuple(ast.unparse(each) for each in elements) for elements in fitting}
    if len(spellings) != 1:
        if count == 1 and not many:
            return [RESULT], [_return_location(written)]
        unsaid = "several return statements" if spellings else "no return statement that can be read"
        raise EpilogueError(
            f"what the {count} results are called cannot be told: {unsaid}",
            _return_location(written),
            hints=['return a dictionary: return {"D": D, "aux": aux}'],
        )
    names: list[str] = []
    places = [node_location(written.file, each) for each in fitting[0]]
    for index, (element, place) in enumerate(zip(fitting[0], places, strict=True)):
        if isinstance(element, ast.Name):
            names.append(element.id)
        elif not index:
            names.append(RESULT)
        else:
            raise EpilogueError(
                f"result {index + 1} has no name",
                place,
                hints=["assign it to a variable and return that: the result is called as the variable is"],
            )
    return names, places


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def _return_location(written: WrittenFunction) -> SourceLocation:
    nodes = [] if written.node is None else result_nodes(written.node)
    return node_location(written.file, nodes[-1]) if nodes else written.location


def _check_result(builder: Trace, name: str, value: Any, place: SourceLocation) -> None:
    if value is None:
        raise builder.error("the function returns nothing", "end it with: return D", location=place)
    if not isinstance(value, Value):
        kind = type(cast("object", value)).__name__
        raise builder.error(
            f"the result {name} is {article(kind)} that does not depend on the product",
            "return what is computed from accum",
            location=place,
        )
    if value.condition:
        raise builder.error(f"the result {name} is a condition", f"where({name}, 1, 0) is its number", location=place)
    if value.reduction == "none" and value.kind != "full":
        raise builder.error(
            f"the result {name} is {value.kind}: results are M×N, or reductions of what is",
            "compute it before the launch: it does not depend on the product",
            location=place,
        )


def output_of(result: Result, operands: Mapping[str, Any], compute: str, size: Size | None) -> Output:
    """The output for a result, as it is declared in `operands`."""
    name, value, place = result.name, result.value, result.place
    word = value.kind.capitalize()
    if name == RESULT and value.kind != "full":
        raise EpilogueError(
            f"{RESULT} is the product's result of M×N elements, and this is a {value.reduction}, a {value.kind}",
            place,
            hints=[f"return {RESULT} too: return {RESULT}, {value.reduction}_of_it"],
        )
    if name not in operands:
        example = "f16" if value.kind == "full" else "f32"
        raise EpilogueError(
            f"what the result {name} is has not been said", place, hints=[f'declare it: {name}={word}("{example}")']
        )
    declaration = declared(name, operands[name], compute=compute, size=size, kind=value.kind)
    if kind_of(declaration) != value.kind:
        raise EpilogueError(
            f"the result {name} is {value.kind}, and declared {kind_of(declaration)}",
            place,
            hints=[f'declare it: {name}={word}("{declaration.dtype}")'],
        )
    return Output(
        name,
        value.kind,
        declaration.dtype,
        str(value.reference),
        value.reduction,
        (declaration.conversion if isinstance(declaration, Full) else None) or default_conversion(declaration.dtype),
        declaration.layout if isinstance(declaration, Full) else "row",
        0 if isinstance(declaration, Scalar) else declaration.alignment,
        frame_of(place),
    )
