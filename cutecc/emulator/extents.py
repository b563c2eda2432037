"""What lies behind the bare pointers of a call on the CPU, and how far.

An address does not say how much memory is behind it, and what the process has mapped around it is not the kernel's to
write. So somebody has to say: the call, an array of it that the address points into, or the spec.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from cutecc.arguments.specs import PointerSpec
from cutecc.emulator.memory.allocations import Allocation, bits_in_memory, pointer_allocation
from cutecc.errors import ArgumentError
from cutecc.runtime.binding import Bound
from cutecc.runtime.parameters import CallParameter
from cutecc.support.spelling import did_you_mean


def bare_pointers(parameters: Sequence[CallParameter], bound: Bound) -> dict[str, int]:
    """The addresses of a call by flat parameter: of pointers that are neither null nor an array's."""
    return {name: address for name, address in _addresses(parameters, bound).items() if address}


def _addresses(parameters: Sequence[CallParameter], bound: Bound) -> dict[str, int]:
    """Those of null pointers too."""
    pointers = (each for each in parameters if isinstance(each.spec, PointerSpec) and each.name not in bound.arrays)
    return {each.name: int(bound.leaves[each.first_leaf]) for each in pointers}


def pointer_allocations(
    pointers: Mapping[str, int],
    extents: Mapping[str, int],
    arrays: Sequence[Allocation],
    specs: Mapping[str, PointerSpec],
) -> Iterator[Allocation]:
    """The memory behind bare pointers, by flat parameter: as long as `extents` say, else that of the array that an
    address points into, which is among `arrays` already, else what the spec says.

    `specs` are those whose word is taken. Raises `ArgumentError` where nothing says how much it is, and where it is not
    this process's.
    """
    for name, address in pointers.items():
        extent = extents.get(name)
        if extent is None and any(each.base <= address < each.end for each in arrays):
            continue
        if extent is None and name in specs:
            extent = _bytes_of(specs[name])
        if extent is None:
            raise ArgumentError(
                f"argument '{name}' is the address 0x{address:x}, and nothing says how many bytes lie behind it",
                hints=[
                    "pass the array itself, not its address",
                    f"or say it in the call: extent={{'{name}': x.nbytes}}",
                ],
            )
        yield pointer_allocation(address, name, extent)


def read_extents(given: object, parameters: Sequence[CallParameter], bound: Bound) -> dict[str, int]:
    """`extent=` of a call: bytes by flat parameter, or one number for the only bare pointer.

    Raises `ArgumentError` for what is no such thing, and names of no bare pointer.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return _of_only_pointer(given, parameters, bound)
    extents = cast("Mapping[Any, Any]", given)
    known = [each.name for each in parameters if isinstance(each.spec, PointerSpec)]
    for name in extents:
        if name not in known:
            close = did_you_mean(str(name), known)
            raise ArgumentError(
                f"extent= names '{name}', which is no pointer of the kernel",
                hints=[*close, f"its pointers: {', '.join(known) or 'none'}"],
            )
        if name in bound.arrays:
            raise ArgumentError(f"extent= names '{name}', which is given as an array: that says its extent itself")
    return {name: _count(name, value) for name, value in extents.items()}


def _of_only_pointer(given: object, parameters: Sequence[CallParameter], bound: Bound) -> dict[str, int]:
    pointers = bare_pointers(parameters, bound)
    if len(pointers) != 1:
        null = [name for name, address in _addresses(parameters, bound).items() if not address]
        if pointers:
            has = f"this one has {len(pointers)}: {', '.join(pointers)}"
        else:
            has = f"behind a null pointer is no memory: {', '.join(null)}" if null else "this one has none"
        raise ArgumentError(
            f"extent={given!r} is for a call with one bare pointer, and {has}",
            hints=["say it for each: extent={'NAME': BYTES}"] if pointers else ["leave it out"],
        )
    return {name: _count(name, given) for name in pointers}


def _count(name: str, value: object) -> int:
    try:
        count = -1 if isinstance(value, bool) else operator.index(cast(Any, value))
    except TypeError:
        count = -1
    if count < 0:
        raise ArgumentError(f"extent= of '{name}' is {value!r}, which is no number of bytes")
    return count


def _bytes_of(spec: PointerSpec) -> int | None:
    return None if spec.elements is None else -(-spec.elements * bits_in_memory(spec.dtype) // 8)
