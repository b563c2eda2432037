"""The wheel's `lir-pipeline-to-nvvm`: buffers and pipelines of the experimental API become memory and mbarriers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import PassError
from cutecc.ir.building import before
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.passes.nesting import OperationPass
from cutecc.passes.nvidia.reimplementations.lir_buffers import allocate, can_allocate
from cutecc.passes.nvidia.reimplementations.lir_builder import BARRIER, PIPELINE, STATE
from cutecc.passes.nvidia.reimplementations.lir_edges import PipelineKind
from cutecc.passes.nvidia.reimplementations.lir_pipelines import Pipelines
from cutecc.passes.registry import register
from cutecc.record import Provider

_CAST = "builtin.unrealized_conversion_cast"
_CARRIERS = (_CAST, "scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition")
_CREATE = ("lir.create_pipeline", "lir.create_pipeline_with_mask")

# Operations of the dialect that later passes lower.
_LEFT_ALONE = frozenset(
    f"lir.{name}"
    for name in (
        *("func", "return", "yield", "partition", "copy", "simt_auto_vec_copy", "elementwise", "warp_reduce"),
        *("dot", "dot_block_scaled", "tma_load", "tma_load_multicast", "tma_store", "tma_reduce_store"),
        *("detail.tma_load", "detail.tma_load_multicast", "detail.tma_store", "detail.tma_reduce_store"),
        *("detail.tma_update", "get_mcast_layout", "predicated_tensor_origin"),
        *("ptrcast", "static_alloc_smem", "static_alloc_tmem", "get_static_tmem_alloc_size"),
        "detail.initialize_params",
        # The first pass rewrites these.
        *("create_circular_buffer_pipeline", "circular_buffer_pipeline_consume"),
        *("circular_buffer_pipeline_consumer_release", "circular_buffer_pipeline_advance_iterator"),
    )
)


@register
@dataclass(frozen=True)
class LirPipelineToNvvm(OperationPass):
    """Lower buffers to memory of their address space, and pipelines to mbarriers in shared memory.

    Waits and arrivals become `sync.mbarrier_acquire` and `sync.mbarrier_release`, which say what they synchronise.
    """

    name: ClassVar[str] = "lir-pipeline-to-nvvm"
    provider: ClassVar[Provider] = "reimplementation"
    runs_on: ClassVar[tuple[str, ...]] = ("lir.func",)

    def run(self, operation: ir.Operation) -> None:
        unknown = unknown_operation(operation)
        if unknown is not None:
            raise PassError(
                f"cutecc does not know what the wheel's hidden pass '{self.name}' makes of '{unknown}'",
                hints=["the pipeline `nvidia` then runs a composite step of the wheel's instead"],
            )
        _lower(operation)


def lir_functions(module: ir.Module) -> Iterator[Any]:
    """The functions of the experimental API in `module`."""
    for outer in module.body.operations:
        if outer.operation.name == "gpu.module":
            for inner in outer.operation.regions[0].blocks[0].operations:
                if inner.operation.name == "lir.func":
                    yield inner.operation


def unknown_operation(function: Any) -> str | None:
    """The first operation whose lowering is not known, as text; `None` when there is none.

    Says the same before and after the passes that precede this one, but for what they fold away.
    """
    found: list[str] = []

    def visit(op: Any) -> ir.WalkResult:
        operation = op.operation
        if _is_known(operation):
            return ir.WalkResult.ADVANCE
        types = [str(value.type) for value in (*operation.results, *operation.operands)]
        found.append(f"{operation.name} ({', '.join(types)})")
        return ir.WalkResult.INTERRUPT

    function.walk(visit)
    return found[0] if found else None


def _is_known(operation: Any) -> bool:
    name = operation.name
    if name == "lir.allocate_buffer":
        return can_allocate(operation)
    if name in _LEFT_ALONE:
        return True
    if name.startswith("lir.") and name not in _METHODS:
        return False
    types = [str(value.type) for value in (*operation.results, *operation.operands)]
    if name in _METHODS:
        if name == "lir.get_arrival_count":
            types.append(str(operation.attributes["pipeline_type"]))
        return all(PipelineKind.parse(text) for text in types if text.startswith("!lir.pipeline<"))
    # Control flow may carry what the dialect's own operations give.
    return name in _CARRIERS or not any(text.startswith("!lir.") for text in types)


def _lower(function: Any) -> None:
    operations: list[Any] = []

    def collect(op: Any) -> ir.WalkResult:
        operations.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(collect, ir.WalkOrder.PRE_ORDER)
    pipelines = Pipelines(one_thread=_compute_capability(function) < 100)
    last_creation = max((index for index, operation in enumerate(operations) if operation.name in _CREATE), default=-1)
    for index, operation in enumerate(operations):
        if operation.name in _CREATE and operation.parent.name != "lir.func":
            raise PassError("a pipeline is created inside control flow", user_location(operation.location))
        if operation.name == "lir.allocate_buffer":
            with before(operation):
                _replace(operation, allocate(operation))
        elif operation.name in _METHODS:
            with before(operation):
                values = getattr(pipelines, _METHODS[operation.name])(operation)
                if index == last_creation:
                    pipelines.fence()
                _replace(operation, values)
        elif operation.regions:
            _convert_types(operation)
        elif operation.name == _CAST and operation.operands[0].type == operation.results[0].type:
            _replace(operation, [operation.operands[0]])


_METHODS = {
    "lir.get_arrival_count": "arrival_count",
    "lir.create_pipeline": "create_pipeline",
    "lir.create_pipeline_with_mask": "create_pipeline",
    "lir.create_pipeline_state": "create_state",
    "lir.create_pipeline_state_at": "create_state_at",
    "lir.get_pipeline_produce_phase": "produce_phase",
    "lir.get_pipeline_consume_phase": "consume_phase",
    "lir.producer_acquire": "producer_acquire",
    "lir.producer_try_acquire": "producer_try_acquire",
    "lir.consumer_try_wait": "consumer_try_wait",
    "lir.pipeline_tail": "tail",
    "lir.producer_commit": "producer_commit",
    "lir.consumer_wait": "consumer_wait",
    "lir.consumer_release": "consumer_release",
    "lir.get_pipeline_produce_stage": "produce_stage",
    "lir.get_pipeline_consume_stage": "consume_stage",
    "lir.get_mbarrier": "get_mbarrier",
    "lir.pipeline_advance_iterator": "advance",
}


def _replace(operation: Any, values: list[Any]) -> None:
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _convert_types(operation: Any) -> None:
    """Let results and block arguments of control flow carry structs."""
    values = [*operation.results]
    for region in operation.regions:
        for block in region.blocks:
            values += block.arguments
    for value in values:
        new = _converted(str(value.type))
        if new is not None:
            value.set_type(ir.Type.parse(new))


def _converted(text: str) -> str | None:
    if not text.startswith("!lir."):
        return None
    for prefix, new in (("pipeline_state<", STATE), ("pipeline<", PIPELINE), ("stage_token<", BARRIER)):
        if text.startswith(f"!lir.{prefix}"):
            return new
    return None


def _compute_capability(function: Any) -> int:
    match = re.search(r"arch = sm_(\d+)", str(function.attributes["cc_attr"]))
    if match is None:
        raise PassError(f"lir.func without a compute capability: {function.attributes['cc_attr']}")
    return int(match[1])
