"""What there is to know about a kernel's host function without calling it."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
from dataclasses import dataclass
from typing import Any

from cutecc.errors import SourceLocation

WRAPPED = "__cutecc_wrapped__"
"""The attribute that holds the host function in what `cutecc.jit` makes of it."""


@dataclass(frozen=True)
class Callee:
    """A host function, a bound method, or an object with a `__call__`, that the DSL can compile."""

    value: Any
    function: Any
    """The plain function behind it, as the user wrote it."""
    qualified_name: str
    """`Gemm.__call__` for an object."""
    name: str
    """The name of the function or class, or what the object has as `__name__`, safe in file names."""
    signature: inspect.Signature
    """Without `self`; annotations evaluated where that is possible."""

    @classmethod
    def of(cls, value: Any) -> Callee:
        """The callee that `value` is, or that `cutecc.jit` has wrapped."""
        value = getattr(value, WRAPPED, value)
        if inspect.isfunction(value):
            function: Any = inspect.unwrap(value)
            qualified, name = function.__qualname__, function.__name__
        elif inspect.ismethod(value):
            function = inspect.unwrap(value.__func__)
            owner = value.__self__ if inspect.isclass(value.__self__) else type(value.__self__)
            qualified, name = f"{owner.__name__}.{function.__name__}", f"{owner.__name__}.{function.__name__}"
        else:
            function = inspect.unwrap(type(value).__call__)
            kind = type(value).__name__
            qualified, name = f"{kind}.__call__", getattr(value, "__name__", kind)
        try:
            signature = inspect.signature(value, eval_str=True)
        except Exception:
            # An annotation that cannot be evaluated; the DSL says so in its own words.
            signature = inspect.signature(value)
        return cls(value, function, qualified, re.sub(r"[^A-Za-z0-9_.-]", "_", name), signature)

    @property
    def source_file(self) -> str | None:
        """The user's file, `None` for a function without one."""
        file = self.function.__code__.co_filename
        return None if file.startswith("<") else file

    @property
    def source_line(self) -> int | None:
        """The line of the `def`."""
        if self.source_file is None:
            return None
        return self._definition.lineno if self._definition else self.function.__code__.co_firstlineno

    def annotation_text(self, parameter: str) -> str | None:
        """The annotation of `parameter` as the user wrote it, `None` when there is none."""
        node = self._arguments.get(parameter)
        if node is not None:
            return None if node.annotation is None else ast.unparse(node.annotation)
        annotation = self.signature.parameters[parameter].annotation
        return None if annotation is inspect.Parameter.empty else inspect.formatannotation(annotation)

    def location(self, parameter: str | None = None) -> SourceLocation | None:
        """Where `parameter`, or the function itself, is declared; `None` for a function without a file."""
        if self.source_file is None:
            return None
        node = self._arguments.get(parameter or "")
        if node is None:
            return SourceLocation(self.source_file, self.source_line)
        line = linecache.getline(self.source_file, node.lineno)
        column = len(line.encode()[: node.col_offset].decode(errors="replace")) + 1
        return SourceLocation(self.source_file, node.lineno, column, line or None, len(node.arg))

    @functools.cached_property
    def _definition(self) -> ast.FunctionDef | None:
        """The function in its file's syntax tree."""
        # The DSL replaces a function's code by a rewritten one, but keeps the original.
        code = getattr(self.function, "_original_code", self.function.__code__)
        for node in _definitions(code.co_filename):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if node.name == code.co_name and first <= code.co_firstlineno <= node.lineno:
                return node
        return None

    @property
    def _arguments(self) -> dict[str, ast.arg]:
        if self._definition is None:
            return {}
        args = self._definition.args
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        return {arg.arg: arg for arg in every if arg is not None}


def _definitions(file: str) -> list[ast.FunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
