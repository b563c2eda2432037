"""The kernel that `cutecc run`, `sanitize` and `bench` launch: out of a record, or compiled for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutecc
from cutecc.arguments.grammar import parse_spec
from cutecc.cli.files import is_ptx, is_record
from cutecc.cli.option_texts import split_arg
from cutecc.cli.ptx import LaunchOptions, ptx_subject
from cutecc.cli.subject import Subject
from cutecc.errors import RecordError, SourceLocation, UsageError
from cutecc.harness.arguments import specs_of
from cutecc.kernel import Kernel, KernelSet
from cutecc.record import Workload
from cutecc.runtime.device import runs_on
from cutecc.support.distributions import needed_by
from cutecc.support.spelling import did_you_mean
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.compilation.request import CompileOptions
    from cutecc.emulator.limits import Limits


def load_subject(
    text: str,
    capability: tuple[int, int] | None,
    *,
    args: Sequence[str] = (),
    entry: str | None = None,
    target: str | None = None,
    options: CompileOptions | None = None,
    cache: bool | None = None,
    output: Path | None = None,
    untrusted: bool = False,
    limits: Limits | None = None,
    launch: LaunchOptions | None = None,
) -> Subject:
    """The kernel that `text` names: out of a record, or compiled as `cutecc.cli.compiled_subject` does.

    PTX has to be told how it is launched; `limits` are what it may have if it is `untrusted`. The kernel is for a GPU
    of this compute capability, and for the emulator without one. Without `options` a file is compiled as it always is.
    Raises `UsageError` for what is not there or does not run here, and as compiling and loading do.
    """
    if launch is not None and is_ptx(text):
        if entry or target or options is not None:
            raise UsageError(
                f"{text} is compiled already: --entry, --target and options of the compiler are for Python"
            )
        return ptx_subject(text, launch, args, limits if untrusted else None)
    if launch is not None and launch.given:
        raise UsageError(f"{', '.join(launch.given)}: only PTX has to be told how it is launched")
    if is_record(text):
        if entry or target:
            raise UsageError("--entry and --target are for Python files", hints=["a bundle has its targets already"])
        if options is not None:
            raise UsageError(f"{text} is compiled already: options of the compiler are for Python files")
        return _from_record(text, capability, args, untrusted)
    with needed_by(f"compiling {text}", extra="run"):
        from cutecc.cli.compiled_subject import compile_subject

    return compile_subject(
        text, capability, args=args, entry=entry, target=target, options=options, cache=cache, output=output
    )


def loader(values: Mapping[str, Any], capability: tuple[int, int] | None) -> Callable[..., Subject]:
    """`load_subject` with what a command line says of the kernel, for a device of this compute capability."""
    cache = False if values["no_cache"] else None
    return partial(load_subject, capability=capability, args=values["args"], target=values["target"], cache=cache)


def _from_record(text: str, capability: tuple[int, int] | None, args: Sequence[str], untrusted: bool) -> Subject:
    loaded = cutecc.load(text, untrusted=untrusted)
    kernel = _fitting(loaded, capability) if isinstance(loaded, KernelSet) else loaded
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


def _fitting(kernels: KernelSet, capability: tuple[int, int] | None) -> Kernel:
    """Of the kernels of a record that for a GPU of this compute capability, or for the emulator."""
    if capability is None:
        return kernels.emulated
    fitting = [target for target in kernels if runs_on(target, capability)]
    # Without one, launching says whether the driver can compile the PTX.
    return kernels[max(fitting or kernels, key=Target.parse)]
