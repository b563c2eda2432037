"""Whether what the emulator ran is what a GPU runs: of a record, as far as its maker notes that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject


def code_dict(subject: Subject) -> dict[str, Any]:
    """As JSON has it, for a record; nothing for what was compiled here."""
    return {} if subject.record is None else {"cubin_of_ptx": _is_noted(subject)}


def code_lines(subject: Subject) -> Iterator[str]:
    """A sentence where it is not so."""
    if subject.record is not None and not _is_noted(subject):
        yield f"{subject.record} does not note that its cubin is of this PTX: a GPU may run other code"


def _is_noted(subject: Subject) -> bool:
    from cutecc.record.assembly import is_tied

    return is_tied(subject.kernel.compilation)
