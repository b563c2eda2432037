"""Atoms that came with Blackwell's data centre chips: products into tensor memory, and copies to and from it.

One thread issues a product or a copy from shared memory; loads and stores are a warp's, which reaches the 32 lanes of
its rank modulo four.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any, Final

from cutecc.errors import Error
from cutecc.ir import llvm_types
from cutecc.ir.mlir import arith, ir, llvm, nvvm
from cutecc.ir.types import CopyAtom, MmaAtom, Scalar
from cutecc.ir.version import installed_release
from cutecc.passes.lowering.atoms.registers import as_registers, store_registers
from cutecc.passes.lowering.atoms.registry import copies, multiplies
from cutecc.passes.lowering.atoms.rows import State
from cutecc.passes.lowering.atoms.uses import Copy, Product, in_memory
from cutecc.passes.lowering.values.instruction_descriptors import (
    has_packed_factors,
    instruction_descriptor,
    scaled_instruction_descriptor,
)
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.loops import one_thread
from cutecc.passes.lowering.values.matrix_descriptors import TCGEN05
from cutecc.passes.lowering.values.tensors import Matrices, Operand
from cutecc.passes.lowering.values.vector_accesses import elements_of, value_type, vector_of
from cutecc.ptx.types import ELEMENT_TYPES
from cutecc.target import Target

_KINDS: Final = {
    **{"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "u8": "i8"},
    **dict.fromkeys(("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"), "f8f6f4"),
}
"""Of products without scales, by what A and B are of."""
_SUMS: Final = {"f16": ("f16", "f32"), "tf32": ("f32",), "i8": ("s32",), "f8f6f4": ("f16", "f32")}
"""What the sums of each kind may be of."""
_SCALES_OF: Final = {"mxf8f6f4": {32: ("ue8m0",)}, "mxf4nvf4": {32: ("ue8m0",), 16: ("ue8m0", "e4m3")}}
"""What the scales of each kind may be of, by how many elements have one."""
_SIGNS: Final[State] = (("accum_c", "i1"), ("neg_a", "i1"), ("neg_b", "i1"))
_SCALES: Final[State] = (("sf_a", "i32"), ("sf_b", "i32"))
_METADATA: Final[State] = (("e", "i32"),)
"""Of a sparse A."""
_Given = tuple[ir.Attribute, ir.Attribute, ir.Value, ir.Value, ir.Value, ir.Value, ir.Value]
_LANES = "disable_output_lane"


def _is_data_centre(chip: Target) -> bool:
    """Whether a chip has tensor memory."""
    return chip.major in (10, 11)


def _of_blocks(count: int) -> Callable[[MmaAtom], bool]:
    """Takes atoms of so many blocks, of each of which the lanes that stay as they are can be said."""
    return lambda atom: atom.parameters["num_cta"] == count and _is_multiplied(atom)


def _is_multiplied(atom: MmaAtom) -> bool:
    """Whether there is a product without scales of these types: of bf16 there are no sums of f16."""
    sums, factors = _name(atom.element_c), {_name(atom.element_a), _name(atom.element_b)}
    return sums in _SUMS.get(_kind(atom) or "", ()) and not (sums == "f16" and "bf16" in factors)


def _is_scaled(atom: MmaAtom) -> bool:
    """Whether there is a product with scales of these types."""
    scales = _SCALES_OF[_scaled_kind(atom)].get(atom.parameters["vec_size"], ())
    is_small = _kind(atom) == "f8f6f4" and atom.element_c == Scalar("f32")
    return is_small and _name(atom.parameters["sf_type"]) in scales


def _kind(atom: MmaAtom) -> str | None:
    """What both factors are of; `None` for what no product has."""
    kinds = {_KINDS.get(_name(each)) for each in (atom.element_a, atom.element_b)}
    return kinds.pop() if len(kinds) == 1 else None


def _scaled_kind(atom: MmaAtom) -> str:
    return "mxf4nvf4" if has_packed_factors(atom) else "mxf8f6f4"


def _name(element: Scalar) -> str:
    """PTX's, of what matrices are of; empty for others."""
    return ELEMENT_TYPES.get(element.name, "")


@multiplies(
    "sm100.mma",
    takes=_of_blocks(1),
    chips=_is_data_centre,
    state=(*_SIGNS, (_LANES, "vector<4xi32>")),
    matrices=TCGEN05,
)
@multiplies(
    "sm100.mma",
    takes=_of_blocks(2),
    chips=_is_data_centre,
    state=(*_SIGNS, (_LANES, "vector<8xi32>")),
    matrices=TCGEN05,
)
def multiply(product: Product) -> None:
    """`tcgen05.mma`: A in shared or tensor memory times B in shared memory into tensor memory."""
    atom = product.atom
    descriptor = instruction_descriptor(atom, _signs(product))
    with one_thread():
        nvvm.tcgen05_mma(
            _plain_kind(atom),
            _group(atom),
            *_matrices(product),
            descriptor,
            product.fields["accum_c"],
            scale_input_d=_scale_of_addend(atom),
            **_output_lanes(product.fields[_LANES]),
        )


