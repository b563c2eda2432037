"""The wheel's `ensure-debug-info-scope-on-llvm-func`, upstream MLIR's pass of that name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.version import installed_release
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider

_SUBROUTINE_TYPE = "#llvm.di_subroutine_type<callingConvention = DW_CC_normal>"


@register
@dataclass(frozen=True)
class EnsureDebugInfoScopeOnLlvmFunc(ModulePass):
    """Give every `llvm.func` a subprogram, and locations in other files, or inlined ones, their lexical block.

    Without it the translation to LLVM IR drops locations, and PTX has no `.loc` lines. Where a location ends up is
    upstream's choice; observed: the wheel spells it as `Release.scoped_location` says, and a function whose location
    names no file gets `"-":1:0`.

    In one thing this differs: the wheel leaves the host's C wrapper with a call without a location, which MLIR's
    verifier rejects, so that the module cannot be read back. Here a call of the host's gets its function's location.
    """

    name: ClassVar[str] = "ensure-debug-info-scope-on-llvm-func"
    provider: ClassVar[Provider] = "reimplementation"

    emission_kind: str = "LineTablesOnly"
    """How much the compile unit promises: `None`, `Full`, `LineTablesOnly` or `DebugDirectivesOnly`."""

    def run(self, module: ir.Module) -> None:
        scopes = _Scopes(module, self.emission_kind)
        scopes.visit(module.operation, None, "")
        scopes.apply()


@dataclass
class _Scopes:
    """The text that defines all new locations, and the operations that they go to.

    The attributes hold `distinct` identities, which stay the same only within one parse: so all are parsed at once.
    """

    module: ir.Module
    emission_kind: str
    definitions: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    uses: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    functions: dict[Any, str] = field(default_factory=dict[Any, str])
    """The new location of each function."""
    decided: dict[tuple[str, Any], str | None] = field(default_factory=dict[tuple[str, Any], "str | None"])

    def __post_init__(self) -> None:
        found = _file_location(self.module.operation.location)
        self.unit_file = self._file(found.filename if found else None)
        self.subroutine = self._define("subroutine", _SUBROUTINE_TYPE)
        self.unit = self._define(
            "unit",
            "#llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, "
            f'file = {self.unit_file}, producer = "MLIR", isOptimized = true, emissionKind = {self.emission_kind}>',
        )

    def visit(self, operation: Any, scope: str | None, filename: str) -> None:
        """Walk in pre-order; `scope` and `filename` are those of the function around."""
        for region in operation.regions:
            for block in region.blocks:
                for nested in block.operations:
                    nested = nested.operation
                    if nested.name == "llvm.func":
                        self.visit(nested, *self._function(nested))
                        continue
                    if scope is not None:
                        self._operation(nested, scope, filename)
                        self._host_call(nested)
                    if len(nested.regions):
                        self.visit(nested, scope, filename)

    def apply(self) -> None:
        text = "\n".join((*self.definitions, "module {", *(f"module {{}} loc({name})" for _, name in self.uses), "}"))
        placeholders = ir.Module.parse(text, self.module.context)
        for (operation, _), placeholder in zip(self.uses, placeholders.body.operations, strict=True):
            operation.location = placeholder.operation.location

    def _function(self, function: Any) -> tuple[str, str]:
        found = _file_location(function.location)
        file = self._file(found.filename) if found else self.unit_file
        line = found.start_line if found else 1
        symbol = str(ir.StringAttr(function.attributes["sym_name"]))
        is_declaration = not len(function.regions[0].blocks)
        identity = f"id = distinct[{len(self.definitions)}]<>, compileUnit = {self.unit}, "
        flags = "Optimized" if is_declaration else '"Definition|Optimized"'
        scope = self._define(
            "subprogram",
            f"#llvm.di_subprogram<{'' if is_declaration else identity}scope = {file}, name = {symbol}, "
            f"linkageName = {symbol}, file = {file}, line = {line}, scopeLine = {line}, subprogramFlags = {flags}, "
            f"type = {self.subroutine}>",
        )
        location = str(found) if found else 'loc("-":1:0)'
        self.functions[function] = self._located(location, scope)
        self.uses.append((function, self.functions[function]))
        return scope, found.filename if found else "-"

    def _host_call(self, call: Any) -> None:
        function = call.parent.operation
        is_host = function.name == "llvm.func" and function.parent.operation.name == "builtin.module"
        if call.name == "llvm.call" and is_host and _file_location(call.location) is None:
            self.uses.append((call, self.functions[function]))

    def _operation(self, operation: Any, scope: str, filename: str) -> None:
        location = operation.location
        key = (scope, location.attr)
        if key in self.decided:
            name = self.decided[key]
        else:
            name = self.decided[key] = self._scoped(location, scope, filename)
        if name is not None:
            self.uses.append((operation, name))

    def _scoped(self, location: Any, scope: str, filename: str) -> str | None:
        """The new location's name; `None` where the old one stays."""
        if location.is_a_callsite():
            inner = self._inlined(location.callee, scope)
            caller = self._define("location", str(location.caller))
            return inner and self._define("location", f"loc(callsite({inner} at {caller}))")
        found = _file_location(location)
        if found is None or found.filename == filename:
            return None
        return self._located(str(found), self._lexical_block(scope, found.filename))

    def _inlined(self, callee: Any, scope: str) -> str | None:
        found = _file_location(callee)
        if found is None:
            return None
        block = self._lexical_block(scope, found.filename)
        return self._inlined(callee.callee, block) if callee.is_a_callsite() else self._located(str(found), block)

    def _lexical_block(self, scope: str, filename: str) -> str:
        file = self._file(filename)
        text = f"#llvm.di_lexical_block_file<scope = {scope}, file = {file}, discriminator = 0>"
        return self._define("block", text)

    def _located(self, location: str, scope: str) -> str:
        found = self._define("location", location)
        return self._define("location", installed_release().scoped_location.format(location=found, scope=scope))

    def _file(self, path: str | None) -> str:
        directory, slash, base = ("", "", "<unknown>") if path is None else path.rpartition("/")
        directory = directory or slash
        return self._define("file", f"#llvm.di_file<{_quoted(base)} in {_quoted(directory)}>")

    def _define(self, kind: str, text: str) -> str:
        """An alias for `text`, the same one for the same text."""
        name = self.names.get(text)
        if name is None:
            name = self.names[text] = f"#{kind}_{len(self.names)}"
            self.definitions.append(f"{name} = {text}")
        return name


def _quoted(text: str) -> str:
    return str(ir.StringAttr.get(text))


def _file_location(location: Any) -> Any:
    """The file, line and column that a location stands for: of a call the caller's, of a fusion the first."""
    if location.is_a_file():
        return location
    if location.is_a_name():
        return _file_location(location.child_loc)
    if location.is_a_callsite():
        return _file_location(location.caller)
    if location.is_a_fused():
        return next((found for found in map(_file_location, location.locations) if found is not None), None)
    return None
