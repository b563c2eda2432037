"""Bodies for two or four values in one register."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.emulator.numbers.code import Compute, Value, compute_one


def halves(compute: Compute) -> Compute:
    """Does the same with the low and the high halves of its operands."""
    return _parts(compute, 2)


def quarters(compute: Compute) -> Compute:
    """Does the same with each quarter of its operands."""
    return _parts(compute, 4)


def _parts(compute: Compute, count: int) -> Compute:
    def all_parts(*operands: Value) -> Value:
        parts = zip(*(split(each, count) for each in operands), strict=True)
        return join([compute_one(compute, each) for each in parts])

    return all_parts


def split(value: Value, count: int) -> list[Value]:
    """The parts of a value, lowest first."""
    width = value.width // count
    return [(value >> (index * width) if index else value).resize(f"i{width}") for index in range(count)]


def join(parts: Sequence[Value]) -> Value:
    """One value of its parts, lowest first."""
    width = parts[0].width
    type_ = f"i{width * len(parts)}"
    whole = parts[0].resize(type_)
    for index, part in enumerate(parts[1:], 1):
        whole = whole | (part.resize(type_) << (index * width))
    return whole
