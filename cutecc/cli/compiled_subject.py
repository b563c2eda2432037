"""A kernel compiled from a Python file, to be launched by `cutecc run`, `sanitize` and `bench`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cutecc.cli.diagnostics import show_warnings
from cutecc.cli.inputs import KernelFile, choose, compile_request
from cutecc.cli.subject import Function, Subject, runs_here
from cutecc.compilation.from_file import lower_file
from cutecc.compilation.request import CompileOptions, with_line_info
from cutecc.config import Settings
from cutecc.emulator.names import EMULATED_TARGET
from cutecc.errors import Error, UsageError
from cutecc.frontend.header import Header, read_header
from cutecc.frontend.kernel_file import split_path
from cutecc.harness.arguments import specs_of
from cutecc.kernel import Kernel
from cutecc.record import Workload
from cutecc.target import Target, native_target


def compile_subject(
    text: str,
    capability: tuple[int, int] | None,
    *,
    args: Sequence[str],
    entry: str | None,
    target: str | None,
    options: CompileOptions | None,
    cache: bool | None,
    output: Path | None,
) -> Subject:
    """The kernel in the file that `text` names, compiled for a GPU of this compute capability, or for the emulator.

    A file's own target counts if that device runs it; else it is compiled for the device, unless it needs another
    architecture. For the emulator, code says which line it belongs to. The record is in the folder `output` if there is
    to be one, with all that a report shows. Raises as `cutecc.cli.loading.load_subject`.
    """
    options = options or CompileOptions()
    if capability is None:
        options = with_line_info(options)
    path, function = split_path(text)
    header = read_header(path) if path.endswith(".py") else Header()
    chosen = choose(text, tuple(args), entry, target or _target(header, capability), Settings.from_environment())
    assert isinstance(chosen, KernelFile)
    _check_targets([each.name for each in chosen.targets], capability)
    if output:
        options = replace(options, report=True)
    kernel = _compiled(chosen, chosen.targets[0], options, cache, output)
    reference, peers = _companions(path, header, own=entry is None and function in (None, header.entry))
    signature = kernel.compilation.signature
    assert signature is not None
    specs = {name: chosen.request.args.get(name, spec) for name, spec in specs_of(signature).items()}
    return Subject(kernel, specs, chosen.workload or Workload(), reference, peers)


def _check_targets(targets: Sequence[str], capability: tuple[int, int] | None) -> None:
    """Raise `UsageError` unless there is one target, which the GPU, or without a capability the emulator, runs."""
    if len(targets) == 1 and runs_here(targets[0], capability):
        return
    names = ", ".join(targets)
    if capability is not None:
        raise UsageError(f"--target {names}: this GPU runs code for one target, {native_target(capability)}")
    raise UsageError(f"--target {names}: the emulator runs code for one target at a time", hints=["name one of them"])


def _companions(path: str, header: Header, *, own: bool) -> tuple[Function | None, tuple[Function, ...]]:
    """The reference and the peers of the header's `own` function; another one of the file has none."""
    if not own:
        return None, ()
    reference = Function(path, header.reference) if header.reference else None
    return reference, tuple(Function(path, name) for name in header.peers)


def _target(header: Header, capability: tuple[int, int] | None) -> str | None:
    """The target to compile a file for when the user names none; `None` leaves it to the settings."""
    if header.target is None:
        return None if capability else Settings.from_environment().target or EMULATED_TARGET
    targets = [Target.parse(name.strip()) for name in header.target.split(",") if name.strip() != "native"]
    for target in targets:
        if runs_here(target.name, capability):
            return target.name
    if capability is None:
        return EMULATED_TARGET
    portable = [target for target in targets if not target.suffix and (target.major, target.minor) <= capability]
    if portable or not targets:
        return native_target(capability)
    raise UsageError(
        f"the kernel is for {header.target}, and this GPU is {native_target(capability)}",
        header.sources.get("target"),
        hints=[f"to compile it for this GPU all the same: --target {native_target(capability)}"],
    )


def _compiled(
    chosen: KernelFile, target: Target, options: CompileOptions, cache: bool | None, output: Path | None
) -> Kernel:
    request = replace(compile_request(chosen, target, options), output=output)
    compilation = lower_file(chosen.request, request, cache=cache)
    of_passes = (remark for step in compilation.steps for remark in step.remarks if remark.severity == "warning")
    show_warnings([*compilation.warnings, *dict.fromkeys(of_passes)], chosen.source)
    if compilation.host_program is None:
        raise Error(f"kernel {compilation.name} cannot be launched: the run made no host program")
    return Kernel(compilation)
