"""Lowering in a worker process that never imports the DSL: an abort there is an error here, with a pass's name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from cutecc.compilation.events import ArtifactsStarted, Event, Parsed, PassFinished, PassStarted, Planned
from cutecc.compilation.request import CompileRequest
from cutecc.errors import Error, InternalError, ParseError, PassError
from cutecc.ir import interrupts
from cutecc.passes.dumps import input_name
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.summaries import summary_of
from cutecc.record import Artifact, Compilation, Failure, Step
from cutecc.record.folder import RecordFolder
from cutecc.record.reproducer import Expected
from cutecc.record.stages import BlockReader, complete_steps
from cutecc.support import isolation
from cutecc.support.isolation import ProcessDied


def lower_in_worker(request: CompileRequest, on_event: Callable[[Event], None] | None = None) -> Compilation:
    """`driver.lower` in a fresh process, with the same result and errors.

    When the process dies, the record keeps what was written before, names the pass, and gets a reproducer; the same
    when this call is interrupted, but for the reproducer.
    """
    follower = _Follower(on_event)
    try:
        return isolation.call("cutecc.driver:lower", request, on_event=follower, replay=True)
    except ProcessDied as death:
        error = follower.error(request.source, death)
        if isinstance(error, PassError) and follower.compilation:
            follower.save_reproducer(request, error)
        elif request.options.reproduce:
            follower.save_internal(request, error, "aborted")
        raise error from None
    except InternalError as error:
        if request.options.reproduce:
            follower.save_internal(request, error, "failed")
        raise
    except KeyboardInterrupt:
        # A second one does not keep the first from being written down.
        with interrupts.held():
            follower.close(request, "interrupted")
        raise
    except BaseException:
        if follower.listener_failed:
            follower.close(request, "failed")
        raise


class _Follower:
    """Follows a worker's events, so that this side knows how far it came."""

    def __init__(self, on_event: Callable[[Event], None] | None) -> None:
        self._on_event = on_event
        self._running: PassStarted | None = None
        self._first = 1
        self._parsed = False
        self._passes_done = False
        self.listener_failed = False
        """Whether the compilation ends because of what `on_event` raised."""
        self.compilation: Compilation | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case Parsed():
                self._parsed = True
            case Planned():
                self.compilation = event.compilation
                self._first = event.first
            case PassStarted():
                self._running = event
            case PassFinished():
                self._running = None
                if self.compilation:
                    self.compilation.steps.append(event.step)
            case ArtifactsStarted():
                self._passes_done = True
            case _:
                pass
        if self._on_event:
            self.listener_failed = True
            self._on_event(event)
            self.listener_failed = False

    def error(self, source: str, death: ProcessDied) -> Error:
        """What the death of the worker means."""
        if self._running:
            name = self._running.name
            return PassError(f"pass {name} aborted: {death.message}", notes=death.notes, pass_name=name)
        if not self._parsed:
            return ParseError(f"{source}: reading the module aborted: {death.message}", notes=death.notes)
        stage = "making the artifacts" if self._passes_done else "the step between two passes"
        return Error(f"{stage} aborted: {death.message}", notes=death.notes)

    def save_reproducer(self, request: CompileRequest, error: PassError) -> None:
        """Complete the record of a worker that died in a pass."""
        from cutecc.compilation import reproducing

        compilation, running = self.compilation, self._running
        assert compilation is not None
        assert running is not None
        pipeline = Pipeline.parse(compilation.pipeline)
        local_index = running.index - self._first + 1
        pass_ = pipeline.passes[local_index - 1]
        compilation.steps.append(
            Step(running.index, pass_.name, str(pass_), pass_.provider, status="failed", summary=summary_of(pass_))
        )
        compilation.failure = Failure.of(running.name, error)
        folder = RecordFolder.reopen(request.output, request.output_handle) if request.output else None
        reproducing.save(request, pipeline, local_index, error, compilation, folder, expected="aborted")
        if folder:
            folder.close()
        self.close(request, "failed")

    def save_internal(self, request: CompileRequest, error: Error, expected: Expected) -> None:
        """Save a failure that no pass of the pipeline had, and complete its record."""
        from cutecc.compilation import reproducing

        compilation = self.compilation
        name = reproducing.save_internal(request, error, compilation and compilation.pipeline, expected)
        if compilation:
            compilation.failure = Failure.of("artifacts" if self._passes_done else "passes", error, name)
            if name:
                compilation.failure = replace(compilation.failure, load=reproducing.named_files())
                compilation.artifacts.append(Artifact("reproducer", name))
            self.close(request, "failed")

    def close(self, request: CompileRequest, status: str) -> None:
        """Save what is known, under the final `status`."""
        if self.compilation is None or request.output is None:
            return
        self.compilation.status = status  # pyright: ignore[reportAttributeAccessIssue]
        folder = RecordFolder.reopen(request.output, request.output_handle)
        start = self._first - 1
        self.compilation.traced = folder.existing_dump(start, input_name(start))
        file = next((each.file for each in self.compilation.artifacts if each.kind == "stages"), None)
        complete_steps(self.compilation, BlockReader(folder.place / file).read() if file else [])
        for step in self.compilation.steps:
            step.dump = folder.existing_dump(step.index, step.name)
        folder.save(self.compilation)
        folder.close()
