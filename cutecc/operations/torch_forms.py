"""What operators of torch take and return, by the kind of operation: results are allocated from their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cutecc.errors import UsageError
from cutecc.operations.convolution.operation import Convolution
from cutecc.operations.convolution.torch_form import ConvolutionForm
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.grouped.torch_form import GroupedForm
from cutecc.operations.operation import Operation
from cutecc.operations.torch_types import TYPES


class TorchForm(Protocol):
    """An operation as an operator of torch."""

    settings: list[str]
    """What it takes by name besides tensors and the epilogue's numbers, as a schema has it."""
    tensors: list[str]
    """Those that it takes besides A, B and the epilogue's."""

    def results(self, torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """A tensor for everything that the epilogue writes, by name. Sizes may be symbols."""
        ...

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What `run` takes, for what the operator was given."""
        ...


def form_of(op: Operation[Any]) -> TorchForm:
    """The form of an operation. Raises `UsageError` where torch has none for its arguments."""
    if isinstance(op, Convolution):
        return ConvolutionForm(op)
    if isinstance(op, GroupedGemm):
        return GroupedForm(op)
    assert isinstance(op, Gemm)
    return GemmForm(op)


class GemmForm:
    """A product of matrices."""

    def __init__(self, op: Gemm) -> None:
        """Raises `UsageError` where torch has no form for the operation's arguments."""
        description = op.description
        if description.mode == "array":
            raise UsageError("an operator of torch takes tensors, and this operation arrays of matrices")
        operands = (description.a, description.b, description.d)
        if any(each.is_interleaved for each in operands):
            raise UsageError("an operator of torch takes matrices, and this operation interleaved ones")
        self.settings: list[str] = []
        self.tensors: list[str] = []
        self._description = description

    def results(self, torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        a, b = given["A"], given["B"]
        torch._check(a.dim() in (2, 3) and a.dim() == b.dim(), lambda: "A and B are matrices, or batches of them")
        torch._check(a.shape[-1] == b.shape[-2], lambda: f"A is {tuple(a.shape)} and B is {tuple(b.shape)}: K differs")
        batch, (m, n) = tuple(a.shape[:-2]), (a.shape[-2], b.shape[-1])
        made: dict[str, Any] = {}
        for each in self._description.epilogue.outputs:
            dtype = getattr(torch, TYPES[each.dtype])
            layout = self._description.d.layout if each.name == "D" else each.layout
            shape = {"row": (n,), "column": (m,), "scalar": ()}.get(each.kind, (m, n))
            if each.kind == "full" and layout == "column":
                made[each.name] = a.new_empty((*batch, n, m), dtype=dtype).transpose(-1, -2)
            else:
                made[each.name] = a.new_empty((*batch, *shape), dtype=dtype)
        return made

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return dict(given)
