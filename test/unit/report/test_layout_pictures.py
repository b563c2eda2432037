"""Pictures of layouts in a report: cells are what the layout algebra says, and every text of the kernels is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from drawn_cells import coordinates, holders, offset, sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.layout import ComposedLayout, Layout, Swizzle, make_layout_tv
from cutecc.layout.facts import offsets
from cutecc.layout.layout import idx2crd
from cutecc.layout.pictures import Banks
from cutecc.layout.pictures.colours import bank_colour, group_colour
from cutecc.layout.text import parse_any_layout
from cutecc.report.pictures import Grid, NoPicture, Picture, layout_pictures, picture_of_text

TEXTS = Path(__file__).with_name("layout_texts.txt").read_text().splitlines()
"""What stands in the modules of the examples and test kernels, after all passes."""


def picture(text: str) -> Picture:
    found = picture_of_text(text)
    assert isinstance(found, Picture), found
    return found


def only(text: str) -> Grid:
    (grid,) = picture(text).grids
    return grid


def drawn(grid: Grid) -> list[Any]:
    return [offset(grid, each) for each in coordinates(grid)]


def test_a_layout_goes_down_then_across() -> None:
    grid = only("(2,3):(3,1)")
    assert sizes(grid) == [2, 3]
    assert drawn(grid) == [0, 3, 1, 4, 2, 5]
    assert offset(grid, (1, 2)) == 5


def test_a_single_mode_goes_across_and_its_own_modes_are_sides() -> None:
    assert sizes(only("8:2")) == [1, 8]
    assert sizes(only("((4,8)):((1,4))")) == [4, 8]
    assert [axis.shape for axis in only("((2,4),(8,1)):((1,16),(2,0))").axes] == ["(2,4)", "(8,1)"]


modes = st.recursive(
    st.tuples(st.sampled_from([1, 2, 3, 4, 8]), st.integers(-3, 64)), lambda part: st.tuples(part, part)
)


def layout_of(tree: Any) -> Layout:
    def part(tree: Any, which: int) -> Any:
        if all(isinstance(each, int) for each in tree):
            return tree[which]
        return tuple(part(each, which) for each in tree)

    return Layout(part(tree, 0), part(tree, 1))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.tuples(modes, modes))
def test_every_cell_of_any_layout(tree: Any) -> None:
    layout = layout_of(tree)
    if layout.size <= 2048:
        assert drawn(only(str(layout))) == offsets(layout)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.tuples(modes, modes), st.integers(0, 3), st.integers(0, 4), st.integers(-2, 4), st.integers(0, 9))
def test_every_cell_of_any_composed_layout(tree: Any, bits: int, base: int, more: int, added: int) -> None:
    layout = layout_of(tree)
    swizzle = Swizzle(bits, base, max(bits, more) if more >= 0 else -max(bits, 1))
    composed = ComposedLayout(swizzle, added, layout)
    if layout.size <= 2048:
        assert drawn(only(str(composed))) == [composed(index) for index in range(layout.size)]


def test_a_layout_of_a_layout() -> None:
    text = "(2,8):(8,1) o 3 o (4,2):(2,1)"
    composed = parse_any_layout(text)
    assert drawn(only(text)) == [composed(index) for index in range(8)]


def test_coordinates_name_their_modes() -> None:
    grid = only("((2,4),3):((1@1,16@0),1@1@0)")
    assert offset(grid, (3, 2)) == {"1": 1, "0": 16, "0.1": 2}
    assert grid.axes[0].modes == [[2, 1, "1"], [4, 16, "0"]]
    parts = only("(8,4):(1/2@0,1@1)")
    assert offset(parts, (3, 2)) == {"0": 1.5, "1": 2}


def test_shared_memory_says_the_bank_of_each_element() -> None:
    """The swizzle of a pointer moves bytes: for f16, S<3,4,3> moves blocks of 8 elements."""
    text = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">'
    grid = only(text)
    assert grid.element_bits == 16
    swizzle, layout, banks = Swizzle(3, 4, 3), Layout((8, 64), (64, 1)), Banks(16)
    for row, column in ((0, 0), (1, 0), (3, 8), (7, 63)):
        place = swizzle(layout((row, column)) * 2) // 2
        assert offset(grid, (row, column)) == place
        assert banks.first(place) == place * 16 // 32 % 32
    assert offset(grid, (1, 0)) == 64 + 8
    assert picture_of_text('!cute.memref<f16, gmem, align<16>, "(8,64):(64,1)">') is None
    single = only('!cute.memref<f32, smem, align<128>, S<2,2,3>, "(8,8):(8,1)">')
    assert [offset(single, (row, 0)) for row in range(3)] == [0, 9, 18], "bytes of S<2,2,3> are elements of S<2,0,3>"
    split = picture_of_text('!cute.memref<f32, smem, align<128>, S<2,1,3>, "(8,32):(32,1)">')
    assert split == NoPicture("S<2,1,3> of byte addresses splits elements of 32 bits")
    assert only('!cute.memref<f32, smem, "(8):(1)">').element_bits == 32


def test_a_swizzle_alone() -> None:
    grid = only("S<3,4,3>")
    assert sizes(grid) == [8, 8]
    assert [offset(grid, (2, column)) for column in range(4)] == [18, 19, 16, 17]
    assert picture("S<3,4,3>").notes == ["each cell is 16 offsets, which stay together"]


def test_a_tiled_copy() -> None:
    tile, layout = make_layout_tv(Layout((4, 32), (32, 1)), Layout((4, 4), (4, 1)))
    text = (
        "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, "
        f'layout_copy_tv = <"{layout}">, tiler_mn = <"[{tile[0]}:1;{tile[1]}:1]">>'
    )
    grid = only(text)
    assert (grid.name, sizes(grid)) == ("source and destination", [16, 128])
    found = holders(grid)
    for thread in range(128):
        for value in range(16):
            assert found[layout((thread, value))] == [(thread, value)]


def test_a_matrix_load_has_other_threads_in_shared_memory() -> None:
    text = (
        '!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, '
        'num_matrices = 4, n>, layout_copy_tv = <"((4,8),((2,2,2),1)):((32,1),((16,8,128),0))">, '
        'tiler_mn = <"[16:1;16:1]">>'
    )
    source, destination = picture(text).grids
    assert (source.name, destination.name) == ("source", "destination")
    # Thread 9 names row 9 of the first eight columns; registers 0 and 1 of thread 4 are row 1, columns 0 and 1.
    assert {index for index, found in holders(source).items() if found[0][0] == 9} == {9 + 16 * at for at in range(8)}
    assert holders(destination)[1] == [(4, 0)]
    assert holders(destination)[1 + 16] == [(4, 1)]


def test_operands_of_an_mma() -> None:
    atom = "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >"
    text = f'!cute.tiled_mma<{atom}, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;32:1;16:1]">>'
    a, b, c = picture(text).grids
    assert [sizes(grid) for grid in (a, b, c)] == [[32, 16], [16, 32], [32, 32]]
    # m16n8k16: thread 5 has C at row 1, columns 2 and 3; A at row 1, columns 2 and 3; B at k 2 and 3, column 1.
    assert (5, 1) in holders(c)[1 + 32 * 3]
    assert (5, 1) in holders(a)[1 + 32 * 3]
    assert (5, 1) in holders(b)[3 + 16 * 1]
    # The second warp has the next 16 rows; warps 2 and 3 read the same A.
    assert holders(c)[16][0][0] == 32
    assert [thread for thread, _ in holders(a)[0]] == [0, 64]


def test_what_cannot_be_drawn_says_why() -> None:
    assert picture_of_text("(?,8):(8,1)") == NoPicture(
        "a picture needs numbers: '?', mode 0 of the shape of (?,8):(8,1), is known only to a running kernel"
    )
    large = picture_of_text("(4096,512):(512,1)")
    assert isinstance(large, NoPicture) and "2097152 coordinates" in large.reason and "1048576" in large.reason
    assert isinstance(picture_of_text("!cute_nvgpu.sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32)>"), NoPicture)


@pytest.mark.parametrize("text", ["8", "(8,4)", "loc:1", "(8:", "S<1>", "", "(" * 200 + ":"])
def test_other_texts_have_none(text: str) -> None:
    assert not isinstance(picture_of_text(text), Picture)


def test_what_is_found_in_a_module() -> None:
    module = """
