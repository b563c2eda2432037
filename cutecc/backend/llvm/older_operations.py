"""Operations that releases before 4.8 have in the place of ones that LLVM knows, as the PTX that they are."""

from __future__ import annotations

from collections.abc import Callable

from cutecc.backend.llvm.inline_assembly import address_space, flag, modifier, named, truncated
from cutecc.ir.building import before
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import ir, llvm

_UNPACKED = {"e4m3x2": "f16x2", "e5m2x2": "f16x2", "e2m3x2": "f16x2", "e3m2x2": "f16x2", "ue8m0x2": "bf16x2"}
"""What two small floats, 16 bits together, are converted to."""
_PRODUCT_ATTRIBUTES = {"ctaGroup", "mmaKind", "collectorOp", "aShift", "operandSegmentSizes"}
_KINDS = {"int8": "i8"}
"""What PTX calls kinds of products that attributes call otherwise."""
_TENSOR_MEMORY = "6"
"""Its address space. Addresses take 32 bits."""


def _unpacking_conversion(operation: ir.Operation) -> None:
    """`cvt` of two small floats, in the lower or the upper half of a register, to two halves of one."""
    kind, wider = named(operation, "from"), named(operation, "to")
    result, source = operation.results[0], operation.operands[0]
    if _UNPACKED.get(kind) != wider or str(source.type) != "i32":
        return
    text = f"cvt{modifier(operation, 'rnd')}{flag(operation, 'relu', '.relu')}.{wider}.{kind} $0, $1;"
    with before(operation):
        if flag(operation, "extractHi", "upper"):
            source = llvm.lshr(source, _i32(16))
        half = truncated(source, ir.IntegerType.get_signless(16))
        (made,) = inline_assembly(text, ["=r", "h"], [result.type], [half], side_effects=False)
        result.replace_all_uses_with(made)
    operation.erase()


def _tensor_memory_product(operation: ir.Operation) -> None:
    """`tcgen05.mma`. LLVM 22 has the later operation of this name, whose attribute is called `kind`."""
    kind = named(operation, "mmaKind")
    if not kind or not _PRODUCT_ATTRIBUTES.issuperset([*operation.attributes]):
        return
    sums, a, b, description, accumulates, *rest = operation.operands
    *_, scale, mask = operation.attributes["operandSegmentSizes"]
    if scale or address_space(sums) != _TENSOR_MEMORY:
        return
    group = named(operation, "ctaGroup").removeprefix("cta_")
    collector = named(operation, "collectorOp")
    # `discard` is what is meant without one.
    kept = f".collector::a::{collector}" if collector not in ("", "discard") else ""
    i32 = ir.IntegerType.get_signless(32)
    with before(operation):
        in_memory = address_space(a) == _TENSOR_MEMORY
        a = llvm.ptrtoint(i32, a) if in_memory else a
        lanes: list[ir.Value] = []
        if mask:
            (masks,) = rest
            lanes = [llvm.extractelement(masks, _i32(index)) for index in range(ir.VectorType(masks.type).shape[0])]
        masked = f"{{{', '.join(f'${5 + index}' for index in range(len(lanes)))}}}, " if lanes else ""
        shifted = flag(operation, "aShift", ".ashift")
        way = f"tcgen05.mma.cta_group::{group}.kind::{_KINDS.get(kind, kind)}{shifted}{kept}"
        product = f"{way} [$0], {'[$1]' if in_memory else '$1'}, $2, $3, {masked}p;"
        inline_assembly(
            f"{{ .reg .pred p; setp.ne.b32 p, $4, 0; {product} }}",
            ["r", "r" if in_memory else "l", "l", "r", "r", *("r" for _ in lanes), "~{memory}"],
            [],
            [llvm.ptrtoint(i32, sums), a, b, description, llvm.zext(i32, accumulates), *lanes],
        )
    operation.erase()


def _i32(value: int) -> ir.Value:
    return llvm.mlir_constant(ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value))


LOWERINGS: dict[str, Callable[[ir.Operation], None]] = {
    "nvvm.cvt.packfloat": _unpacking_conversion,
    "nvvm.tcgen05.mma": _tensor_memory_product,
}
"""Each leaves alone what it does not lower."""
