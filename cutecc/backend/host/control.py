"""Control flow and early ends: `scf`, `cuda.return_if_error`, `cf.assert`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cutecc.backend.host.state import Handler, Translation
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.record.host_program import Block, Instruction, Op, ValueType

Body = Callable[[Translation, ir.Block], ir.Operation]
"""Translates the operations of a block but for its terminator, and returns that."""


def handlers(body: Body) -> dict[str, Handler]:
    """The handlers, which translate what is inside by `body`."""

    def inside(state: Translation, block: ir.Block, parameters: Sequence[int] = ()) -> tuple[Block, ir.Operation]:
        """The block entered with `parameters`, and its terminator; the caller sets what it yields."""
        with state.build.block(parameters) as translated:
            terminator = body(state, block)
        return translated, terminator

    def yields(state: Translation, terminator: ir.Operation) -> list[int]:
        return [number for value in terminator.operands for number in state.of(terminator, value)]

    def if_(state: Translation, operation: ir.Operation) -> None:
        (condition,) = state.operands(operation)
        blocks: list[Block] = []
        for region in operation.regions:
            block, end = inside(state, region.blocks[0]) if len(region.blocks) else (Block(), None)
            blocks.append(Block(block.instructions, [], yields(state, end) if end else []))
        results = _results(state, operation)
        state.build.append(Instruction("if", [condition], results, blocks=blocks))

    def while_(state: Translation, operation: ir.Operation) -> None:
        before, after = (region.blocks[0] for region in operation.regions)
        initial = [number for value in operation.operands for number in state.of(operation, value)]
        condition, end = inside(state, before, _enter(state, before.arguments))
        condition.yields.extend(yields(state, end))
        step, end = inside(state, after, _enter(state, after.arguments))
        step.yields.extend(yields(state, end))
        state.build.append(Instruction("while", initial, _results(state, operation), blocks=[condition, step]))

    def for_(state: Translation, operation: ir.Operation) -> None:
        lower, upper, step, *carried = operation.operands
        first, last, stride = (state.one(operation, value) for value in (lower, upper, step))
        initial = [first, *(number for value in carried for number in state.of(operation, value))]
        types: list[ValueType] = [state.build.types[number] for number in initial]
        less: Op = "ult" if "unsignedCmp" in operation.attributes else "slt"

        parameters = state.build.values(types)
        with state.build.block(parameters) as condition:
            again = state.build.pure(less, "i1", parameters[0], last)
        condition.yields.extend([again, *parameters])

        inner = operation.regions[0].blocks[0]
        parameters = _enter(state, inner.arguments)
        with state.build.block(parameters) as block:
            end = body(state, inner)
            following = state.build.pure("add", types[0], parameters[0], stride)
        block.yields.extend([following, *yields(state, end)])
        results = [state.build.value(types[0]), *_results(state, operation)]
        state.build.append(Instruction("while", initial, results, blocks=[condition, block]))

    return {
        "scf.if": if_,
        "scf.while": while_,
        "scf.for": for_,
        "cuda.return_if_error": _return_if_error,
        "cuda.result.assert_success": _return_if_error,
        "cf.assert": _assert,
    }


def _enter(state: Translation, arguments: Iterable[ir.BlockArgument]) -> list[int]:
    """New value numbers for the arguments of a block."""
    parameters: list[int] = []
    for argument in arguments:
        numbers = state.build.values(state.layout(argument.type).types)
        state.numbers[argument] = numbers
        parameters += numbers
    return parameters


def _results(state: Translation, operation: ir.Operation) -> list[int]:
    results: list[int] = []
    for result in operation.results:
        numbers = state.build.values(state.layout(result.type).types)
        state.numbers[result] = numbers
        results += numbers
    return results


def _return_if_error(state: Translation, operation: ir.Operation) -> None:
    state.build.append(Instruction("return_if_error", state.operands(operation)))


def _assert(state: Translation, operation: ir.Operation) -> None:
    (holds,) = state.operands(operation)
    fails = state.build.pure("xor", "i1", holds, state.build.constant("i1", 1))
    message = state.string(operation.attributes["msg"].value)
    location = user_location(operation.location)
    state.build.append(Instruction("fail", [fails], immediate=message, location=str(location) if location else None))