!memref_smem_f16 = !cute.memref<f16, smem, align<128>, "(8,8):(8,1)">
func.func @k(%arg0: !cute.layout<"(4,(2,8)):(1,(4,8))">, %arg1: !cute.coord_tensor<"(0,0)", "(2,2):(1/2@0,1@1)">) {
  %0 = cute.x : !cute.tiled_copy<!cute_nvgpu.atom.g2r<f32>, layout_copy_tv = <"(4,2):(2,1)">, tiler_mn = <"[8:1]">>
  %1 = cute.static : !cute.shape<"(8,8)">
  %2 = "test.op"() {name = "a: b"} : () -> !cute.tile<"[8:1;_]">
"""
    assert sorted(layout_pictures([module, module]).pictures) == [
        '!cute.memref<f16, smem, align<128>, "(8,8):(8,1)">',
        '!cute.tiled_copy<!cute_nvgpu.atom.g2r<f32>, layout_copy_tv = <"(4,2):(2,1)">, tiler_mn = <"[8:1]">>',
        "(2,2):(1/2@0,1@1)",
        "(4,(2,8)):(1,(4,8))",
        "(4,2):(2,1)",
        "(8,8):(8,1)",
    ]
    assert layout_pictures(["llvm.func @k()"]).pictures == {}


def test_every_text_of_the_kernels_is_read() -> None:
    found = {text: picture_of_text(text) for text in TEXTS}
    drawings = [each for each in found.values() if isinstance(each, Picture)]
    reasons = {each.reason.partition(":")[0] for each in found.values() if isinstance(each, NoPicture)}
    assert len(drawings) > 350
    assert {each.kind for each in drawings} == {"layout", "swizzle", "copy", "mma"}
    # Nothing but sizes of the running kernel stands in the way.
    assert reasons == {"a picture needs numbers"}
    for text, each in found.items():
        if isinstance(each, Picture) and each.kind == "layout" and not text.startswith("!"):
            layout = parse_any_layout(text)
            if layout.size <= 512 and "@" not in text:
                assert drawn(each.grids[0]) == [layout(idx2crd(at, layout.shape)) for at in range(layout.size)], text


def test_the_chunk_is_small_and_has_the_colours_of_all_pictures() -> None:
    layouts = layout_pictures(f'!cute.layout<"{text}">' for text in TEXTS)
    encoded = msgspec.json.encode(layouts)
    assert len(encoded) < 250_000
    assert layouts.colours.banks[5] == bank_colour(5)
    assert [layouts.colours.groups[at % 512] for at in (3, 511, 700)] == [group_colour(at) for at in (3, 511, 700)]
