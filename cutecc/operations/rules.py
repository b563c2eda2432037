"""The rules that every description keeps to, whichever family computes it: what exists, what fits together.

A rule takes a description as it is compiled, so that D is never column-major, and gives the refusal or `None`. It says
nothing of what an earlier rule is about: where that is wrong too, it may answer anything but must not fail.
"""

from __future__ import annotations

from functools import cache

from cutecc.operations.description import BATCH_MODES, GemmDescription, matched
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.instruction_set import (
    WGMMA_TARGET,
    InstructionKind,
    extents_in_words,
    kind_of,
    multiplied_type,
    why_not,
)
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.operand import WIDEST_ALIGNMENT, Layout, Operand
from cutecc.target import Target

RESULTS: dict[str, tuple[str, ...]] = {
    "f64": ("f64", "f32"),
    "f32": ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8"),
    "f16": ("f16", "f32", "bf16", "f8E4M3FN", "f8E5M2", "i8"),
    "i32": ("i32", "i8", "u8", "f32", "f16", "bf16"),
}
"""By the accumulator: the types that C and D can have."""
FP8_CONVERSION_TARGET = "sm_89"

LAYOUT_WORDS: dict[Layout, str] = {
    "row": "row-major",
    "column": "column-major",
    "row_interleaved32": "row-interleaved",
    "column_interleaved32": "column-interleaved",
}
"""As sentences have them."""


def multiplied_types(description: GemmDescription) -> Refusal | None:
    """What the instruction multiplies is what the unit makes of the operands."""
    instruction = description.instruction
    for name, operand, multiplied in (
        ("A", description.a, instruction.a),
        ("B", description.b, instruction.b),
    ):
        arithmetic = instruction.arithmetic
        if multiplied != (expected := multiplied_type(instruction.unit, operand.dtype, arithmetic)):
            part: Part = "a.dtype" if name == "A" else "b.dtype"
            if instruction.unit == "tensor_op" and "f32" in (multiplied, expected):
                expected += f" with {arithmetic}"
            reason = f"{instruction.unit} multiplies {name} of type {operand.dtype} as {expected}, not as {multiplied}"
            return Refusal(reason, ("instruction", part))
    return None


def types_exist(description: GemmDescription) -> Refusal | None:
    """The unit multiplies this pair of types."""
    instruction = description.instruction
    if _kind(description) is not None:
        return None
    reason = f"{instruction.unit} does not multiply {instruction.a} by {instruction.b}"
    return Refusal(reason, ("instruction", "a.dtype", "b.dtype"))


def target_has_it(description: GemmDescription) -> Refusal | None:
    """The target has the unit, and the unit these types there."""
    kind = _kind(description)
    if kind is None or kind.exists_on(_target(description.target)):
        return None
    if kind.unit == "wgmma":
        reason = f"wgmma exists on {WGMMA_TARGET} only, not on {description.target}"
        return Refusal(reason, ("instruction", "target"))
    reason = f"{kind.unit} multiplies {kind.a} on {kind.since} and newer, not on {description.target}"
    return Refusal(reason, ("instruction", "target", "a.dtype", "b.dtype"))


def arithmetic_exists(description: GemmDescription) -> Refusal | None:
    """The unit multiplies and adds these types in that way."""
    kind, given = _kind(description), description.instruction.arithmetic
    if kind is None or given in kind.arithmetics:
        return None
    return Refusal(why_not(kind, given), ("arithmetic", "instruction", "a.dtype", "b.dtype"))


def accumulator_exists(description: GemmDescription) -> Refusal | None:
    """The unit adds up in that type."""
    kind, given = _kind(description), description.instruction.accumulator
    if kind is None or given in kind.accumulators:
        return None
    reason = f"{kind.unit} on {kind.a} accumulates in {' or '.join(kind.accumulators)}, not in {given}"
    return Refusal(reason, ("accumulator", "instruction", "a.dtype", "b.dtype"))


def shape_exists(description: GemmDescription) -> Refusal | None:
    """The unit multiplies these types in that shape."""
    instruction = description.instruction
    shape = "x".join(map(str, instruction.shape))
    kind = _kind(description)
    if kind is not None and instruction.shape not in kind.shapes:
        if kind.unit == "wgmma":
            known = f"64xNx{kind.shapes[0][2]}, N {extents_in_words(kind.a)}"
            return Refusal(f"wgmma on {kind.a} is {known}, not {shape}", ("instruction", "tile.n"))
        known = " or ".join("x".join(map(str, each)) for each in kind.shapes)
        return Refusal(f"{kind.unit} on {kind.a} is {known}, not {shape}", ("instruction",))
    if instruction.unit == "wgmma" and instruction.shape[1] != description.tile.threadblock[1]:
        reason = f"the N of wgmma is the threadblock's {description.tile.threadblock[1]}, not {instruction.shape[1]}"
        return Refusal(reason, ("instruction", "tile.n"))
    return None


def layouts(description: GemmDescription) -> Refusal | None:
    """Interleaved matrices are of i8 for tensor_op, C and D alike."""
    unit = description.instruction.unit
    for name, operand in _matrices(description):
        if operand.is_interleaved:
            dtype, layout = _parts(name, "dtype", "layout")
            if operand.dtype != "i8":
                return Refusal(f"{operand.layout} is a layout of i8, and {name} is {operand.dtype}", (layout, dtype))
            if unit != "tensor_op":
                reason = f"{unit} does not read or write {operand.layout}, which {name} is"
                return Refusal(reason, (layout, "instruction"))
    c, d = description.c, description.d
    if c and c.layout != d.layout and (c.is_interleaved or d.is_interleaved):
        words = LAYOUT_WORDS[c.layout], LAYOUT_WORDS[d.layout]
        reason = f"C and D are interleaved alike or not at all, and C is {words[0]}, D {words[1]}"
        return Refusal(reason, ("c.layout", "d.layout", "c"))
    return None


