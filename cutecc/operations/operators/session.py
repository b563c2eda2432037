"""What the operators of a thread are compiled and run with, while it is inside of `through_cutecc`."""

# pyright: basic

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from cutecc.config import Settings
from cutecc.emulator.names import EMULATED_TARGET
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import NoGpuError, UsageError
from cutecc.kernel import Kernel
from cutecc.operations.operators.package import ops
from cutecc.support import forks
from cutecc.target import Target, parse_targets

Device = Literal["cuda", "cpu"]
Build = Callable[[Any, tuple[Any, ...], Target], Any]
"""Makes something of a host function, its arguments and a target."""


@dataclass(frozen=True)
class Session:
    """One `with through_cutecc(…)`."""

    build: Build
    multiprocessors: Callable[[Target], int]
    """How many a persistent kernel is to fill."""
    target: Target | None = None
    device: Device = "cuda"
    emulator: EmulatorOptions | None = None
    made: dict[tuple[Any, ...], tuple[Any, Any]] = field(default_factory=dict)
    """What was built, with the host function, which is kept alive for its identity; by that, arguments and target."""
    lock: threading.RLock = field(default_factory=forks.rlock)

    def built(self, entry: Any, values: tuple[Any, ...], target: Target) -> Any:
        """What `build` makes of these arguments, once for all that are alike."""
        from cutecc.frontend.describe import describe

        described = tuple(_described(value, describe) for value in values)
        key = (id(entry), described, target)
        with self.lock:
            if key not in self.made:
                self.made[key] = (self.build(entry, values, target), entry)
            return self.made[key][0]


def _described(value: Any, describe: Callable[[Any], Any]) -> Any:
    try:
        return str(describe(value))
    except UsageError:
        return value if value.__hash__ else id(value)


SESSION: ContextVar[Session | None] = ContextVar("cutecc operators session", default=None)
TARGET: ContextVar[Target | None] = ContextVar("cutecc operators target", default=None)
Value = TypeVar("Value")


def current() -> Session | None:
    """The innermost session of this thread or task."""
    return SESSION.get()


def compiled_for() -> Target | None:
    """The target that an operator of this thread is being compiled for."""
    return TARGET.get()


@contextmanager
def having(variable: ContextVar[Value | None], value: Value) -> Iterator[None]:
    """Sets `SESSION` or `TARGET` inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def target_of(session: Session, given: Any) -> Target:
    """What to compile for: `given` to the operator, else the session's target, `CUTECC_TARGET`, this machine's GPU.

    On the emulator the newest that it models, when nothing is said. Raises `UsageError` for a target that cutecc does
    not know, `NoGpuError` where nothing is said and there is no GPU.
    """
    if given is not None:
        return Target.parse(f"sm_{ops.TargetSm.ensure(given)}")
    if session.target is not None:
        return session.target
    if configured := Settings.from_environment().target:
        return parse_targets(str(configured))[0]
    if session.device == "cpu":
        return Target.parse(EMULATED_TARGET)
    try:
        return parse_targets("native")[0]
    except NoGpuError as error:
        error.hints = ['name the target: through_cutecc(target="sm_90a"), or operator.compile(args, "90a")']
        raise


def as_target_sm(target: Target) -> Any:
    """The package's own object for a target."""
    return ops.TargetSm(target.name.removeprefix("sm_"))


class CompiledOperator:
    """What an operator's `CompiledArtifact` holds: a kernel of cutecc's, which is called as the package calls its own.

    It stays of use after the session that it was made in.
    """

    def __init__(self, kernel: Kernel, device: Device, emulator: EmulatorOptions | None) -> None:
        self.kernel = kernel
        self.device: Device = device
        """Where calls run that are made outside of any session."""
        self.emulator = emulator

    def __call__(self, *args: Any) -> None:
        """Launch the kernel on arrays, in the order of its runtime parameters; as `Kernel.__call__`."""
        session = current()
        device, emulator = (session.device, session.emulator) if session else (self.device, self.emulator)
        if device == "cpu":
            self.kernel(*args, device="cpu", **({} if emulator is None else {"emulator": emulator}))
        else:
            self.kernel(*args)

    def __repr__(self) -> str:
        return f"<CompiledOperator {self.kernel!r}>"
