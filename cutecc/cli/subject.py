"""What `cutecc run` and `cutecc bench` launch: a kernel compiled from a Python file, or one out of a bundle."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cutecc
from cutecc.arguments.specs import Spec, parse_spec
from cutecc.cli.diagnostics import show_warnings
from cutecc.cli.files import hints_for, is_record
from cutecc.cli.inputs import KernelFile, choose, split_arg
from cutecc.compilation.request import CompileOptions, CompileRequest, with_line_info
from cutecc.config import Settings
from cutecc.emulator.names import EMULATED_TARGET, NEWEST, OLDEST, models
from cutecc.errors import Error, RecordError, SourceLocation, UsageError
from cutecc.frontend.files import check_file
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.size_arithmetic import evaluate
from cutecc.frontend.traced import TracedModule
from cutecc.harness.arguments import specs_of
from cutecc.kernel import Kernel, KernelSet
from cutecc.record import Workload
from cutecc.record.folder import MANIFEST
from cutecc.runtime.device import runs_on
from cutecc.support.spelling import did_you_mean
from cutecc.target import Target


@dataclass(frozen=True)
class Function:
    """A function in a file of the user's."""

    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"


@dataclass(frozen=True)
class Subject:
    """A kernel to launch, and what is known about running it."""

    kernel: Kernel
    specs: dict[str, Spec]
    """By parameter, with the values to run with."""
    workload: Workload
    reference: Function | None = None
    peers: tuple[Function, ...] = ()
    record: str | None = None
    """The bundle or folder that it is out of; `None` where it was compiled here. A record's workload is the word of
    whoever made it, and no bar for it."""

    @property
    def name(self) -> str:
        """The kernel's short name."""
        return self.kernel.compilation.name

    @property
    def target(self) -> str:
        """What the kernel is compiled for."""
        return self.kernel.compilation.target

    def bytes_moved(self, sizes: dict[str, int]) -> float | None:
        """Bytes of one run with these sizes; `None` when the file does not say."""
        return None if self.workload.bytes is None else evaluate(self.workload.bytes, sizes)

    def operations(self, sizes: dict[str, int]) -> float | None:
        """Floating-point operations of one run with these sizes; `None` when the file does not say."""
        return None if self.workload.flops is None else evaluate(self.workload.flops, sizes)


def check_input(text: str) -> None:
    """Raise `UsageError` for what is no kernel to run, which is known before there is a GPU."""
    if text.endswith((".mlir", ".mlirbc", ".bc")):
        raise UsageError(f"{text} is a module, which does not say how to call it", hints=["name the Python file"])
    path, _ = split_path(text)
    if not Path(path).is_dir():
        check_file(path)
        if not path.endswith((".py", ".cutecc")):
            folder = Path(path).parent
            hints = [f"name its folder: {folder}"] if Path(path).name == MANIFEST else hints_for(path)
            raise UsageError(f"'{text}' is neither a Python file nor a bundle (.cutecc)", hints=hints)
    elif not any([*Path(path).glob(MANIFEST), *Path(path).glob(f"*/{MANIFEST}")]):
        raise UsageError(
            f"{path} is a folder without a record: it has no {MANIFEST}",
            hints=["name a Python file, a bundle, or the folder that cutecc compile wrote"],
        )


def load_subject(
    text: str,
    capability: tuple[int, int] | None,
    *,
    args: Sequence[str] = (),
    entry: str | None = None,
    target: str | None = None,
    options: CompileOptions = CompileOptions(),
    cache: bool | None = None,
    output: Path | None = None,
    untrusted: bool = False,
) -> Subject:
    """The kernel that `text` names, compiled for a GPU of this compute capability; for the emulator without one.

    A file's own target counts if that device runs it; else it is compiled for the device, unless it needs another
    architecture. For the emulator, code that is compiled here says which line it belongs to. What is compiled here has
    its record in the folder `output` if there is to be one, with all that a report shows. Raises `UsageError` for what
    is not there or does not run here, and as compiling and loading do.
    """
    if is_record(text):
        if entry or target:
            raise UsageError("--entry and --target are for Python files", hints=["a bundle has its targets already"])
        if options != CompileOptions():
            raise UsageError(f"{text} is compiled already: options of the compiler are for Python files")
        return _from_record(text, capability, args, untrusted)
    if capability is None:
        options = with_line_info(options)
    path, function = split_path(text)
    header = read_header(path) if path.endswith(".py") else Header()
    chosen = choose(text, tuple(args), entry, target or _target(header, capability), Settings.from_environment())
    assert isinstance(chosen, KernelFile)
    if len(chosen.targets) > 1 or not _runs(chosen.targets[0].name, capability):
        names = ", ".join(each.name for each in chosen.targets)
        if capability is None:
            hint = [f"compile for one of these: --target {NEWEST}"]
            if len(chosen.targets) > 1:
                raise UsageError(
                    f"--target {names}: the emulator runs code for one target, {OLDEST} to {NEWEST}", hints=hint
                )
            raise UsageError(f"the emulator runs code for {OLDEST} to {NEWEST}; {names} it does not model", hints=hint)
        raise UsageError(f"--target {names}: this GPU runs code for one target, {_native(capability)}")
    if output:
        options = replace(options, report=True)
    kernel = _compiled(chosen, chosen.targets[0], options, cache, output)
    # Another function of the file than the header's has its own reference, if any.
    own = entry is None and (function is None or function == header.entry)
    reference = Function(path, header.reference) if own and header.reference else None
    peers = tuple(Function(path, name) for name in header.peers) if own else ()
    signature = kernel.compilation.signature
    assert signature is not None
    specs = {name: chosen.request.args.get(name, spec) for name, spec in specs_of(signature).items()}
    return Subject(kernel, specs, chosen.workload or Workload(), reference, peers)


