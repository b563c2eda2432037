"""When a kernel's calls go over from Python to machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from cutecc.config import Settings
from cutecc.record.host_program import HostProgram
from cutecc.runtime.driver import DriverFunctions
from cutecc.runtime.parameters import CallGroup
from cutecc.support import forks

CALLS_BEFORE = 16
"""Calls of one form that are made in Python: building costs as much as some thousand of them save."""
_MOST_FORMS = 4
"""Forms of one kernel's calls that get machine code: each one is tried in turn, the newest first."""

_MOST_COUNTED = 64
"""Forms that are counted."""

Call = Callable[..., object]


class NativeSwitch:
    """Counts the calls of one kernel that Python makes, and replaces them when a form of call has come often.

    A form is the number of arguments, their types and the device.
    """

    def __init__(
        self,
        program: HostProgram,
        groups: Sequence[CallGroup],
        *,
        slow: Call,
        report: Callable[[int, int], object],
        resources: Callable[[int], tuple[Sequence[int], DriverFunctions, object]],
        install: Callable[[Call, object], None],
    ) -> None:
        """`slow` makes any call in Python, and calls `note` at its end.

        `resources(device)` gives the kernels' handles, ready to be launched on the device, the driver's functions, and
        what keeps the handles valid: it lives as long as the machine code. Launches into a CUDA graph go the slow way.
        `install(call, keeper)` makes `call` what a call of the kernel calls, unless `keeper` no longer keeps the
        handles valid. `report` is as in `builtin.build`.
        """
        self._program, self._groups = program, groups
        self._slow, self._report, self._resources, self._install = slow, report, resources, install
        self._counts: dict[object, int] = {}
        self._lock = forks.lock()
        self._installed: list[Call] = []
        self.reason: str | None = None if Settings.from_environment().native else "CUTECC_NATIVE is 0"
        """Why calls stay in Python: what a form of them could not be built for, or the setting."""
        self.is_done = self.reason is not None
        """Whether `note` has no effect any more."""

    @property
    def launch_path(self) -> Literal["native", "python"]:
        """How calls are made: `native` once some form of them is machine code."""
        return "native" if self._installed else "python"

    def note(self, args: Sequence[Any], kwargs: Mapping[str, Any], device: int) -> None:
        """A call that Python has made, and that has succeeded. Not to be called with a lock held: it may build."""
        if self.is_done or (kwargs and (len(kwargs) > 1 or "stream" not in kwargs)):
            return
        form = (device, *map(type, args))
        count = self._counts.get(form, 0) + 1
        if count > 1 or len(self._counts) < _MOST_COUNTED:
            self._counts[form] = count
        if count == CALLS_BEFORE and self._lock.acquire(blocking=False):
            try:
                self._build(args, device)
            finally:
                self._lock.release()

    def _build(self, sample: Sequence[Any], device: int) -> None:
        from cutecc.runtime.native import builtin

        try:
            functions, driver, owner = self._resources(device)
            call = builtin.build(
                self._program,
                self._groups,
                sample,
                functions=functions,
                device=device,
                driver=driver,
                slow=self._installed[-1] if self._installed else self._slow,
                report=self._report,
                keep=owner,
            )
        except builtin.Unsupported as reason:
            self.reason = str(reason)
            self.is_done = True
            return
        self._installed.append(call)
        self.is_done = len(self._installed) == _MOST_FORMS
        self._install(call, owner)
