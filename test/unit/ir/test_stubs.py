"""The type stubs of the bindings name what is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutecc.ir import mlir

ROOT = Path(__file__).parents[3]
STUBS = sorted(path for path in (ROOT / "cutecc" / "ir" / "mlir").glob("*.pyi") if path.stem != "__init__")

# What the stubs call by names of their own.
OURS = {
    "ir": {
        "T": None,
        "Attributes": "OpAttributeMap",
        "Sequence_": None,
    }
}
# Attributes that values and types of some kinds only have, where the stub speaks for all of them.
OF_SOME = {("ir", "Type", "width"), ("ir", "Attribute", "value"), ("ir", "Type", "isinstance")}
OF_SOME |= {("ir", "Attribute", name) for name in ("__iter__", "__len__", "__getitem__")}
OF_SOME |= {("ir", "Value", "isinstance")}


def members(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_every_name_in_a_stub_exists(stub: Path) -> None:
    module = getattr(mlir, stub.stem)
    ours = OURS.get(stub.stem, {})
    missing: list[str] = []
    for node in ast.parse(stub.read_text()).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        name = ours.get(node.name, node.name)
        if name is None:
            continue
        if not hasattr(module, name):
            missing.append(name)
        elif isinstance(node, ast.ClassDef):
            real = getattr(module, name)
            missing += [
                f"{name}.{member}"
                for member in members(node.body)
                if (stub.stem, name, member) not in OF_SOME and not has(real, member)
            ]
    assert not missing


def has(real: type, member: str) -> bool:
    try:
        return hasattr(real, member)
    except (ValueError, RuntimeError):
        # `Context.current` and the like exist, and say that there is none now.
        return True


def test_the_dialects_stubs_are_what_the_tool_writes() -> None:
    tool = ROOT / "tools" / "update_stubs.py"
    assert subprocess.run([sys.executable, str(tool), "--check"], check=False).returncode == 0


def test_dialects_load_by_name_and_leave_the_dsl_alone() -> None:
    program = (
        "from cutecc.ir.mlir import arith, cute, nvgpu, scf\n"
        "from cutecc.ir.bindings import dsl_is_imported\n"
        "assert not dsl_is_imported()\n"
        "try:\n    from cutecc.ir.mlir import novelty\n"
        "except ImportError as failure:\n    print(failure)\n"
        "assert not dsl_is_imported()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("cannot import name 'novelty'"), done.stderr


@pytest.mark.parametrize("dialect", ["arith", "cf", "cute", "func", "gpu", "math", "scf", "vector"])
def test_views_have_their_accessors_in_the_stub(dialect: str) -> None:
    module = getattr(mlir, dialect)
    written = {
        node.name: set(members(node.body))
        for node in ast.parse((ROOT / "cutecc" / "ir" / "mlir" / f"{dialect}.pyi").read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    of_all = set(dir(mlir.ir.OpView))
    missing = [
        f"{name}.{member}"
        for name, stubbed in written.items()
        if issubclass(real := getattr(module, name), mlir.ir.OpView)
        for member in dir(real)
        if not member.startswith("_")
        and member not in of_all | stubbed
        and isinstance(getattr(real, member, None), property)
    ]
    assert not missing
