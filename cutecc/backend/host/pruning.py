"""Dropping what a host program computes for nobody, and numbering the rest in the order it is computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cutecc.record.host_program import Block, Instruction, LaunchSite, TensorMapSite, ValueType

_EFFECTS = {"store", "return_if_error", "fail", "launch", "encode_tensor_map", "print"}


def pruned(body: Block, types: list[ValueType], leaves: int) -> tuple[Block, list[ValueType]]:
    """`body` and the types of its values, without unused values; the first `leaves` values stay as they are."""
    live: set[int] = set(body.yields)
    kept = _kept(body, live)
    numbering = {leaf: leaf for leaf in range(leaves)}
    renumbered = _renumbered(kept, numbering)
    return renumbered, [types[old] for old in numbering]


def _kept(block: Block, live: set[int]) -> Block:
    """`block` without instructions that nothing needs; `live` gains what the others need."""
    kept: list[Instruction] = []
    for instruction in reversed(block.instructions):
        if instruction.op == "if":
            step = _kept_if(instruction, live)
        elif instruction.op == "while":
            step = _kept_while(instruction, live)
        elif instruction.op in _EFFECTS or not live.isdisjoint(instruction.results):
            step = instruction
        else:
            step = None
        if step is not None:
            live.update(_uses(step))
            kept.append(step)
    return replace(block, instructions=kept[::-1])


def _kept_if(instruction: Instruction, live: set[int]) -> Instruction | None:
    wanted = [index for index, result in enumerate(instruction.results) if result in live]
    blocks = [replace(block, yields=[block.yields[index] for index in wanted]) for block in instruction.blocks]
    for block in blocks:
        live.update(block.yields)
    blocks = [_kept(block, live) for block in blocks]
    if not wanted and not any(block.instructions for block in blocks):
        return None
    return replace(instruction, results=[instruction.results[index] for index in wanted], blocks=blocks)


def _kept_while(instruction: Instruction, live: set[int]) -> Instruction | None:
    if live.isdisjoint(instruction.results) and not any(map(_has_effect, instruction.blocks)):
        return None
    for block in instruction.blocks:
        live.update(block.yields)
    return replace(instruction, blocks=[_kept(block, live) for block in instruction.blocks])


def _has_effect(block: Block) -> bool:
    return any(step.op in _EFFECTS or any(map(_has_effect, step.blocks)) for step in block.instructions)


def _uses(instruction: Instruction) -> Iterable[int]:
    yield from instruction.operands
    if launch := instruction.launch:
        yield from (*launch.grid, *launch.block, launch.shared_bytes, launch.stream)
        for attribute in launch.attributes:
            yield from attribute.operands
        for write in launch.parameters:
            yield write.value
    if tensor_map := instruction.tensor_map:
        yield tensor_map.address
        yield from (*tensor_map.sizes, *tensor_map.strides, *tensor_map.box, *tensor_map.element_strides)


def _renumbered(block: Block, numbering: dict[int, int]) -> Block:
    def define(values: list[int]) -> list[int]:
        return [numbering.setdefault(value, len(numbering)) for value in values]

    def use(values: Iterable[int]) -> list[int]:
        return [numbering[value] for value in values]

    def step(instruction: Instruction) -> Instruction:
        operands = use(instruction.operands)
        launch = instruction.launch and _launch(instruction.launch, numbering)
        tensor_map = instruction.tensor_map and _tensor_map(instruction.tensor_map, numbering)
        blocks = [_renumbered(inner, numbering) for inner in instruction.blocks]
        results = define(instruction.results)
        return replace(
            instruction, operands=operands, results=results, blocks=blocks, launch=launch, tensor_map=tensor_map
        )

    parameters = define(block.parameters)
    instructions = [step(instruction) for instruction in block.instructions]
    return Block(instructions, parameters, use(block.yields))


def _launch(site: LaunchSite, numbering: dict[int, int]) -> LaunchSite:
    x, y, z = (numbering[value] for value in site.grid)
    u, v, w = (numbering[value] for value in site.block)
    return LaunchSite(
        kernel=site.kernel,
        grid=(x, y, z),
        block=(u, v, w),
        shared_bytes=numbering[site.shared_bytes],
        stream=numbering[site.stream],
        attributes=[
            replace(attribute, operands=[numbering[value] for value in attribute.operands])
            for attribute in site.attributes
        ],
        parameters=[replace(write, value=numbering[write.value]) for write in site.parameters],
    )


def _tensor_map(site: TensorMapSite, numbering: dict[int, int]) -> TensorMapSite:
    return replace(
        site,
        address=numbering[site.address],
        sizes=[numbering[value] for value in site.sizes],
        strides=[numbering[value] for value in site.strides],
        box=[numbering[value] for value in site.box],
        element_strides=[numbering[value] for value in site.element_strides],
    )
