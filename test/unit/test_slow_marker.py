"""`make test` leaves out tests with the marker `slow`: every package has others."""

import ast

import pytest
from conftest import ROOT
from import_graph import PACKAGE, imported_by

UNIT = ROOT / "test" / "unit"
PACKAGES = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")}
BY_NAME = {
    "cutecc.passes.lowering": "passes/lowering/test_conversions.py",
    "cutecc.passes.lowering.values": "passes/lowering/test_registers.py",
    "cutecc.passes.generation": "passes/lowering/test_unrolled_loops.py",
    "cutecc.emulator.deadlocks": "emulator/machine/test_schedules.py",
}
"""Tests that meet a package without an import of it: they ask for its passes, or for what a run finds."""


def quick_tests(source: str) -> list[str]:
    """The tests in a file that have no marker `slow`, themselves or by the `pytestmark` of the file."""
    body = ast.parse(source).body
    if any(
        isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark" and _slow(each) for each in body
    ):
        return []
    tests = [each for each in body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    return [each.name for each in tests if not any(_slow(decorator) for decorator in each.decorator_list)]


def _slow(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "slow" for each in ast.walk(node))


def met(sources: dict[str, str]) -> set[str]:
    """The packages that quick tests of these files meet."""
    quick = {name: source for name, source in sources.items() if quick_tests(source)}
    imported = {module for source in quick.values() for module in imported_by(source)}
    by_import = {module if module in PACKAGES else module.rpartition(".")[0] for module in imported}
    return by_import | {package for package, name in BY_NAME.items() if name in quick}


def test_every_package_has_quick_tests() -> None:
    sources = {str(path.relative_to(UNIT)): path.read_text() for path in UNIT.rglob("test_*.py")}
    assert met(sources) >= PACKAGES


@pytest.mark.parametrize(
    "source, packages",
    [
        ("import cutecc.cache.store\ndef test_it(): ...", {"cutecc.cache"}),
        ("import cutecc.cache.store\n@pytest.mark.slow\ndef test_it(): ...", set[str]()),
        ("import cutecc.cache.store\npytestmark = pytest.mark.slow\ndef test_it(): ...", set[str]()),
        ("import cutecc.cache.store\npytestmark = pytest.mark.torch\ndef test_it(): ...", {"cutecc.cache"}),
    ],
)
def test_what_is_slow_meets_no_package(source: str, packages: set[str]) -> None:
    assert met({"test_it.py": source}) == packages
