"""Copies by `im2col::w`, against a model of single pixels after the manual's text and examples: no GPU showed them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, map_of, run
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tensor_copy import LOAD, STORE, numbered
from test_tensor_copy import START as BEGIN

import cutecc
from cutecc.emulator.instructions.tensor_box import AlongW, boxes_at
from cutecc.emulator.tensor_map import CORNER_BITS, Im2colMap, decode, pack
from cutecc.errors import EmulatorError
from cutecc.runtime.launch import TensorMap

START = f"{BEGIN}  fence.mbarrier_init.release.cluster;\n"
Images = np.ndarray[Any, Any]


def wide(tensor: TensorMap, lower: int, upper: int, pixels: int) -> bytes:
    """What `cuTensorMapEncodeIm2colWide` makes."""
    bits = int.from_bytes(pack(tensor), "little") & ~(0xFFFF_FFFF_FFFF_FFFF << 448) | 1 << 64
    mask = (1 << CORNER_BITS[len(tensor.sizes)]) - 1
    return (bits | (lower & mask) << 448 | (upper & mask) << 464 | pixels - 1 << 480).to_bytes(128, "little")


SIZES = {3: (64, 28, 8), 4: (64, 28, 28, 8), 5: (64, 28, 28, 28, 8)}


def described(rank: int, swizzle: int = 3, channels: int = 64, stride: int = 1) -> TensorMap:
    sizes = SIZES[rank]
    strides = tuple(int(np.prod(sizes[:mode])) * 2 for mode in range(1, rank))
    ones = (1,) * (rank - 2)
    return TensorMap(6, 1 << 30, sizes, strides, (channels, 1, *ones), (1, stride, *ones), 0, swizzle, 0, 0)


def test_a_descriptor_is_that_of_a_driver() -> None:
    """Of 580.159; the second half is the driver's alone, and the same for `im2col::w::128`."""
    made = bytes.fromhex(
        "0000004000000000 31630000 08000000 e0000000 80180000 00000000 00000000"
        "3f000000 1b000000 1b000000 07000000 00000000 0000003f 00000000 7f000000"
    )
    assert wide(described(4), 0, 0, 128)[:64] == made


@pytest.mark.parametrize(
    ("rank", "lower", "upper", "pixels", "end"),
    [
        (3, -128, 127, 128, "0000003f80ff7f007f000000"),
        (3, 0, -27, 128, "0000003f0000e5ff7f000000"),
        (4, -2, 3, 128, "0000003ffe0003007f000000"),
        (4, -128, 127, 128, "0000003f80007f007f000000"),
        (4, 0, 0, 1024, "0000003f00000000ff030000"),
        (5, -2, 3, 128, "0000003f1e0003007f000000"),
        (5, -16, 15, 128, "0000003f10000f007f000000"),
    ],
)
def test_corners_lie_where_im2col_has_them(rank: int, lower: int, upper: int, pixels: int, end: str) -> None:
    """Bytes 52 to 63 are as an H100's driver, and an H200's, made them."""
    made = wide(described(rank), lower, upper, pixels)
    assert made[52:64].hex() == end
    nothing = (0,) * (rank - 3)
    assert decode(made) == Im2colMap(described(rank), (lower, *nothing), (upper, *nothing), pixels)


