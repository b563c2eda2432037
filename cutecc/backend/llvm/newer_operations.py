"""Operations of the wheel's NVVM dialect that LLVM 22 has no intrinsic for, or a wrong one, as the PTX that they are.

What remains unknown is found when the intrinsics are checked (`cutecc.backend.llvm.generation`).
"""

from __future__ import annotations

from collections.abc import Callable

from cutecc.backend.llvm import barrier_instructions, older_operations
from cutecc.backend.llvm.inline_assembly import (
    MAY_OVERFLOW,
    REGISTERS,
    address_space,
    assemble,
    elements_of,
    flag,
    modifier,
    named,
    put_together,
    state_space,
    taken_apart,
    truncated,
    type_suffix,
    vector_suffix,
)
from cutecc.ir.building import before
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.structs import with_members


def replace_newer_operations(device: ir.Operation) -> None:
    """Rewrite the operations in `device` that LLVM 22 has no right intrinsic for as inline assembly, as known here."""
    found: list[tuple[ir.Operation, _Lowering]] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if lower := _LOWERINGS.get(operation.name):
            found.append((operation, lower))
        return ir.WalkResult.ADVANCE

    device.walk(collect)
    for operation, lower in found:
        lower(operation)


def _atomic(operation: ir.Operation) -> None:
    pointer, *values = operation.operands
    kind = named(operation, "op")
    count, value_type = elements_of(values[0].type)
    register = REGISTERS.get(value_type)
    if register is None or kind == "sub":
        return
    if kind == "fadd" or (kind == "add" and "f" in value_type):
        rounding = ".noftz" if "f16" in value_type else ""
        number = f"{value_type[9:-1]}x2" if value_type.startswith("vector") else value_type
        instruction = f"add{rounding}{vector_suffix(count)}.{number}"
    elif count > 1:
        return
    else:
        name = kind.removeprefix("u") if kind in ("umin", "umax") else kind
        sign = {"add": "u", "inc": "u", "dec": "u", "min": "s", "max": "s", "umin": "u", "umax": "u"}.get(kind, "b")
        instruction = f"{name}.{sign}{register.width}"
    order = modifier(operation, "memOrder")
    scope = modifier(operation, "syncscope")
    assemble(operation, f"atom{state_space(pointer)}{order}{scope}.{instruction}", [pointer], values)


def _reduction(operation: ir.Operation) -> None:
    pointer, value, *hint = operation.operands
    count, element = elements_of(value.type)
    if element not in REGISTERS:
        return
    order, scope = modifier(operation, "memOrder"), modifier(operation, "memScope")
    kind = named(operation, "type")
    rounding = ".noftz" if "16" in kind else ""
    way = f"{named(operation, 'op')}{rounding}{_CACHE_HINT if hint else ''}{vector_suffix(count)}"
    assemble(operation, f"red{order}{scope}{state_space(pointer)}.{way}.{kind}", [pointer], [value], hint)


def _load(operation: ir.Operation) -> None:
    pointer, *hint = operation.operands
    count, element = elements_of(operation.results[0].type)
    if element not in REGISTERS:
        return
    modifiers = _access_modifiers(operation, pointer, hint)
    prefetch = named(operation, "prefetch").removeprefix("size_").removesuffix("b")
    if prefetch and prefetch != "none":
        modifiers += f".L2::{prefetch}B"
    instruction = f"ld{modifiers}{vector_suffix(count)}.b{REGISTERS[element].width}"
    unified = ".unified" if "unified" in operation.attributes and operation.attributes["unified"].value else ""
    assemble(operation, instruction, [pointer], [], hint, after_address=unified)


def _store(operation: ir.Operation) -> None:
    value, pointer, *hint = operation.operands
    count, element = elements_of(value.type)
    if element not in REGISTERS:
        return
    modifiers = _access_modifiers(operation, pointer, hint)
    instruction = f"st{modifiers}{vector_suffix(count)}.b{REGISTERS[element].width}"
    assemble(operation, instruction, [pointer], [value], hint)


