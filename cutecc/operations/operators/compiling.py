"""`cutecc.operations.compile`: an operator of nvidia-cutlass-operators to a kernel of cutecc's."""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutecc.config import Settings
from cutecc.errors import Error, UsageError, describe
from cutecc.frontend.traced import TracedModule
from cutecc.kernel import Kernel, KernelSet
from cutecc.operations.machine import machine
from cutecc.operations.operators.session import Build, CompiledOperator, Session, as_target_sm
from cutecc.operations.operators.through import stepped_in
from cutecc.operations.operators.workload import with_workload
from cutecc.target import Target, parse_targets


def compile(
    operator: Any,
    args: Any,
    *,
    target: str | Target | Sequence[str | Target] | None = None,
    multiprocessors: int | None = None,
    output: str | Path | None = None,
    **settings: Any,
) -> Kernel | KernelSet:
    """Compile an operator of nvidia-cutlass-operators for its arguments, such as `GemmArguments`. Needs no GPU.

    Arguments may be made of tensors of torch, also on the CPU, fakes and on `meta`, and of `tensor("f16[4096,4096]")`,
    which has no memory. `multiprocessors` is how many a persistent kernel is to fill; by default the target decides
    (`docs/operators.md`), whatever GPU is here. Everything else, also what is returned, as for `cutecc.compile`.

    Raises `UsageError` when the operator does not support the arguments or the target, with its reason, or does not
    compile through `CuteDslOperator.cute_compile`; else as `cutecc.compile`.
    """
    from cutecc.driver import compile as compile_kernel

    targets = _targets(target)
    kernels: dict[str, Kernel] = {}
    for each in targets:
        folder = Path(output) / each.name if output and len(targets) > 1 else output

        def build(
            entry: Any, values: tuple[Any, ...], target: Target, folder: str | Path | None = folder
        ) -> CompiledOperator:
            kernel = compile_kernel(entry, *values, target=target, output=folder, **settings)
            assert isinstance(kernel, Kernel)
            return CompiledOperator(kernel, "cuda", None)

        compiled = _built(operator, args, each, build, multiprocessors)
        kernels[each.name] = compiled.kernel
    return KernelSet(kernels) if len(kernels) > 1 else kernels[targets[0].name]


def trace(
    operator: Any,
    args: Any,
    *,
    target: Target,
    options: str = "",
    locations: bool = True,
    multiprocessors: int | None = None,
) -> TracedModule:
    """The traced module of an operator, before any pass, with the sizes of `args` to run with (`with_workload`).

    Arguments and errors as `compile`.
    """
    from cutecc.driver import trace as trace_kernel

    def build(entry: Any, values: tuple[Any, ...], target: Target) -> TracedModule:
        traced = trace_kernel(entry, *values, target=target, options=options, locations=locations)
        return with_workload(traced, operator, args, values, multiprocessors or machine(target.name).multiprocessors)

    return _built(operator, args, target, build, multiprocessors)


def check_support(operator: Any, args: Any, target: Target) -> None:
    """Raise `UsageError`, with the operator's reason, unless it supports the arguments and the target."""
    status = operator.supports(args, as_target_sm(target))
    if not status:
        raise UsageError(f"{operator.metadata.operator_name} does not support the arguments: {status.error}")


def _built(operator: Any, args: Any, target: Target, build: Build, multiprocessors: int | None) -> Any:
    """What `build` makes when the operator compiles."""
    check_support(operator, args, target)
    made: list[Any] = []

    @functools.wraps(build)
    def keep(entry: Any, values: tuple[Any, ...], target: Target) -> Any:
        made.append(build(entry, values, target))
        return made[-1]

    name = operator.metadata.operator_name
    with stepped_in(Session(keep, lambda target: multiprocessors or machine(target.name).multiprocessors, target)):
        try:
            operator.compile(args, as_target_sm(target))
        except Error:
            raise
        except Exception as error:
            raise UsageError(f"{name} does not compile: {describe(error)}") from error
    if len(made) != 1:
        raise UsageError(
            f"{name} compiles {len(made) or 'nothing'} through CuteDslOperator.cute_compile; one function is needed",
            hints=["derive the operator from CuteDslOperator, and compile with self.cute_compile(…)"],
        )
    return made[0]


def _targets(choice: str | Target | Sequence[str | Target] | None) -> list[Target]:
    if isinstance(choice, Target):
        return [choice]
    named = choice or Settings.from_environment().target or "native"
    return parse_targets(named if isinstance(named, str) else ",".join(map(str, named)))
