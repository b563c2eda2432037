"""The operations that functions of torch tensors choose for their calls, kept for the next call like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from cutecc.config import Settings
from cutecc.operations.any_description import Description
from cutecc.operations.operation import Operation
from cutecc.runtime.recent import Recent
from cutecc.support import forks

FORMS = 4096
"""Of calls that operations are kept for."""
_EMULATED = "sm_80"
"""The target for tensors of the CPU where `CUTECC_TARGET` names none."""

_Operation = TypeVar("_Operation", bound=Operation[Any])


class Choices(Generic[_Operation]):
    """Those of one function. Threads may share it: torch computes derivatives in some of its own."""

    def __init__(self) -> None:
        self._chosen: Recent[Any, _Operation] = Recent(FORMS)
        self._operations: Recent[Description, _Operation] = Recent(FORMS)
        self._lock = forks.lock()

    def operation(
        self, tensors: Iterable[Any], settings: tuple[Any, ...], choose: Callable[[], _Operation]
    ) -> _Operation:
        """What computes a call of tensors like these with the same settings; `choose` is asked the first time."""
        form: list[Any] = [settings]
        for each in tensors:
            form += each.dtype, each.shape, each.stride(), each.data_ptr() % 16, each.device
        key = tuple(form)
        if (found := self._chosen.young.get(key)) is not None:
            return found
        with self._lock:
            if (found := self._chosen.get(key)) is None:
                made = choose()
                # Sizes that the same kernel is chosen for share it.
                found = self._operations.get(made.description) or made
                self._operations.put(made.description, found)
                self._chosen.put(key, found)
        return found

    def keep(self, operation: _Operation) -> None:
        """Have calls run this operation, a loaded bundle say, where one of the same description would be made."""
        with self._lock:
            self._operations.put(operation.description, operation)
            # Calls that were made before may have been given another.
            self._chosen = Recent(FORMS)


def target_of(tensor: Any) -> str | None:
    """The target of what computes a tensor where its device names none: on the CPU the emulator's."""
    return (Settings.from_environment().target or _EMULATED) if tensor.device.type == "cpu" else None


def biased(accum: Any, bias: Any) -> Any:
    """The epilogue that adds a bias."""
    return accum + bias