def _access_modifiers(operation: ir.Operation, pointer: ir.Value, hint: list[ir.Value]) -> str:
    """What comes after `ld` and `st`. Memory that is constant is read as any other is, as by the wheel."""
    order = modifier(operation, "order")
    if order == ".constant":
        order = ""
    scope = modifier(operation, "scope") if order not in ("", ".weak", ".volatile") else ""
    if order == ".mmio":
        order = ".mmio.relaxed"
    space = state_space(pointer)
    if "sharedSpace" in operation.attributes:
        space = f".shared::{named(operation, 'sharedSpace')}"
    cache = modifier(operation, "cacheModifier")
    evict = named(operation, "evict")
    # `evict_normal` is what there is without one.
    eviction = f".L1::{evict.replace('evict_no_', 'no_')}" if evict not in ("", "none", "evict_normal") else ""
    return f"{order}{scope}{space}{cache}{eviction}{_CACHE_HINT if hint else ''}"


def _asynchronous_store(operation: ir.Operation) -> None:
    pointer, value, barrier = operation.operands
    count, element = elements_of(value.type)
    if element not in REGISTERS:
        return
    width = REGISTERS[element].width
    instruction = f"st.async.shared::cluster.mbarrier::complete_tx::bytes{vector_suffix(count)}.b{width}"
    assemble(operation, instruction, [pointer], [value], addresses_after=[barrier])


def _prefetch(operation: ir.Operation) -> None:
    """`prefetch.tensormap`: LLVM 22 has two of one that is a parameter of the kernel, in either address space."""
    pointer, *policy = operation.operands
    if "tensormap" in operation.attributes and not policy and not address_space(pointer):
        assemble(operation, "prefetch.tensormap", [pointer], [])


def _called(operation: ir.Operation) -> None:
    """A call of an intrinsic by its name, with or without the type that it is for at the end."""
    name = operation.attributes["intrin"].value
    known = _INTRINSICS.get(name)
    if known is None and len(operation.results) == 1:
        known = _INTRINSICS.get(f"{name}.{type_suffix(operation.results[0].type)}")
    if known is None:
        return
    text, constraints = known
    with before(operation):
        result = operation.results[0]
        (made,) = inline_assembly(text, constraints, [result.type], list(operation.operands), side_effects=False)
        result.replace_all_uses_with(made)
    operation.erase()


_INTRINSICS = {
    f"llvm.nvvm.tanh.approx.{suffix}": (f"tanh.approx.{suffix} $0, $1;", (f"={register}", register))
    for suffix, register in (("f32", "f"), ("f16", "h"), ("bf16", "h"), ("f16x2", "r"), ("bf16x2", "r"))
}
"""Intrinsics without side effects that LLVM 22 does not have: the instruction, and its constraints."""
_CACHE_HINT = ".L2::cache_hint"
"""Of an access that is given a policy of the L2 cache, its last operand."""
_Lowering = Callable[[ir.Operation], None]


def _packing_conversion(operation: ir.Operation) -> None:
    """`cvt` of two `f32`s into halves of a register, or of its lower half.

    The third operand is for those that join more.
    """
    first, second, _ = operation.operands
    kind = named(operation, "to")
    relu = flag(operation, "relu", ".relu")
    sat = modifier(operation, "sat")
    result = operation.results[0]
    if kind in ("f16x2", "bf16x2"):
        modifiers, held = f"{relu}{sat}", "i32"
    elif kind in ("e4m3x2", "e5m2x2", "ue8m0x2") and not flag(operation, "extractHi", "hi"):
        modifiers, held = f"{sat}{relu}", "i16"
    else:
        return
    with before(operation):
        text = f"cvt{modifier(operation, 'rnd')}{modifiers}.{kind}.f32 $0, $1, $2;"
        constraints = [f"={REGISTERS[held].constraint}", "f", "f"]
        (value,) = inline_assembly(text, constraints, [ir.Type.parse(held)], [first, second], side_effects=False)
        result.replace_all_uses_with(llvm.zext(result.type, value) if held == "i16" else value)
    operation.erase()


