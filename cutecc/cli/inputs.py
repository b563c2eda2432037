"""What the user named on the command line: a kernel in a Python file, or a module."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc import isolation
from cutecc.cli.files import read_input
from cutecc.config import Settings
from cutecc.errors import Error, TraceError, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.naming import kernel_request
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.passes.dumps import Stage, read_stage
from cutecc.record import Remark, Signature
from cutecc.record.folder import file_name
from cutecc.request import CompileOptions
from cutecc.target import Target, parse_targets


@dataclass(frozen=True)
class TracedInput:
    """A module on its way to the passes."""

    module: bytes
    name: str
    signature: Signature | None = None
    warnings: tuple[Remark, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class ModuleFile:
    """A `.mlir` file, text or bytecode, at any stage of the pipeline."""

    path: Path
    data: bytes
    targets: list[Target]
    stage: Stage | None = None
    """What the first line says, when it is a dump of cutecc's."""

    @property
    def source(self) -> str:
        """The file as the user named it."""
        return str(self.path)

    def trace(self, target: Target, options: CompileOptions) -> TracedInput:
        """The module itself; there is nothing to trace."""
        return TracedInput(self.data, file_name(self.stage.kernel if self.stage else self.path.stem))


@dataclass(frozen=True)
class KernelFile:
    """A Python file with a kernel, and what to trace it with."""

    path: str
    request: TraceRequest
    targets: list[Target]
    stage: None = None

    @property
    def source(self) -> str:
        """The file as the user named it."""
        return self.path

    def trace(self, target: Target, options: CompileOptions) -> TracedInput:
        """Run the file and trace the kernel for `target`, in a process of its own. Raises `TraceError`."""
        start = time.perf_counter()
        request = replace(self.request, target=target.name, options=options.trace_options)
        try:
            traced: TracedModule = isolation.call(
                "cutecc.frontend.trace:trace_file", request, environment={"CUTE_DSL_ARCH": target.name}, quiet=False
            )
        except isolation.ProcessDied as death:
            raise TraceError(f"tracing {self.path} aborted: {death.message}") from None
        seconds = time.perf_counter() - start
        return TracedInput(traced.bytecode, traced.name, traced.signature, traced.warnings, seconds)


def choose(
    text: str, args: tuple[str, ...], entry: str | None, target: str | None, settings: Settings
) -> KernelFile | ModuleFile:
    """The input that `text` names, with its arguments and targets. Raises `UsageError`."""
    if text.endswith((".mlir", ".mlirbc", ".bc")):
        if args or entry:
            raise UsageError("--arg and --entry are for Python files", hints=["a .mlir file has its types already"])
        path = Path(text)
        data = read_input(path)
        stage = read_stage(data[:65536].decode(errors="replace"))
        return ModuleFile(path, data, _targets(target or (stage.target if stage else None), settings), stage)
    path, function = split_path(text)
    if not path.endswith(".py"):
        raise UsageError(f"'{text}' is neither a Python file nor a .mlir file")
    request, header = kernel_request(path, function, entry, dict(_arg(each) for each in args))
    return KernelFile(path, request, _targets(target or header.target, settings))


def _arg(text: str) -> tuple[str, str]:
    name, equals, spec = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--arg takes NAME=SPEC, not '{text}'", hints=["for example --arg a='f16[?,?{div=8}]'"])
    return name.strip(), spec.strip()


def _targets(choice: str | None, settings: Settings) -> list[Target]:
    choice = choice or settings.target
    if choice is not None:
        return parse_targets(str(choice))
    try:
        return parse_targets("native")
    except Error:
        raise UsageError(
            "no target: none is given, and this machine has no GPU to compile for",
            hints=['name one, for example --target sm_90a, or put it into the file: # cutecc: target = "sm_90a"'],
        ) from None
