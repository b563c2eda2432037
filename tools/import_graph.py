"""Who imports what in `cutecc/`, read from the source without running it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "cutecc"


@dataclass(frozen=True)
class Import:
    """One import of one module, by a line of another."""

    importer: str
    imported: str
    file: str
    line: int
    typing_only: bool
    """Inside `if TYPE_CHECKING`."""
    late: bool
    """Inside a function, so that it happens when that is called."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.importer} imports {self.imported}"


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """All modules of the package by dotted name."""
    found: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports(package: Path = PACKAGE) -> list[Import]:
    """Every import of every module of the package, wherever it stands; `import_module("…")` counts too."""
    known = modules(package)
    found: list[Import] = []
    for name, path in known.items():
        tree = ast.parse(path.read_text(), str(path))
        file = str(path.relative_to(package.parent))
        for node, typing_only, late in _walk(tree, False, False):
            line = node.lineno if isinstance(node, ast.stmt | ast.expr) else 0
            for imported in _imported(node, name, path.name == "__init__.py", known):
                found.append(Import(name, imported, file, line, typing_only, late))
    return found


@functools.cache
def _own_modules() -> dict[str, Path]:
    return modules()


def imported_by(source: str) -> set[str]:
    """The modules of the package that a file which is none of it imports, wherever that stands."""
    known = _own_modules()
    found = (_imported(node, "", False, known) for node, _, _ in _walk(ast.parse(source), False, False))
    return {name for names in found for name in names if name in known}


def _walk(node: ast.AST, typing_only: bool, late: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    yield node, typing_only, late
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if isinstance(node, ast.If) and _dotted(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for child in node.body:
            yield from _walk(child, True, late)
        for child in node.orelse:
            yield from _walk(child, typing_only, late)
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, typing_only, late)


def _dotted(node: ast.AST) -> str:
    """The name that a node is, `typing.TYPE_CHECKING`; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
    return ""


def _imported(node: ast.AST, importer: str, is_package: bool, known: dict[str, Path]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = importer.split(".")[: len(importer.split(".")) - node.level + is_package]
            base = ".".join([*above, base] if base else above)
        # `from cutecc.passes import manager` imports the module, not a name of the package.
        return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names]
    if isinstance(node, ast.Call) and _dotted(node.func) in (
        "importlib.import_module",
        "import_module",
        "__import__",
    ):
        argument = node.args[0] if node.args else None
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return [argument.value]
    return []


def circles(found: list[Import]) -> list[list[Import]]:
    """The shortest circle of each knot of files that import one another, late imports too, those for typing not.

    Each is the imports along it, from a file back to itself. A knot of many files has one circle here: when that is
    broken, another one may be left.
    """
    graph: dict[str, dict[str, Import]] = {}
    for each in found:
        if not each.typing_only and each.imported != each.importer:
            graph.setdefault(each.importer, {}).setdefault(each.imported, each)
    shortest: list[list[Import]] = []
    seen: set[str] = set()
    for circle in sorted(filter(None, (_way(graph, name, name) for name in sorted(graph))), key=len):
        if seen.isdisjoint(files := {each.importer for each in circle}):
            shortest.append(circle)
        seen |= files
    return shortest


def _way(graph: dict[str, dict[str, Import]], start: str, end: str) -> list[Import]:
    """The fewest imports that lead from one file to another; none when no way does."""
    came_by: dict[str, Import] = {}
    reached = [start]
    for name in reached:
        for imported, each in graph.get(name, {}).items():
            if imported not in came_by:
                came_by[imported] = each
                reached.append(imported)
        if end in came_by:
            break
    way: list[Import] = []
    at = end
    while at in came_by and (not way or at != start):
        way.insert(0, came_by[at])
        at = came_by[at].importer
    return way
