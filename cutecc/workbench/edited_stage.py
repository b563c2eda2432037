"""A stage of a record as its dump is on disk now: what was edited in it, and where its operations come from.

Parsing can abort the process, so `read` is for one of its own, and only there this loads the bindings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.errors import ParseError
from cutecc.report.comparing import compare, count
from cutecc.support.locations import Place

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


@dataclass(frozen=True)
class RecordedStage:
    """A module as the record has it."""

    text: str
    places: Sequence[Place | None]
    """For each line of the text, where the operation that begins there comes from."""


@dataclass(frozen=True)
class EditedStage:
    """A module as it is on disk."""

    bytecode: bytes
    """With the place of each operation: what the text says, else what the record says of the same line, else the line
    of the text."""
    removed: int
    """Lines, as MLIR prints the module, that the record alone has."""
    added: int
    has_own_lines: bool
    """Whether an operation comes from a line of the text that the record does not have."""
    host_edited: bool
    """Whether something outside of the device code is another."""
    arguments_edited: bool
    """Whether a function outside of the device code takes or returns something else."""


def read(data: bytes, file: str, recorded: RecordedStage) -> EditedStage:
    """What the text `data` of the dump `file` is beside the stage that the record has.

    Raises `ParseError`, with the line and column in the dump.
    """
    from cutecc.ir.casters import plain_values
    from cutecc.ir.modules import BYTECODE_MAGIC, fresh_context, parse, to_bytecode, to_text
    from cutecc.ir.relocation import restore_locations

    with fresh_context(), plain_values():
        module = parse(data, file)
        text = to_text(module)
        original = None if text == recorded.text else _parsed(recorded.text)
        before = recorded.text if original is None else to_text(original)
        removed, added = (0, 0) if text == before else count(compare(_lines(before), _lines(text)))
        edited = bool(removed or added)
        ours, theirs = _Host.of(module), _Host.of(original) if original else None
        places = {} if data.startswith(BYTECODE_MAGIC) else _places_by_line(data.decode(), recorded)
        own_lines = restore_locations(module, places, file)
        return EditedStage(
            to_bytecode(module),
            removed,
            added,
            own_lines,
            host_edited=edited and (theirs is None or ours.text != theirs.text),
            arguments_edited=edited and (theirs is None or ours.functions != theirs.functions),
        )


def _parsed(text: str) -> ir.Module | None:
    """The record's module; `None` for one that MLIR does not read back, which passes need not leave."""
    from cutecc.ir.modules import parse

    try:
        return parse(text.encode())
    except ParseError:
        return None


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]


def _places_by_line(text: str, recorded: RecordedStage) -> dict[int, Place | None]:
    """By line of the dump, from 1, the place of what begins there, for the lines that are the record's too."""
    found: dict[int, Place | None] = {}
    for edit in compare(_lines(recorded.text), text.replace("\r\n", "\n").split("\n")):
        if edit.tag == "equal":
            for before, after in zip(
                range(edit.before, edit.before_end), range(edit.after, edit.after_end), strict=True
            ):
                found[after + 1] = recorded.places[before]
    return found


@dataclass(frozen=True)
class _Host:
    """What of a module a host program is made of: everything outside of the device code.

    That kernels take what they are launched with, MLIR sees to.
    """

    text: tuple[str, ...]
    functions: dict[str, str]
    """By symbol, what they take and return."""

    @classmethod
    def of(cls, module: ir.Module) -> _Host:
        from cutecc.ir.modules import body_of

        operations = [each for each in body_of(module.operation) if each.name != "gpu.module"]
        functions = {
            each.attributes["sym_name"].value: str(each.attributes["function_type"])
            for each in operations
            if "sym_name" in each.attributes and "function_type" in each.attributes
        }
        generic = (each.get_asm(print_generic_op_form=True, use_local_scope=True) for each in operations)
        return cls(tuple(generic), functions)