def _saturating_integer(operation: ir.Operation) -> None:
    """`cvt.sat` of a float as an integer; without `sat`, LLVM 22 has it."""
    if not flag(operation, "sat", ".sat"):
        return
    result, (source,) = operation.results[0], operation.operands
    rounding = named(operation, "rnd") or "rni"
    way = f"{rounding.removesuffix('i')}i{flag(operation, 'ftz', '.ftz')}.sat"
    sign = "s" if flag(operation, "is_signed", "s") else "u"
    instruction = f"cvt.{way}.{sign}{ir.IntegerType(result.type).width}.{source.type}"
    assemble(operation, instruction, [], [source], side_effects=False)


def _bulk_load(operation: ir.Operation) -> None:
    """`cp.async.bulk` into the block's own shared memory; into a cluster's, LLVM 22 has it."""
    _, _, _, _, receivers, hints = operation.attributes["operandSegmentSizes"]
    destination, source, barrier, size, *policy = operation.operands
    if address_space(destination) != "3" or receivers or named(operation, "validatePattern") not in ("", "none"):
        return
    text = f"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{_CACHE_HINT if hints else ''}"
    operands = [destination, source, size, barrier, *policy]
    constraints = ["r", "l", "r", "r", *("l" for _ in policy), "~{memory}"]
    with before(operation):
        inline_assembly(f"{text} [$0], [$1], $2, [$3]{', $4' if hints else ''};", constraints, [], operands)
    operation.erase()


def _match_all(operation: ir.Operation) -> None:
    """`match.all.sync`, which tells by a predicate whether all values are the same; `any` LLVM 22 has."""
    if named(operation, "kind") != "all":
        return
    mask, value = operation.operands
    i32 = ir.IntegerType.get_signless(32)
    bits = ir.IntegerType(value.type).width
    text = f"{{ .reg .pred p; match.all.sync.b{bits} $0|p, $2, $3; selp.b32 $1, 1, 0, p; }}"
    constraints = ["=r", "=r", "l" if bits == 64 else "r", "r"]
    result = operation.results[0]
    with before(operation):
        lanes, same = inline_assembly(text, constraints, [i32, i32], [value, mask])
        holds = truncated(same, ir.IntegerType.get_signless(1))
        whole = with_members(llvm.mlir_poison(result.type), [lanes, holds])
    result.replace_all_uses_with(whole)
    operation.erase()


def _wide_product(operation: ir.Operation) -> None:
    """`mul.wide`: LLVM's product of both numbers, extended. It has the other halves of a product."""
    if named(operation, "mode") != "wide":
        return
    result = operation.results[0]
    signed = "isSigned" in operation.attributes and operation.attributes["isSigned"].value
    extended = llvm.sext if signed else llvm.zext
    with before(operation):
        first, second = (extended(result.type, factor) for factor in operation.operands)
        result.replace_all_uses_with(llvm.mul(first, second, MAY_OVERFLOW))
    operation.erase()


