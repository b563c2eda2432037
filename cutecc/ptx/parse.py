"""PTX text → `Module`."""

from __future__ import annotations

import re
from dataclasses import replace

from cutecc.ptx.body import Body
from cutecc.ptx.declarations import read_kind, read_variable, read_variables
from cutecc.ptx.locations import FILE, InlineAssembly, LineTable, PtxText
from cutecc.ptx.scanner import ATTRIBUTE, BRACE, COMMA, END, IDENTIFIER, Scanner
from cutecc.ptx.syntax import Function, Module, Variable

_LINKAGE = re.compile(r"\.(extern|visible|weak|common)\b")
_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+(\w+)(?:\s*,\s*\w+)*")
_ADDRESS_SIZE = re.compile(r"\.address_size\s+(\d+)")
_SECTION = re.compile(r"\.section\s+[^\s{]+\s*\{[^{}]*\}")
_SKIPPED = re.compile(r'\.pragma\b\s*"[^;]*;|\.alias\b[^;]*;|;')
_FUNCTION = re.compile(r"\.(entry|func)\b")
_VARIABLE = re.compile(r"(?=\.(?:global|const|shared|local|param|reg)\b)")
_OPEN = re.compile(r"\(")
_CLOSE = re.compile(r"\)")
_PERFORMANCE = re.compile(r"\.([a-z]\w*)\b((?:\s*\d+(?:\s*,\s*\d+)*)?)")
_PRAGMA = re.compile(r'\.pragma\b\s*"[^;]*;')
_THREE_SIZES = {"reqntid", "maxntid", "reqnctapercluster"}
_ADDRESS_BITS = 64


def parse_module(ptx: str | PtxText, *, most_registers: int = 1 << 20) -> Module:
    """What PTX text says. `ParseError`, with its line, for text that is no PTX, or PTX that no compiler emits.

    Raises `LimitError` for a function with more registers than `most_registers`.
    """
    return _Parser(ptx if isinstance(ptx, PtxText) else PtxText(ptx), most_registers).module()


class _Parser:
    def __init__(self, ptx: PtxText, most_registers: int) -> None:
        self._most_registers = most_registers
        text = ptx.text
        self._scanner = Scanner(text)
        self._places = {each.line: each.location for each in ptx.places}
        self._lines = LineTable()
        self._assembly = InlineAssembly(text)
        self._variables: dict[str, Variable] = {}
        self._functions: dict[str, Function] = {}
        self._bodies: dict[str, Body] = {}
        self._version: tuple[int, int] | None = None
        self._target: str | None = None

    def module(self) -> Module:
        scanner = self._scanner
        scanner.skip_blanks()
        while scanner.position < len(scanner.text):
            self._statement()
            scanner.skip_blanks()
        if self._version is None or self._target is None:
            raise scanner.error("no '.version' and '.target' at the start")
        # Files, which lines need, may be named at the end.
        for name, body in self._bodies.items():
            self._functions[name] = replace(
                self._functions[name], instructions=tuple(body.parse(self._lines, self._places))
            )
        return Module(self._version, self._target, self._variables, self._functions)

    def _statement(self) -> None:
        scanner = self._scanner
        if found := scanner.take(FILE):
            self._lines.add_file(found)
        elif found := scanner.take(_VERSION):
            self._version = int(found[1]), int(found[2])
        elif found := scanner.take(_TARGET):
            self._target = found[1]
        elif found := scanner.take(_ADDRESS_SIZE):
            if int(found[1]) != _ADDRESS_BITS:
                raise scanner.error(f"addresses of {found[1]} bits are not supported", found.start())
        elif not scanner.take(_SECTION) and not scanner.take(_SKIPPED):
            self._declaration()

    def _declaration(self) -> None:
        scanner = self._scanner
        linkage: set[str] = set()
        while found := scanner.take(_LINKAGE):
            linkage.add(found[1])
        if found := scanner.take(_FUNCTION):
            self._function(is_entry=found[1] == "entry")
        elif scanner.take(_VARIABLE) is not None:
            for variable in read_variables(scanner, is_extern="extern" in linkage):
                self._variables[variable.name] = variable
            scanner.expect(END, "';'")
        else:
            raise scanner.error("expected a directive")

    def _function(self, *, is_entry: bool) -> None:
        scanner = self._scanner
        scanner.take(ATTRIBUTE)
        results = () if is_entry else self._parameters()
        name = scanner.expect(IDENTIFIER, "the name of a function")[0]
        parameters = self._parameters()
        directives = self._directives()
        function = Function(name, is_entry, parameters, results, {}, (), (), {}, {}, directives, is_declaration=True)
        if scanner.take(BRACE):
            taken = {*self._variables, *self._functions}
            body = Body(scanner, self._lines, self._assembly, (*parameters, *results), taken, self._most_registers)
            self._bodies[name] = body
            function = replace(
                function,
                registers=body.registers,
                variables=tuple(body.variables),
                labels=body.labels,
                branch_targets=body.branch_targets,
                is_declaration=False,
            )
        else:
            scanner.expect(END, "a body, or ';'")
            if name in self._functions:
                return
        self._functions[name] = function

    def _parameters(self) -> tuple[Variable, ...]:
        scanner = self._scanner
        found: list[Variable] = []
        if not scanner.take(_OPEN) or scanner.take(_CLOSE):
            return ()
        while True:
            found.append(read_variable(scanner, read_kind(scanner)))
            if not scanner.take(COMMA):
                break
        scanner.expect(_CLOSE, "',' or ')'")
        return tuple(found)

    def _directives(self) -> dict[str, tuple[int, ...]]:
        """What stands between the parameters and the body."""
        scanner = self._scanner
        directives: dict[str, tuple[int, ...]] = {}
        while True:
            if scanner.take(_PRAGMA):
                continue
            found = scanner.take(_PERFORMANCE)
            if found is None:
                return directives
            numbers = tuple(int(each) for each in found[2].split(",") if each.strip())
            if found[1] in _THREE_SIZES and 0 in numbers:
                raise scanner.error(f"'.{found[1]}' of 0", found.start())
            directives[found[1]] = (*numbers, 1, 1)[:3] if found[1] in _THREE_SIZES else numbers