@dataclass(frozen=True)
class Case:
    """Copies of `(images, …, W, channels)`."""

    images: Images
    lower: int
    upper: int
    stride: int
    pixels: int
    at: tuple[int, ...]
    """Coordinates, innermost first."""
    how: AlongW

    @property
    def tensor(self) -> TensorMap:
        ones = (1,) * (self.images.ndim - 2)
        channels = self.images.shape[-1]
        made = map_of(self.images, (channels, 1, *ones), element_strides=(1, self.stride, *ones), swizzle=2)
        return replace(made, fill=0)

    def pixel(self, number: int) -> Images:
        """The channels of the pixel that the walk comes to after so many."""
        end = self.images.shape[-2] + self.upper
        first, image = self.at[1], self.at[-1]
        there, whole = (-(-(end - begin) // self.stride) for begin in (first, self.lower))
        w = first + number * self.stride
        if number >= there:
            more, column = divmod(number - there, whole)
            w, image = self.lower + column * self.stride, image + 1 + more
        place = (image, *self.at[-2:1:-1], w + self.how.offset)
        inside = all(0 <= each < size for each, size in zip(place, self.images.shape, strict=False))
        return self.images[place] if inside else np.zeros_like(self.images, shape=self.images.shape[-1])

    @property
    def expected(self) -> Images:
        """Rows of shared memory."""
        numbers = range(self.pixels + self.how.halo)
        if self.how.is_fixed:
            numbers = [group + each for group in (0, 32, 64, 96) for each in range(32 + self.how.halo)]
        return np.stack([self.pixel(each) for each in numbers])

    @property
    def loaded(self) -> Images:
        tensor = decode(wide(self.tensor, self.lower, self.upper, self.pixels))
        assert isinstance(tensor, Im2colMap)
        boxes = boxes_at(tensor, self.at, self.how)
        base, data = self.images.ctypes.data, self.images.reshape(-1).view(np.uint8)
        parts = [
            box.fill(None if box.is_outside else box.elements(data, box.address - base)).view(self.images.dtype)
            for box in boxes
        ]
        return np.concatenate(parts).reshape(-1, self.images.shape[-1])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    between = tuple(draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 2))))
    width = draw(st.integers(1, 12))
    images = numbered((draw(st.integers(1, 6)), *between, width, 8), np.uint16)
    images += 1
    lower = draw(st.integers(-4, width))
    upper = draw(st.integers(max(-16, lower + 1 - width), 4))
    first = draw(st.integers(lower - 6, width + upper - 1))
    others = tuple(draw(st.integers(-1, size)) for size in reversed(between))
    is_fixed = draw(st.booleans())
    how = AlongW(draw(st.integers(0, 31 if is_fixed else 40)), draw(st.integers(0, 31)), is_fixed)
    at = (0, first, *others, draw(st.integers(-1, len(images))))
    return Case(images, lower, upper, draw(st.integers(1, 4)), draw(st.integers(1, 70)), at, how)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_pixels_are_those_of_the_model(case: Case) -> None:
    np.testing.assert_array_equal(case.loaded, case.expected)


EXAMPLE = {"lower": 0, "upper": 0, "stride": 1, "pixels": 128}


def columns_of(width: int, at: int, how: AlongW, **described: int) -> list[tuple[int, int]]:
    """Image and W of each pixel that is loaded from `(7, 2, at, 0)` on, in the manual's order; (0, 0) outside."""
    images = np.zeros((64, 7, width, 8), np.uint16)
    for image in range(64):
        images[image, 2, :, 0], images[image, 2, :, 1] = image, np.arange(width)
    case = Case(images, **(EXAMPLE | described), at=(0, at, 2, 7), how=how)
    return [(int(image), int(w)) for image, w in case.loaded[:, :2]]


def test_the_halo_of_the_manual() -> None:
    """128 pixels and two more; and two after each 32, which the next 32 begin with again."""
    walk = [(image, w) for image in range(7, 64) for w in range(9)][3:]
    assert columns_of(9, 3, AlongW(halo=2)) == walk[:130]
    assert columns_of(9, 3, AlongW(2, 0, is_fixed=True)) == [
        each for first in (0, 32, 64, 96) for each in walk[first : first + 34]
    ]


@pytest.mark.parametrize(
    ("width", "how", "described", "expected"),
    [
        (9, AlongW(1, 0), {"lower": -1, "stride": 2}, [None, 1, 3, 5, 7]),
        (9, AlongW(0, 1), {"lower": -1, "stride": 2}, [0, 2, 4, 6, 8]),
        (7, AlongW(0, 0), {"lower": -1, "upper": -1, "stride": 3}, [None, 2, 5]),
        (7, AlongW(0, 1), {"lower": -1, "upper": -1, "stride": 3}, [0, 3, 6]),
        (7, AlongW(0, 2), {"lower": -1, "upper": -1, "stride": 3}, [1, 4, None]),
    ],
)
def test_the_buffers_of_the_manual(
    width: int, how: AlongW, described: dict[str, int], expected: list[int | None]
) -> None:
    """Each tap of a filter finds its pixels in one of them, the third one row on in the first where the halo is 1."""
    walk = [(0, 0) if w is None else (image, w) for image in range(7, 64) for w in expected]
    assert columns_of(width, -1, how, **described) == walk[: 128 + how.halo]


def load(at: str, info: str, size: int, mode: str = "im2col::w", more: str = "") -> str:
    """Load by the first descriptor, and wait for so many bytes."""
    text = LOAD.format(bytes=size, rank=at.count(",") + 1, at=at).replace(".tile", f".{mode}")
    return text.replace("[%r9];\nWAIT", f"[%r9], {{{info}}}{more};\nWAIT")


