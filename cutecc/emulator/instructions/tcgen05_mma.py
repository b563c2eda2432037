"""`tcgen05.mma`, also `.sp` and `.ws`: a thread has its block, or a pair of blocks, multiply A and B.

D is in tensor memory, A in shared or tensor memory, B in shared memory. Of a pair each block holds half of A's rows and
of B's columns, at the same places. Here is what an instruction says, and whether there is such a multiplication; what
it does is in `tcgen05_product`. Collectors keep A or B for the next multiplication; since no source may change before,
nothing can be seen of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer, issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tcgen05_pipe import COPY, PRODUCT, SHIFT, blocks_of, issue
from cutecc.emulator.instructions.tcgen05_product import Metadata, Product, Scales
from cutecc.emulator.instructions.tcgen05_shared import has_depth_96, matrix_descriptor
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.tensor_memory import LANES, MEND_OF_COLUMNS, describe, lane_and_column, tensor_memory_of
from cutecc.emulator.numbers.column_mask import ColumnMask
from cutecc.emulator.numbers.instruction_descriptor import SCALE_VECTORS, TYPES, InstructionDescriptor
from cutecc.emulator.numbers.scale_factors import VECTORS, count_of_scales, refusal_of_scales
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.emulator.numbers.tensor_layouts import TensorLayout, layout_of
from cutecc.emulator.numbers.tensor_shapes import refusal_of_shape
from cutecc.ptx.syntax import Address, Vector

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang

_GROUP: Final = "{cta_group::1,cta_group::2}"
_USES: Final = ("fill", "use", "lastuse", "discard")
_COLLECTOR: Final = f"{{{','.join(f'collector::a::{use}' for use in _USES)}}}?"
_COLLECTORS: Final = f"{{{','.join(f'collector::b{each}::{use}' for each in range(4) for use in _USES)}}}?"
_PLAIN: Final = f"{{{','.join('kind::' + kind for kind in TYPES if kind not in SCALE_VECTORS)}}}"
_SCALED: Final = f"{{{','.join('kind::' + kind for kind in SCALE_VECTORS)}}}"
_LARGEST_SCALE: Final = 15
"""What is in D is divided by 2 to this at most."""
_ADDRESS: Final = (1 << 30) - 1
"""Of scales: software keeps in the bits above which byte of a cell it is, as the descriptor does."""

_Values = Mapping[str, int]
"""Operands of one thread, by name."""


@instruction(
    f"tcgen05.mma.sp?.{_GROUP}.{_PLAIN}.ashift?.{_COLLECTOR}",
    f"tcgen05.mma.sp?.{_GROUP}.{_SCALED}.block_scale.{{{','.join(VECTORS)}}}?.{_COLLECTOR}",
    f"tcgen05.mma.ws.sp?.cta_group::1.{_PLAIN}.{_COLLECTORS}",
)
def multiply(operation: Operation) -> Step:
    readers, read_disabled = _readers(operation)

    def step(gang: Gang, lanes: Lanes) -> None:
        values = {name: np.broadcast_to(read(gang), gang.shape) for name, read in readers.items()}
        masks = [np.broadcast_to(each, gang.shape) for each in read_disabled(gang)] if read_disabled else None
        for issuer in issuers(operation, gang, lanes):
            blocks = blocks_of(issuer)
            if blocks is None:
                continue
            disabled = _disabled(None if masks is None else [int(each[issuer.at]) for each in masks], len(blocks))
            product = _product(issuer, blocks, {name: int(each[issuer.at]) for name, each in values.items()}, disabled)
            if product is not None:
                form = product.form
                alike = f"{form.kind} {form.m}x{form.n}x{form.depth} at {product.d:#x}"
                """Those of one kind, shape and accumulator are in order by themselves."""
                issue(issuer, blocks, product.happen, (PRODUCT, alike), after=(alike, COPY, SHIFT))
                gang.machine.watch.multiplied(operation, 2 * form.m * form.n * form.stored_depth)

    return step


def _readers(operation: Operation) -> tuple[dict[str, Reader], Reader | None]:
    """Those of the operands, and that of the lanes that are not written."""
    form = operation.form
    d, a, b, *rest = operation.operands
    readers = {
        "d": operation.address(d),
        "a": operation.address(a) if isinstance(a, Address) else operation.reader(a, "b64"),
        "b": operation.reader(b, "b64"),
    }
    if form.has("sp"):
        readers["metadata"] = operation.address(rest.pop(0))
    readers["descriptor"] = operation.reader(rest.pop(0), "b32")
    disabled = None
    if isinstance(rest[0], Vector):
        disabled = operation.vector_reader(rest.pop(0), "b32", 8 if form.has("cta_group::2") else 4)
    if form.has("block_scale"):
        readers["scales_a"], readers["scales_b"] = (operation.address(rest.pop(0)) for _ in range(2))
    readers["adds"] = operation.reader(rest.pop(0), "pred")
    if rest and form.has("ws"):
        readers["mask"] = operation.reader(rest[0], "b64")
    elif rest:
        scale = operation.constant(rest[0])
        if not 0 <= scale <= _LARGEST_SCALE:
            raise operation.error(f"D is divided by 2 to a power from 0 to {_LARGEST_SCALE}, not {scale}")
        readers["scale_d"] = lambda gang: scale
    return readers, disabled


def _disabled(words: list[int] | None, blocks: int) -> tuple[Array, ...]:
    if words is None:
        return (np.zeros(LANES, np.bool_),) * blocks
    lanes = np.array(words, np.uint32)[:, None] >> np.arange(32, dtype=np.uint32) & 1
    return tuple(lanes.astype(np.bool_).reshape(blocks, LANES))


def _product(issuer: Issuer, blocks: tuple[Block, ...], values: _Values, disabled: tuple[Array, ...]) -> Product | None:
    """What is to be multiplied; `None`, after a fault, where there is no such multiplication."""
    operation = issuer.operation
    form = _decoded(issuer, values["descriptor"], len(blocks) == 2)
    if form is None:
        return None
    layout = layout_of(form.m, form.n, pair=len(blocks) == 2, stationary=operation.form.has("ws"), sparse=form.sparse)
    assert layout is not None
    in_tensor_memory = isinstance(operation.operands[1], Address)
    left = values["a"] if in_tensor_memory else matrix_descriptor(issuer, values["a"])
    right = matrix_descriptor(issuer, values["b"])
    mask = ColumnMask.decode(values.get("mask", 0))
    if left is None or right is None or not _has_swizzles(issuer, form, left, right):
        return None
    if not _are_scales_right(issuer, form) or not _may_shift(issuer, form, mask):
        return None
    product = Product(
        issuer=issuer,
        blocks=blocks,
        form=form,
        layout=layout,
        d=values["d"],
        left=left,
        right=right,
        adds=bool(values["adds"]),
        scale_d=values.get("scale_d", 0),
        disabled=disabled,
        metadata=Metadata(values["metadata"], form.selector) if form.sparse else None,
        scales=_scales(issuer, form, values),
        mask=mask,
        shifts_a=operation.form.has("ashift"),
    )
    return product if _has_its_places(product, layout) else None


def _decoded(issuer: Issuer, bits: int, pair: bool) -> InstructionDescriptor | None:
    """What an instruction descriptor says; `None`, after a fault, for what there is not."""
    modifiers = issuer.operation.form
    kind = next(each.removeprefix("kind::") for each in modifiers.modifiers if each.startswith("kind::"))
    found = InstructionDescriptor.decode(bits, kind)
    if isinstance(found, str):
        text = found
    elif found.sparse != modifiers.has("sp"):
        text = f"says that A is {'sparse' if found.sparse else 'dense'}, and the instruction that it is not\n"
        text += "bit 2 of the descriptor and .sp go together: both for a sparse A, or neither"
    elif found.deep and not has_depth_96(issuer):
        text = "has K = 96, which sm_103a alone has\nclear bit 31 of the descriptor, or compile for sm_103a"
    elif modifiers.has("ashift") and found.m not in (128, 256):
        text = f"has {found.m} rows of A, where .ashift is for 128 and 256\n"
        text += "leave .ashift out, or multiply 128 rows for each block"
    else:
        text = refusal_of_shape(found, pair=pair, stationary=modifiers.has("ws"))
        if text is None:
            return found
        text += "\ntake a tile of such a size, and make the descriptor of it"
    issuer.fault("tensor-memory", f"its instruction descriptor {text}")
    return None


def _has_swizzles(
    issuer: Issuer, form: InstructionDescriptor, left: MatrixDescriptor | int, right: MatrixDescriptor
) -> bool:
    """Whether matrices that are MN-major have a swizzle that their elements may have so; a fault where not."""
    for name, matrix, type_, transposed in (
        ("A", left, form.a, form.transpose_a),
        ("B", right, form.b, form.transpose_b),
    ):
        if not transposed or isinstance(matrix, int):
            continue
        if (form.element_bits(type_) == 32) != (matrix.atom > CHUNK):
            which = "only" if matrix.atom == CHUNK else "no"
            text = f"reads {name} MN-major: of {type_} that has {which} swizzles that leave 32 bytes together\n"
            text += f"lay it out with {'one' if which == 'only' else 'another one'}, or K-major"
            issuer.fault("tensor-memory", text)
            return False
    return True


def _are_scales_right(issuer: Issuer, form: InstructionDescriptor) -> bool:
    """Whether there are such scales, if it has any; a fault where not."""
    if form.scales is None:
        return True
    vector = issuer.operation.form.one_of(*VECTORS)
    count = count_of_scales(form.kind, vector, form.deep)
    if count is None:
        kind = "K = 96" if form.deep else f"kind::{form.kind}"
        legal = [each for each in VECTORS if count_of_scales(form.kind, each, form.deep)]
        wrong = f"has {kind}, with which there is no .{vector or 'block_scale'}\ntake .{' or .'.join(legal)}"
    else:
        wrong = refusal_of_scales(count, (form.scale_a, form.scale_b), form.scales)
    if wrong is not None:
        issuer.fault("tensor-memory", f"its instruction descriptor {wrong}")
    return wrong is None


def _scales(issuer: Issuer, form: InstructionDescriptor, values: _Values) -> Scales | None:
    count = count_of_scales(form.kind, issuer.operation.form.one_of(*VECTORS), form.deep) if form.scales else None
    return None if count is None else Scales(values["scales_a"] & _ADDRESS, values["scales_b"] & _ADDRESS, count)


def _may_shift(issuer: Issuer, form: InstructionDescriptor, mask: ColumnMask) -> bool:
    """Whether B may be shifted by so much; a fault where not."""
    most = min(form.most_shifted, 16 if form.m == 32 else 32)
    if mask.shift > most:
        text = f"shifts B by {mask.shift} columns, where its instruction descriptor and M allow {most}\n"
        text += "shift by less, or have bits 30 and 31 of the descriptor allow it: with M = 32 it is 16 at most"
        issuer.fault("tensor-memory", text)
    return mask.shift <= most


def _has_its_places(product: Product, layout: TensorLayout) -> bool:
    """Whether all that it reads and writes in tensor memory is where it may be, and allocated; a fault where not."""
    issuer, first = product.issuer, lane_and_column(product.d)[0]
    if first not in layout.lanes:
        legal = " or ".join(map(str, layout.lanes))
        text = f"accumulates in lanes of tensor memory from {first} on: with this shape it has to be lane {legal}\n"
        text += "begin there: the lane is in the upper half of the address, and not moved on by warps as for tcgen05.ld"
        issuer.fault("tensor-memory", text, describe(product.d))
        return False
    for what, address, width, has_lane_of_d in product.places():
        lane, column = lane_and_column(address)
        if has_lane_of_d and lane != first:
            text = f"{what} lanes of tensor memory from {lane} on, where it has to be lane {first}, as that of D\n"
            text += "store it in the same lanes as D: other columns are free to choose"
            issuer.fault("tensor-memory", text, describe(address))
            return False
        if not has_lane_of_d and lane != 0:
            text = f"{what} lanes of tensor memory from {lane} on, where scales begin at lane 0\n"
            text += "leave the upper half of the address 0: each warp's lanes have a copy of the scales"
            issuer.fault("tensor-memory", text, describe(address))
            return False
        stop = column + width
        for block in product.blocks:
            if not tensor_memory_of(issuer.machine, block).has(block, column, stop):
                text = f"{what} columns {column} to {stop - 1} of tensor memory, which {block.name} has not allocated"
                text += f"\n{MEND_OF_COLUMNS}"
                issuer.fault("tensor-memory", text, describe(address))
                return False
    return True
