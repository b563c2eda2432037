"""Compiling a kernel through several pipelines and code generators, from one trace, and what each became."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.compilation.request import CompileOptions, CompileRequest, Edit
from cutecc.compilation.worker import lower_in_worker
from cutecc.errors import Error, PassError, UsageError
from cutecc.frontend.traced import TracedModule
from cutecc.passes.generation.choice import Backend
from cutecc.record import Compilation, Workload
from cutecc.record.bundle import write_bundle
from cutecc.report.instruction_mix import classify
from cutecc.sass import read_sass
from cutecc.target import Target
from cutecc.workbench.plan import Code, Variant

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_INSTRUCTION_BYTES = 16
"""Of machine code, from compute capability 7.0 on."""


@dataclass(frozen=True)
class Choice:
    """The variants to make, and how."""

    pipelines: Sequence[str] = ("nvidia", "open")
    """The first is what the others are compared with."""
    backends: Sequence[Backend] = ("nvvm", "llvm")
    options: CompileOptions = field(default_factory=CompileOptions)
    edits: Sequence[Edit] = ()
    """Of all pipelines but the first; of that, where it is the only one."""
    cache: bool = False

    def options_for(self, pipeline: str, backend: Backend) -> CompileOptions:
        """How to compile one variant."""
        is_first = pipeline == self.pipelines[0] and len(self.pipelines) > 1
        return replace(
            self.options,
            pipeline=pipeline,
            backend=backend,
            edits=() if is_first else tuple(self.edits),
            artifacts=("ptx", "cubin", "sass", "host-program"),
            observe=True,
            reproduce=False,
        )


@dataclass(frozen=True)
class Source:
    """A traced kernel."""

    file: str
    target: str
    traced: TracedModule
    workload: Workload


def check_pipelines(choice: Choice, targets: Sequence[str]) -> None:
    """Raise `UsageError` for a pipeline, pass or option of `choice` that does not exist for one of `targets`.

    Modules of the experimental API have pipelines of their own: what fits either of the two is no error here. Loads the
    bindings.
    """
    from cutecc.ir.modules import fresh_context, parse

    with fresh_context():
        module = parse(b"module {}")
        for target in dict.fromkeys(targets):
            for pipeline in choice.pipelines:
                for backend in choice.backends:
                    _check_pipeline(choice.options_for(pipeline, backend), Target.parse(target), module)


def _check_pipeline(options: CompileOptions, target: Target, module: ir.Module) -> None:
    from cutecc.compilation.planning import checked_pipeline
    from cutecc.passes.pipelines import choose_pipeline

    assert isinstance(options.pipeline, str)
    failures: list[UsageError] = []
    for lir, pyir in itertools.product((False, True), repeat=2):
        try:
            chosen = choose_pipeline(options.pipeline, target, options.wheel, lir=lir, pyir=pyir)
            checked_pipeline(replace(options, pipeline=chosen), target, module)
            return
        except UsageError as error:
            failures.append(error)
    failures[0].notes.append(f"the pipeline {options.pipeline} for {target}")
    raise failures[0]


def compile_here(source: Source, options: CompileOptions, *, cache: bool = False) -> Compilation:
    """The kernel through the pipeline of `options`, in this process. Raises `Error`."""
    from cutecc.driver import lower  # loads the bindings

    return _launchable(lower(_request(source, options, cache)))


def compile_apart(source: Source, options: CompileOptions, *, cache: bool = False) -> Compilation:
    """The same in a process of its own: an abort is the error of a pass."""
    return _launchable(lower_in_worker(_request(source, options, cache)))


def _request(source: Source, options: CompileOptions, cache: bool) -> CompileRequest:
    return CompileRequest(
        source.traced.bytecode,
        source.target,
        source.traced.name,
        source=source.file,
        signature=source.traced.signature,
        workload=source.workload,
        options=options,
        cache=cache,
    )


def _launchable(compilation: Compilation) -> Compilation:
    if compilation.host_program is None:
        raise Error("there is no host program, so that it cannot be launched")
    return compilation


def make_variant(
    source: Source, pipeline: str, backend: Backend, choice: Choice, bundle: Path, apart: bool = False
) -> Variant:
    """One variant, its bundle written to the file `bundle`; compiled in this process, or `apart` in one of its own."""
    compiled = compile_apart if apart else compile_here
    try:
        compilation = compiled(source, choice.options_for(pipeline, backend), cache=choice.cache)
        write_bundle(bundle, [compilation])
    except Error as error:
        where = f"{error.pass_name}: " if isinstance(error, PassError) and error.pass_name else ""
        place = f"{error.location}: " if error.location else ""
        return Variant(pipeline, backend, failure=f"{place}{where}{error.message}")
    changing = [index for index, step in enumerate(compilation.steps) if step.changed]
    return Variant(pipeline, backend, bundle.name, code_of(compilation), None, compilation.pipeline, changing)


def code_of(compilation: Compilation) -> Code:
    """Registers, spills, size and instructions of all device functions."""
    resources = compilation.resources
    spilling = any(each.spill_store_bytes for each in resources)
    mix: Counter[str] = Counter()
    size = 0
    for function in read_sass((compilation.artifact("sass") or b"").decode()):
        size += len(function.instructions) * _INSTRUCTION_BYTES
        mix.update(classify(each.text, spills=spilling) for each in function.instructions)
    return Code(
        registers=max((each.registers for each in resources), default=0),
        spills=sum(each.spill_store_bytes or 0 for each in resources),
        bytes=size,
        instructions=dict(mix.most_common()),
    )


def plain_name(text: str) -> str:
    """A pipeline or kernel as a part of a file's name."""
    return re.sub(r"[^\w-]+", "-", text).strip("-")[:40]
