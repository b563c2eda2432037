"""Writing down the statements that remain of a partially evaluated program."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final, cast

from cutecc.record.host_program import ValueType
from cutecc.runtime.launch import TensorMap
from cutecc.runtime.program.evaluation import encode, fail, fail_status
from cutecc.runtime.program.number_expressions import FORMATS, NAMESPACE, SIZES
from cutecc.runtime.program.residual import Compute, Effect, Statement, Symbol, SymbolType, Value

MAX_STATEMENTS: Final = 10_000
"""Residual statements."""


class Unplannable(Exception):
    """What is more than straight-line code with branches depends on a varying leaf, or the program is too long."""


class StatementWriter:
    """Collects statements, and the objects that they name."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.scope: dict[str, object] = {
            **NAMESPACE,
            **{each.__name__: each for each in (fail, fail_status, encode)},
            "TensorMap": TensorMap,
            "from_bytes": int.from_bytes,
        }
        self.views: dict[tuple[int, str], str] = {}
        """Views of buffers that the statements write through: by launch and code of `memoryview.cast`."""
        self._symbols = 0
        self._written = 0

    def symbol(self, type_: SymbolType, size: int | None = None) -> Symbol:
        """A new symbol, of `size` bytes where the type does not say."""
        self._symbols += 1
        return Symbol(f"x{self._symbols}", type_, SIZES[cast("ValueType", type_)] if size is None else size)

    def add(self, statement: Statement) -> None:
        self._written += 1
        if self._written > MAX_STATEMENTS:
            raise Unplannable
        self.statements.append(statement)

    def compute(self, text: str, type_: ValueType, *uses: Symbol) -> Symbol:
        symbol = self.symbol(type_)
        self.add(Compute(symbol, text, uses))
        return symbol

    def effect(self, text: str, *uses: Value) -> None:
        self.add(Effect(text, [use for use in uses if isinstance(use, Symbol)]))

    def name(self, value: object) -> str:
        """A name for an object."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def text(self, value: Value) -> str:
        if isinstance(value, Symbol):
            return value.name
        return str(value) if isinstance(value, int) else self.name(value)

    def tuple(self, values: Sequence[Value]) -> str:
        return f"({''.join(f'{self.text(value)}, ' for value in values)})"

    def write_parameters(self, launch: int, varying: Mapping[int, Symbol]) -> None:
        """Write the symbols, by offset; neighbouring parts of a descriptor at once."""
        copied = 0
        for offset in sorted(varying):
            symbol = varying[offset]
            if offset < copied:
                continue
            if symbol.source is not None:
                map_, first = symbol.source
                end = offset + symbol.size
                while (following := varying.get(end)) and following.source == (map_, first + end - offset):
                    end += following.size
                text = f"{self._view(launch, 'B')}[{offset}:{end}] = {map_.name}[{first}:{first + end - offset}]"
                self.effect(text, map_)
                copied = end
            else:
                self._write(launch, offset, symbol)

    def _write(self, launch: int, offset: int, symbol: Symbol) -> None:
        type_ = cast("ValueType", symbol.type)
        code = {"e": "H"}.get(FORMATS[type_], FORMATS[type_])
        value = symbol.bits if code == "H" else symbol.name
        if offset % symbol.size:
            packed = f"pack_into_{code}"
            self.scope[packed] = struct.Struct(f"<{code}").pack_into
            self.effect(f"{packed}({self._view(launch, 'B')}, {offset}, {value})", symbol)
        else:
            self.effect(f"{self._view(launch, code)}[{offset // symbol.size}] = {value}", symbol)

    def _view(self, launch: int, code: str) -> str:
        return self.views.setdefault((launch, code), f"block{launch}_{code}")
