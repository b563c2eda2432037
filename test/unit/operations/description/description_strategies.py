"""Descriptions for tests: one to change, and any that can be put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from cutecc.operations.alternatives import weight
from cutecc.operations.candidates import choose, plain_epilogue
from cutecc.operations.description import MODES, GemmDescription, matched
from cutecc.operations.epilogue.named import named_epilogue
from cutecc.operations.instruction import ARITHMETICS, UNITS, MathInstruction
from cutecc.operations.instruction_set import KINDS, memory_type
from cutecc.operations.kernels.family import Part
from cutecc.operations.operand import LAYOUTS, OPERAND_TYPES, Operand
from cutecc.operations.swizzle import SWIZZLES
from cutecc.operations.tile import SCHEDULES, TileDescription

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")


def tensor_op(target: str = "sm_80", **parts: Any) -> GemmDescription:
    """An accepted f16 product of tensor_op, with other parts."""
    given = choose(
        *("f16:row", "f16:column", "f16:row"), target=target, unit="tensor_op", tile="128x128x32:stages=3:warps=2x2x1"
    )
    return with_parts(replace(given, swizzle="identity1"), **parts)


def wgmma(**parts: Any) -> GemmDescription:
    """An accepted f16 product of wgmma, with other parts."""
    tile = "128x128x64:stages=4:warps=2x1x1:cluster=1x1:cooperative"
    given = choose("f16:row", "f16:column", "f16:row", target="sm_90a", tile=tile)
    return with_parts(replace(given, swizzle="identity1"), **parts)


def simt(**parts: Any) -> GemmDescription:
    """An accepted f32 product of simt, with other parts."""
    tile = "64x64x8:stages=3:warps=2x2x1"
    given = choose("f32:row", "f32:column", "f32:row", target="sm_80", unit="simt", tile=tile)
    return with_parts(replace(given, swizzle="identity1"), **parts)


def with_parts(description: GemmDescription, **parts: Any) -> GemmDescription:
    """With other parts of itself, its instruction or its tile; texts are parsed, the epilogue is made to fit."""
    for name, value in parts.items():
        if name in ("a", "b", "c", "d") and isinstance(value, str):
            value = Operand.parse(value, name)  # type: ignore[arg-type]  # a role
        if name in ("stages", "warps", "cluster", "schedule", "threadblock"):
            description = replace(description, tile=replace(description.tile, **{name: value}))
        elif name in ("unit", "shape", "accumulator", "arithmetic"):
            description = replace(description, instruction=replace(description.instruction, **{name: value}))
        elif name == "types":
            given = replace(description.instruction, a=value[0], b=value[1])
            description = replace(description, instruction=given)
        else:
            description = replace(description, **{name: value})
    if "c" in parts and parts["c"] is not None and "epilogue" not in parts:
        source = named_epilogue("linear_combination", d=description.d, c=description.c)
        description = replace(description, epilogue=source)
    if "epilogue" in parts:
        return description
    accumulator = description.instruction.accumulator
    epilogue = matched(description.epilogue, description.c, description.d, accumulator)
    return replace(description, epilogue=epilogue)


def changed_parts(before: GemmDescription, after: GemmDescription) -> set[Part]:
    """The parts in which two descriptions differ; what follows from another part is not counted."""
    found: set[Part] = set()
    for name in ("target", "swizzle", "mode"):
        if getattr(before, name) != getattr(after, name):
            found.add(name)  # type: ignore[arg-type]
    for name in "abcd":
        old, new = getattr(before, name), getattr(after, name)
        if (old is None) != (new is None):
            found.add("c")
        elif old is not None:
            same_bytes = old.alignment * old.bits == new.alignment * new.bits
            fields = [field for field in ("dtype", "layout") if getattr(old, field) != getattr(new, field)]
            if old.alignment != new.alignment and ("dtype" not in fields or not same_bytes):
                fields.append("alignment")
            found |= {f"{name}.{field}" for field in fields}  # type: ignore[misc]
    old, new = before.instruction, after.instruction
    for name in ("accumulator", "arithmetic"):
        if getattr(old, name) != getattr(new, name):
            found.add(name)  # type: ignore[arg-type]
    types_changed = bool({"a.dtype", "b.dtype"} & found)
    follows_n = old.unit == new.unit == "wgmma" and before.tile.threadblock[1] != after.tile.threadblock[1]
    if old.unit != new.unit or (
        (old.shape, old.a, old.b) != (new.shape, new.a, new.b) and not types_changed and not follows_n
    ):
        found.add("instruction")
    for index, name in enumerate("mnk"):
        if before.tile.threadblock[index] != after.tile.threadblock[index]:
            found.add(f"tile.{name}")  # type: ignore[arg-type]
    for name in ("stages", "warps", "cluster", "schedule"):
        if getattr(before.tile, name) != getattr(after.tile, name):
            found.add(f"tile.{name}")  # type: ignore[arg-type]
    return found


def counted(parts: set[Part]) -> tuple[int, int]:
    """How many parts of the problem and of the means."""
    problem = sum(weight(part) == "problem" for part in parts)
    return problem, len(parts) - problem


sizes = st.one_of(st.sampled_from([8, 16, 32, 64, 128, 192, 256]), st.integers(1, 300))
few = st.sampled_from([1, 1, 2, 2, 4, 3, 8])


@st.composite
def tiles(draw: st.DrawFn) -> TileDescription:
    """Any tile, most of them not valid."""
    threadblock = draw(st.tuples(sizes, sizes, sizes))
    warps, cluster = draw(st.tuples(few, few, few)), draw(st.tuples(few, few))
    return TileDescription(threadblock, draw(st.integers(1, 12)), warps, cluster, draw(st.sampled_from(SCHEDULES)))


@st.composite
def operands(draw: st.DrawFn) -> Operand:
    """Any operand with an alignment that is a power of two."""
    dtype = draw(st.sampled_from(OPERAND_TYPES))
    alignment = draw(st.sampled_from([0, 0, 1, 2, 4, 8, 16]))
    return Operand(dtype, draw(st.sampled_from(LAYOUTS)), alignment)


@st.composite
def instructions(draw: st.DrawFn) -> MathInstruction:
    """Any instruction of the table, with any accumulator, arithmetic and, at times, shape."""
    given = draw(st.sampled_from([kind.instructions()[-1] for kind in KINDS]))
    return replace(
        given,
        unit=draw(st.sampled_from([given.unit, given.unit, *UNITS])),
        accumulator=draw(st.sampled_from([given.accumulator, given.accumulator, "f32", "f64", "i32"])),
        arithmetic=draw(st.sampled_from([given.arithmetic, given.arithmetic, *ARITHMETICS])),
        shape=draw(st.sampled_from([given.shape, given.shape, (16, 8, 16), (64, 128, 16)])),
    )


@st.composite
def descriptions(draw: st.DrawFn) -> GemmDescription:
    """Any description whose epilogue is its own."""
    instruction = draw(instructions())
    a, b, d = draw(operands()), draw(operands()), draw(operands())
    if draw(st.booleans()):
        a, b = replace(a, dtype=memory_type(instruction.a)), replace(b, dtype=memory_type(instruction.b))
    c = draw(st.one_of(st.none(), operands()))
    if c is None:
        epilogue = plain_epilogue(d, instruction.accumulator)
    else:
        epilogue = named_epilogue("linear_combination", d=d, c=c, accumulator=instruction.accumulator)
    return GemmDescription(
        draw(st.sampled_from(TARGETS)),
        *(instruction, draw(tiles()), a, b, d, c, epilogue),
        draw(st.sampled_from(SWIZZLES)),
        draw(st.sampled_from(MODES)),
    )
