"""The body of a function: its scopes, its labels, and its instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cutecc.errors import LimitError, SourceLocation
from cutecc.ptx.declarations import read_registers, read_variables
from cutecc.ptx.locations import FILE, LOC, InlineAssembly, LineTable, Place
from cutecc.ptx.operands import OperandError, parse_arguments, parse_operand, split_operands
from cutecc.ptx.scanner import END, NAME, Scanner
from cutecc.ptx.syntax import Guard, Instruction, Operand, Register, Symbol, Variable, Vector

_STATEMENT = re.compile(
    rf"(?P<label>{NAME})\s*:(?!:)|(?P<instruction>[@A-Za-z_][^;]*);|(?P<directive>\.\w+)"
    r"|(?P<open>\{)|(?P<close>\})|(?P<empty>;)"
)
_INSTRUCTION = re.compile(
    rf"(?:@\s*(?P<not>!?)\s*(?P<guard>{NAME})\s*)?(?P<name>[A-Za-z_]\w*(?:(?:\.|::)\w+)*)"
    r"(?:\s+|(?=[\[{(])|$)(?P<operands>.*)",
    re.DOTALL,
)
_TO_END = re.compile("[^;]*;")
_TARGETS = re.compile(r"\.branchtargets\s+([^;]*);")
_ELEMENTS, _COLOURS = "xyzw", "rgba"
"""What elements of a vector register are called, and their other names."""
_VARIABLES = (".param", ".local", ".shared", ".global", ".const")
_SKIPPED = (".pragma", ".calltargets", ".callprototype")


class _Scope:
    """Names declared between `{` and `}`."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.names: dict[str, Register | Symbol | Vector] = {}
        self.operands: dict[str, Operand] = {}
        """Operands by their text, as they mean the same throughout the scope."""

    def resolve(self, name: str) -> Register | Symbol | Vector | None:
        scope: _Scope | None = self
        while scope is not None:
            if found := scope.names.get(name):
                return found
            scope = scope.outer
        return None

    def operand(self, text: str) -> Operand:
        found = self.operands.get(text)
        if found is None:
            found = self.operands[text] = parse_operand(text, self.resolve)
        return found


