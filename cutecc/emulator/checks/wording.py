"""The sentences of findings."""

from __future__ import annotations

from typing import Literal

from cutecc.emulator.instructions.operation import Operation

Did = Literal["read", "write", "atomic"]

_DOES: dict[Did, str] = {"read": "reads", "write": "writes", "atomic": "updates"}
_DONE: dict[Did, str] = {"read": "read", "write": "written", "atomic": "updated"}


def copy_name(operation: Operation) -> str:
    """What an asynchronous operation is called: `a bulk copy`."""
    form = operation.form
    match form.opcode:
        case "wgmma":
            return "a wgmma"
        case "cp" if form.has("reduce"):
            return "a bulk reduction"
        case "cp" if form.has("tensor"):
            return "a tensor copy"
        case "cp" if form.has("bulk"):
            return "a bulk copy"
        case "cp":
            return "a cp.async"
        case _:
            return f"a {form.opcode}.async" if form.has("async") else f"a {form.opcode}"


def done(did: Did, by: Operation | None) -> str:
    """What was done at the other place: `written by a bulk copy`; `by` is `None` for a thread itself."""
    return _DONE[did] if by is None else f"{_DONE[did]} by {copy_name(by)}"


def race(space: str, does: Did, by: Operation | None, did: Did, others: Operation | None) -> str:
    """Two accesses that nothing orders."""
    subject = _DOES[does] if by is None else f"{copy_name(by)} {_DOES[does]}"
    other = "another thread has" if others is None else f"{copy_name(others)} has"
    if did == "read" and others is None:
        other = "another thread may still be reading" if does != "read" else other
        return f"{subject} {space} memory that {other}: nothing orders the two"
    return f"{subject} {space} memory that {other} {_DONE[did]}: nothing orders the two"


def same_instruction(space: str) -> str:
    return f"two threads write different values to the same {space} memory in one instruction"


def proxy(space: str, does: Did, by: Operation) -> str:
    return (
        f"{copy_name(by)} {_DOES[does]} {space} memory through the async proxy that was written through the generic "
        "proxy, without a fence.proxy.async between the two"
    )


def uninitialised(space: str, by: Operation | None) -> str:
    subject = "reads" if by is None else f"{copy_name(by)} reads"
    return f"{subject} {space} memory that nothing has written"
