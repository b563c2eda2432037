"""No function has too many ways through it: each branch, loop, condition of one, handler and case is one more."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from import_graph import PACKAGE, modules

MOST = 20
MANY = 15
MANY_ALLOWED = 31
"""Functions of more than `MANY`. Take one apart before another one is added."""


@dataclass(frozen=True)
class Function:
    place: str
    name: str
    complexity: int

    def __str__(self) -> str:
        return f"{self.place}: {self.name} has {self.complexity} ways"


def functions(file: Path, root: Path) -> Iterator[Function]:
    """All functions of a file, those inside of others too, each by itself."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ways = 1 + sum(map(_ways, node.body))
            yield Function(f"{file.relative_to(root)}:{node.lineno}", node.name, ways)


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return 0
    return _own_ways(node) + sum(map(_ways, ast.iter_child_nodes(node)))


def _own_ways(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp() | ast.Assert():
            return 1
        case ast.For(orelse=otherwise) | ast.AsyncFor(orelse=otherwise) | ast.While(orelse=otherwise):
            return 1 + bool(otherwise)
        case ast.Try(handlers=handlers, orelse=otherwise):
            return len(handlers) + bool(otherwise)
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case ast.Match(cases=cases):
            return sum(not _is_default(each) for each in cases)
        case _:
            return 0


def _is_default(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.name is None and case.pattern.pattern is None


def test_no_function_has_too_many_ways() -> None:
    found = [each for file in modules().values() for each in functions(file, PACKAGE.parent)]
    most = [each for each in found if each.complexity > MOST]
    assert not most, f"more than {MOST}:\n" + "\n".join(map(str, most))
    many = sorted((each for each in found if each.complexity > MANY), key=lambda each: each.complexity)
    assert len(many) <= MANY_ALLOWED, f"{len(many)} of more than {MANY}:\n" + "\n".join(map(str, many))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("return x", 1),
        ("if x and y or z:\n    return 1\nelif y:\n    return 2", 5),
        ("for each in x:\n    pass\nelse:\n    pass", 3),
        ("while x:\n    x = 1 if y else 2", 3),
        ("try:\n    pass\nexcept KeyError:\n    pass\nexcept ValueError:\n    pass", 3),
        ("return [each for each in x if each if y]", 4),
        ("match x:\n    case 1:\n        pass\n    case [y]:\n        pass\n    case _:\n        pass", 3),
        ("assert x\nreturn lambda: x", 2),
        ("def inner():\n    if x:\n        pass", 1),
    ],
)
def test_ways_are_counted(tmp_path: Path, text: str, expected: int) -> None:
    file = tmp_path / "file.py"
    file.write_text(f"def f(x, y, z):\n{textwrap.indent(text, '    ')}\n")
    assert next(functions(file, tmp_path)).complexity == expected
