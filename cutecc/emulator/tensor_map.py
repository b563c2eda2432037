"""The 128 bytes of a TMA descriptor, as the driver writes and the hardware reads them.

NVIDIA does not document the layout. It was found from descriptors that `cuTensorMapEncodeTiled` made, and so were the
rules that its arguments have to keep. Modes are innermost first.

| byte | bits | what |
| --- | --- | --- |
| 0 | 64 | address |
| 8 | 0–3 | 0; 1 for im2col; of either 2 more where CuTe's host code makes the descriptor |
| | 4–6 | rank - 1 |
| | 7–10 | element type |
| | 11–12, 13–14 | interleave, swizzle |
| | 15 | 1: fill with NaN |
| | 16 | 1: round to tf32 |
| | 17–18 | L2 promotion |
| | 19–21 | what a swizzle of 128 bytes leaves together: 16 bytes, 32, 32 with a flip of 8, 64 |
| 12 | 32 each | strides / 16, low bits, modes 1 to 4 |
| 28 | 4 each | strides / 16, high bits |
| 32 | 32 each | sizes - 1 |
| 52 | 3 each | element strides - 1 |
| 55 | 8 each | box - 1 |
| 64 | 32 | bytes of a box, element strides rounded down |
| 72 | 4, 8, 9, 10 | swizzle again: none, 32, 64, 128 bytes |

Element types of fewer bits than a byte, and what swizzles leave together, are as ptxas 13.0 has `tensormap.replace` put
them in for sm_100a. The last 64 bytes are the driver's alone: descriptors that CuTe's host code makes have zeros there,
and work.

Descriptors for im2col have, instead of the box: channels - 1 (byte 55); 16 bits each of the lower and of the upper
corner (byte 56), in which each mode but the first and the last has 16, 8 or 5 bits with a sign; 10 bits of pixels - 1
(byte 60). Those that `cuTensorMapEncodeIm2colWide` makes are the same, with 0 for the corners of all modes but W. That
one is for `im2col::w`, or for `im2col::w::128`, which takes no number of pixels from it, only the copy says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from typing import Final

from cutecc.runtime.launch import TENSOR_MAP_BYTES, TensorMap

INVALID_VALUE: Final = 1
"""`CUDA_ERROR_INVALID_VALUE`."""

CHUNK: Final = 16
"""Bytes that boxes are made of."""
SWIZZLES: Final = ((0, 16), (32, 16), (64, 16), (128, 16), (128, 32), (128, 32), (128, 64))
"""Bytes of a pattern's rows, and those that stay together, by `CUtensorMapSwizzle`."""
FLIPPED: Final = 5
"""The swizzle, of 32 bytes that stay together, in which every other line has the two halves of 16 bytes flipped."""
_WHOLE_CHUNKS: Final = 3
"""The last of those whose chunks of 16 bytes stay together; others, and narrow elements, are of sm_100."""
_MOST_BOX_BYTES = 227 * 1024
"""What one block of an sm_90 GPU has of shared memory."""
MOST_MODES = 5
_TILED = (0, 2)
"""What bits 64 to 67 are for tiled tensors."""
_IM2COL = (1, 3)
CORNER_BITS: Final = {3: 16, 4: 8, 5: 5}
"""Of one mode, by rank; a copy's offset has as many, and no sign."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """A `CUtensorMapDataType`."""

    name: str
    """The PTX type it is computed with: `f16`."""
    size: int
    """Bytes."""
    code: int
    """In descriptors, and in `tensormap.replace`."""
    rounds_to_tf32: bool = False
    flushes: bool = False
    """Whether additions take and give subnormal numbers as zeros."""
    bits: int = 0
    """Of an element that has fewer than its `size`; 0 for others. In global memory they are packed."""
    packed: int = CHUNK
    """Bytes of elements in a chunk of 16 bytes of shared memory, where they begin."""

    @property
    def alignment(self) -> int:
        """The coordinate of a box is a multiple of so many elements."""
        return 128 if self.packed < CHUNK else 8 * CHUNK // (self.bits or 8 * self.size)

    def bytes(self, elements: int) -> int:
        """How many a row of so many elements has in global memory."""
        return elements * (self.bits or 8 * self.size) // 8

    @property
    def is_float(self) -> bool:
        return self.name in ("f16", "f32", "f64", "bf16")


ELEMENT_TYPES: Final = (
    ElementType("u8", 1, 0),
    ElementType("u16", 2, 1),
    ElementType("u32", 4, 2),
    ElementType("s32", 4, 3),
    ElementType("u64", 8, 4),
    ElementType("s64", 8, 5),
    ElementType("f16", 2, 6),
    ElementType("f32", 4, 7),
    ElementType("f64", 8, 9),
    ElementType("bf16", 2, 10),
    ElementType("f32", 4, 8, flushes=True),
    ElementType("f32", 4, 7, rounds_to_tf32=True),
    ElementType("f32", 4, 8, rounds_to_tf32=True, flushes=True),
    ElementType("b4x16", 1, 11, bits=4),
    ElementType("b4x16_p64", 1, 12, bits=4, packed=8),
    ElementType("b6x16_p32", 1, 13, bits=6, packed=12),
)
"""By number; the last three, whose names are those of `tensormap.replace`, are of sm_100."""


def encode(tensor_map: TensorMap, capability: int = 90) -> bytes | int:
    """What `cuTensorMapEncodeTiled` makes for a GPU of this capability: the descriptor, or `INVALID_VALUE`."""
    return pack(tensor_map) if fault(tensor_map, capability) is None else INVALID_VALUE


def fault(tensor_map: TensorMap, capability: int = 90) -> str | None:
    """What `cuTensorMapEncodeTiled` would not accept; `None` when it accepts it all."""
    rank, is_new = len(tensor_map.sizes), capability >= 100
    types = sum(is_new or not each.bits for each in ELEMENT_TYPES)
    if not 0 <= tensor_map.data_type < types:
        return f"data type {tensor_map.data_type} is none of sm_{capability}"
    swizzles = len(SWIZZLES) if is_new else _WHOLE_CHUNKS + 1
    if tensor_map.interleave not in range(3) or tensor_map.swizzle not in range(swizzles):
        return f"interleave {tensor_map.interleave} or swizzle {tensor_map.swizzle} is none of sm_{capability}"
    if tensor_map.l2_promotion not in range(4) or tensor_map.fill not in range(2):
        return f"L2 promotion {tensor_map.l2_promotion} or fill {tensor_map.fill} does not exist"
    if not 1 <= rank <= MOST_MODES:
        return f"rank {rank} is not 1 to {MOST_MODES}"
    if (len(tensor_map.strides), len(tensor_map.box), len(tensor_map.element_strides)) != (rank - 1, rank, rank):
        return f"strides, box and element strides do not fit the rank {rank}"
    if tensor_map.interleave and rank < 3:
        return f"a tensor of rank {rank} cannot be interleaved"
    return _fault_of_address(tensor_map) or _fault_of_box(tensor_map) or _fault_of_padding(tensor_map)


def _fault_of_address(tensor_map: TensorMap) -> str | None:
    is_padded = ELEMENT_TYPES[tensor_map.data_type].packed < CHUNK
    alignment = 32 if tensor_map.interleave == 2 or is_padded else 16
    if tensor_map.address % alignment:
        return f"address 0x{tensor_map.address:x} is no multiple of {alignment}"
    for size in tensor_map.sizes:
        if not 1 <= size <= 1 << 32:
            return f"size {size} is not 1 to 2^32"
    for stride in tensor_map.strides:
        if stride % alignment or not 0 <= stride < 1 << 40:
            return f"stride {stride} is no multiple of {alignment} below 2^40"
    return None


def _fault_of_box(tensor_map: TensorMap) -> str | None:
    element = ELEMENT_TYPES[tensor_map.data_type]
    if any(not 1 <= size <= 256 for size in tensor_map.box):
        return f"box {tensor_map.box} has a mode that is not 1 to 256"
    if any(not 1 <= stride <= 8 for stride in tensor_map.element_strides):
        return f"element strides {tensor_map.element_strides} are not 1 to 8"
    if tensor_map.fill and not element.is_float:
        return "elements that are no floats cannot be filled with NaN"
    row, width = element.bytes(tensor_map.box[0]), SWIZZLES[tensor_map.swizzle][0]
    if row % 16:
        return f"the box's rows of {row} bytes are no multiple of 16"
    if not tensor_map.interleave and width and row > width:
        return f"the box's rows of {row} bytes are longer than the swizzle's {width}"
    if (size := _box_bytes(tensor_map)) > _MOST_BOX_BYTES:
        return f"the box has {size} bytes, more than {_MOST_BOX_BYTES}"
    return None


def _fault_of_padding(tensor_map: TensorMap) -> str | None:
    """Of elements that are copied with gaps between."""
    element = ELEMENT_TYPES[tensor_map.data_type]
    if element.packed == CHUNK:
        return None
    if tensor_map.box[0] != element.alignment or tensor_map.sizes[0] % element.alignment:
        return f"rows of {element.name} elements have {element.alignment} in a box, and a multiple in the tensor"
    if tensor_map.swizzle in (1, 2, FLIPPED):
        return f"swizzle {tensor_map.swizzle} is none for {element.name} elements"
    return None


def _box_bytes(tensor_map: TensorMap) -> int:
    elements = (size // stride for size, stride in zip(tensor_map.box, tensor_map.element_strides, strict=True))
    return ELEMENT_TYPES[tensor_map.data_type].bytes(math.prod(elements))


_FIELDS: Final = {
    "global_address": (0, 64, 0),
    "rank": (68, 3, 0),
    "elemtype": (71, 4, 0),
    "interleave_layout": (75, 2, 0),
    "swizzle_mode": (77, 2, 0),
    "fill_mode": (79, 1, 0),
    "rounding": (80, 1, 0),
    "promotion": (81, 2, 0),
    "swizzle_atomicity": (83, 3, 0),
    "stride_low": (96, 32, 32),
    "stride_high": (224, 4, 4),
    "global_dim": (256, 32, 32),
    "element_stride": (416, 3, 3),
    "box_dim": (440, 8, 8),
    "box_bytes": (512, 32, 0),
    "unswizzled": (580, 1, 0),
    "swizzled": (584, 3, 0),
}
"""First bit, bits, and bits from mode to mode; by the name that `tensormap.replace` has for it, if it has."""
_FIRST_ROUNDED: Final = 11
"""Of element types, which PTX has the numbers of the driver for from here on."""
_LESS_ONE: Final = ("global_dim", "element_stride", "box_dim")


def _put(bits: int, name: str, value: int, mode: int = 0) -> int:
    """A descriptor with one field replaced, as `tensormap.replace` does."""
    if name == "global_stride":
        return _put(_put(bits, "stride_low", value >> 4, mode), "stride_high", value >> 36, mode)
    if name == "swizzle_mode":
        # Of any larger number, of 64 bits as it may be, this is no bit either.
        bits = _put(_put(bits, "unswizzled", value == 0), "swizzled", 1 << min(value, 4) >> 1)
    first, count, step = _FIELDS[name]
    mask, first = (1 << count) - 1, first + step * mode
    return bits & ~(mask << first) | (value - (name in _LESS_ONE) & mask) << first


def pack(tensor_map: TensorMap) -> bytes:
    """The descriptor of arguments that nobody has checked."""
    element, bits = ELEMENT_TYPES[tensor_map.data_type], 0
    for name, values in (
        ("global_address", [tensor_map.address]),
        ("rank", [len(tensor_map.sizes) - 1]),
        ("elemtype", [element.code]),
        ("interleave_layout", [tensor_map.interleave]),
        ("swizzle_mode", [min(tensor_map.swizzle, _WHOLE_CHUNKS)]),
        ("swizzle_atomicity", [max(0, tensor_map.swizzle - _WHOLE_CHUNKS)]),
        ("fill_mode", [tensor_map.fill]),
        ("rounding", [element.rounds_to_tf32]),
        ("promotion", [tensor_map.l2_promotion]),
        ("box_bytes", [_box_bytes(tensor_map)]),
        ("global_stride", tensor_map.strides),
        ("global_dim", tensor_map.sizes),
        ("element_stride", tensor_map.element_strides),
        ("box_dim", tensor_map.box),
    ):
        for mode, value in enumerate(values):
            bits = _put(bits, name, value, mode)
    return bits.to_bytes(TENSOR_MAP_BYTES, "little")


@dataclass(frozen=True, slots=True)
class Im2colMap:
    """What `cuTensorMapEncodeIm2col` takes. A tensor is channels, one to three modes of pixels, and images."""

    tensor: TensorMap
    """Its box is the channels of one pixel."""
    lower: tuple[int, ...]
    """By mode of pixels: where the box of pixels begins."""
    upper: tuple[int, ...]
    """And where it ends, from the last pixel of the tensor on."""
    pixels: int
    """That are copied."""

    @property
    def ends(self) -> tuple[int, ...]:
        """By mode of pixels: what is behind the box of them."""
        return tuple(size + upper for size, upper in zip(self.tensor.sizes[1:-1], self.upper, strict=True))

    @property
    def is_inside(self) -> bool:
        """Whether the box of pixels hangs over the tensor nowhere."""
        return min(self.lower) >= 0 >= max(self.upper)


def decode(data: bytes) -> TensorMap | Im2colMap | None:
    """What a descriptor was made of; `None` for bytes that are none.

    Only the first half counts. What `tensormap.replace` has changed need not be what the driver would accept.
    """
    if len(data) != TENSOR_MAP_BYTES:
        return None
    bits = int.from_bytes(data, "little")
    mode = bits >> 64 & 0xF
    if mode in _TILED:
        return _tensor(bits)
    tensor = _tensor(bits) if mode in _IM2COL else None
    if tensor is None or (rank := len(tensor.sizes)) not in CORNER_BITS:
        return None
    channels = (tensor.box[0], *(1 for _ in range(rank - 1)))
    lower, upper = (_corner(bits >> first, rank) for first in (448, 464))
    return Im2colMap(replace_fields(tensor, box=channels), lower, upper, (bits >> 480 & 0x3FF) + 1)


def _corner(bits: int, rank: int) -> tuple[int, ...]:
    count = CORNER_BITS[rank]
    fields = (bits >> count * mode & (1 << count) - 1 for mode in range(rank - 2))
    return tuple(each - (each >> count - 1 << count) for each in fields)


def _tensor(bits: int) -> TensorMap | None:

    def field(name: str, mode: int = 0) -> int:
        first, count, step = _FIELDS[name]
        return (bits >> first + step * mode & (1 << count) - 1) + (name in _LESS_ONE)

    rank = field("rank") + 1
    code, rounds = field("elemtype"), bool(field("rounding"))
    numbers = [
        number for number, each in enumerate(ELEMENT_TYPES) if (each.code, each.rounds_to_tf32) == (code, rounds)
    ]
    if rank > MOST_MODES or not numbers or field("interleave_layout") == 3 or not field("global_address"):
        return None
    swizzle = field("swizzle_mode")
    if swizzle == _WHOLE_CHUNKS:
        swizzle += field("swizzle_atomicity") & 3
    return TensorMap(
        data_type=numbers[0],
        address=field("global_address"),
        sizes=tuple(field("global_dim", mode) for mode in range(rank)),
        strides=tuple((field("stride_low", mode) | field("stride_high", mode) << 32) << 4 for mode in range(rank - 1)),
        box=tuple(field("box_dim", mode) for mode in range(rank)),
        element_strides=tuple(field("element_stride", mode) for mode in range(rank)),
        interleave=field("interleave_layout"),
        swizzle=swizzle,
        l2_promotion=field("promotion"),
        fill=field("fill_mode"),
    )


def replace(data: bytes, name: str, mode: int, value: int) -> bytes:
    """The descriptor with one field replaced, as `tensormap.replace` does. Raises `KeyError` for an unknown field."""
    bits = int.from_bytes(data, "little")
    if name == "elemtype" and value >= _FIRST_ROUNDED:
        # Numbers of PTX; others than these do not change how elements are rounded.
        element = ELEMENT_TYPES[min(value, len(ELEMENT_TYPES) - 1)]
        value = element.code
        if element.rounds_to_tf32:
            bits = _put(bits, "rounding", 1)
    return _put(bits, name, value, mode).to_bytes(TENSOR_MAP_BYTES, "little")
