"""From a request and its module to the pipeline that will run and the record that it will fill."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.backend.ptxas_options import checked_options
from cutecc.compilation.request import CompileOptions, CompileRequest, Edit
from cutecc.compilation.versions import current_versions
from cutecc.errors import UsageError
from cutecc.ir.modules import body_of
from cutecc.ir.variables import variables_of
from cutecc.ir.version import installed_release
from cutecc.passes import plugins
from cutecc.passes.base import Pass
from cutecc.passes.dumps import Stage
from cutecc.passes.generation.backends import with_backend
from cutecc.passes.generation.llvm_to_binary import LlvmToBinary
from cutecc.passes.named import NAMED
from cutecc.passes.pipeline import Pipeline, parse_pass
from cutecc.passes.pipelines import choose_pipeline, uses_lir, uses_pyir
from cutecc.passes.sources import meets_atoms
from cutecc.passes.wheel import WheelPass, check_registered
from cutecc.record import Compilation, Remark
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


@dataclass(frozen=True)
class Plan:
    """What is about to happen."""

    pipeline: Pipeline
    """The passes to run."""
    offset: int
    """How many passes of the whole pipeline come before them."""
    selectors: list[str]
    """What each pass to run is called in the whole pipeline."""
    stage: Stage
    """What a dump of the module before the first pass to run says."""
    compilation: Compilation

    @property
    def first(self) -> int:
        """The number of the first pass to run, in the whole pipeline from 1."""
        return self.offset + 1

    @property
    def last(self) -> int:
        """The number of the last one."""
        return self.offset + len(self.pipeline)


def plan(request: CompileRequest, module: ir.Module) -> Plan:
    """Choose and edit the pipeline for `module`, check what of it is to run, and begin its record.

    Raises `UsageError` for a pipeline, pass, option or selector that does not exist, and for line info of a file that
    PTX cannot name. Needs a current context.
    """
    _check_names(request)
    target = Target.parse(request.target)
    options = request.options
    checked_options(options.wheel.ptx_options)
    _check_nvvm_options(options.wheel.nvvm_options)
    unedited = _chosen_pipeline(options, target, module)
    whole, start, stop = bounded_pipeline(unedited, options)
    pipeline = Pipeline(whole.passes[start:stop])
    _check_passes(pipeline)
    if meets_atoms(pipeline):
        # Those that cannot be loaded are warnings of the record, and the others are in the cache's key.
        plugins.load_installed_atoms()
    _check_chip(target, whole, module)
    selectors = whole.selectors()[start:stop]
    for selector in (*options.dumps.after, *options.dumps.before):
        if selector not in ("all", *selectors):
            pipeline.positions(selector)
    compilation = Compilation(
        name=request.name,
        target=target.name,
        pipeline=str(pipeline),
        versions=current_versions(options.ptxas, llvm=any(isinstance(pass_, LlvmToBinary) for pass_ in pipeline)),
        command=list(request.command),
        source=request.source,
        options=options.changed(),
        signature=request.signature,
        workload=request.workload,
        warnings=[*request.warnings, *(Remark("warning", failure.message) for failure in plugins.failures())],
        whole_pipeline=str(whole) if len(pipeline) < len(whole) else None,
        resumed=request.resumed,
        variables=variables_of(module, request.lines) if options.line_info and not options.start_after else [],
    )
    # A module of these dialects stops saying so half-way, and the prefix of `lir` may hold a composite: spelled out.
    spelled_out = bool(options.edits) or uses_lir(module) or uses_pyir(module)
    named = isinstance(options.pipeline, str) and options.pipeline in NAMED and not spelled_out
    stage = Stage(
        target=target.name,
        kernel=request.name,
        pipeline=str(options.pipeline) if named else str(whole),
        after=options.start_after,
        options=options.changed(),
    )
    return Plan(pipeline, start, selectors, stage, compilation)


def _check_names(request: CompileRequest) -> None:
    """To ptxas a quotation mark ends the name in `.file`, with a backslash before it too."""
    if request.lines is None or not request.options.line_info:
        return
    for name in request.lines.sources:
        if '"' in name:
            raise UsageError(
                f"line info cannot name {name}: to ptxas the name of a file ends at a quotation mark",
                hints=["rename the file, or compile it without line info"],
            )


def checked_pipeline(options: CompileOptions, target: Target, module: ir.Module) -> Pipeline:
    """The whole pipeline that `options` ask for, edited, each of its passes known to its provider."""
    pipeline = _edited_pipeline(_chosen_pipeline(options, target, module), options)
    _check_passes(pipeline)
    return pipeline


def bounded_pipeline(unedited: Pipeline, options: CompileOptions) -> tuple[Pipeline, int, int]:
    """The pipeline with the edits of `options`, and from where to where it runs, as Python slices.

    Raises `UsageError` for a selector that means no pass, and where there is nothing to run.
    """
    whole = _edited_pipeline(unedited, options)
    return whole, *_bounds(unedited, whole, options)


def _check_passes(pipeline: Pipeline) -> None:
    for pass_ in pipeline:
        if isinstance(pass_, WheelPass):
            _check_once(pass_)
            # Pipeline text, and a dump's first line, may come from elsewhere: no tool option of theirs names a file.
            checked_options(pass_.option("ptx-options") or "")
            _check_nvvm_options(pass_.option("nvvm-options") or "")


def _chosen_pipeline(options: CompileOptions, target: Target, module: ir.Module) -> Pipeline:
    if isinstance(options.pipeline, Pipeline):
        pipeline = options.pipeline
    else:
        lir = uses_lir(module)
        pipeline = choose_pipeline(options.pipeline, target, options.wheel, lir=lir, pyir=uses_pyir(module))
        # A run that goes on from a dump has the pipeline of the run that wrote it.
        if lir and options.pipeline in NAMED and not options.start_after:
            from cutecc.passes.nvidia.reimplementations.lir_composite import with_composite_where_needed

            pipeline = with_composite_where_needed(pipeline, module)
    try:
        pipeline = with_backend(pipeline, options.backend, target, options.wheel)
    except UsageError:
        # A misspelt name is one pass, which generates no code.
        _check_passes(pipeline)
        raise
    if options.ptxas:
        # The wheel's code generator then stops at PTX, where it can; the assembler of the user's choice goes on.
        pipeline = pipeline.map(_emitting_ptx)
    return pipeline


def _edited_pipeline(pipeline: Pipeline, options: CompileOptions) -> Pipeline:
    for edit in options.edits:
        pipeline = _edited(pipeline, edit)
    return pipeline


def _check_chip(target: Target, pipeline: Pipeline, module: ir.Module) -> None:
    """A pipeline file, or a module that has got its target, is for one chip."""
    sets_target = installed_release().sets_target
    chips = {
        (pass_.option("chip") or "", f"the pipeline's {sets_target}")
        for pass_ in pipeline
        if isinstance(pass_, WheelPass) and pass_.name == sets_target
    }
    for operation in body_of(module.operation):
        if operation.name == "gpu.module" and "targets" in operation.attributes:
            found = re.search(r'chip = "([^"]+)"', str(operation.attributes["targets"]))
            chips.add((found[1] if found else "", "the module"))
    for chip, what in sorted(chips):
        if chip and chip != target.name:
            raise UsageError(f"{what} is for {chip}, not {target}", hints=[f"compile with --target {chip}"])


def _check_nvvm_options(text: str) -> None:
    # Braces and quotes would end the option inside the pass's text.
    for word in text.split():
        if not re.fullmatch(r"-[\w.,=+:-]+", word):
            raise UsageError(f"libNVVM option '{word}': options begin with '-', of letters, digits and _ . , = + : -")


def _bounds(unedited: Pipeline, whole: Pipeline, options: CompileOptions) -> tuple[int, int]:
    """From where to where `whole` runs. What a dump was made after is said in terms of the pipeline without edits."""
    start = 0
    if options.start_after:
        last = unedited.passes[unedited.position(options.start_after)]
        start = next((index + 1 for index, pass_ in enumerate(whole) if pass_ is last), 0)
        if not start:
            raise UsageError(f"the edits take away {options.start_after}, after which the input was made")
    stop = whole.position(options.stop_after) + 1 if options.stop_after else len(whole)
    if start >= stop and options.start_after:
        end = f"stopping after {options.stop_after}" if options.stop_after else "the end of the pipeline"
        raise UsageError(f"nothing to run between {options.start_after} and {end}")
    return start, stop


def _edited(pipeline: Pipeline, edit: Edit) -> Pipeline:
    if edit.kind == "without":
        return pipeline.without(edit.selector)
    new = parse_pass(edit.pass_text)
    if edit.kind == "insert-after":
        return pipeline.insert_after(edit.selector, new)
    if edit.kind == "insert-before":
        return pipeline.insert_before(edit.selector, new)
    return pipeline.replace(edit.selector, new)


def _emitting_ptx(pass_: Pass) -> Pass:
    if isinstance(pass_, WheelPass) and pass_.option("representation") is not None:
        return pass_.with_options(representation="ptx")
    return pass_


@functools.lru_cache(maxsize=512)
def _check_once(pass_: WheelPass) -> None:
    check_registered(pass_)
