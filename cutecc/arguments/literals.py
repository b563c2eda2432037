"""The values of compile-time constants: Python literals, and numeric types by name. Nothing is evaluated."""

from __future__ import annotations

import ast
import warnings
from typing import cast

from cutecc.arguments.dtypes import NumericType, close_type_names, find_numeric_type
from cutecc.errors import SourceLocation, SpecError

_EXAMPLES = "a constant is a number, a string, True, False, None, a numeric type, or a tuple, list or dict of those"


def read_literal(text: str) -> object:
    """The value that `text` spells; `SpecError` with a column into `text` when it is not a literal."""
    return _read(_parse(text), text)


def canonical_literal(text: str) -> str:
    """`text` as Python prints it, numeric types by their canonical names; `SpecError` when it is not a literal."""
    tree = _parse(text)
    _read(tree, text)
    return ast.unparse(_Canonical().visit(tree))


def literal_of(value: object) -> str:
    """The literal of `value`, which may hold `NumericType`s; `SpecError` when there is none."""
    if isinstance(value, NumericType):
        return value.name
    if isinstance(value, bool | int | float | str | bytes) or value is None:
        # Python has no literal for infinity but a number too large.
        return canonical_literal(repr(value).replace("inf", "1e309") if isinstance(value, float) else repr(value))
    if type(value) in (tuple, list):
        items = [literal_of(item) for item in cast("tuple[object, ...]", value)]
        if type(value) is list:
            return f"[{', '.join(items)}]"
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if type(value) is dict:
        pairs = cast("dict[object, object]", value).items()
        return f"{{{', '.join(f'{literal_of(key)}: {literal_of(item)}' for key, item in pairs)}}}"
    raise SpecError(f"a {type(value).__name__} has no literal", hints=[_EXAMPLES])


def _parse(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of odd escapes in strings
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = (error.offset or 1) if isinstance(error, SyntaxError) else 1
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SpecError(
            f"not a Python literal: {reason}",
            SourceLocation("constant", text=text, column=min(column, len(text) + 1)),
            hints=[_EXAMPLES],
        ) from None


def _read(node: ast.expr, text: str) -> object:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis and not isinstance(value, complex):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float() as number)) if not (
            isinstance(number, bool)
        ):
            return -number if isinstance(node.op, ast.USub) else number
        case ast.Tuple(elts=items):
            return tuple(_read(item, text) for item in items)
        case ast.List(elts=items):
            return [_read(item, text) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key, text, node): _read(value, text) for key, value in zip(keys, values, strict=True)}
        case ast.Name(id=name) if dtype := find_numeric_type(name):
            return dtype
        case _:
            raise _not_a_literal(node, text)


def _key(key: ast.expr | None, text: str, mapping: ast.expr) -> object:
    if key is None or not isinstance(key, ast.Constant | ast.Tuple | ast.UnaryOp | ast.Name):
        raise _not_a_literal(key or mapping, text)
    value = _read(key, text)
    try:
        hash(value)
    except TypeError:
        raise _not_a_literal(key, text) from None
    return value


def _not_a_literal(node: ast.expr, text: str) -> SpecError:
    # As it was written: `ast.unparse` recurses into what is nested too deep for it.
    source = ast.get_source_segment(text.strip(), node)
    hints = [_EXAMPLES]
    if isinstance(node, ast.Name):
        if close := close_type_names(node.id):
            hints.insert(0, f"did you mean {close[0]}?")
        hints.insert(0, f"a string is quoted: '{node.id}'")
    # Columns of `ast` count bytes of the line, here of the first one.
    line = text.strip().encode()
    start = len(line[: node.col_offset].decode(errors="replace")) if node.lineno == 1 else 0
    stop = len(line[: node.end_col_offset].decode(errors="replace")) if node.end_lineno == 1 else start + 1
    column = len(text) - len(text.lstrip()) + start + 1
    return SpecError(
        f"'{source}' is not a literal",
        SourceLocation("constant", text=text, column=column, length=max(1, stop - start)),
        hints=hints,
    )


class _Canonical(ast.NodeTransformer):
    """Numeric types by their canonical names, numbers without a plus sign."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        dtype = find_numeric_type(node.id)
        assert dtype is not None
        return ast.Name(dtype.name)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return node.operand if isinstance(node.op, ast.UAdd) else node
