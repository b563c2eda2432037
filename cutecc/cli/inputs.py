"""What the user named on the command line: a kernel in a Python file, or a module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from cutecc.cli.files import hints_for, read_input
from cutecc.cli.option_texts import split_arg
from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.config import Settings
from cutecc.errors import Error, TraceError, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.naming import kernel_request
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.operations.gemm_problem import GemmProblem
from cutecc.passes.dumps import Stage, read_stage
from cutecc.record import Workload
from cutecc.record.folder import MANIFEST, file_name
from cutecc.support import isolation
from cutecc.target import Target, parse_targets, target_in_name

MODULE_SUFFIXES = (".mlir", ".mlirbc", ".bc")
_NAMED_FILES = 3
"""Of a folder, in a hint."""


@dataclass(frozen=True)
class ModuleFile:
    """A `.mlir` file, text or bytecode, at any stage of the pipeline."""

    path: Path
    data: bytes
    targets: list[Target]
    stage: Stage | None = None
    """What the first line says, when it is a dump of cutecc's."""
    workload: None = None
    entry: None = None

    @property
    def source(self) -> str:
        """The file as the user named it."""
        return str(self.path)

    @property
    def name(self) -> str:
        """The kernel's short name."""
        return file_name(self.stage.kernel if self.stage else self.path.stem)


@dataclass(frozen=True)
class KernelFile:
    """A Python file with a kernel, and what to trace it with."""

    path: str
    request: TraceRequest
    targets: list[Target]
    workload: Workload | None = None
    """What the file's header says about running the kernel."""
    stage: None = None

    @property
    def entry(self) -> str | None:
        """What of the file is compiled: a function or an expression; `None` for its only function."""
        return self.request.function or self.request.entry

    @property
    def source(self) -> str:
        """The file as the user named it."""
        return self.path


@dataclass(frozen=True)
class NamedOperator:
    """An operator of nvidia-cutlass-operators by its name, and what to compile it for."""

    text: str
    """Its name, or a part of it."""
    problem: GemmProblem
    files: tuple[str, ...]
    """Python files that register operators."""
    targets: list[Target]
    workload: None = None
    stage: None = None

    @property
    def entry(self) -> str:
        """The product that it is compiled for."""
        return str(self.problem)

    @property
    def source(self) -> str:
        """What the user named."""
        return self.text

    def trace(self, target: Target, options: CompileOptions) -> TracedModule:
        """Trace it, in a process of its own. Raises `TraceError`, and `UsageError` for a name that is none."""
        try:
            return isolation.call(
                "cutecc.operations.operators.tracing:trace_named",
                self.text,
                self.problem,
                target.name,
                options.trace_options,
                options.wants_locations,
                self.files,
                environment={"CUTE_DSL_ARCH": target.name},
                quiet=False,
            )
        except isolation.ProcessDied as death:
            raise TraceError(f"tracing {self.text} aborted: {death.message}") from None


def choose_operator(
    name: str, gemm: str | None, files: tuple[str, ...], target: str | None, settings: Settings
) -> NamedOperator:
    """The operator that `--operator` names. Raises `UsageError`."""
    if gemm is None:
        raise UsageError("--operator needs to know what to compile for", hints=["say it: --gemm 4096x4096x4096:f16"])
    return NamedOperator(name, GemmProblem.parse(gemm), files, _targets(target, settings))


def choose(
    text: str, args: tuple[str, ...], entry: str | None, target: str | None, settings: Settings
) -> KernelFile | ModuleFile:
    """The input that `text` names, with its arguments and targets. Raises `UsageError`."""
    if text.endswith(MODULE_SUFFIXES):
        if args or entry:
            raise UsageError("--arg and --entry are for Python files", hints=["a .mlir file has its types already"])
        path = Path(text)
        data = read_input(path)
        stage = read_stage(data[:65536].decode(errors="replace"))
        own = stage.target if stage else getattr(target_in_name(path.name), "name", None)
        return ModuleFile(path, data, _targets(target or own, settings), stage)
    path, function = split_path(text)
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder, not a kernel's file", hints=[_instead_of_folder(Path(path))])
    if not path.endswith(".py"):
        hints = hints_for(path)
        if path.endswith(".cutecc") and not hints:
            hints = [f"a bundle is compiled already; to launch it: cutecc run {text}"]
        raise UsageError(f"'{text}' is neither a Python file nor a .mlir file", hints=hints)
    request, header = kernel_request(path, function, entry, dict(split_arg(each) for each in args))
    return KernelFile(path, request, _targets(target or header.target, settings), header.workload)


def compile_request(
    chosen: KernelFile | ModuleFile | NamedOperator, target: Target, options: CompileOptions
) -> CompileRequest:
    """To compile it for a target, as this process's command line; of a kernel, without what tracing tells."""
    module, name = (chosen.data, chosen.name) if isinstance(chosen, ModuleFile) else (b"", "")
    return CompileRequest(
        module,
        target.name,
        name,
        source=chosen.source,
        entry=chosen.entry,
        workload=chosen.workload,
        options=options,
        command=["cutecc", *sys.argv[1:]],
    )


def _instead_of_folder(folder: Path) -> str:
    """What to name instead, as far as the folder says."""
    if any([*folder.glob(MANIFEST), *folder.glob(f"*/{MANIFEST}")]):
        return f"it holds the record of a kernel that is compiled: cutecc show {folder}, cutecc report {folder}"
    files = sorted(each for suffix in ("*.py", "*.mlir", "*.mlirbc") for each in folder.glob(suffix))
    if not files:
        return "name a Python file with a kernel, or a .mlir file"
    more = " …" if len(files) > _NAMED_FILES else ""
    return f"name files of it, one or several: {' '.join(map(str, files[:_NAMED_FILES]))}{more}"


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
