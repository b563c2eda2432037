"""Where in a trace a handler of a signal may run: among the user's own lines, with nothing of the DSL in between.

The DSL's Python is called from C++ as often as it calls it: the classes of its values are, for every result of an
operation.
"""

from __future__ import annotations

import os
from types import FrameType

from cutecc.frontend.failures import ENTRY_FRAME
from cutecc.frontend.installed import is_library

_DSL = "cutlass"
KERNELS = ("cutlass.operators.", "cutlass.kernels.")
"""Packages of kernels that have the DSL's name and are none of it."""
_OURS = __name__.partition(".")[0]
_BEGINS_TRACE = f"{__name__.rpartition('.')[0]}.trace"
_IMPORTS = ("importlib.", "_frozen_importlib")
"""The bindings import modules from C++."""
_CELL = "<ipython-input-"


def user_frames(frame: FrameType | None) -> tuple[bool, list[FrameType]]:
    """Whether `frame` is the user's, or that of a library that the user called; and the user's frames around it."""
    answers: list[bool] = []
    frames: list[FrameType] = []
    while frame is not None and frame.f_globals.get("__name__") != _BEGINS_TRACE:
        answer = _is_users(frame)
        if answer is not None:
            answers.append(answer)
        if answer:
            frames.append(frame)
        frame = frame.f_back
    # Outside of a trace, as before it begins, nothing is known.
    return frame is not None and answers[:1] == [True], frames


def _is_users(frame: FrameType) -> bool | None:
    """Whether `frame` runs code of the user's, or of the DSL; `None` for what both call."""
    module, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
    if frame.f_code.co_name == ENTRY_FRAME or module.startswith(_IMPORTS):
        return False
    if module == _DSL or module.startswith(f"{_DSL}."):
        return module.startswith(KERNELS)
    if module.startswith(f"{_OURS}.") or is_library(os.path.abspath(file)):
        return None
    # What `namedtuple` and the like make has no file, and a module of its own.
    return None if file.startswith("<") and not file.startswith(_CELL) else True