@multiplies("sm100.mma_sp", takes=_is_multiplied, chips=_is_data_centre, state=(*_SIGNS, *_METADATA), matrices=TCGEN05)
def multiply_sparse(product: Product) -> None:
    """`tcgen05.mma.sp`: the same of an A of which the metadata, in tensor memory, says which elements there are."""
    atom = product.atom
    metadata = product.fields["e"]
    # Columns come in pairs: which of two the metadata begin in stands in the descriptor.
    second = arith.andi(metadata, constant(1, 32))
    descriptor = arith.ori(instruction_descriptor(atom, _signs(product)), second)
    first = arith.andi(metadata, constant(-2, 32))
    with one_thread():
        nvvm.tcgen05_mma_sp(
            _plain_kind(atom),
            _group(atom),
            *_matrices(product),
            descriptor,
            product.fields["accum_c"],
            _tensor_memory(first),
            scale_input_d=_scale_of_addend(atom),
        )


def _plain_kind(atom: MmaAtom) -> ir.Attribute:
    kind = str(_kind(atom))
    return _attribute("tcgen05_mma_kind", installed_release().integer_kind if kind == "i8" else kind)


def _output_lanes(mask: ir.Value) -> dict[str, Any]:
    """The mask of lanes that are not written, by the name that the builder has for it."""
    return {installed_release().output_lanes: mask}


def _scale_of_addend(atom: MmaAtom) -> ir.Value | None:
    """By which power of two what is added to is divided before."""
    exponent = atom.parameters["c_scale_exp"]
    return constant(exponent, 64) if exponent else None


@multiplies("sm100.mma_bs", takes=_is_scaled, chips=_is_data_centre, state=(*_SIGNS, *_SCALES), matrices=TCGEN05)
def multiply_scaled(product: Product) -> None:
    """`tcgen05.mma.block_scale`: the same of factors whose scales, one for several elements, are in tensor memory."""
    with _scaled(product) as (given, scales):
        nvvm.tcgen05_mma_block_scale(*given, *scales, **_scale_vector(product.atom))


@multiplies(
    "sm100.mma_bs_sp",
    takes=_is_scaled,
    chips=_is_data_centre,
    state=(*_SIGNS, *_SCALES, *_METADATA),
    matrices=TCGEN05,
)
def multiply_sparse_scaled(product: Product) -> None:
    """`tcgen05.mma.sp.block_scale`: both."""
    with _scaled(product) as (given, scales):
        metadata = _tensor_memory(product.fields["e"])
        nvvm.tcgen05_mma_sp_block_scale(*given, metadata, *scales, **_scale_vector(product.atom))


@contextlib.contextmanager
def _scaled(product: Product) -> Generator[tuple[_Given, tuple[ir.Value, ir.Value]]]:
    """Build inside what one thread executes, and get what a product with scales is given, and the scales."""
    atom = product.atom
    scales = product.fields["sf_a"], product.fields["sf_b"]
    descriptor = scaled_instruction_descriptor(atom, _signs(product), scales)
    kind = _attribute("tcgen05_mma_kind", _scaled_kind(atom))
    with one_thread():
        given = kind, _group(atom), *_matrices(product), descriptor, product.fields["accum_c"]
        yield given, (_tensor_memory(scales[0]), _tensor_memory(scales[1]))


def _scale_vector(atom: MmaAtom) -> dict[str, Any]:
    """By the name that the builder has for it."""
    name, attribute = installed_release().scale_vector
    return {name: _attribute(attribute, f"block{atom.parameters['vec_size']}")}


def _signs(product: Product) -> tuple[ir.Value, ir.Value]:
    return product.fields["neg_a"], product.fields["neg_b"]


def _group(atom: MmaAtom | CopyAtom) -> ir.Attribute:
    return _attribute("cta_group", f"cta_{atom.parameters['num_cta']}")


