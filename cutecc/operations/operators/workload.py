"""What a traced operator is run with: the sizes of its arguments, named in its parameters' specs, and its workload."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import size_names
from cutecc.arguments.specs import Dynamic, Mode, ScalarSpec, Spec, TensorSpec, TupleSpec
from cutecc.frontend.traced import TracedModule
from cutecc.harness.arguments import specs_of
from cutecc.operations.operators.package import ops
from cutecc.operations.operators.provider import CuteccGemmOperator
from cutecc.record import Signature, Workload

_PROBLEM = ("M", "N", "K", "L")
"""What the parameter `problem` of cutecc's own kernels holds."""
_MODES = {"A": ("M", "K"), "B": ("K", "N"), "out": ("M", "N")}
"""Of the operands of a product, behind L where there are batches."""
_TRANSPOSED = {"M": "N", "N": "M"}
"""The caller's names for the sizes of a kernel that computes the transposed product."""


def with_workload(
    traced: TracedModule, operator: Any, args: Any, values: Sequence[Any], multiprocessors: int
) -> TracedModule:
    """The trace of an operator with the sizes of `args` to run with, its output, and what a run computes and moves.

    `values` are what the traced function was given, `multiprocessors` how many a persistent kernel fills. Sizes are
    called M, N and K, and L where there are batches. What computes no single product is left as it is, and so is a
    function that is given other tensors than those of `args`.
    """
    if not isinstance(args, ops.GemmArguments):
        return traced
    sizes: dict[str, int] = args.problem_size._asdict()
    if isinstance(operator, CuteccGemmOperator):
        specs = _of_ours(operator, specs_of(traced.signature), sizes, multiprocessors)
        output = "operands"
    else:
        operands = _operands(traced.signature, args, values)
        if sorted(operands.values()) != sorted(_MODES):
            return traced
        given = {each.name: each.spec for each in traced.signature.parameters}
        specs = {name: _with_sizes(_named(parse_spec(given[name]), role), sizes) for name, role in operands.items()}
        output = next(name for name, role in operands.items() if role == "out")
    parameters = [
        msgspec.structs.replace(each, spec=str(specs[each.name])) if each.name in specs else each
        for each in traced.signature.parameters
    ]
    signature = msgspec.structs.replace(traced.signature, parameters=parameters)
    return replace(traced, signature=signature, workload=_workload(args, output, "L" in size_names(specs)))


def _of_ours(
    operator: CuteccGemmOperator, specs: dict[str, Spec], sizes: Mapping[str, int], multiprocessors: int
) -> dict[str, Spec]:
    """The parameters of one of cutecc's own kernels, whose sizes have names already (`kernels/signature.py`)."""
    names = _TRANSPOSED if operator.description.is_compiled_transposed else {}
    valued = {name: _with_sizes(spec, sizes, names) for name, spec in specs.items()}
    valued["problem"] = parse_spec(f"({', '.join(f'i32={names.get(each, each)}' for each in _PROBLEM)})")
    if isinstance(count := valued["multiprocessors"], ScalarSpec):
        valued["multiprocessors"] = replace(count, value=multiprocessors)
    return valued


def _operands(signature: Signature, args: Any, values: Sequence[Any]) -> dict[str, str]:
    """Which parameters of a kernel of the package's are operands, and which of them."""
    tensors = {role: getattr(getattr(args, role), "tensor", None) for role in _MODES}
    placeholders = {role: getattr(tensor, "compile_time_tensor", None) for role, tensor in tensors.items()}
    return {
        parameter.name: role
        for parameter, value in zip(signature.parameters, values, strict=False)
        for role, placeholder in placeholders.items()
        if value is not None and value is placeholder
    }


def _named(spec: Spec, role: str) -> Spec:
    """An operand with names for its dynamic sizes."""
    assert isinstance(spec, TensorSpec)
    names = ("L", *_MODES[role])[-len(spec.shape) :]
    shape = [
        replace(mode, name=name) if isinstance(mode, Dynamic) else mode
        for mode, name in zip(spec.shape, names, strict=True)
    ]
    return replace(spec, shape=tuple(shape))


def _with_sizes(spec: Spec, sizes: Mapping[str, int], names: Mapping[str, str] = {}) -> Spec:
    """A parameter with values for its named sizes, which are first renamed as `names` says."""

    def valued(mode: Mode) -> Mode:
        if not isinstance(mode, Dynamic) or mode.name is None:
            return mode
        name = names.get(mode.name, mode.name)
        return replace(mode, name=name, value=sizes[name])

    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(_with_sizes(each, sizes, names) for each in spec.items))
    return replace(spec, shape=tuple(map(valued, spec.shape))) if isinstance(spec, TensorSpec) else spec


def _workload(args: Any, output: str, is_batched: bool) -> Workload:
    batches = " * L" if is_batched else ""
    moved = (f"{' * '.join(modes)} * {getattr(args, role).tensor.dtype.width}" for role, modes in _MODES.items())
    return Workload([output], bytes=f"({' + '.join(moved)}){batches} / 8", flops=f"2 * M * N * K{batches}")