def _packed_arithmetic(operation: ir.Operation) -> None:
    """A sum, product or both of `f32`s, two at once, in registers of 64 bits."""
    kind = operation.name.split(".")[1]
    result = operation.results[0]
    count = ir.VectorType(result.type).shape[0]
    if count % 2:
        return
    i64 = ir.IntegerType.get_signless(64)
    inputs = ", ".join(f"${index + 1}" for index in range(len(operation.operands)))
    text = f"{kind}{modifier(operation, 'rnd')}{flag(operation, 'ftz', '.ftz')}.f32x2 $0, {inputs};"
    with before(operation):
        type_ = i64 if count == 2 else ir.VectorType.get([count // 2], i64)
        given = [llvm.bitcast(type_, operand) for operand in operation.operands]
        operands = [[each] for each in given] if count == 2 else [taken_apart(each, count // 2) for each in given]
        made = [
            inline_assembly(text, ["=l", *("l" for _ in pairs)], [i64], list(pairs), side_effects=False)[0]
            for pairs in zip(*operands, strict=True)
        ]
        result.replace_all_uses_with(llvm.bitcast(result.type, made[0] if count == 2 else put_together(type_, made)))
    operation.erase()


def _saturating_sum(operation: ir.Operation) -> None:
    """A sum or difference of `f16`s that stays between 0 and 1; LLVM 22 has those of `f32`."""
    result = operation.results[0]
    if named(operation, "sat") in ("", "none") or "f16" not in type_suffix(result.type):
        return
    kind = operation.name.removeprefix("nvvm.").removesuffix("f")
    way = f".rn{flag(operation, 'ftz', '.ftz')}.sat"  # there is no other rounding
    assemble(operation, f"{kind}{way}.{type_suffix(result.type)}", [], list(operation.operands), side_effects=False)


def _extreme_of_three(operation: ir.Operation) -> None:
    """`min` and `max` of three numbers; of two, LLVM 22 has them."""
    if len(operation.operands) < 3:
        return
    flags = (("ftz", ".ftz"), ("nan", ".NaN"), ("abs", ".abs"))
    kind = operation.name.removeprefix("nvvm.f") + "".join(flag(operation, *each) for each in flags)
    assemble(operation, f"{kind}.f32", [], list(operation.operands), side_effects=False)


def _packed_integers(operation: ir.Operation) -> None:
    """`cvt.pack`: two numbers as the nearest of fewer bits, before what a third operand has of them."""
    bits = ir.IntegerType(operation.attributes["convert_type"].value).width
    sign = "s" if "is_signed" in operation.attributes else "u"
    others = ".b32" if len(operation.operands) == 3 else ""
    instruction = f"cvt.pack.sat.{sign}{bits}.s32{others}"
    assemble(operation, instruction, [], list(operation.operands), side_effects=False)


def _reducing_load(operation: ir.Operation) -> None:
    """`tcgen05.ld.red`: columns of tensor memory, and what they reduce to."""
    address, *offset = operation.operands
    loaded, reduced = operation.results
    count, element = elements_of(loaded.type)
    signed = "isSigned" in operation.attributes and operation.attributes["isSigned"].value
    kind = element if element == "f32" else f"{'s' if signed else 'u'}32"
    flags = flag(operation, "abs", ".abs") + flag(operation, "nan", ".NaN")
    way = f"{named(operation, 'shape').removeprefix('shape_')}.x{count}.{named(operation, 'op')}{flags}.{kind}"
    registers = ", ".join(f"${index}" for index in range(count))
    second_half = f", ${count + 2}" if offset else ""
    text = f"tcgen05.ld.red.sync.aligned.{way} {{{registers}}}, ${count}, [${count + 1}]{second_half};"
    given = [f"={REGISTERS[element].constraint}"] * (count + 1)
    with before(operation):
        place = llvm.ptrtoint(ir.IntegerType.get_signless(32), address)
        constraints = [*given, "r", *("n" for _ in offset)]
        *numbers, extreme = inline_assembly(text, constraints, [reduced.type] * (count + 1), [place, *offset])
        loaded.replace_all_uses_with(put_together(loaded.type, numbers))
        reduced.replace_all_uses_with(extreme)
    operation.erase()


_LOWERINGS: dict[str, _Lowering] = {
    "nvvm.atomicrmw": _atomic,
    "nvvm.red": _reduction,
    "nvvm.load.ext": _load,
    "nvvm.store.ext": _store,
    "nvvm.store.async": _asynchronous_store,
    **barrier_instructions.LOWERINGS,
    **older_operations.LOWERINGS,
    "nvvm.prefetch": _prefetch,
    "nvvm.cvt.packfloat.f32": _packing_conversion,
    "nvvm.cp.async.bulk.shared.cluster.global": _bulk_load,
    "nvvm.match.sync": _match_all,
    "nvvm.mul": _wide_product,
    **{f"nvvm.{kind}.packed.f32x2": _packed_arithmetic for kind in ("add", "sub", "mul", "fma")},
    "nvvm.addf": _saturating_sum,
    "nvvm.subf": _saturating_sum,
    "nvvm.fmin": _extreme_of_three,
    "nvvm.fmax": _extreme_of_three,
    "nvvm.convert.and.pack.integer": _packed_integers,
    "nvvm.tcgen05.ld.red": _reducing_load,
    "nvvm.convert.float.to.integer": _saturating_integer,
    "llvm.call_intrinsic": _called,
}
"""Each leaves alone what it does not lower."""
