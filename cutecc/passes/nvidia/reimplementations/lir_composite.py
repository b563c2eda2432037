"""The stretch around the wheel's `lir-pipeline-to-nvvm` as one step, for kernels that cutecc cannot lower alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import PassError
from cutecc.ir.building import at_end
from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir, lir, passmanager
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.reimplementations.lir_pipeline_to_nvvm import lir_functions, unknown_operation
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.registry import register
from cutecc.record import Provider

FIRST, LAST = "lir-auto-predication", "lir-pipeline-to-nvvm"

# More columns than any GPU's tensor memory has: `lir-static-memory-allocation` refuses before it changes anything.
_COLUMNS = 1 << 16
_REFUSALS = ("exceeds the hardware capacity", "does not support tmem allocation")
_WRONG_GROUP = "CTA group mismatch"


@register
@dataclass(frozen=True)
class LirComposite(ModulePass):
    """Run the wheel's `lir` passes up to `lir-pipeline-to-nvvm`, where the stretch before it cannot be run alone.

    The wheel's `lir-to-cute-dsl` is stopped right behind the hidden pass by an allocation that its next pass refuses,
    and that is taken out again. It enters with the passes before this step, which change nothing when they run again;
    `lir-auto-predication` would, and so has to be part of the step. Observed: the module is the one that the
    uninterrupted run has there (nvidia-cutlass-dsl 4.8.1).
    """

    name: ClassVar[str] = f"composite:{FIRST}..{LAST}"
    provider: ClassVar[Provider] = "composite"
    anchors: ClassVar[tuple[str, ...]] = ("gpu.module", "lir.func")

    def run(self, module: ir.Module) -> None:
        # Whether a run that stops at one function changes the others is left to chance: each has a run of its own.
        for number in range(len(list(lir_functions(module)))):
            others = _detach_all_but(module, number)
            try:
                _run_up_to_allocation(module)
            except ir.MLIRError as failure:
                raise PassError(str(failure)[:2000], pass_name=self.name) from None
            finally:
                for body, place, function in others:
                    _insert(module, body, place, function)


def _detach_all_but(module: ir.Module, number: int) -> list[tuple[int, int, Any]]:
    """Take the other functions out; for each which top-level operation held it, its place in there, and itself."""
    found = [
        (body, place, inner.operation)
        for body, outer in enumerate(module.body.operations)
        if outer.operation.name == "gpu.module"
        for place, inner in enumerate(outer.operation.regions[0].blocks[0].operations)
        if inner.operation.name == "lir.func"
    ]
    del found[number]
    return [(body, place, function.detach_from_parent()) for body, place, function in found]


def _insert(module: ir.Module, body: int, place: int, function: Any) -> None:
    block = list(module.body.operations)[body].operation.regions[0].blocks[0]
    operations = list(block.operations)
    # A pass manager's run leaves the bindings no operation that they knew before, so places are numbers.
    where = ir.InsertionPoint(operations[place].operation) if place < len(operations) else ir.InsertionPoint(block)
    where.insert(function)


def _run_up_to_allocation(module: ir.Module) -> None:
    for pair_of_blocks in (False, True):
        _insert_allocation(next(lir_functions(module)), pair_of_blocks=pair_of_blocks)
        manager = passmanager.PassManager.parse("builtin.module(lir-to-cute-dsl)", module.context)
        manager.enable_verifier(False)
        try:
            manager.run(module.operation)
        except ir.MLIRError as failure:
            stopped = _erase_allocation(module)
            if _WRONG_GROUP in str(failure) and not pair_of_blocks:
                continue
            if not stopped or not any(refusal in str(failure) for refusal in _REFUSALS):
                raise
            return
        raise PassError("the wheel's lir-to-cute-dsl did not stop behind lir-pipeline-to-nvvm")


def _insert_allocation(function: Any, *, pair_of_blocks: bool) -> None:
    # At the end, for `hoist-create-pipeline-ops` moves pipelines to before the first one.
    last_block = list(function.regions[0].blocks)[-1]
    with at_end(last_block), ir.Location.unknown():
        kind = ir.Type.parse("!cute.ptr<i32, tmem, align<16>>")
        lir.static_alloc_tmem(kind, columns=_COLUMNS, is2cta=pair_of_blocks)


def _erase_allocation(module: ir.Module) -> bool:
    for function in lir_functions(module):
        for op in reversed(list(list(function.regions[0].blocks)[-1].operations)):
            operation = op.operation
            if (
                operation.name == "lir.static_alloc_tmem"
                and str(operation.attributes["columns"]) == f"{_COLUMNS} : i32"
            ):
                operation.erase()
                return True
    return False


def with_composite_where_needed(pipeline: Pipeline, module: ir.Module) -> Pipeline:
    """`pipeline`, with the composite step in the place of its stretch when an operation of `module` needs it.

    A pipeline of a release that does not expand it has no such stretch.
    """
    with plain_values():
        needed = any(unknown_operation(function) is not None for function in lir_functions(module))
    if not needed or all(pass_.name != LAST for pass_ in pipeline):
        return pipeline
    first, last = pipeline.position(FIRST), pipeline.position(LAST)
    return Pipeline((*pipeline.passes[:first], LirComposite(), *pipeline.passes[last + 1 :]))
