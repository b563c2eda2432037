"""Where a program calls the DSL from."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType

from cutecc.frontend.failures import is_users

_LONGEST = 100
"""Frames of a stack that are kept, the innermost ones."""


@dataclass(frozen=True)
class CallFrame:
    """A call on the stack."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class CallSite:
    """The calls that led to the DSL, the innermost first, without those inside of the DSL."""

    frames: tuple[CallFrame, ...]
    users: int | None
    """The position of the innermost frame that is the user's, not of a library or an installed package."""

    @property
    def users_frame(self) -> CallFrame | None:
        """The user's line; without one, the line that called the DSL."""
        if self.users is not None:
            return self.frames[self.users]
        return self.frames[0] if self.frames else None


def call_site(frame: FrameType | None) -> CallSite:
    """The call site of a frame of the DSL's."""
    frames: list[CallFrame] = []
    while frame is not None and len(frames) < _LONGEST:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != "cutlass" and not frame.f_code.co_filename.startswith("<frozen "):
            frames.append(CallFrame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    users = next((index for index, each in enumerate(frames) if is_users(each.file, None)), None)
    return CallSite(tuple(frames), users)