def store(at: str, what: str = "", op: str = "") -> str:
    """Store by the second descriptor."""
    return STORE.format(what=what, rank=at.count(",") + 1, op=op, at=at).replace(".tile", ".im2col_no_offs::w")


OUT = STORE.format(what="", rank=2, op="", at="0, 0")
"""Store what was loaded by the second descriptor, of a matrix."""


def launch(body: str, *arrays: Images, maps: list[bytes | TensorMap], **more: Any) -> Any:
    return run(START + body, *arrays, maps=maps, **({"shared": 32768, "target": "sm_100a"} | more))


@pytest.mark.parametrize("schedule", ["round-robin", "adversarial"])
@pytest.mark.parametrize(("mode", "halo"), [("im2col::w", 0), ("im2col::w", 9), ("im2col::w::128", 3)])
def test_a_load_brings_the_pixels_and_the_halo(mode: str, halo: int, schedule: str) -> None:
    """As the mbarrier counts them, swizzled from row to row of shared memory; nothing is found."""
    images = numbered((9, 3, 7, 32), np.uint16)
    case = Case(images, -1, 1, 2, 40, (0, 3, 1, 2), AlongW(halo, 1, mode.endswith("128")))
    out = aligned(case.expected.shape, np.uint16)
    maps = [wide(case.tensor, -1, 1, 40), map_of(out, (32, len(out)), swizzle=2)]
    body = load("0, 3, 1, 2", f"{halo}, 1", out.nbytes, mode) + OUT
    checks = frozenset({"races", "bounds", "initialisation", "barriers", "layouts", "proxies"})
    assert not launch(body, images, out, maps=maps, schedule=schedule, check=checks).findings
    np.testing.assert_array_equal(out, case.expected)


def test_a_load_may_be_multicast() -> None:
    """Each block of a cluster waits for its own."""
    images = numbered((4, 6, 32), np.uint16)
    case = Case(images, 0, 0, 1, 8, (0, 2, 1), AlongW(halo=2))
    out = aligned((20, 32), np.uint16)
    body = """
  mov.u32 %r1, %cluster_ctarank;
  mul.lo.u32 %r2, %r1, 10;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 640;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p3, %r1, 0;
  mov.u16 %h1, 3;
  @%p3 bra WAIT;
  cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1
    [%r9+1024], [%rd3, {0, 2, 1}], [%r9], {2, 0}, %h1;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
"""
    body += STORE.format(what="", rank=2, op="", at="0, %r2")
    maps = [wide(case.tensor, 0, 0, 8), map_of(out, (32, 10), swizzle=2)]
    launch(body, images, out, maps=maps, blocks=2, cluster=2)
    np.testing.assert_array_equal(out, np.concatenate([case.expected, case.expected]))


@pytest.mark.parametrize(("what", "op"), [("", ""), ("reduce.", ".add")])
def test_a_store_stays_in_its_row_of_each_image(what: str, op: str) -> None:
    """Every second pixel; what is behind the last image is dropped."""
    source, images = numbered((8, 16), np.uint32), numbered((2, 3, 5, 16), np.uint32)
    expected = images.copy()
    for number, (image, w) in enumerate([(0, 2), (0, 4), (1, 0), (1, 2), (1, 4)]):
        expected[image, 1, w] = source[number] + (expected[image, 1, w] if what else 0)
    made = map_of(images, (16, 1, 1, 1), element_strides=(1, 2, 3, 1), swizzle=2)
    body = LOAD.format(bytes=512, rank=2, at="0, 0") + store("0, 2, 1, 0", what, op)
    launch(body, source, images, maps=[map_of(source, (16, 8), swizzle=2), wide(made, 0, 0, 8)])
    np.testing.assert_array_equal(images, expected)


SIZE = 8 * 64


