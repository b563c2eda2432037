"""Names that a header mentions have to be those of something: a parameter of the kernel, a function in the file."""

from __future__ import annotations

import ast
import dataclasses
import tokenize
from collections.abc import Iterable, Iterator, Mapping

from cutecc.errors import SourceLocation, UsageError
from cutecc.frontend.header import Header
from cutecc.support.spelling import did_you_mean


def check_functions(header: Header, path: str) -> None:
    """Raise `UsageError` unless the file at `path` defines the reference and the peers of its header.

    The file is read and not run, so any definition or import at its top level counts, under a condition too.
    """
    wanted = [("reference", name) for name in [header.reference] if name] + [("peers", name) for name in header.peers]
    defined = _defined_names(path) if wanted else None
    if defined is None:
        return
    for key, name in wanted:
        if name not in defined:
            raise UsageError(
                f"{key}: {path} defines no '{name}'", _place(header, key, name), hints=did_you_mean(name, defined)
            )


def output_places(header: Header) -> dict[str, SourceLocation | None]:
    """Where each output of a header is written."""
    return {name: _place(header, "outputs", name) for name in header.outputs}


def check_outputs(outputs: Mapping[str, SourceLocation | None], parameters: Iterable[str], function: str) -> None:
    """Raise `UsageError` for an output that is not among the parameters of `function`."""
    names = list(parameters)
    for name, place in outputs.items():
        if name not in names:
            hints = [*did_you_mean(name, names), f"parameters: {', '.join(names)}"]
            raise UsageError(f"outputs: {function} has no parameter '{name}'", place, hints=hints)


def _place(header: Header, key: str, name: str) -> SourceLocation | None:
    """Where `name` is written in the value of `key`, or the line of `key`."""
    line = header.sources.get(key)
    if line is None or line.text is None or line.column is not None:
        return line
    for quote in ('"', "'"):
        if (start := line.text.find(f"{quote}{name}{quote}")) >= 0:
            return dataclasses.replace(line, column=start + 2, length=len(name))
    return line


def _defined_names(path: str) -> set[str] | None:
    """The names that a file gives a value at its top level; `None` for a file that does not tell all of them."""
    try:
        with tokenize.open(path) as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None  # running the file says so better
    names: set[str] = set()
    for node in _top_level(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {(each.asname or each.name).partition(".")[0] for each in node.names}
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case _:
                pass
    return None if "*" in names else names


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes outside of functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level(child)
