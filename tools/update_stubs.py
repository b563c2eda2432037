"""Write the type stubs of the dialects, cutecc/ir/mlir/<dialect>.pyi, from the installed bindings.

python tools/update_stubs.py            # write them
python tools/update_stubs.py --check    # only say, by the exit status, whether they are up to date
"""

from __future__ import annotations

import inspect
import keyword
import re
import sys
from pathlib import Path
from typing import Any

from cutecc.ir.bindings import load_submodule

FOLDER = Path(__file__).parents[1] / "cutecc" / "ir" / "mlir"
DIALECTS = ("arith", "cf", "cute", "func", "gpu", "llvm", "math", "nvvm", "scf", "vector")
"""The others are there too, without types."""
_BUILT_MORE_THAN_READ = ("llvm", "nvvm")
"""Dialects whose views have no accessors in the stub, for size."""
_KNOWN = {
    **dict.fromkeys(("body", "then_block", "else_block", "entry_block"), "Block"),
    "region": "Region",
    "induction_variable": "Value",
    "inner_iter_args": "Sequence[Value]",
}
_HEAD = '''"""The `{name}` dialect: builders, and views of its operations. Written by tools/update_stubs.py."""

from collections.abc import Sequence
from typing import Any

from cutecc.ir.mlir.ir import {imports}

# fmt: off
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false
# ruff: noqa: E501
'''
_IMPORTS = ("Attribute", "Block", "InsertionPoint", "Location", "OpView", "Region", "Type", "Value")


def stub(name: str) -> str:
    """The stub of one dialect."""
    module: Any = load_submodule(f"dialects.{name}")
    view: Any = load_submodule("ir").OpView
    type_: Any = load_submodule("ir").Type
    attribute: Any = load_submodule("ir").Attribute
    classes: list[str] = []
    functions: list[str] = []
    for key, value in sorted(vars(module).items()):
        if key.startswith("_") or keyword.iskeyword(key):
            continue
        if inspect.isclass(value) and issubclass(value, (view, type_, attribute)):
            if f"dialects._{name}" in value.__module__ or value.__module__.endswith((f".{name}", f"._{name}")):
                classes.append(_class(key, value, view, type_))
        elif inspect.isfunction(value) and re.fullmatch(rf".*dialects\.(_{name}_ops_gen|{name})", value.__module__):
            functions.append(_function(key, value))
    body = "\n".join([*classes, "", *functions])
    imports = [word for word in _IMPORTS if re.search(rf"\b{word}\b", body)]
    text = _HEAD.format(name=name, imports=", ".join(imports))
    for line, word in (("from collections.abc import Sequence\n", "Sequence"), ("from typing import Any\n", "Any")):
        if not re.search(rf"\b{word}\b", body):
            text = text.replace(line, "")
    return f"{text}\n{body.strip()}\n"


def _class(name: str, value: Any, view: Any, type_: Any) -> str:
    if not issubclass(value, view):
        return f"class {name}({'Type' if issubclass(value, type_) else 'Attribute'}): ..."
    lines = [f"class {name}(OpView):"]
    for key, member in sorted(accessors(value, view).items()):
        lines += [
            "    @property",
            f"    def {key}(self) -> {_type(_annotation(member.fget), _KNOWN.get(key, 'Any'))}: ...",
        ]
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]} ..."


def accessors(value: Any, view: Any) -> dict[str, property]:
    """The public properties of a view of an operation that those of all operations, `view`, lack.

    The bindings extend some of the generated classes by deriving from them.
    """
    found: dict[str, property] = {}
    for each in reversed(value.__mro__[: value.__mro__.index(view)]):
        generated = f".{each.__module__}".endswith(tuple(f"._{name}_ops_gen" for name in _BUILT_MORE_THAN_READ))
        for key, member in vars(each).items():
            if isinstance(member, property) and not generated and not key.startswith("_"):
                found[key] = member
    return {key: member for key, member in found.items() if key not in ("name", "attributes")}


def _annotation(function: Any) -> str:
    return str(getattr(function, "__annotations__", {}).get("return", ""))


def _function(name: str, value: Any) -> str:
    parameters: list[str] = []
    starred = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
            parameters.append(f"*{parameter.name}: Any")
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            parameters.append(f"**{parameter.name}: Any")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            parameters.append("*")
        kind = {"loc": "Location | None", "ip": "InsertionPoint | None"}.get(parameter.name)
        annotation = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
        default = "" if parameter.default is parameter.empty else " = ..."
        parameters.append(f"{parameter.name}: {kind or _type(annotation, 'Any')}{default}")
    returns = inspect.signature(value).return_annotation
    result = _type("" if returns is inspect.Signature.empty else str(returns), "Any")
    return f"def {name}({', '.join(parameters)}) -> {result}: ..."


def _type(annotation: str, otherwise: str) -> str:
    """An annotation of the bindings, as far as it says something."""
    optional = " | None" if "Optional" in annotation or "NoneType" in annotation else ""
    sequence = re.search(r"Sequence\[[\w.]*\.(Value|Type)\b", annotation)
    if "Union" in annotation and not sequence:
        return otherwise
    if sequence:
        return f"Sequence[{sequence[1]}]{optional}" if "Operation" not in annotation else otherwise
    if "ResultList" in annotation or "OperandList" in annotation:
        return "Sequence[Value]"
    if found := re.search(r"\bir\.(OpResult|Value|Type|Attribute)\b", annotation):
        return found[1].replace("OpResult", "Value") + optional
    if re.fullmatch(r"(typing\.)?Optional\[bool\]|<class 'bool'>", annotation):
        return f"bool{optional}"
    return otherwise


def main() -> int:
    stale = False
    for name in DIALECTS:
        file, text = FOLDER / f"{name}.pyi", stub(name)
        if not file.exists() or file.read_text() != text:
            stale = True
            if "--check" not in sys.argv[1:]:
                file.write_text(text)
    return int(stale and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
