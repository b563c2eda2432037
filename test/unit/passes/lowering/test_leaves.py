"""What is kept of types' leaves."""

from __future__ import annotations

import gc
import weakref

import pytest

from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context
from cutecc.passes.lowering.values.leaves import carried_by

LAYOUT = '!cute.layout<"(?,4):(?{i64},1)">'


@pytest.mark.slow
def test_kept_for_one_context_and_not_beyond() -> None:
    contexts: list[weakref.ref[ir.Context]] = []
    for _ in range(3):
        with fresh_context() as context:
            carried = carried_by(ir.Type.parse(LAYOUT))
            assert carried is not None
            assert carried_by(ir.Type.parse(LAYOUT)) is carried
            assert [type.context for type in carried.types] == [context] * 2
        contexts.append(weakref.ref(context))
        del carried, context
    gc.collect()
    assert [reference() is not None for reference in contexts] == [False, False, True]
