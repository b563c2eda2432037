"""`wgmma`: results of every type and layout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.errors import EmulatorError

sys.path[:0] = [str(Path(__file__).parent)]

from formulas import BITS, a_place, decoded, pack, packed, random_bits, round_to, unit_sum  # noqa: E402
from test_mma import compress, metadata_words  # noqa: E402
from warpgroups import Tile, get_accumulators, set_accumulators, text, types_for  # noqa: E402
from warps import Warps  # noqa: E402

A_START, B_START = 8192, 24576

TYPES = [
    *[("f16", "f16", d, 16) for d in ("f16", "f32")],
    ("bf16", "bf16", "f32", 16),
    ("tf32", "tf32", "f32", 8),
    *[(a, b, d, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")],
    *[(a, b, "s32", 32) for a in ("s8", "u8") for b in ("s8", "u8")],
]


def constants(a: str, both_in_shared: bool = True, signs: tuple[int, int] = (1, 1), majors: str = "kk") -> str:
    """The operands behind scale-d."""
    if a in ("s8", "u8", "b1"):
        return ""
    scales = f", {signs[0]}, {signs[1]}"
    if a not in ("f16", "bf16"):
        return scales
    transposes = [str(int(major == "m")) for major in (majors if both_in_shared else majors[1:])]
    return f"{scales}, {', '.join(transposes)}"


def expected(left: Any, right: Any, added: Any, types: tuple[str, str, str]) -> Any:
    """`(64, K)`, `(N, K)` and `(64, N)`; `types` of D, A and B."""
    d, a, b = types
    if d == "s32":
        return round_to(left @ right.T + added, d)
    return unit_sum(left, right.T, added, (d, a, b, d), 13 if a in ("e4m3", "e5m2") else 25)


def multiply(
    n: int,
    k: int,
    a: str,
    b: str,
    d: str,
    tile_a: Tile,
    tile_b: Tile,
    signs: tuple[int, int] = (1, 1),
    add: bool = True,
    suffix: str = "",
) -> None:
    """One multiplication, compared with the product of the numbers."""
    random = np.random.default_rng(n + k)
    left, right = random_bits(random, a, 64, k), random_bits(random, b, n, k)
    added = random_bits(random, d, 1, 64, n)
    warps = Warps(types_for(n, d))
    tile_a.put(warps.memory.window(0), left, a)
    tile_b.put(warps.memory.window(0), right, b)
    warps.set("%da", np.uint64(tile_a.descriptor))
    warps.set("%db", np.uint64(tile_b.descriptor))
    warps.set("%p", add)
    set_accumulators(warps, n, d, added)
    majors = tile_a.major[0] + tile_b.major[0]
    rest = ", %p" + constants(a, signs=signs, majors=majors)
    assert warps.do(text(f"sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{suffix}", n, d, rest=rest)) == [None]
    sign = signs[0] * signs[1]
    want = expected(sign * decoded(left, a), decoded(right, b), decoded(added[0], d) * add, (d, a, b))
    np.testing.assert_array_equal(get_accumulators(warps, n, d)[0], want)


@pytest.mark.parametrize(("a", "b", "d", "k"), TYPES)
def test_types(a: str, b: str, d: str, k: int) -> None:
    multiply(24, k, a, b, d, Tile(start=A_START), Tile(start=B_START))


@pytest.mark.parametrize("n", [8, 16, 64, 104, 256])
def test_widths(n: int) -> None:
    multiply(n, 16, "f16", "f16", "f32", Tile(start=A_START), Tile(start=B_START))


@pytest.mark.parametrize("width", [0, 32, 64, 128])
@pytest.mark.parametrize(("a", "d", "k"), [("bf16", "f32", 16), ("s8", "s32", 32), ("tf32", "f32", 8)])
def test_k_major_layouts(width: int, a: str, d: str, k: int) -> None:
    """With the start in the middle of a swizzled row where it has room, as for later steps along K."""
    tile_a = Tile("k", width, A_START + max(0, width - 32), 2304 if not width else 16, max(256, 8 * width))
    tile_b = Tile("k", width, B_START, 1280 if not width else 16, max(128, 8 * width))
    multiply(40, k, a, a, d, tile_a, tile_b)


@pytest.mark.parametrize("width", [0, 32, 64, 128])
@pytest.mark.parametrize("majors", ["mk", "km", "mm"])
def test_mn_major_layouts(width: int, majors: str) -> None:
    def tile(major: str, start: int) -> Tile:
        if major == "k":
            return Tile("k", width, start, 1280 if not width else 16, max(128, 8 * width))
        if not width:
            return Tile("mn", 0, start, 2048, 128)
        return Tile("mn", width, start, 16 * width + 1024, 8 * width)

    multiply(64, 16, "f16", "f16", "f32", tile(majors[0], A_START), tile(majors[1], B_START))


@pytest.mark.parametrize("signs", [(1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("add", [True, False])
def test_signs_and_scale_d(signs: tuple[int, int], add: bool) -> None:
    multiply(16, 16, "bf16", "bf16", "f32", Tile(start=A_START), Tile(start=B_START), signs=signs, add=add)


def test_without_scale_d_the_accumulators_are_not_read() -> None:
    warps = Warps(types_for(8, "f32"))
    for number in range(4):
        warps.set(f"%d{number}", 0x7FC00000)
    warps.do(text("sync.aligned.m64n8k16.f32.f16.f16", 8, "f32", rest=", %p, 1, 1, 0, 0"))
    assert (get_accumulators(warps, 8, "f32") == 0).all()


def test_bits() -> None:
    n, k = 24, 256
    random = np.random.default_rng(8)
    left, right = random_bits(random, "b1", 64, k), random_bits(random, "b1", n, k)
    warps = Warps(types_for(n, "s32"))
    tile_a, tile_b = Tile(start=A_START), Tile(start=B_START)
    tile_a.put(warps.memory.window(0), left, "b1")
    tile_b.put(warps.memory.window(0), right, "b1")
    warps.set("%da", np.uint64(tile_a.descriptor))
    warps.set("%db", np.uint64(tile_b.descriptor))
    warps.do(text("sync.aligned.m64n24k256.s32.b1.b1.and.popc", n, "s32"))
    np.testing.assert_array_equal(get_accumulators(warps, n, "s32")[0], left.astype(int) @ right.T.astype(int))


def test_integers_saturate_only_when_told() -> None:
    warps = Warps(types_for(8, "s32"))
    warps.memory.window(0)[:] = 0x7F
    warps.set("%da", np.uint64(Tile(start=A_START).descriptor))
    warps.set("%db", np.uint64(Tile(start=B_START).descriptor))
    warps.set("%p", True)
    wrapped, largest = 2**31 - 1 + 32 * 127**2 - 2**32, 2**31 - 1
    for types, want in (("s32.s8.s8", wrapped), ("s32.s8.s8.satfinite", largest), ("satfinite.s32.s8.s8", largest)):
        for number in range(4):
            warps.set(f"%d{number}", 2**31 - 1)
        warps.do(text(f"sync.aligned.m64n8k32.{types}", 8, "s32"))
        assert (get_accumulators(warps, 8, "s32") == want).all()


def set_a_registers(warps: Warps, left: Any, a: str) -> None:
    """`left` are bits, `(64, stored K)`."""
    per = packed(a)
    for number in range(4):
        register = np.zeros((4, 32), np.uint32)
        for warp in range(4):
            for lane in range(32):
                places = [a_place(a, 16, lane, number * per + each) for each in range(per)]
                register[warp, lane] = pack([left[warp * 16 + row, column] for row, column in places], a)
        warps.set(f"%a{number}", register)


@pytest.mark.parametrize(("a", "b", "d", "k"), TYPES[::3])
@pytest.mark.parametrize("signs", [(1, 1), (-1, 1)])
def test_a_in_registers(a: str, b: str, d: str, k: int, signs: tuple[int, int]) -> None:
    n = 16
    random = np.random.default_rng(10)
    left, right = random_bits(random, a, 64, k), random_bits(random, b, n, k)
    added = random_bits(random, d, 1, 64, n)
    warps = Warps(types_for(n, d))
    tile = Tile(start=B_START)
    tile.put(warps.memory.window(0), right, b)
    warps.set("%db", np.uint64(tile.descriptor))
    warps.set("%p", True)
    set_accumulators(warps, n, d, added)
    set_a_registers(warps, left, a)
    integer = d == "s32"
    rest = ", %p" + constants(a, both_in_shared=False, signs=signs)
    warps.do(text(f"sync.aligned.m64n{n}k{k}.{d}.{a}.{b}", n, d, a="{%a0, %a1, %a2, %a3}", rest=rest))
    sign = 1 if integer else signs[0] * signs[1]
    want = expected(sign * decoded(left, a), decoded(right, b), decoded(added[0], d), (d, a, b))
    np.testing.assert_array_equal(get_accumulators(warps, n, d)[0], want)


@pytest.mark.parametrize("place", ["shared", "registers"])
@pytest.mark.parametrize(
    ("a", "d", "k", "selector"),
    [
        *[("f16", "f32", 32, 0), ("f16", "f16", 32, 1), ("bf16", "f32", 32, 1)],
        *[("tf32", "f32", 16, 0), ("tf32", "f32", 16, 1), ("e4m3", "f32", 64, 0), ("s8", "s32", 64, 0)],
    ],
)
def test_sparse(a: str, d: str, k: int, selector: int, place: str) -> None:
    n = 16
    random = np.random.default_rng(11)
    full, right = random_bits(random, a, 64, k), random_bits(random, a, n, k)
    kept, stored, nibbles = compress(random, full, BITS[a])
    added = random_bits(random, d, 1, 64, n)
    warps = Warps(types_for(n, d))
    tile_a, tile_b = Tile(start=A_START), Tile(start=B_START)
    tile_b.put(warps.memory.window(0), right, a)
    warps.set("%db", np.uint64(tile_b.descriptor))
    if place == "shared":
        tile_a.put(warps.memory.window(0), stored, a)
        warps.set("%da", np.uint64(tile_a.descriptor))
    else:
        set_a_registers(warps, stored, a)
    words = [metadata_words(nibbles[16 * warp : 16 * warp + 16], BITS[a], selector) for warp in range(4)]
    warps.set("%e", np.array(words))
    warps.set("%p", True)
    set_accumulators(warps, n, d, added)
    left = "%da" if place == "shared" else "{%a0, %a1, %a2, %a3}"
    rest = f", %e, {selector}, %p" + constants(a, both_in_shared=place == "shared")
    warps.do(text(f"sp.sync.aligned.m64n{n}k{k}.{d}.{a}.{a}", n, d, a=left, rest=rest))
    want = expected(decoded(kept, a), decoded(right, a), decoded(added[0], d), (d, a, a))
    np.testing.assert_array_equal(get_accumulators(warps, n, d)[0], want)


def test_warpgroups_and_blocks_of_one_gang_have_their_own_matrices() -> None:
    """Two blocks of two warpgroups each; the warpgroups of a block share B, and one of them adds."""
    n, k = 8, 16
    random = np.random.default_rng(12)
    warps = Warps(types_for(n, "f32"), threads=256, blocks=2)
    left = random_bits(random, "f16", 2, 2, 64, k)
    right = random_bits(random, "f16", 2, n, k)
    added = random_bits(random, "f32", 4, 64, n)
    tiles = [Tile(start=A_START), Tile(start=A_START + 8192)]
    for block in range(2):
        Tile(start=B_START).put(warps.memory.window(block), right[block], "f16")
        for group in range(2):
            tiles[group].put(warps.memory.window(block), left[block, group], "f16")
    group = np.arange(16)[:, None] // 4 % 2
    warps.set("%da", np.where(group, np.uint64(tiles[1].descriptor), np.uint64(tiles[0].descriptor)))
    warps.set("%db", np.uint64(Tile(start=B_START).descriptor))
    warps.set("%p", group == 1)
    set_accumulators(warps, n, "f32", added)
    warps.do(text("sync.aligned.m64n8k16.f32.f16.f16", n, "f32", rest=", %p, 1, 1, 0, 0"))
    found = get_accumulators(warps, n, "f32")
    for block, group in ((0, 0), (0, 1), (1, 0), (1, 1)):
        start = decoded(added[2 * block + group], "f32") * group
        want = expected(decoded(left[block, group], "f16"), decoded(right[block], "f16"), start, ("f32", "f16", "f16"))
        np.testing.assert_array_equal(found[2 * block + group], want)


@pytest.mark.parametrize(
    ("start", "fits"), [((64 << 10) - 8192, True), ((64 << 10) - 8192 + 1024, False), (64 << 10, False)]
)
def test_a_matrix_has_to_be_in_shared_memory(start: int, fits: bool) -> None:
    warps = Warps(types_for(8, "f32"))
    warps.set("%da", np.uint64(Tile(start=start).descriptor))
    if fits:
        warps.do(text("sync.aligned.m64n8k16.f32.f16.f16", 8, "f32", rest=", %p, 1, 1, 0, 0"))
        return
    at = start - 1024  # addresses are told from the kernel's own memory on
    message = rf"a matrix of 64 by 16 elements that reaches outside of the block's shared memory at shared\+{at}"
    with pytest.raises(EmulatorError, match=message):
        warps.do(text("sync.aligned.m64n8k16.f32.f16.f16", 8, "f32", rest=", %p, 1, 1, 0, 0"))


@pytest.mark.parametrize(
    "form",
    ["sync.aligned.m64n8k8.f32.f16.f16", "sync.aligned.m64n264k16.f32.f16.f16", "sync.aligned.m64n8k16.f32.f16.bf16"],
)
def test_forms_that_are_not_modelled_are_named(form: str) -> None:
    with pytest.raises(EmulatorError, match="does not model"):
        Warps(types_for(8, "f32")).do(text(form, 8, "f32", rest=", %p, 1, 1, 0, 0"))
