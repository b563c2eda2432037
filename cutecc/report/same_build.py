"""Whether what was measured is of the code that a record holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.record.naming import short_kernel_name
from cutecc.sass import SassFunction

_OPCODE = re.compile(r"\s*(?:@!?U?P\w+\s+)?(\S{1,80})")


def check_build(
    path: Path, function: SassFunction, texts: Mapping[int, str], seen_by: str, *, partly: bool = False
) -> None:
    """Raise `UsageError` unless the file at `path` has the opcodes of the function.

    `texts` are instructions by their offsets; `partly`, they need not be all. `seen_by` is who has them, with a verb.
    """
    others = [
        (each, texts.get(each.offset))
        for each in function.instructions
        if (each.offset in texts or not partly) and opcode(each.text) != opcode(texts.get(each.offset, ""))
    ]
    offsets = {each.offset for each in function.instructions}
    beyond = [offset for offset in texts if offset not in offsets] if partly else []
    if not others and not beyond:
        return
    count = len(texts) if partly else len(function.instructions)
    notes: list[str] = []
    if others:
        first, other = others[0]
        seen = opcode(other or "") or "nothing"
        notes.append(f"at {first.offset:#06x} the record has {opcode(first.text)}, and {seen_by} {seen}")
    raise UsageError(
        f"{path} is of another build of {short_kernel_name(function.name)}: "
        f"{count - len(others) - len(beyond):,} of {count:,} instructions agree",
        notes=notes,
        hints=["profile what this record holds, or make the report of the record that was profiled"],
    )


def opcode(text: str) -> str:
    """The opcode of an instruction with its modifiers, without its guard."""
    match = _OPCODE.match(text)
    return match[1] if match else ""
