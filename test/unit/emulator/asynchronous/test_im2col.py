"""Copies of a convolution's images by im2col descriptors; what hardware does with odd ones an H100 has shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, map_of, run
from test_tensor_copy import LOAD, STORE, numbered
from test_tensor_copy import START as BEGIN

from cutecc.emulator.report import Finding
from cutecc.emulator.tensor_map import CORNER_BITS, pack
from cutecc.errors import EmulatorError

START = f"{BEGIN}  fence.mbarrier_init.release.cluster;\n"
CHANNELS = 16
Images = np.ndarray[Any, Any]


def descriptor(
    images: Images,
    pixels: int,
    *,
    lower: tuple[int, ...] = (),
    upper: tuple[int, ...] = (),
    stride: tuple[int, ...] = (),
    kind: int = 1,
) -> bytes:
    """Of `(images, …, width, channels)`, for 16 channels of so many pixels, with corners by mode of pixels."""
    modes = images.ndim - 2
    made = map_of(images, (CHANNELS, *(1,) * (modes + 1)), element_strides=(1, *(stride or (1,) * modes), 1))
    bits = int.from_bytes(pack(made), "little") & ~(0xFFFF_FFFF_FFFF_FFFF << 448) | kind << 64
    count = CORNER_BITS[images.ndim]
    for first, corner in ((448, lower), (464, upper)):
        for mode, number in enumerate(corner):
            bits |= (number & (1 << count) - 1) << first + count * mode
    return (bits | pixels - 1 << 480).to_bytes(128, "little")


def load(at: str, offsets: str, size: int) -> str:
    """Load by the first descriptor at coordinates, and wait for so many bytes."""
    rank = at.count(",") + 1
    text = LOAD.format(bytes=size, rank=rank, at=at).replace(".tile", ".im2col")
    return text.replace("[%r9];\nWAIT", f"[%r9], {{{{{offsets}}}}};\nWAIT".replace("{{", "{").replace("}}", "}"))


def store(at: str, what: str = "", op: str = "") -> str:
    """Store by the second descriptor."""
    rank = at.count(",") + 1
    return STORE.format(what=what, rank=rank, op=op, at=at).replace(".tile", ".im2col_no_offs")


OUT = STORE.format(what="", rank=2, op="", at="0, 0")
"""Store what was loaded by the second descriptor, of a matrix."""


@pytest.mark.parametrize("kind", [1, 3])
def test_pixels_across_rows_and_images(kind: int) -> None:
    """Every second pixel, shifted by the offset of a filter's tap; the driver's descriptors, and those of CuTe."""
    images, out = numbered((3, 9, 32), np.uint16), aligned((8, 16), np.uint16)
    maps = [descriptor(images, 8, lower=(-1,), upper=(-1,), stride=(2,), kind=kind), map_of(out, (16, 8))]
    run(START + load("8, 5, 0", "1", 256) + OUT, images, out, maps=maps)
    padded = np.pad(images, ((0, 0), (1, 1), (0, 0)))
    # 5 and 7 of the first image, -1 to 7 of the second, -1 of the third: and of each the one behind is taken.
    places = [(0, 6), (0, 8), (1, 0), (1, 2), (1, 4), (1, 6), (1, 8), (2, 0)]
    np.testing.assert_array_equal(out, [padded[image, 1 + pixel, 8:24] for image, pixel in places])


def test_a_descriptor_has_ten_bits_of_pixels() -> None:
    """As hardware: 1024 and one are one."""
    images, out = numbered((3, 9, 16), np.uint16), aligned((1, 16), np.uint16)
    run(START + load("0, 4, 1", "0", 32) + OUT, images, out, maps=[descriptor(images, 1025), map_of(out, (16, 1))])
    np.testing.assert_array_equal(out[0], images[1, 4])


@pytest.mark.parametrize(("what", "op"), [("", ""), ("reduce.", ".add")])
def test_a_store_walks_as_a_load_does(what: str, op: str) -> None:
    """From the last pixel but one of a row on, into the next image; what is behind the last image is dropped."""
    source, images = numbered((8, 16), np.uint32), numbered((2, 2, 3, 16), np.uint32)
    images[:] = images[::-1]
    expected = images.copy().reshape(12, 16)
    expected[7:] = source[:5] + (expected[7:] if what else 0)
    maps = [map_of(source, (16, 8)), descriptor(images, 8)]
    begin = LOAD.format(bytes=512, rank=2, at="0, 0")
    run(START + begin + store("0, 1, 0, 1", what, op), source, images, maps=maps)
    np.testing.assert_array_equal(images.reshape(12, 16), expected)


def test_a_store_takes_the_strides_and_corners_of_its_descriptor() -> None:
    source, images = numbered((4, 16), np.uint32), aligned((1, 4, 5, 16), np.uint32)
    maps = [map_of(source, (16, 4)), descriptor(images, 4, lower=(1, 2), upper=(-1, 0), stride=(2, 1))]
    run(START + LOAD.format(bytes=256, rank=2, at="0, 0") + store("0, 1, 2, 0"), source, images, maps=maps)
    expected = np.zeros_like(images)
    expected[0, 2:, 1:4:2] = source.reshape(2, 2, 16)
    np.testing.assert_array_equal(images, expected)


def test_channels_beyond_the_last_are_dropped() -> None:
    source, images = numbered((2, 16), np.uint32), aligned((1, 3, 24), np.uint32)
    maps = [map_of(source, (16, 2)), descriptor(images, 2)]
    run(START + LOAD.format(bytes=128, rank=2, at="0, 0") + store("16, 1, 0"), source, images, maps=maps)
    expected = np.zeros_like(images)
    expected[0, 1:, 16:] = source[:, :8]
    np.testing.assert_array_equal(images, expected)


PLAIN = load("0, 0, 0, 0", "0, 0", 256)


@pytest.mark.parametrize(
    ("body", "described", "message"),
    [
        # A load begins at a pixel of the box of pixels, wherever the tap is.
        (load("0, 5, 0, 0", "0, 0", 256), {}, r"copies pixels from \(5, 0\) on: .* from \(0, 0\) to before \(5, 4\)"),
        (load("0, 0, -1, 0", "0, 1", 256), {}, r"copies pixels from \(0, -1\) on"),
        (load("0, 4, 0, 0", "0, 0", 256), {"upper": (-1, 0)}, r"to before \(4, 4\)"),
        (store("0, 5, 0, 0"), {}, r"copies pixels from \(5, 0\) on"),
        # Hardware drops the ninth bit.
        (load("0, 0, 0, 0", "256, 0", 256), {}, r"offsets pixels by \[256, 0\]: of 2 modes each has 8 bits"),
        (load("0, 0, 0, 0", "0, -1", 256), {}, r"offsets pixels by \[0, 65535\]"),
        (store("0, 0, 0, -1"), {}, r"stores a box that begins at \[0, 0, 0, -1\]: below 0"),
        (store("0, 0, 0, 0"), {"lower": (-1, 0)}, r"stores pixels from \(-1, 0\) to before \(5, 4\), .* of \(5, 4\)"),
        (store("0, 0, 0, 0"), {"upper": (0, 1)}, r"stores pixels from \(0, 0\) to before \(5, 5\)"),
        (PLAIN, {"kind": 0}, "finds no descriptor of a tensor for im2col"),
        (STORE.format(what="", rank=4, op="", at="0, 0, 0, 0"), {}, "finds no descriptor of a tensor for tiles"),
        (load("0, 0, 0", "0", 256), {}, "for 3 dimensions, and finds a tensor of rank 4"),
        (load("4, 0, 0, 0", "0, 0", 256), {}, "begins 8 bytes into the tensor's rows: no multiple of 16"),
        (PLAIN.replace("+1024", "+1040"), {}, "not a multiple of 128"),
        (load("0, 0, 0, 0", "0, 0", 192), {}, "mbarrier"),
        (load("0, 0, 0, 0", "0, 0", 320), {}, "the copies bring 64 bytes fewer than are announced"),
    ],
)
def test_a_wrong_copy_is_a_fault(body: str, described: dict[str, Any], message: str) -> None:
    images = numbered((2, 4, 5, 24), np.uint16)
    maps = [descriptor(images, 8, **described)] * 2
    with pytest.raises(EmulatorError, match=message):
        run(START + body, images, maps=maps)


def findings(body: str, images: Images, maps: list[bytes], *checks: str, threads: int = 32) -> list[Finding]:
    return run(body, images, maps=maps, threads=threads, check=frozenset(checks)).findings


def test_three_modes_have_five_bits_each_of_an_offset() -> None:
    images = numbered((2, 3, 4, 5, 16), np.uint16)
    with pytest.raises(EmulatorError, match=r"offsets pixels by \[0, 32, 0\]: of 3 modes each has 5 bits"):
        run(START + load("0, 0, 0, 0, 0", "0, 32, 0", 256), images, maps=[descriptor(images, 8)] * 2)


def test_memory_that_is_not_there_is_found() -> None:
    """The descriptor has an image more than there is."""
    images = numbered((3, 4, 5, 16), np.uint16)
    maps = [descriptor(images, 8)] * 2
    (found,) = findings(START + load("0, 3, 3, 1", "0, 0", 256), images[:2], maps, "bounds")
    assert found.kind == "out-of-bounds"
    # Within it, all is there; also where taps are beyond the image.
    assert not findings(START + load("0, 1, 2, 1", "0, 3", 256), images[:2], maps, "bounds")


def test_what_is_behind_the_pixels_is_uninitialised() -> None:
    images = numbered((2, 4, 5, 16), np.uint16)
    maps = [descriptor(images, 8)] * 2
    for place, kinds in ((1024 + 252, []), (1024 + 256, ["uninitialised-shared"])):
        read = f"ld.param.u64 %rd1, [a0];\nld.shared.u32 %r3, [%r9+{place}];\nst.global.u32 [%rd1], %r3;"
        assert [each.kind for each in findings(START + PLAIN + read, images, maps, "initialisation")] == kinds
    stored = findings(START + store("0, 0, 0, 0"), images, maps, "initialisation")
    assert {each.kind for each in stored} == {"uninitialised-shared"}


READS_EARLY = "ld.shared.u32 %r3, [%r9+1024];\nWAIT:"
OTHER_WARP = """
  ld.param.u64 %rd1, [a0];
  setp.lt.u32 %p4, %r0, 32;
  @%p4 bra FIRST;
  setp.eq.u32 %p4, %r0, 32;
  @%p4 st.global.u32 [%rd1+{place}], %r0;
  exit;
