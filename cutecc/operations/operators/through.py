"""The package's operators through cutecc: what `operator.compile` and `operator.run` do inside of `through_cutecc`.

The package compiles every CuTe operator in one method, makes tensor objects in another, and asks the GPU in a third.
While anybody is inside, these are replaced by functions that look for the session of their own thread; without one they
do what they did.
"""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cutecc.compilation.request import CompileOptions, with_line_info
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import UsageError
from cutecc.kernel import Kernel
from cutecc.operations.machine import machine
from cutecc.operations.operators import hardware
from cutecc.operations.operators.package import CuteDslOperator, HardwareInfo, TensorWrapper, ops
from cutecc.operations.operators.session import (
    SESSION,
    TARGET,
    CompiledOperator,
    Device,
    Session,
    as_target_sm,
    compiled_for,
    current,
    having,
    target_of,
)
from cutecc.operations.operators.tensors import fill, is_foreign_array
from cutecc.passes.pipeline import Pipeline
from cutecc.runtime.checks import check_device
from cutecc.support import forks
from cutecc.target import Target


@contextmanager
def through_cutecc(
    *,
    target: str | Target | None = None,
    pipeline: str | Pipeline = "nvidia",
    options: CompileOptions = CompileOptions(),
    cache: bool | None = None,
    device: Device = "cuda",
    emulator: EmulatorOptions | None = None,
    multiprocessors: int | None = None,
) -> Iterator[None]:
    """Inside, `operator.compile(args)` and `operator.run(args)` of nvidia-cutlass-operators are cutecc's.

    They compile with cutecc's pipeline and cache, each operator once for arguments of one kind, and launch with its
    runtime; arguments may be numpy arrays and `tensor(…)`s too. `target`, `pipeline`, `options` and `cache` are as for
    `cutecc.compile`; a target that is given to `operator.compile` goes first. With `device="cpu"`, kernels run on the
    emulator, on arrays of the CPU, with the options `emulator`. `multiprocessors` is how many a persistent kernel is to
    fill; by default what this machine's GPU has, else the target decides (`docs/operators.md`).

    Holds for the calling thread, and for asyncio tasks that are made inside; others are left alone. May be nested: the
    innermost counts. What was compiled inside can be run outside, on `device`; what was compiled outside is launched as
    the package does. Everything is put back at the end. Raises `UsageError` for an unknown target, device or pipeline;
    what compiling and running raise is cutecc's.
    """
    check_device(device)
    chosen = Target.parse(target) if isinstance(target, str) else target
    if device == "cpu":
        options = with_line_info(options)
    settings = {"pipeline": pipeline, "options": options, "cache": cache}

    def build(entry: Any, values: tuple[Any, ...], target: Target) -> CompiledOperator:
        from cutecc.driver import compile

        kernel = compile(entry, *values, target=target, **settings)
        assert isinstance(kernel, Kernel)
        return CompiledOperator(kernel, device, emulator)

    def count(target: Target) -> int:
        here = hardware.multiprocessors_here(target) if device == "cuda" and multiprocessors is None else None
        return multiprocessors or here or machine(target.name).multiprocessors

    with stepped_in(Session(build, count, chosen, device, emulator)):
        yield


@contextmanager
def stepped_in(session: Session) -> Iterator[Session]:
    """The package's operators do what `session` says, in this thread, inside."""
    with _replacements.held(), having(SESSION, session):
        yield session


class _Replacements:
    """The functions of the package that are replaced while at least one session is open, in any thread."""

    def __init__(self, wrappers: dict[tuple[Any, str], Callable[[Any], Any]]) -> None:
        self._wrappers = wrappers
        self._originals: dict[tuple[Any, str], Any] = {}
        self._holders = 0
        self._lock = forks.lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                for (owner, name), wrapper in self._wrappers.items():
                    original = self._originals[owner, name] = owner.__dict__[name]
                    setattr(owner, name, functools.wraps(original)(wrapper(original)))
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    for (owner, name), original in self._originals.items():
                        setattr(owner, name, original)
                    self._originals.clear()


def _compile(original: Any) -> Any:
    def compile(self: Any, args: Any, target_sm: Any = None) -> Any:
        session = current()
        if session is None:
            return original(self, args, target_sm)
        target = target_of(session, target_sm)
        name, target_sm = self.metadata.operator_name, as_target_sm(target)
        supported = self.metadata.supported_targets
        if not target_sm.supports_operators_from(supported):
            names = ", ".join(f"sm_{each}" for each in supported)
            raise UsageError(f"{name} cannot be compiled for {target}: it is for {names} and GPUs that run its code")
        with having(TARGET, target):
            return original(self, args, target_sm)

    return compile


def _cute_compile(original: Any) -> Any:
    def cute_compile(self: Any, entry_point_fn: Any, *fn_args: Any, target_sm: Any = None) -> Any:
        session = current()
        if session is None:
            return original(self, entry_point_fn, *fn_args, target_sm=target_sm)
        target = target_of(session, target_sm)
        values = tuple(each.compile_time_tensor if isinstance(each, TensorWrapper) else each for each in fn_args)
        return ops.CompiledArtifact(session.built(entry_point_fn, values, target), self, as_target_sm(target))

    return cute_compile


def _tensor(original: Any) -> Any:
    def __init__(self: Any, tensor: Any, alignment_bytes: int = 16, static_layout: bool = False) -> None:
        if current() is not None and is_foreign_array(tensor):
            fill(self, tensor, alignment_bytes, static_layout)
        else:
            original(self, tensor, alignment_bytes, static_layout)

    return __init__


def _hardware(answer: Callable[..., Any]) -> Callable[[Any], Any]:
    """What replaces a method of `HardwareInfo`: `answer`, from how many multiprocessors a persistent kernel is to fill.

    Where the package compiles by itself, the method does what it did.
    """

    def replaced(original: Any) -> Any:
        def method(self: Any, *args: Any, **options: Any) -> Any:
            session, target = current(), compiled_for()
            if session is None or target is None:
                return original(self, *args, **options)
            return answer(session.multiprocessors(target), *args, **options)

        return method

    return replaced


def _nothing(count: int, device_id: int = 0) -> None:
    """`HardwareInfo` asks the driver when it is made."""


def _max_active_clusters(count: int, cluster_size: int, *_: Any, **__: Any) -> int:
    return hardware.active_clusters(count, cluster_size)


_replacements = _Replacements(
    {
        (ops.Operator, "compile"): _compile,
        (CuteDslOperator, "cute_compile"): _cute_compile,
        (TensorWrapper, "__init__"): _tensor,
        (HardwareInfo, "__init__"): _hardware(_nothing),
        (HardwareInfo, "get_max_active_clusters"): _hardware(_max_active_clusters),
        (HardwareInfo, "get_device_multiprocessor_count"): _hardware(lambda count: count),
    }
)
