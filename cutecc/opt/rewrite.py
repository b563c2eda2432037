"""Rewriting the modules of a file, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cutecc.compilation import planning
from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error, ParseError, PassError, SourceLocation, UsageError
from cutecc.ir.diagnostics import Diagnostic, SourceText, hearing_diagnostics
from cutecc.ir.expected import ExpectedDiagnostics
from cutecc.ir.modules import BYTECODE_MAGIC, fresh_context, parse, to_bytecode, to_text
from cutecc.ir.relocation import name_locations
from cutecc.ir.split import split_input
from cutecc.opt.printing import ModulePrinter, check_choice
from cutecc.opt.request import (
    ChunkFinished,
    ChunkStarted,
    Event,
    Parsed,
    PassesFinished,
    PassStarted,
    Printed,
    RewriteRequest,
    Said,
)
from cutecc.opt.saving import save
from cutecc.opt.timing import Timing
from cutecc.passes import manager, plugins
from cutecc.passes.generation.backends import with_backend
from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.passes.manager import Observer, Position
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.verifying import verify_result
from cutecc.record import Remark
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

Emit = Callable[[Event], None]


def rewrite(request: RewriteRequest, first: int = 0, *, emit: Emit) -> None:
    """Rewrite the modules of `request` from the `first` on, counted from 0, and tell `emit` what comes of each.

    Raises what makes the module fail, `ParseError`, `PassError` or `ToolError`; of several modules, one that fails is
    told as such. Raises `UsageError` for a request that no module could fulfil.
    """
    plugins.load_files()
    timing = Timing()
    take = _verified if request.verify_diagnostics else _rewritten
    try:
        for index, chunk in enumerate(chunks(request)):
            if index < first:
                continue
            emit(ChunkStarted(index))
            try:
                emit(take(request, chunk, timing, emit))
            except Error as error:
                if isinstance(error, UsageError) or not request.split:
                    raise
                emit(ChunkFinished(b"", failed=True, error=error))
    finally:
        if request.timing:
            emit(Printed(timing.report()))
    for failure in plugins.failures():
        emit(Said(Diagnostic("warning", failure.message, failure.location)))


def chunks(request: RewriteRequest) -> list[bytes]:
    """The modules of the file. Raises `UsageError` for bytecode where only text will do."""
    textual = request.split or request.verify_diagnostics
    if textual and request.data.startswith(BYTECODE_MAGIC):
        option = "--split-input-file" if request.split else "--verify-diagnostics"
        raise UsageError(f"{request.source} is MLIR bytecode; {option} reads text")
    if not request.split:
        return [request.data]
    # Text that is not UTF-8 is for the parser to refuse.
    text = request.data.decode(errors="surrogateescape")
    return [chunk.encode(errors="surrogateescape") for chunk in split_input(text)]


def _rewritten(request: RewriteRequest, chunk: bytes, timing: Timing, emit: Emit) -> ChunkFinished:
    source = _source(request, chunk)
    with _attentive_context(request, source, lambda heard: emit(Said(heard)), errors=False):
        try:
            return ChunkFinished(_run(request, chunk, source, timing, lambda heard: emit(Said(heard)), emit))
        except Error as error:
            error.location = source.shown(error.location)
            if isinstance(error, PassError):
                save(request, chunk, error, "failed")
            raise


def _verified(request: RewriteRequest, chunk: bytes, timing: Timing, emit: Emit) -> ChunkFinished:
    source = _source(request, chunk)
    expected = ExpectedDiagnostics(source.text, source.name)
    errors = 0

    def hear(diagnostic: Diagnostic) -> None:
        nonlocal errors
        errors += diagnostic.severity == "error"
        expected.take(diagnostic)

    output = b""
    with _attentive_context(request, source, hear, errors=True):
        try:
            output = _run(request, chunk, source, timing, hear, emit)
        except (ParseError, PassError) as error:
            # What failed in MLIR was heard already, in more detail.
            if not errors:
                expected.take(_as_diagnostic(error, source))
    problems = expected.problems()
    for problem in problems:
        emit(Said(problem))
    return ChunkFinished(output, failed=bool(problems))


def _run(
    request: RewriteRequest,
    chunk: bytes,
    source: SourceText,
    timing: Timing,
    hear: Callable[[Diagnostic], None],
    emit: Emit,
) -> bytes:
    timing.begin()
    module = parse(chunk, request.source)
    if source.text:
        name_locations(module, request.source)
    emit(Parsed())
    timing.lap("Parser")
    target = Target.parse(request.target)
    options = CompileOptions(pipeline=request.pipeline)
    pipeline = planning.checked_pipeline(options, target, module) if request.pipeline else Pipeline()
    if any(pass_.name in CODE_GENERATION for pass_ in pipeline) or request.form not in ("ptx", "sass"):
        pipeline = with_backend(pipeline, request.backend, target, options.wheel)
    observers: list[Observer] = [timing, _Reporter(source, hear, emit)]
    if request.prints:
        check_choice(request.prints, pipeline, request.form)
        observers.append(
            ModulePrinter(request.prints, emit, locations=request.locations, generic=request.generic),
        )
    if request.verify_each:
        from cutecc.passes.instrumentation import VerifyEach

        observers.append(VerifyEach())

    def finished() -> None:
        emit(PassesFinished())

    if request.form in ("mlir", "bytecode"):
        manager.run(pipeline, module, observers)
        verify_result(pipeline.passes, module)
        finished()
        output = _written(request, module)
    else:
        from cutecc.opt.code import run_to_code

        output = run_to_code(pipeline, module, observers, target, request.form, finished, request.backend)
    timing.lap("Output")
    return output


def _written(request: RewriteRequest, module: ir.Module) -> bytes:
    if request.form == "bytecode":
        return to_bytecode(module)
    return to_text(module, locations=request.locations, generic=request.generic).encode()


class _Reporter(Observer):
    """Says which pass is about to run, and what it says."""

    def __init__(self, source: SourceText, hear: Callable[[Diagnostic], None], emit: Emit) -> None:
        self._source = source
        self._hear = hear
        self._emit = emit

    def before(self, position: Position, module: ir.Module) -> None:
        self._emit(PassStarted(position.pass_.name))

    def remarked(self, position: Position, remark: Remark) -> None:
        location = self._source.shown(_place(remark.location))
        self._hear(Diagnostic(remark.severity, remark.message, location))


@contextmanager
def _attentive_context(
    request: RewriteRequest, source: SourceText, hear: Callable[[Diagnostic], None], *, errors: bool
) -> Generator[None]:
    with fresh_context() as context:
        context.allow_unregistered_dialects = request.unregistered
        with hearing_diagnostics(context, source, hear, errors=errors):
            yield


def _source(request: RewriteRequest, chunk: bytes) -> SourceText:
    text = "" if chunk.startswith(BYTECODE_MAGIC) else chunk.decode(errors="replace")
    return SourceText(request.source, text)


def _place(text: str | None) -> SourceLocation | None:
    """The location that `text`, `file:line:column`, spells; the column may be missing."""
    if text is None:
        return None
    head, _, last = text.rpartition(":")
    file, _, line = head.rpartition(":")
    if file and line.isdecimal() and last.isdecimal():
        return SourceLocation(file, int(line), int(last))
    return SourceLocation(head, int(last)) if head and last.isdecimal() else SourceLocation(text)


def _as_diagnostic(error: Error, source: SourceText) -> Diagnostic:
    """As in MLIR, a note without a place of its own is at that of the error."""
    location = source.shown(error.location)
    return Diagnostic(
        "error", error.message, location, tuple(Diagnostic("note", note, location) for note in error.notes)
    )