def _attribute(name: str, value: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#nvvm.{name}<{value}>")


def _matrices(product: Product) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where D, A and B are: a pointer to tensor memory, or a descriptor."""
    d, a, b, c = product.operands
    if in_memory(d).pointer != in_memory(c).pointer:
        raise Error("tcgen05.mma adds to D, and takes no other C", hints=["give cute.gemm the same tensor for C and D"])
    if not isinstance(b, Matrices):
        raise Error("tcgen05.mma finds B by a descriptor", hints=["make_fragment_B makes them of shared memory"])
    return _place(d), a.descriptor if isinstance(a, Matrices) else _place(a), b.descriptor


def _place(operand: Operand) -> ir.Value:
    return _tensor_memory(in_memory(operand).pointer)


def _tensor_memory(address: ir.Value) -> ir.Value:
    """A pointer to tensor memory from its address, an `i32`. Raises `Error` for a pointer elsewhere."""
    if not isinstance(address.type, ir.IntegerType):
        raise Error("tcgen05 takes what is in tensor memory here")
    return llvm.inttoptr(llvm_types.pointer(6), address)


@copies("tmem_load", chips=_is_data_centre)
def load_tensor_memory(copy: Copy) -> None:
    """`tcgen05.ld`: lanes and columns of tensor memory into a warp's registers, which are there after a wait."""
    count = _registers(copy.atom)
    word = ir.IntegerType.get_signless(32)
    type = word if count == 1 else ir.VectorType.get([count], word)
    loaded = nvvm.tcgen05_ld(
        type,
        _shape(copy.atom),
        _place(copy.source),
        pack=bool(copy.atom.parameters.get("pack16b")),
        offset=_second_half(copy.atom),
    )
    registers = [loaded] if count == 1 else elements_of(loaded)
    store_registers(registers, copy.destination, count * 32 // copy.destination.element.bits)


@copies(
    "tmem_load_red",
    takes=lambda atom: atom.element in (Scalar("f32"), Scalar("i32")),
    chips=lambda chip: _is_data_centre(chip) and (chip.major, chip.minor) != (10, 0),
)
def load_reduced(copy: Copy) -> None:
    """`tcgen05.ld.red`: the same of columns of 32 bits, and beside it the largest or smallest number of each lane.

    Integers count as signed, as the wheel takes them.
    """
    if copy.second is None:
        hint = "cute.copy(atom, source, (values, reduced))"
        raise Error("a load that reduces has a second destination", hints=[hint])
    count = _registers(copy.atom)
    number = value_type(copy.atom.element)
    kind: str = copy.atom.parameters["reduction"]
    loaded, extreme = nvvm.tcgen05_ld_red(
        ir.VectorType.get([count], number),
        number,
        _shape(copy.atom),
        ir.Attribute.parse(f"#nvvm<reduction_kind {kind.removesuffix('abs')}>"),
        _place(copy.source),
        abs=kind.endswith("abs"),
        nan=bool(copy.atom.parameters.get("nan")),
        is_signed=isinstance(number, ir.IntegerType) or None,
        offset=_second_half(copy.atom),
    )
    copy.destination.store([loaded], count)
    copy.second.store([vector_of([extreme])], 1)


@copies("tmem_store", chips=_is_data_centre)
def store_tensor_memory(copy: Copy) -> None:
    """`tcgen05.st`: a warp's registers into lanes and columns of tensor memory."""
    count = _registers(copy.atom)
    registers = as_registers(copy.source, count * 32 // copy.source.element.bits)
    nvvm.tcgen05_st(
        _shape(copy.atom),
        _place(copy.destination),
        registers[0] if count == 1 else vector_of(registers),
        unpack=bool(copy.atom.parameters.get("expand16b")),
        offset=_second_half(copy.atom),
    )


_HALVES: Final = (16, 32)
"""Lanes and bits of the shape that has two halves, columns apart."""


def _has_halves(atom: CopyAtom) -> bool:
    return (atom.parameters["lanes"], atom.parameters["bits"]) == _HALVES


def _shape(atom: CopyAtom) -> ir.Attribute:
    halves = "x2" if _has_halves(atom) else ""
    return _attribute("tcgen05_ldst_shape", f"shape_{atom.parameters['lanes']}x{atom.parameters['bits']}b{halves}")


def _registers(atom: CopyAtom) -> int:
    """How many registers a thread has of it."""
    lanes, bits, repeat = (atom.parameters[name] for name in ("lanes", "bits", "repeat"))
    return lanes * bits * repeat * (1 + _has_halves(atom)) // 32 // 32


def _second_half(atom: CopyAtom) -> ir.Value | None:
    """How many columns behind the first half the other is."""
    if not _has_halves(atom):
        return None
    if "half_split_off" in atom.parameters:
        return constant(atom.parameters["half_split_off"], 64)
    packed = atom.parameters.get("pack16b") or atom.parameters.get("expand16b")
    return constant(atom.parameters["repeat"] * (2 if packed else 1), 64)


_COPIED: Final = ((128, 256), (4, 256), (128, 128), (64, 128), (32, 128))
"""Lanes and bits that one instruction copies."""
_MULTICASTS: Final = {"x4": "warpx4", "lw_0213": "warpx2_02_13", "lw_0123": "warpx2_01_23"}


@copies(
    "s2t_copy",
    takes=lambda atom: (atom.parameters["lanes"], atom.parameters["bits"]) in _COPIED,
    chips=_is_data_centre,
)
def copy_to_tensor_memory(copy: Copy) -> None:
    """`tcgen05.cp`: from shared memory, by a descriptor, into tensor memory, of several warps' lanes perhaps."""
    source, destination = copy.operands
    if not isinstance(source, Matrices):
        raise Error("tcgen05.cp finds what it copies by a descriptor", hints=["tcgen05.get_s2t_smem_desc_tensor"])
    parameters = copy.atom.parameters
    multicast: Any = _MULTICASTS.get(parameters.get("broadcast", ""))
    with one_thread():
        nvvm.tcgen05_cp(
            _attribute("tcgen05_cp_shape", f"shape_{parameters['lanes']}x{parameters['bits']}b"),
            _place(destination),
            source.descriptor,
            group=_group(copy.atom),
            multicast=multicast and _attribute("tcgen05_cp_multicast", multicast),
        )