@pytest.mark.parametrize(
    ("body", "lower", "upper", "change", "message"),
    [
        (load("0, 0, 0", "512, 0", SIZE), 0, 0, {}, "with a halo of 512 pixels and .* less than 512 and 32"),
        (load("0, 0, 0", "32, 0", SIZE, "im2col::w::128"), 0, 0, {}, "with a halo of 32 pixels .* less than 32 and 32"),
        (load("0, 0, 0", "0, 32", SIZE), 0, 0, {}, "an offset of 32"),
        (load("0, 6, 0", "0, 0", SIZE), 0, 0, {}, "copies pixels from 6 on along W: .* from 0 to before 6"),
        (load("0, 0, 0", "0, 0", SIZE), 3, -4, {}, "copies pixels from 0 on along W: .* from 3 to before 2"),
        (load("0, 0, 0", "0, 0", SIZE), 0, 0, {"swizzle": 0}, "im2col::w and a descriptor with swizzle 0"),
        (load("0, 0, 0", "0, 0", SIZE), 0, 0, {"swizzle": 5}, "a descriptor with swizzle 5"),
        (load("0, 0, 0", "0, 0", SIZE), 0, 0, {"interleave": 1}, "a descriptor with interleaved channels"),
        (load("0, 0, 0", "2, 0", SIZE), 0, 0, {}, "mbarrier"),
        (load("0, 0, 0", "0, 0, 0", SIZE), 0, 0, {}, "has 2 operands in braces here, not 3"),
        (store("0, 0, 0"), -1, 0, {}, "stores pixels from"),
        (store("0, 0, 0"), 0, 1, {}, "stores pixels from"),
        (store("0, -1, 0"), 0, 0, {}, "stores a box that begins at"),
        (store("0, 0, 0"), 0, 0, {"swizzle": 0}, "by im2col_no_offs::w and a descriptor with swizzle 0"),
    ],
)
def test_a_wrong_copy_is_a_fault(body: str, lower: int, upper: int, change: dict[str, Any], message: str) -> None:
    images = numbered((2, 6, 32), np.uint16)
    made = replace(map_of(images, (32, 1, 1), swizzle=2), **change)
    with pytest.raises(EmulatorError, match=message):
        launch(body, images, maps=[wide(made, lower, upper, 8)] * 2)


def test_older_targets_have_none() -> None:
    images = numbered((2, 6, 32), np.uint16)
    maps: list[bytes | TensorMap] = [wide(map_of(images, (32, 1, 1), swizzle=2), 0, 0, 8)] * 2
    with pytest.raises(EmulatorError, match="sm_90a has no copies by im2col::w: sm_100 and newer have"):
        launch(load("0, 0, 0", "0, 0", SIZE), images, maps=maps, target="sm_90a")


def test_the_halo_is_read_too() -> None:
    """A warp that writes the pixel behind the others races with the load, where that has a halo."""
    images = numbered((2, 6, 32), np.uint16)
    maps: list[bytes | TensorMap] = [wide(map_of(images, (32, 1, 1), swizzle=2), 0, 0, 8)] * 2
    writes = """
  ld.param.u64 %rd1, [a0];
  setp.lt.u32 %p4, %r0, 32;
  @%p4 bra FIRST;
  setp.eq.u32 %p4, %r0, 32;
  @%p4 st.global.u32 [%rd1+512], %r0;
  exit;
FIRST:
"""
    for halo, kinds in ((0, []), (1, ["race"])):
        body = writes + START + load("0, 0, 0", f"{halo}, 0", SIZE + 64 * halo)
        more: dict[str, Any] = {"threads": 64, "target": "sm_100a", "check": frozenset({"races"})}
        assert [each.kind for each in run(body, images, maps=maps, **more).findings] == kinds


PTX = """
.version 8.8
.target sm_100a
.address_size 64
.visible .entry copy(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 a, .param .u64 b)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  .shared .align 1024 .b8 rows[16384];
  .shared .align 8 .b64 done;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 exit;
  mov.b64 %rd1, from;
  cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, to;
  cvta.param.u64 %rd2, %rd2;
  mbarrier.init.shared.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [done], 8704;
  cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes
    [rows], [%rd1, {0, -1, 1, 0}], [done], {2, 0};
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p1, [done], 0;
  @!%p1 bra WAIT;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {0, 0}], [rows];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
"""


def test_any_ptx_may_have_it() -> None:
    images = numbered((20, 3, 7, 32), np.float16)
    case = Case(images, -1, 0, 1, 1, (0, -1, 1, 0), AlongW(2, 0, is_fixed=True))
    out = aligned((136, 32), np.float16)
    maps = [wide(case.tensor, -1, 0, 1), pack(map_of(out, (32, 136), swizzle=2))]
    # The arrays are memory of the kernel's; it finds them by the descriptors.
    cutecc.emulate_ptx(PTX, grid=1, block=32, args=[*maps, images, out])
    np.testing.assert_array_equal(out, case.expected)
