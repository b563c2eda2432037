"""What operations in MLIR bytecode refer to by number: names, types, attributes and properties.

Format: mlir/docs/BytecodeFormat.md, version 6, and BuiltinDialectBytecode.td for the builtin dialect's own encodings.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.errors import Error

_VERSION = 6
_STRINGS, _DIALECTS, _ATTRIBUTES_AND_TYPES, _OFFSETS, IR, _PROPERTIES = 0, 1, 2, 3, 4, 8

_UNIT, _INTEGER, _DENSE_ARRAY, _DENSE_ELEMENTS = 7, 8, 17, 18
_INTEGER_TYPE, _INDEX_TYPE = 0, 1
_SHAPED_TYPES = (10, 11, 13, 14, 19)  # memref, with memory space; tensor, with encoding; vector

# How many bytes a variable-width integer has, by its first one: one more than the zeros at that byte's low end.
LENGTHS = bytes((byte & -byte).bit_length() if byte else 9 for byte in range(256))


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The variable-width integer at `position`, and the position after it."""
    length = LENGTHS[data[position]]
    end = position + length
    if length == 9:
        return int.from_bytes(data[position + 1 : end], "little"), end
    return int.from_bytes(data[position:end], "little") >> length, end


def section(data: bytes, position: int) -> tuple[int, int, int]:
    """The section that starts at `position`: what it is, and where its contents start and end."""
    kind = data[position]
    size, position = varint(data, position + 1)
    if kind & 0x80:
        alignment, position = varint(data, position)
        position += -position % alignment
    return kind & 0x7F, position, position + size


def _zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


@dataclass(frozen=True)
class Dense:
    """The elements of a dense attribute as unsigned numbers; one where all are equal."""

    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    dialect: str
    start: int
    end: int
    custom: bool


class Tables:
    """The tables of one module's bytecode."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        version, position = varint(data, 4)
        if data[:4] != b"ML\xefR" or version != _VERSION:
            raise Error(f"MLIR bytecode of version {version} where {_VERSION} was expected")
        position = data.index(0, position) + 1
        self.sections: dict[int, tuple[int, int]] = {}
        while position < len(data):
            kind, start, position = section(data, position)
            self.sections[kind] = start, position
        strings = self._strings()
        self.names = self._operation_names(strings)
        self._attributes, self._types = self._entries()
        self._properties = self._property_starts()

    def _strings(self) -> list[str]:
        position, end = self.sections[_STRINGS]
        count, position = varint(self._data, position)
        strings: list[str] = []
        for _ in range(count):  # the last string's size comes first
            size, position = varint(self._data, position)
            strings.append(self._data[end - size : end - 1].decode())
            end -= size
        return strings[::-1]

    def _operation_names(self, strings: list[str]) -> list[str]:
        data = self._data
        position, end = self.sections[_DIALECTS]
        count, position = varint(data, position)
        self._dialects: list[str] = []
        for _ in range(count):
            name, position = varint(data, position)
            self._dialects.append(strings[name >> 1])
            if name & 1:
                _, _, position = section(data, position)
        _, position = varint(data, position)
        names: list[str] = []
        while position < end:
            dialect, position = varint(data, position)
            count, position = varint(data, position)
            for _ in range(count):
                name, position = varint(data, position)
                names.append(f"{self._dialects[dialect]}.{strings[name >> 1]}")
        return names

    def _entries(self) -> tuple[list[_Entry], list[_Entry]]:
        data = self._data
        offset, (position, _) = self.sections[_ATTRIBUTES_AND_TYPES][0], self.sections[_OFFSETS]
        attributes, position = varint(data, position)
        types, position = varint(data, position)
        entries: list[_Entry] = []
        while len(entries) < attributes + types:
            dialect, position = varint(data, position)
            count, position = varint(data, position)
            for _ in range(count):
                size, position = varint(data, position)
                end = offset + (size >> 1)
                entries.append(_Entry(self._dialects[dialect], offset, end, bool(size & 1)))
                offset = end
        return entries[:attributes], entries[attributes:]

    def _property_starts(self) -> list[int]:
        if _PROPERTIES not in self.sections:
            return []
        position, _ = self.sections[_PROPERTIES]
        count, position = varint(self._data, position)
        starts: list[int] = []
        for _ in range(count):
            size, position = varint(self._data, position)
            starts.append(position)
            position += size
        return starts

    def type_text(self, number: int) -> str:
        """The text of a type without an encoding of its own, empty for others."""
        return self._text(self._types[number])

    def integer_width(self, number: int) -> int:
        """The bits of an integer type, of index, or of such elements; 0 for other types."""
        entry = self._types[number]
        if entry.dialect != "builtin" or not entry.custom:
            return 0
        code, position = varint(self._data, entry.start)
        if code == _INTEGER_TYPE:
            return varint(self._data, position)[0] >> 2
        if code == _INDEX_TYPE:
            return 64
        if code not in _SHAPED_TYPES:
            return 0
        if code == _SHAPED_TYPES[3]:
            _, position = varint(self._data, position)
        rank, position = varint(self._data, position)
        for _ in range(rank):
            position += LENGTHS[self._data[position]]
        return self.integer_width(varint(self._data, position)[0])

    def first_property(self, number: int, optional: bool) -> int | str | Dense | None:
        """The attribute that an operation's properties start with: an integer, elements, or its text; a unit is 1.

        `None` where it is absent; `optional` says whether it may be.
        """
        start = self._properties[number]
        attribute, _ = varint(self._data, start)
        if optional:
            if not attribute & 1:
                return None
            attribute >>= 1
        return self._attribute(self._attributes[attribute])

    def _text(self, entry: _Entry) -> str:
        return "" if entry.custom else self._data[entry.start : entry.end - 1].decode()

    def _attribute(self, entry: _Entry) -> int | str | Dense | None:
        if not entry.custom or entry.dialect != "builtin":
            return self._text(entry) or None
        code, position = varint(self._data, entry.start)
        if code == _UNIT:
            return 1
        if code == _INTEGER:
            return self._integer(position)
        if code == _DENSE_ARRAY:
            element, position = varint(self._data, position)
            _, position = varint(self._data, position)
            return self._elements(element, position)
        if code == _DENSE_ELEMENTS:
            return self._elements(*varint(self._data, position))
        return None

    def _integer(self, position: int) -> int:
        element, position = varint(self._data, position)
        width = self.integer_width(element)
        if width <= 8:
            value = self._data[position]
        elif width <= 64:
            value = _zigzag(varint(self._data, position)[0])
        else:
            words, position = varint(self._data, position)
            value = 0
            for word in range(words):
                part, position = varint(self._data, position)
                value |= (_zigzag(part) & (1 << 64) - 1) << 64 * word
        return value & (1 << width) - 1

    def _elements(self, kind: int, position: int) -> Dense | None:
        width = self.integer_width(kind)
        if not width:
            return None
        size, position = varint(self._data, position)
        data = self._data[position : position + size]
        if width == 1:  # packed; where all are equal, all bits are
            return Dense({0x00: (0,), 0xFF: (1,)}.get(data[0], (0, 1)) if len(data) == 1 else (0, 1))
        step = (width + 7) // 8
        return Dense(tuple(int.from_bytes(data[start : start + step], "little") for start in range(0, size, step)))