def alignment(description: GemmDescription, name: str) -> Refusal | None:
    """An alignment is a power of two up to 16 bytes, and 16 bytes where a layout is interleaved."""
    operand: Operand | None = getattr(description, name.lower())
    if operand is None:
        return None
    part, layout, dtype = _parts(name, "alignment", "layout", "dtype")
    given, most = operand.alignment, WIDEST_ALIGNMENT * 8 // operand.bits
    if given < 1 or given & (given - 1) or given > most:
        known = f"a power of two from 1 to {most} elements of {operand.dtype}"
        return Refusal(f"an alignment is {known}, and that of {name} is {given}", (part, dtype))
    if operand.is_interleaved and given != most:
        return Refusal(f"an interleaved {name} is aligned to {most} elements, not to {given}", (part, layout))
    return None


def results(description: GemmDescription) -> Refusal | None:
    """The accumulator's type can be converted to D's, and C's to the epilogue's."""
    known = RESULTS.get(description.instruction.accumulator, ())
    for name, operand in (("D", description.d), ("C", description.c)):
        if operand is None:
            continue
        (dtype,) = _parts(name, "dtype")
        if operand.dtype not in known:
            reason = (
                f"with accumulators of {description.instruction.accumulator}, "
                f"{name} is {_listed(known)}, not {operand.dtype}"
            )
            return Refusal(reason, (dtype, "accumulator") if name == "D" else (dtype, "accumulator", "c"))
        if operand.dtype.startswith("f8") and _target(description.target) < _target(FP8_CONVERSION_TARGET):
            reason = f"{operand.dtype} is converted on {FP8_CONVERSION_TARGET} and newer, not on {description.target}"
            return Refusal(reason, (dtype, "target") if name == "D" else (dtype, "target", "c"))
    return None


def epilogue_fits(description: GemmDescription) -> Refusal | None:
    """The epilogue reads and writes the C and D of the description, and takes its accumulators."""
    epilogue, c = description.epilogue, description.c
    result = next((each for each in epilogue.outputs if each.name == "D"), None)
    if result is None or result.kind != "full":
        return Refusal("the epilogue has no result D of M×N elements", ("epilogue",))
    if (refusal := _source_fits(epilogue, c)) is not None:
        return refusal
    accumulator = description.instruction.accumulator
    if epilogue.accumulator != accumulator:
        reason = f"the epilogue is of {epilogue.accumulator} accumulators, and the instruction's are {accumulator}"
        return Refusal(reason, ("epilogue", "accumulator"))
    fitting = matched(epilogue, c, description.d, accumulator)
    if fitting is epilogue:
        return None
    for given, expected in zip(epilogue.operands, fitting.operands, strict=True):
        if given != expected:
            return _other_operand(given, expected)
    return None


def _source_fits(epilogue: Epilogue, c: Operand | None) -> Refusal | None:
    source = epilogue.source
    if source is None:
        reason = "the description has a C that the epilogue does not read"
        return None if c is None else Refusal(reason, ("c", "epilogue"))
    if source.kind != "full":
        return Refusal(f"the epilogue's C is {source.kind}, not M×N elements", ("epilogue",))
    if c is None:
        return Refusal("the epilogue reads C, which the description does not have", ("c", "epilogue"))
    return None


def _other_operand(given: Input | Output, expected: Input | Output) -> Refusal:
    name = given.name
    ours, theirs = (f"{each.dtype}:{each.layout}:{each.alignment}" for each in (given, expected))
    reason = f"{name} of the epilogue is {ours}, and {name} of the description {theirs}"
    return Refusal(reason, ("epilogue", *_parts(name, "dtype", "layout", "alignment")))


def modes(description: GemmDescription) -> Refusal | None:
    """What modes need: an address that is not in a descriptor, a batch, sums that can be continued."""
    mode, instruction = description.mode, description.instruction
    if mode == "array" and instruction.unit == "wgmma":
        reason = "wgmma reads with TMA, whose descriptors hold one address, not those of an array"
        return Refusal(reason, ("instruction", "mode"))
    if description.swizzle == "batched" and mode not in BATCH_MODES:
        return Refusal(f"the swizzle batched needs a batch, and the mode is {mode}", ("swizzle", "mode"))
    if mode == "split_k_cluster" and instruction.unit != "wgmma":
        return Refusal(
            f"slices of K are of clusters of wgmma, and {instruction.unit} has none", ("mode", "instruction")
        )
    if mode.startswith("split_k") and instruction.accumulator == "f16":
        return Refusal(f"{mode} adds up partial sums, for which f16 is too narrow", ("accumulator", "mode"))
    return None


def _kind(description: GemmDescription) -> InstructionKind | None:
    return kind_of(description.instruction.unit, description.instruction.a, description.instruction.b)


def _matrices(description: GemmDescription) -> list[tuple[str, Operand]]:
    found = [("A", description.a), ("B", description.b), ("D", description.d)]
    return [*found, ("C", description.c)] if description.c else found


def _parts(name: str, *what: str) -> tuple[Part, ...]:
    return tuple(f"{name.lower()}.{each}" for each in what)  # type: ignore[misc]  # names of `Part`


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


@cache
def _target(name: str) -> Target:
    return Target.parse(name)