FIRST:
"""


def test_a_copy_that_nothing_waits_for_races() -> None:
    images = numbered((2, 4, 5, 16), np.uint16)
    maps = [descriptor(images, 8)] * 2
    (found,) = findings(START + PLAIN.replace("WAIT:", READS_EARLY), images, maps, "races")
    assert found.kind == "race" and "shared memory" in found.message
    assert not findings(START + PLAIN, images, maps, "races")


@pytest.mark.parametrize(
    ("pixel", "tap", "races"), [(0, "0, 0", True), (0, "1, 0", False), (1, "1, 0", True), (8, "0, 0", False)]
)
def test_a_load_races_with_who_writes_its_pixels(pixel: int, tap: str, races: bool) -> None:
    """Those at the tap, and no other."""
    images = numbered((2, 4, 5, 16), np.uint16)
    writes = OTHER_WARP.format(place=32 * pixel)
    body = writes + START + load("0, 0, 0, 0", tap, 256)
    found = findings(body, images, [descriptor(images, 8)] * 2, "races", threads=64)
    assert [each.kind for each in found] == ["race"] * races


@pytest.mark.parametrize(("pixel", "races"), [(7, False), (8, True), (15, True), (16, False)])
def test_a_store_races_with_who_writes_its_pixels(pixel: int, races: bool) -> None:
    images = numbered((2, 4, 5, 16), np.uint16)
    writes = OTHER_WARP.format(place=32 * pixel)
    body = writes + START + store("0, 3, 1, 0")
    found = findings(body, images, [descriptor(images, 8)] * 2, "races", threads=64)
    assert [each.kind for each in found] == ["race"] * races


def test_what_threads_wrote_needs_a_fence_before_a_store() -> None:
    images = numbered((2, 4, 5, 16), np.uint16)
    for fence, kinds in (("", ["missing-proxy-fence"]), ("fence.proxy.async.shared::cta;\n", [])):
        body = f"{START} st.shared.u32 [%r9+1024], %r0;\n{fence}" + store("0, 3, 1, 0")
        found = findings(body, images, [descriptor(images, 8)] * 2, "proxies")
        assert [each.kind for each in found] == kinds