class Body:
    """Reads a body up to its `}`. The instructions are parsed later: they may name labels further down."""

    def __init__(
        self,
        scanner: Scanner,
        lines: LineTable,
        assembly: InlineAssembly,
        parameters: Iterable[Variable],
        taken: set[str],
        most_registers: int,
    ) -> None:
        """`taken` are names of the module, which names of inner scopes must not become.

        Raises `LimitError` for more registers than `most_registers`.
        """
        self._most_registers = most_registers
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.labels: dict[str, int] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self._scanner = scanner
        self._lines = lines
        self._assembly = assembly
        self._taken = taken
        self._numbers: dict[str, int] = {}
        self._statements: list[tuple[_Scope, re.Match[str], Place | None]] = []
        self._place: Place | None = None
        self._scope = _Scope(None)
        for parameter in parameters:
            self._taken.add(parameter.name)
            if parameter.space == "reg":
                self.registers[parameter.name] = parameter.type
                self._scope.names[parameter.name] = Register(parameter.name)
            else:
                self._scope.names[parameter.name] = Symbol(parameter.name)
        self._read()

    def parse(self, lines: LineTable, places: Mapping[int, SourceLocation]) -> Iterator[Instruction]:
        """The instructions, with the places in the source that `lines` knows by now.

        `places` are those of instructions that stand under the `.loc` of another, by line.
        """
        modifiers: dict[str, tuple[str, tuple[str, ...]]] = {}
        location: SourceLocation | None = None
        for scope, statement, place in self._statements:
            text = statement["instruction"]
            position = statement.start("instruction")
            found = _INSTRUCTION.fullmatch(text)
            if found is None:
                raise self._scanner.error("expected an instruction", position)
            name = found["name"]
            if name not in modifiers:
                opcode, *rest = name.split(".")
                modifiers[name] = opcode, tuple(rest)
            opcode, rest = modifiers[name]
            try:
                guard = _guard(scope, found)
                pieces = split_operands(found["operands"].strip())
                if opcode == "call":
                    operands = tuple(_call_operand(scope, piece) for piece in pieces)
                else:
                    operands = tuple([scope.operand(piece) for piece in pieces])
            except OperandError as error:
                raise self._scanner.error(f"{name}: {error}", position) from None
            written = " ".join(text[found.start("name") :].split())
            line = self._scanner.line(position)
            location = lines.location(place, location)
            yield Instruction(opcode, rest, operands, guard, line, f"{written};", places.get(line, location))

    # Reading statements.

    def _read(self) -> None:
        scanner = self._scanner
        label = ""
        targets: list[tuple[_Scope, str, re.Match[str]]] = []
        while True:
            found = scanner.take(_STATEMENT)
            if found is None:
                raise scanner.error("expected a statement, or '}' at the end of the function")
            match found.lastgroup:
                case "instruction":
                    self._statements.append((self._scope, found, self._place))
                case "label":
                    label = self._declare_label(found)
                case "directive" if found[0] == ".loc":
                    scanner.position = found.start()
                    match = scanner.expect(LOC, "a place such as '.loc 1 20 3'")
                    if not self._assembly.holds(found.start()):
                        self._place = self._lines.add_loc(match)
                case "directive" if found[0] == ".branchtargets":
                    scanner.position = found.start()
                    self.labels.pop(label, None)
                    targets.append((self._scope, label, scanner.expect(_TARGETS, "labels and ';'")))
                case "directive":
                    scanner.position = found.start()
                    self._directive(found[0], label)
                case "open":
                    self._scope = _Scope(self._scope)
                case "close":
                    if self._scope.outer is None:
                        break
                    self._scope = self._scope.outer
                case _:
                    pass
        for scope, name, found in targets:
            self.branch_targets[name] = tuple(self._target(scope, each.strip(), found) for each in found[1].split(","))

    def _directive(self, directive: str, label: str) -> None:
        scanner = self._scanner
        if directive == ".reg":
            for name, type_, elements in read_registers(scanner):
                if elements > 1:
                    self._declare_vector(name, type_, elements)
                else:
                    self.registers[self._declare(name, Register)] = type_
                if len(self.registers) > self._most_registers:
                    raise LimitError(
                        f"the kernel's PTX declares more than the limit of {self._most_registers:,} registers",
                        scanner.error("").location,
                    )
            scanner.expect(END, "';'")
        elif directive in _VARIABLES:
            for variable in read_variables(scanner, is_extern=False):
                unique = self._declare(variable.name, Symbol)
                self.variables.append(replace(variable, name=unique))
            scanner.expect(END, "';'")
        elif directive == ".file":
            self._lines.add_file(scanner.expect(FILE, "a file such as '.file 1 \"kernel.py\"'"))
        elif directive in _SKIPPED:
            if directive.startswith(".call"):
                self.labels.pop(label, None)
            scanner.expect(_TO_END, "';'")
        else:
            raise scanner.error(f"unknown directive '{directive}'")

    def _declare_label(self, found: re.Match[str]) -> str:
        unique = self._declare(found["label"], Symbol)
        self.labels[unique] = len(self._statements)
        return unique

    def _declare(self, name: str, kind: type[Register] | type[Symbol]) -> str:
        """A name that is unique in the function, and now means this in the current scope."""
        if name in self._scope.names:
            raise self._scanner.error(f"'{name}' is declared twice")
        unique = name
        while unique in self._taken:
            self._numbers[name] = self._numbers.get(name, 1) + 1
            # No name that a text can spell.
            unique = f"{name}#{self._numbers[name]}"
        self._taken.add(unique)
        self._scope.names[name] = kind(unique)
        return unique

    def _declare_vector(self, name: str, type_: str, elements: int) -> None:
        """A vector register is one register an element; its own name means all of them, in braces."""
        found = [Register(self._declare(f"{name}.{letter}", Register)) for letter in _ELEMENTS[:elements]]
        if name in self._scope.names:
            raise self._scanner.error(f"'{name}' is declared twice")
        self._scope.names[name] = Vector(tuple(found))
        for register, letter in zip(found, _COLOURS, strict=False):
            self._scope.names[f"{name}.{letter}"] = register
        self.registers.update((register.name, type_) for register in found)

    def _target(self, scope: _Scope, name: str, found: re.Match[str]) -> str:
        symbol = scope.resolve(name)
        if not isinstance(symbol, Symbol) or symbol.name not in self.labels:
            raise self._scanner.error(f"'{name}' is no label", found.start())
        return symbol.name


def _guard(scope: _Scope, found: re.Match[str]) -> Guard | None:
    if found["guard"] is None:
        return None
    register = scope.resolve(found["guard"])
    if not isinstance(register, Register):
        raise OperandError(f"'{found['guard']}' is not a declared predicate")
    return Guard(register, found["not"] == "!")


def _call_operand(scope: _Scope, text: str) -> Operand:
    return parse_arguments(text, scope.resolve) if text.startswith("(") else scope.operand(text)
