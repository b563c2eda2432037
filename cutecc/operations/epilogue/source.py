"""Where a function is written: its node of syntax, and the place of what it is just doing."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType, TracebackType
from typing import Any

from cutecc.errors import SourceLocation
from cutecc.support.locations import Frame

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class WrittenFunction:
    """The function and its syntax, which is none when its source cannot be read."""

    function: Any
    """A function of Python's own kind."""
    node: FunctionNode | None

    @property
    def file(self) -> str:
        """The file of the function, or what stands for it."""
        return self.function.__code__.co_filename

    @property
    def location(self) -> SourceLocation:
        """The `def`, or where the lambda begins."""
        return definition_location(self.function)

    def parameter(self, name: str) -> SourceLocation:
        """The place of a parameter."""
        arguments = [] if self.node is None else [*self.node.args.posonlyargs, *self.node.args.args]
        arguments += [] if self.node is None else self.node.args.kwonlyargs
        found = next((each for each in arguments if each.arg == name), None)
        return self.location if found is None else node_location(self.file, found)


def running_location(file: str) -> SourceLocation | None:
    """The expression that the innermost function of `file` is evaluating, of those that wait for this call."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename == file:
            return code_location(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def calling_location(package: str) -> SourceLocation | None:
    """The expression outside of `package`, a folder, that waits for this call."""
    frame = inspect.currentframe()
    while frame is not None:
        if not frame.f_code.co_filename.startswith((package, "<string>")):
            return code_location(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def failing_location(traceback: TracebackType | None, file: str) -> SourceLocation | None:
    """The expression of `file` that an exception came out of, the innermost one."""
    found: SourceLocation | None = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            found = code_location(traceback.tb_frame.f_code, traceback.tb_lasti)
        traceback = traceback.tb_next
    return found


def code_location(code: CodeType, instruction: int) -> SourceLocation:
    """The expression that an instruction, by its offset in bytes, belongs to."""
    positions = next(itertools.islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    line, last, start, end = positions
    if line is None:
        return SourceLocation(code.co_filename, code.co_firstlineno)
    if start is None or end is None:
        return SourceLocation(code.co_filename, line, text=_line(code.co_filename, line))
    return _location(code.co_filename, line, start, end if last == line else None)


def node_location(file: str, node: ast.expr | ast.arg | ast.stmt) -> SourceLocation:
    """The place of a node of the syntax of `file`."""
    end = node.end_col_offset if node.end_lineno == node.lineno else None
    return _location(file, node.lineno, node.col_offset, end)


def definition_location(function: FunctionType) -> SourceLocation:
    """The `def` of a function, or where its lambda begins."""
    file, node = function.__code__.co_filename, function_node(function)
    if node is None:
        return SourceLocation(
            file, function.__code__.co_firstlineno, text=_line(file, function.__code__.co_firstlineno)
        )
    if isinstance(node, ast.Lambda):
        return node_location(file, node)
    start = _column(_line(file, node.lineno) or "", node.col_offset)
    return SourceLocation(file, node.lineno, start, _line(file, node.lineno), length=len("def ") + len(node.name))


def function_node(function: FunctionType) -> FunctionNode | None:
    """The syntax of a function or lambda; none when its source cannot be read."""
    code = function.__code__
    # The file may have been edited and imported again.
    linecache.checkcache(code.co_filename)
    tree = _parsed("".join(linecache.getlines(code.co_filename)))
    if tree is None:
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda) and _is(node, function)]
    if len(found) > 1:
        # Several lambdas in one line: the instructions of this one lie in its own columns.
        columns = [(line, start) for line, _, start, _ in code.co_positions() if line is not None and start]
        within = [node for node in found if all(_encloses(node, line, start) for line, start in columns)]
        found = sorted(within, key=lambda node: -node.col_offset)[:1]
    return found[0] if found else None


def result_nodes(node: FunctionNode) -> list[ast.expr]:
    """The expressions that a function returns, one for each `return` that has one; of a lambda, its body."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(reversed(node.body))
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(each, ast.Return) and each.value is not None:
            found.append(each.value)
        waiting.extend(reversed(list(ast.iter_child_nodes(each))))
    return found


def _is(node: FunctionNode, function: FunctionType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    first = node.lineno
    if isinstance(node, ast.FunctionDef):
        first = min([first, *(each.lineno for each in node.decorator_list)])
    arguments = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    return (name, first, arguments) == (code.co_name, code.co_firstlineno, list(code.co_varnames[:count]))


def _encloses(node: FunctionNode, line: int, column: int) -> bool:
    first, last = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return first <= (line, column) < last


@lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError):
        return None


def _location(file: str, line: int, start: int, end: int | None) -> SourceLocation:
    """A place whose columns Python counts: bytes of UTF-8, from 0. Without an end, it goes on in another line."""
    text = _line(file, line)
    first = _column(text or "", start)
    last = _column(text or "", end) if end is not None else len((text or "").rstrip()) + 1
    return SourceLocation(file, line, first, text, length=max(1, last - first))


def _column(text: str, offset: int) -> int:
    return len(text.encode()[:offset].decode(errors="replace")) + 1


def _line(file: str, line: int) -> str | None:
    return linecache.getline(file, line) or None


def frame_of(location: SourceLocation) -> Frame:
    """The place that a step or an operand keeps."""
    return Frame(location.file, location.line or 0, location.column or 0)
