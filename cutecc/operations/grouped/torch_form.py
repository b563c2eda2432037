"""Grouped products as an operator of torch: packed tensors, and where groups end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cutecc.errors import UsageError
from cutecc.operations.epilogue.values import Kind
from cutecc.operations.grouped.arguments import is_packed
from cutecc.operations.grouped.description import Packing
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.torch_types import TYPES

_MODES: dict[Packing, tuple[int, int]] = {"rows": (2, 3), "columns": (3, 2), "depth": (2, 2)}
"""Of A and B."""


class GroupedForm:
    """Grouped products of packed tensors."""

    def __init__(self, op: GroupedGemm) -> None:
        """Raises `UsageError` where torch has no form for the operation's arguments."""
        self._description = op.description
        if op.description.packing == "list":
            raise UsageError("an operator of torch takes tensors, and this operation lists of matrices")
        self.settings: list[str] = []
        self.tensors = ["offsets", *(["scales_a", "scales_b"] if op.description.scales != "none" else [])]

    def results(self, torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        a, b, offsets = given["A"], given["B"], given["offsets"]
        packing, gemm = self._description.packing, self._description.gemm
        modes = _MODES[packing]
        torch._check(
            (a.dim(), b.dim()) == modes, lambda: f"A has {modes[0]} modes and B {modes[1]}: packed as {packing}"
        )
        torch._check(a.shape[-1] == b.shape[-2], lambda: f"A is {tuple(a.shape)} and B is {tuple(b.shape)}: K differs")
        m, n, groups = a.shape[-2], b.shape[-1], offsets.shape[0]
        whole = (groups,) if packing == "depth" else ()
        made: dict[str, Any] = {}
        for each in gemm.epilogue.outputs:
            dtype = getattr(torch, TYPES[each.dtype])
            layout = gemm.d.layout if each.name == "D" else each.layout
            if each.kind != "full":
                made[each.name] = a.new_empty(self._of_vector(each.kind, groups, m, n), dtype=dtype)
            elif layout == "column":
                made[each.name] = a.new_empty((*whole, n, m), dtype=dtype).transpose(-1, -2)
            else:
                made[each.name] = a.new_empty((*whole, m, n), dtype=dtype)
        return made

    def _of_vector(self, kind: Kind, groups: Any, m: Any, n: Any) -> tuple[Any, ...]:
        """The shape of a reduction."""
        if kind == "scalar":
            return (groups,)
        extent = n if kind == "row" else m
        return (extent,) if is_packed(self._description.packing, kind) else (groups, extent)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return dict(given)
