"""What a pass must leave alone that runs on some operations of a module."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.ir.editing import address_of
from cutecc.ir.modules import body_of
from cutecc.passes.diagnostics import error

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

WIDER = "have it run on what holds all that it changes, such as gpu.module or the module"
"""What to do instead."""


@dataclass(frozen=True)
class _Seen:
    """An operation as it was."""

    name: str
    location: ir.Location
    content: object
    """`None` where it may change."""


class Surroundings:
    """The operations around those that a pass runs on, as they were before.

    Of those that it runs on themselves, only whether they are still there is known: that a pass has changed one while
    it ran on another is not seen.
    """

    def __init__(self, module: ir.Module, operations: Sequence[ir.Operation]) -> None:
        self._module = module.operation
        self._inside = {address_of(operation) for operation in operations}
        self._holders = {address_of(holder) for operation in operations for holder in _holders(operation)}
        self._before = self._seen()

    def check(self, pass_name: str) -> None:
        """Raises `PassError` at the first operation that was erased meanwhile, else added or changed."""
        after = self._seen()
        for address in (*(each for each in self._before if each not in after), *after):
            old, new = self._before.get(address), after.get(address)
            if old is None or new is None or (old.name, old.content) != (new.name, new.content):
                seen = new or old
                assert seen is not None
                if address in self._inside:
                    message = f"pass {pass_name} erases {seen.name}, and may not erase the operations that it runs on"
                else:
                    done = "adds" if old is None else "erases" if new is None else "changes"
                    message = f"pass {pass_name} {done} {seen.name} outside of the operations that it runs on"
                raise error(seen.location, message, hints=[WIDER])

    def _seen(self) -> dict[int, _Seen]:
        return dict(self._look(self._module))

    def _look(self, operation: ir.Operation) -> Iterator[tuple[int, _Seen]]:
        address = address_of(operation)
        if address in self._inside:
            content = None
        elif address in self._holders:
            content = dict(operation.attributes.items())
        else:
            content = _content(operation)
        yield address, _Seen(operation.name, operation.location, content)
        if address in self._holders and address not in self._inside:
            for inner in body_of(operation):
                yield from self._look(inner)


def _holders(operation: ir.Operation) -> Iterator[ir.Operation]:
    holder = operation.parent
    while holder is not None:
        yield holder.operation
        holder = holder.parent


def _content(operation: ir.Operation) -> bytes:
    buffer = io.BytesIO()
    operation.write_bytecode(buffer)
    return buffer.getvalue()
