"""A product as an operator of torch: registered with `torch.library`, with an implementation for fake tensors.

Works under `torch.compile`, from a bundle, where there is neither the DSL nor a C++ compiler.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.gemm import Gemm

_TYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
}
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")


def torch_operator(name: str, operation: Gemm | str | Path, *, emulate_on_cpu: bool = False) -> Any:
    """Register an operation, or the bundle of one, as the torch operator `name`, such as `mylib::gemm_gelu`.

    The operator takes A, B and the epilogue's inputs by their names, the numbers among them only so, with their
    defaults; it allocates what the epilogue writes and returns that, a tuple for several. C may be left out where beta
    scales it. Tensors of a GPU are launched on the current stream. With `emulate_on_cpu` those of the CPU go through
    the emulator, for tests; by default they are refused. It has no derivative.

    Returns what `torch.library.custom_op` does; `torch.ops.mylib.gemm_gelu` is the same operator. Raises `UsageError`
    without torch, for a name that is none, and for operations whose arguments torch has no form for.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"'{name}' is no name of an operator", hints=["namespace::name, such as mylib::gemm_gelu"])
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise UsageError(f"torch cannot be imported: {error}", hints=["pip install 'cutecc[torch]'"]) from None
    op = operation if isinstance(operation, Gemm) else Gemm.load(operation)
    tensors = _tensor_names(op)

    def compute(*args: Any, **given: Any) -> Any:
        given |= dict(zip(tensors, args, strict=False))
        device = given["A"].device.type
        if device == "cpu" and not emulate_on_cpu:
            raise ArgumentError(
                f"{name} takes tensors of a GPU, and A lives on the CPU: move it with .cuda()",
                hints=["torch_operator(…, emulate_on_cpu=True) runs it on the CPU emulator, which is slow"],
            )
        made = _allocate(torch, op, given)
        op.run(**given, **made, device=device)
        return _returned(made)

    def fake(*args: Any, **given: Any) -> Any:
        return _returned(_allocate(torch, op, given | dict(zip(tensors, args, strict=False))))

    registered: Any = torch.library.custom_op(name, compute, mutates_args=(), schema=schema(op))
    registered.register_fake(fake)
    return registered


def schema(op: Gemm) -> str:
    """The schema of an operation's operator. Raises `UsageError` where torch has no form for its arguments.

    >>> (Tensor A, Tensor B, Tensor? C=None, *, float alpha=1.0, float beta=0.0) -> Tensor
    """
    description = op.description
    if description.mode == "array":
        raise UsageError("an operator of torch takes tensors, and this operation arrays of matrices")
    operands = (description.a, description.b, description.d)
    if any(each.layout == "interleaved32" for each in operands):
        raise UsageError("an operator of torch takes matrices, and this operation interleaved ones")
    arguments: list[str] = []
    for name in _tensor_names(op):
        is_optional = name == "C" and len(op.variants) > 1
        arguments.append("Tensor? C=None" if is_optional else f"Tensor {name}")
    numbers: list[str] = []
    for each in op.epilogue.numbers:
        default = each.default if each.default is not None else {"alpha": 1.0, "beta": 0.0}.get(each.name)
        numbers.append(f"float {each.name}" + ("" if default is None else f"={float(default)}"))
    results = ["Tensor"] * len(op.epilogue.outputs)
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join([*arguments, *(['*', *numbers] if numbers else [])])}) -> {returned}"


def _tensor_names(op: Gemm) -> list[str]:
    """The arguments that are tensors in the order of the schema: a C that may be left out comes last."""
    names = [each.name for each in op.epilogue.inputs if each.in_memory]
    if "C" in names and len(op.variants) > 1:
        names.remove("C")
        names.append("C")
    return ["A", "B", *names]


def _allocate(torch: Any, op: Gemm, given: Mapping[str, Any]) -> dict[str, Any]:
    """A tensor for everything that the epilogue writes, by name. Sizes may be symbols."""
    a, b = given["A"], given["B"]
    torch._check(a.dim() in (2, 3) and a.dim() == b.dim(), lambda: "A and B are matrices, or batches of them")
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"A is {tuple(a.shape)} and B is {tuple(b.shape)}: K differs")
    batch, (m, n) = tuple(a.shape[:-2]), (a.shape[-2], b.shape[-1])
    made: dict[str, Any] = {}
    for each in op.epilogue.outputs:
        dtype = getattr(torch, _TYPES[each.dtype])
        layout = op.description.d.layout if each.name == "D" else each.layout
        shape = {"row": (n,), "column": (m,), "scalar": ()}.get(each.kind, (m, n))
        if each.kind == "full" and layout == "column":
            made[each.name] = a.new_empty((*batch, n, m), dtype=dtype).transpose(-1, -2)
        else:
            made[each.name] = a.new_empty((*batch, *shape), dtype=dtype)
    return made


def _returned(made: Mapping[str, Any]) -> Any:
    results = tuple(made.values())
    return results[0] if len(results) == 1 else results