def _runs(target: str, capability: tuple[int, int] | None) -> bool:
    """Whether code for a target runs on the device: a GPU of this compute capability, or the emulator."""
    return models(target) if capability is None else runs_on(target, capability)


def _from_record(text: str, capability: tuple[int, int] | None, args: Sequence[str], untrusted: bool) -> Subject:
    loaded = cutecc.load(text, untrusted=untrusted)
    kernels = list(loaded.values()) if isinstance(loaded, KernelSet) else [loaded]
    fitting = [kernel for kernel in kernels if _runs(kernel.compilation.target, capability)]
    # Without one, launching says whether the driver can compile the PTX.
    kernel = max(fitting or kernels, key=lambda kernel: Target.parse(kernel.compilation.target))
    if kernel.compilation.signature is None:
        raise RecordError(f"{text} does not say what arguments the kernel takes: it was compiled from a module")
    specs = specs_of(kernel.compilation.signature)
    for each in args:
        name, spec = split_arg(each)
        if name not in specs:
            close = did_you_mean(name, specs)
            raise UsageError(
                f"--arg {name}: the kernel has no such parameter", hints=[*close, f"parameters: {', '.join(specs)}"]
            )
        specs[name] = parse_spec(spec, SourceLocation(f"--arg {name}", column=1, text=spec))
    return Subject(kernel, specs, kernel.compilation.workload or Workload(), record=text)


def _target(header: Header, capability: tuple[int, int] | None) -> str | None:
    """The target to compile a file for when the user names none; `None` leaves it to the settings."""
    if header.target is None:
        return None if capability else Settings.from_environment().target or EMULATED_TARGET
    targets = [Target.parse(name.strip()) for name in header.target.split(",") if name.strip() != "native"]
    for target in targets:
        if _runs(target.name, capability):
            return target.name
    if capability is None:
        if not targets:
            return EMULATED_TARGET
        raise UsageError(
            f"the kernel is for {header.target}, and the emulator models {OLDEST} to {NEWEST}",
            header.sources.get("target"),
            hints=[f"to compile it for one of these all the same: --target {NEWEST}"],
        )
    portable = [target for target in targets if not target.suffix and (target.major, target.minor) <= capability]
    if portable or not targets:
        return _native(capability)
    raise UsageError(
        f"the kernel is for {header.target}, and this GPU is {_native(capability)}",
        header.sources.get("target"),
        hints=[f"to compile it for this GPU all the same: --target {_native(capability)}"],
    )


def _native(capability: tuple[int, int]) -> str:
    major, minor = capability
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def _compiled(
    chosen: KernelFile, target: Target, options: CompileOptions, cache: bool | None, output: Path | None
) -> Kernel:
    from cutecc.cache import lookup
    from cutecc.compilation.from_file import lower_file

    def request(traced: TracedModule, seconds: float) -> CompileRequest:
        return CompileRequest(
            traced.bytecode,
            target.name,
            traced.name,
            source=chosen.source,
            entry=chosen.entry,
            signature=traced.signature,
            workload=chosen.workload,
            options=options,
            output=output,
            command=["cutecc", *sys.argv[1:]],
            trace_seconds=seconds,
            warnings=traced.warnings,
            lines=traced.lines,
            cache=lookup.wanted(cache),
        )

    compilation = lower_file(replace(chosen.request, target=target.name), options, request, cache=cache)
    of_passes = (remark for step in compilation.steps for remark in step.remarks if remark.severity == "warning")
    show_warnings([*compilation.warnings, *dict.fromkeys(of_passes)], chosen.source)
    if compilation.host_program is None:
        raise Error(f"kernel {compilation.name} cannot be launched: the run made no host program")
    return Kernel(compilation)
