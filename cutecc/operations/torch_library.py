"""An operation as an operator of torch: registered with `torch.library`, with an implementation for fake tensors.

Works under `torch.compile`, from a bundle, where there is neither the DSL nor a C++ compiler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.loading import load
from cutecc.operations.operation import Operation
from cutecc.operations.torch_forms import form_of
from cutecc.operations.torch_types import import_torch

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")


def torch_operator(name: str, operation: Operation[Any] | str | Path, *, emulate_on_cpu: bool = False) -> Any:
    """Register an operation, or the bundle of one, as the torch operator `name`, such as `mylib::gemm_gelu`.

    The operator takes A, B and the epilogue's inputs by their names, the numbers among them only so, with their
    defaults; it allocates what the epilogue writes and returns that, a tuple for several. C may be left out where beta
    scales it. That of a convolution also takes `stride`, `padding` (one number for each spatial mode, or two),
    `dilation` and `groups`; `image`, the spatial extents that a dgrad has, by default the least; `filter`, those of a
    wgrad. That of grouped products takes `offsets` behind B. Tensors of a GPU are launched on the current stream. With
    `emulate_on_cpu` those of the CPU go through the emulator, for tests; by default they are refused. It has no
    derivative.

    Returns what `torch.library.custom_op` does; `torch.ops.mylib.gemm_gelu` is the same operator. Raises `UsageError`
    without torch, for a name that is none, and for operations whose arguments torch has no form for.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"'{name}' is no name of an operator", hints=["namespace::name, such as mylib::gemm_gelu"])
    torch = import_torch()
    op: Any = operation if isinstance(operation, Operation) else load(operation)
    form, tensors = form_of(op), _tensor_names(op)

    def compute(*args: Any, **given: Any) -> Any:
        given |= dict(zip(tensors, args, strict=False))
        device = given["A"].device.type
        if device == "cpu" and not emulate_on_cpu:
            raise ArgumentError(
                f"{name} takes tensors of a GPU, and A lives on the CPU: move it with .cuda()",
                hints=["torch_operator(…, emulate_on_cpu=True) runs it on the CPU emulator, which is slow"],
            )
        made = form.results(torch, given)
        op.run(**form.arguments(given), **made, device=device)
        return _returned(made)

    def fake(*args: Any, **given: Any) -> Any:
        return _returned(form.results(torch, given | dict(zip(tensors, args, strict=False))))

    registered: Any = torch.library.custom_op(name, compute, mutates_args=(), schema=schema(op))
    registered.register_fake(fake)
    return registered


def schema(op: Operation[Any]) -> str:
    """The schema of an operation's operator. Raises `UsageError` where torch has no form for its arguments.

    >>> (Tensor A, Tensor B, Tensor? C=None, *, float alpha=1.0, float beta=0.0) -> Tensor
    """
    settings = form_of(op).settings
    arguments: list[str] = []
    for name in _tensor_names(op):
        is_optional = name == "C" and len(op.variants) > 1
        arguments.append("Tensor? C=None" if is_optional else f"Tensor {name}")
    named = [*settings]
    for each in op.epilogue.numbers:
        default = each.default if each.default is not None else {"alpha": 1.0, "beta": 0.0}.get(each.name)
        named.append(f"float {each.name}" + ("" if default is None else f"={float(default)}"))
    results = ["Tensor"] * len(op.epilogue.outputs)
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join([*arguments, *(['*', *named] if named else [])])}) -> {returned}"


def _tensor_names(op: Operation[Any]) -> list[str]:
    """The arguments that are tensors in the order of the schema: a C that may be left out comes last."""
    names = [each.name for each in op.epilogue.inputs if each.in_memory]
    if "C" in names and len(op.variants) > 1:
        names.remove("C")
        names.append("C")
    return ["A", "B", *form_of(op).tensors, *names]


def _returned(made: Mapping[str, Any]) -> Any:
    results = tuple(made.values())
    return results[0] if len(results) == 1 else results
