"""When a kernel of the experimental API is lowered by a composite step, and what the step stands for."""

from __future__ import annotations

import pytest

from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.nvidia.reimplementations.lir_composite import FIRST, LAST, with_composite_where_needed
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.pipeline import Pipeline, parse_pass

COMPOSITE = "composite:lir-auto-predication..lir-pipeline-to-nvvm"
WHOLE = nvidia_pipeline("sm_100a", lir=True)

KERNEL = """
gpu.module @kernels {{
  lir.func public @kernel() attributes {{cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel}} {{
    {}
    lir.return
  }}
}}
"""
KNOWN = """
    %0 = lir.allocate_buffer() : !cute.memref<f32, smem, align<16>, "16:1">
    %1 = arith.constant 32 : i32
    %2 = lir.create_pipeline(%1, %1) : (i32, i32) -> !lir.pipeline<2, SM90_TMA_LOAD -> LD_SHARED, cta>
"""
UNKNOWN = [
    pytest.param('%0 = "lir.detail.cta_slot_id"() : () -> i32', id="operation"),
    pytest.param('%0 = lir.allocate_buffer() : !cute.memref<f32, smem, "(4,?):(1,4)">', id="layout"),
    pytest.param(
        "%0 = arith.constant 32 : i32\n"
        "%1 = lir.create_pipeline(%0, %0) : (i32, i32) -> !lir.pipeline<2, ST_ASYNC_S -> UNDEF, cluster<all, all>>",
        id="pipeline",
    ),
]


def _chosen(body: str) -> Pipeline:
    with fresh_context():
        return with_composite_where_needed(WHOLE, parse(KERNEL.format(body).encode()))


def test_a_kernel_that_is_known_keeps_every_pass() -> None:
    assert _chosen(KNOWN) is WHOLE


@pytest.mark.parametrize("body", UNKNOWN)
def test_an_unknown_operation_brings_the_composite(body: str) -> None:
    chosen = _chosen(body)
    names, whole = [pass_.name for pass_ in chosen], [pass_.name for pass_ in WHOLE]
    first, last = whole.index(FIRST), whole.index(LAST)
    assert names == [*whole[:first], COMPOSITE, *whole[last + 1 :]]
    assert chosen.passes[first].provider == "composite"
    assert Pipeline.parse(str(chosen)) == chosen


def test_the_composite_is_its_stretch() -> None:
    """The wheel's own passes and the reimplementation, one by one, give the module that the composite gives."""
    source = KERNEL.format(KNOWN).encode()
    before = WHOLE.passes[: WHOLE.position(FIRST)]
    composite = Pipeline((*before, parse_pass(f"gpu.module(lir.func({COMPOSITE}))")))
    texts: list[str] = []
    for pipeline in (composite, WHOLE.until(LAST)):
        with fresh_context():
            module = parse(source)
            manager.run(pipeline, module)
            texts.append(to_text(module, locations=True))
    assert texts[0] == texts[1]
    assert "static_alloc_smem<1>" in texts[0]
