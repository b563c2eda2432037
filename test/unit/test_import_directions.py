"""Imports point one way: the table of the design, enforced over the source of `cutecc/`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from import_directions import DRIVER_ORDER, FOUNDATIONS, FRONT_DOORS, MAY_IMPORT, is_ours, place
from import_graph import PACKAGE, Import, circles, imports, modules

DSL = "cutlass"
DSL_CODE = ("cutecc.operations.kernels", "cutecc.operations.operators")
"""Packages of code that the DSL traces, and of the operators that are built on it: they import it as they are imported.
The instructions that the DSL has no atoms of are made of its bindings."""


def violations(found: list[Import]) -> list[str]:
    """What breaks the table, one line each; imports for type checking alone count as the others do."""
    wrong: list[str] = []
    for each in found:
        source, target = place(each.importer), place(each.imported)
        if not is_ours(each.imported) or source == target or target in FOUNDATIONS or target == "":
            continue
        if source in FRONT_DOORS:
            continue
        if source not in MAY_IMPORT:
            wrong.append(f"{each.file}: cutecc/{source} is not in the design's table")
        elif MAY_IMPORT[source].isdisjoint((target, each.imported.removeprefix("cutecc."))):
            allowed = ", ".join(sorted(MAY_IMPORT[source])) or "nothing of ours"
            wrong.append(f"{each}; cutecc/{source} may import: {allowed} (and the foundations)")
    return wrong


def is_dsl(module: str) -> bool:
    return module == DSL or module.startswith(f"{DSL}.")


def is_dsl_code(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in DSL_CODE)


def dsl_violations(found: list[Import]) -> list[str]:
    """Imports of the DSL outside of the frontend and of code written in it; the bindings are `cutlass._mlir`."""
    wrong: list[str] = []
    for each in found:
        if not is_dsl(each.imported) or is_dsl_code(each.importer):
            continue
        is_bindings = each.imported.startswith(f"{DSL}._mlir")
        if not is_bindings and place(each.importer) != "frontend":
            wrong.append(f"{each}; only cutecc/frontend and {' and '.join(DSL_CODE)} import the DSL")
        if is_bindings and place(each.importer) not in ("ir", "frontend"):
            wrong.append(f"{each}; the bindings come from cutecc.ir")
    return wrong


def early_violations(found: list[Import]) -> list[str]:
    """Imports that would load the DSL with something else: only code written in it has it when it is imported."""
    early = [each for each in found if not each.late and not each.typing_only]
    loading_it: set[str] = set()
    while (
        more := {
            each.importer
            for each in early
            if is_dsl_code(each.importer) and (is_dsl(each.imported) or each.imported in loading_it)
        }
        - loading_it
    ):
        loading_it |= more
    return [
        str(each)
        for each in early
        if each.importer not in loading_it and (is_dsl(each.imported) or each.imported in loading_it)
    ]


@pytest.mark.slow
def test_imports_point_one_way() -> None:
    wrong = violations(imports())
    assert not wrong, "\n" + "\n".join(wrong)


def test_only_the_frontend_and_code_written_in_the_dsl_import_it() -> None:
    wrong = dsl_violations(imports())
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_dsl_and_code_written_in_it_are_imported_late() -> None:
    early = early_violations(imports())
    assert not early, "\n" + "\n".join(early)


def test_command_line_modules_are_for_the_command_line() -> None:
    wrong = [
        str(each) for each in imports() if place(each.imported) == "cli" and place(each.importer) not in FRONT_DOORS
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_drivers_modules_are_in_their_order() -> None:
    rank = {f"cutecc.{name}": index for index, name in enumerate(DRIVER_ORDER)}
    wrong = [
        f"{each}; the order is {' < '.join(DRIVER_ORDER)}"
        for each in imports()
        if each.importer in rank
        and each.imported in rank
        and rank[each.imported] > rank[each.importer]
        # The library's way into a worker: `driver.compile(isolation="worker")` calls it, late.
        and not (each.importer == "cutecc.driver" and each.imported == "cutecc.compilation.worker" and each.late)
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_files_import_each_other() -> None:
    """Also not late, in a function: that hides which of the two is built on the other."""
    wrong = [" and\n".join(map(str, circle)) for circle in circles(imports())]
    assert not wrong, "files in a circle:\n" + "\n\n".join(wrong)


def test_no_file_is_called_utils_or_helpers() -> None:
    wrong = [
        name
        for name in modules()
        if name.rpartition(".")[2].strip("_") in ("utils", "util", "helpers", "helper", "common", "misc")
    ]
    assert not wrong


def test_every_place_of_the_table_that_exists_is_known() -> None:
    places = {place(name) for name in modules()} - FRONT_DOORS
    assert places <= set(MAY_IMPORT), f"add to the table: {sorted(places - set(MAY_IMPORT))}"


# The checks themselves: a package that breaks each rule is found out.


def package(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "cutecc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        (path.parent / "__init__.py").touch()
    (root / "cutecc" / "__init__.py").touch()
    return root / "cutecc"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "record/x.py",
            "import cutecc.passes.base",
            "cutecc/record/x.py:1: cutecc.record.x imports cutecc.passes.base",
        ),
        ("passes/x.py", "from cutecc import driver", "cutecc.passes.x imports cutecc.driver"),
        ("passes/x.py", "def f():\n    from cutecc.frontend.trace import trace", "cutecc/passes/x.py:2:"),
        (
            "ir/x.py",
            "import importlib\nimportlib.import_module('cutecc.backend.ptxas')",
            "cutecc.ir.x imports cutecc.backend.ptxas",
        ),
        ("target.py", "import cutecc.ir.modules", "cutecc/target may import: nothing of ours"),
        ("layout/x.py", "from ..record import folder", "cutecc.layout.x imports cutecc.record"),
        ("novelty/x.py", "import cutecc.ir.modules", "cutecc/novelty is not in the design's table"),
    ],
)
def test_a_wrong_direction_is_found(tmp_path: Path, file: str, text: str, expected: str) -> None:
    root = package(tmp_path, {"driver.py": "", "record/folder.py": "", file: text})
    (message,) = violations(imports(root))
    assert expected in message


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("passes/x.py", "import cutlass.cute"),
        ("ir/x.py", "def f():\n    from cutlass import cute"),
        ("passes/x.py", "import cutlass._mlir.ir"),
        ("operations/x.py", "import cutlass"),
    ],
)
def test_the_dsl_in_the_wrong_place_is_found(tmp_path: Path, file: str, text: str) -> None:
    (message,) = dsl_violations(imports(package(tmp_path, {file: text})))
    assert message.startswith(f"cutecc/{file}:")


def test_an_early_import_of_code_written_in_the_dsl_is_found(tmp_path: Path) -> None:
    files = {
        "operations/kernels/tile.py": "import cutlass",
        "operations/kernels/gemm.py": "from cutecc.operations.kernels import tile\nfrom cutlass import cute",
        "operations/early.py": "from cutecc.operations.kernels import gemm",
        "operations/late.py": "def f():\n    from cutecc.operations.kernels import gemm",
    }
    found = imports(package(tmp_path, files))
    assert dsl_violations(found) == []
    (message,) = early_violations(found)
    assert message.startswith("cutecc/operations/early.py:1:")


CIRCLE = {
    "layout/tree.py": "from cutecc.layout import leaf",
    "layout/leaf.py": "import os\n\ndef f():\n    from cutecc.layout.branch import grow",
    "layout/branch.py": "import cutecc.layout.tree",
    "layout/root.py": "import cutecc.layout.tree",
}


def test_a_circle_of_late_imports_is_found(tmp_path: Path) -> None:
    (circle,) = circles(imports(package(tmp_path, CIRCLE)))
    assert list(map(str, circle)) == [
        "cutecc/layout/branch.py:1: cutecc.layout.branch imports cutecc.layout.tree",
        "cutecc/layout/tree.py:1: cutecc.layout.tree imports cutecc.layout.leaf",
        "cutecc/layout/leaf.py:4: cutecc.layout.leaf imports cutecc.layout.branch",
    ]


def test_the_shortest_circle_of_a_knot_is_shown(tmp_path: Path) -> None:
    short = {"layout/tree.py": "from cutecc.layout import leaf\nfrom cutecc.layout import branch"}
    (circle,) = circles(imports(package(tmp_path, CIRCLE | short)))
    assert [each.importer for each in circle] == ["cutecc.layout.branch", "cutecc.layout.tree"]


def test_each_knot_has_its_circle(tmp_path: Path) -> None:
    others = {"ir/one.py": "import cutecc.ir.two", "ir/two.py": "import cutecc.ir.one"}
    found = circles(imports(package(tmp_path, CIRCLE | others)))
    assert [each[0].importer for each in found] == ["cutecc.ir.one", "cutecc.layout.branch"]


def test_imports_for_typing_make_no_circle(tmp_path: Path) -> None:
    typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cutecc.layout.tree"
    assert circles(imports(package(tmp_path, CIRCLE | {"layout/branch.py": typing}))) == []


def test_right_directions_are_not_complained_about(tmp_path: Path) -> None:
    files = {
        "passes/x.py": "import os\nfrom cutecc.ir.modules import f\nimport cutecc.errors\nimport cutecc.passes.y",
        "cli/x.py": "import cutecc.driver",
        "frontend/dsl.py": "def f():\n    import cutlass",
        "driver.py": "import cutecc.compilation.planning",
    }
    root = package(tmp_path, files)
    assert violations(imports(root)) == dsl_violations(imports(root)) == early_violations(imports(root)) == []


def test_the_source_is_where_it_should_be() -> None:
    assert len(modules()) > 50
    assert (PACKAGE / "driver.py").is_file()
