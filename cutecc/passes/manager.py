"""Running a pipeline: one pass at a time, observers told before and after each."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cutecc.errors import Error, PassError, describe, foreign_failures, line_in
from cutecc.ir import interrupts
from cutecc.ir.casters import plain_values
from cutecc.passes.analyses import forget_analyses, sharing_analyses
from cutecc.passes.base import Pass
from cutecc.passes.diagnostics import hearing_remarks
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.verifying import verify_after
from cutecc.passes.wheel import WheelPass
from cutecc.record import Remark

if TYPE_CHECKING:
    from cutecc.compilation.events import Event
    from cutecc.ir.mlir import ir


@dataclass(frozen=True)
class Position:
    """Where in a pipeline a pass stands."""

    index: int
    """From 1, counted in the whole pipeline also when the run began after some pass."""
    total: int
    """How many passes the whole pipeline has, up to where the run stops."""
    pass_: Pass


class Observer(Protocol):
    """Someone who watches a pipeline run. The base class does nothing; override what you need.

    What a method raises ends the run, and comes out of the call that began it.
    """

    def event(self, event: Event) -> None:
        """Something has happened in a compilation; all that there is to hear of one in a worker process."""

    def started(self, pipeline: Pipeline, module: ir.Module) -> None:
        """The pipeline is about to run; `module` is its input."""

    def before(self, position: Position, module: ir.Module) -> None:
        """A pass is about to run on `module`."""

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        """A pass has rewritten `module`, in `seconds` of wall time."""

    def remarked(self, position: Position, remark: Remark) -> None:
        """The pass that runs has said something; comes between `before` and `after` or `failed`.

        For IR without source locations, the remark's location is a line of the module's own text, in a file called `-`.
        """

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        """A pass has failed, or an observer found its result wrong; the run ends. The module is not fit to be read."""


def run(pipeline: Pipeline, module: ir.Module, observers: Sequence[Observer] = (), *, offset: int = 0) -> None:
    """Run `pipeline` on `module`, in place, in the module's context.

    `offset` says how many passes of the whole pipeline the module has behind it.

    Raises `PassError` for the pass that failed; the module is then in an undefined state.
    """
    for observer in observers:
        observer.started(pipeline, module)
    # Here already: to change all casters takes as long as a small pass.
    with sharing_analyses(), plain_values():
        for index, pass_ in enumerate(pipeline, start=offset + 1):
            position = Position(index, offset + len(pipeline), pass_)
            interrupts.deliver()
            for observer in observers:
                observer.before(position, module)
            start = time.perf_counter()
            try:
                tell = functools.partial(_tell, observers, position)
                with _own_failures(observers), hearing_remarks(tell, module.context):
                    run_pass(pass_, module)
                seconds = time.perf_counter() - start
                for observer in observers:
                    observer.after(position, module, seconds)
            except PassError as error:
                for observer in observers:
                    observer.failed(position, error, time.perf_counter() - start)
                raise


def run_pipeline(pipeline: Pipeline | str, module: ir.Module) -> None:
    """Run a pipeline, or its text, from inside a pass: `run_pipeline("canonicalize,cse", module)`.

    What its passes say reaches the observers of the outer run. Python objects of operations from before are not to be
    used afterwards: the wheel's passes may have erased any of them.
    """
    run(Pipeline.parse(pipeline) if isinstance(pipeline, str) else pipeline, module)


def _tell(observers: Sequence[Observer], position: Position, remark: Remark) -> None:
    try:
        for observer in observers:
            observer.remarked(position, remark)
    except BaseException as error:
        raise _ObserverFailed(error, observers) from None


class _ObserverFailed(BaseException):
    """Takes what an observer raised through the pass that spoke, whose failure it is not."""

    def __init__(self, error: BaseException, observers: Sequence[Observer]) -> None:
        super().__init__(error)
        self.error = error
        self.observers = observers


@contextlib.contextmanager
def _own_failures(observers: Sequence[Observer]) -> Generator[None]:
    """Raises at the end what one of these observers has raised inside."""
    try:
        yield
    except _ObserverFailed as failure:
        # A pass that runs a pipeline lets through what the observers of the outer run raise.
        if failure.observers is not observers:
            raise
        error = failure.error
    else:
        return
    raise error


def run_pass(pass_: Pass, module: ir.Module) -> None:
    """Run one pass. Anything that goes wrong inside comes out as a `PassError` that names it.

    What a plugin's pass leaves is verified, so that its mistakes are found there: 6 ms for 25,000 operations.
    """
    preserved: tuple[type, ...] = ()
    try:
        if isinstance(pass_, WheelPass):
            pass_.run(module)
        else:
            _run_python(pass_, module)
            if pass_.provider == "plugin":
                verify_after(pass_, module)
        preserved = pass_.preserves
    finally:
        forget_analyses(preserved, module)


def _run_python(pass_: Pass, module: ir.Module) -> None:
    from cutecc.ir.editing import keeping_erased
    from cutecc.ir.mlir import ir

    try:
        with plain_values(), module.context, ir.Location.unknown(), keeping_erased():
            pass_.run_in(module)
    except PassError as error:
        error.pass_name = error.pass_name or pass_.name
        raise
    except Error as error:
        raise PassError(error.message, error.location, error.notes, error.hints, pass_name=pass_.name) from error
    except foreign_failures() as failure:
        raise PassError(
            f"pass {pass_.name} failed with an internal error: {describe(failure)}",
            location=line_in(getattr(sys.modules.get(pass_.definition.__module__), "__file__", None), failure),
            pass_name=pass_.name,
            hints=["this is a bug in the pass; --debug shows where"],
        ) from failure
