"""What threads have in tiled copies and matrix products: against an enumeration, and against the wheel's types."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.layout import Layout, evaluate, parse_layout, parse_tile, product, symbol
from cutecc.layout.layout import idx2crd
from cutecc.layout.tiled import copy_partition, product_partition

# From (thread, value) to a place in a tile: rows, columns, both, several values apart.
COPIES = [
    ("((4,32),4):((128,1),32)", (32, 16)),
    ("((16,8),4):((32,1),8)", (8, 64)),
    ("((4,2),(2,2)):((4,1),(16,2))", (4, 8)),
    ("(8,4):(1,8)", (32, 1)),
]

# A thread's part of the 16 x 16 A and the 8 x 16 B of mma.sync (PTX ISA, fragments of m16n8k16).
A_TV = parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")
B_TV = parse_layout("((4,8),(2,2)):((16,1),(8,64))")


@given(st.sampled_from(COPIES), st.integers(1, 2), st.integers(1, 3), st.data())
def test_copy_by_enumeration(copy: tuple[str, tuple[int, int]], down: int, across: int, data: st.DataObject) -> None:
    text, tile = copy
    tile_tv = parse_layout(text)
    threads = product(tile_tv.shape[0])
    thread = data.draw(st.integers(0, threads - 1))
    known = {"row": data.draw(st.integers(1, 1000)), "thread": thread}
    tensor = Layout((tile[0] * down, tile[1] * across), (symbol("row", width=64), 1))
    part, offset = copy_partition(tensor, tile, tile_tv, symbol("thread"))
    for value, i, j in itertools.product(range(product(tile_tv.shape[1])), range(down), range(across)):
        row, column = idx2crd(tile_tv((thread, value)), tile)
        place = tensor((row + tile[0] * i, column + tile[1] * j))
        found = offset + part((value, i, j))
        assert evaluate(found, known) == evaluate(place, known), f"thread {thread}, value {value} of tile {i}, {j}"


@given(
    st.sampled_from([(A_TV, (16, 16)), (B_TV, (8, 16))]),
    st.sampled_from([(1, 1), (2, 1), (1, 2), (4, 2)]),
    st.integers(1, 2),
    st.integers(1, 2),
    st.booleans(),
    st.data(),
)
def test_product_by_enumeration(
    atom: tuple[Layout, tuple[int, int]],
    atoms: tuple[int, int],
    down: int,
    across: int,
    permuted: bool,
    data: st.DataObject,
) -> None:
    atom_tv, sizes = atom
    # The permutation doubles the tile of the first mode and gives an atom every other row.
    tile = (sizes[0] * atoms[0] * (2 if permuted else 1), sizes[1] * atoms[1])
    permutation = Layout((tile[0] // 2, 2), (2, 1)) if permuted else None
    tensor = Layout((tile[0] * down, tile[1] * across), (1, symbol("column")))
    thread = data.draw(st.integers(0, 31))
    position = (data.draw(st.integers(0, atoms[0] - 1)), data.draw(st.integers(0, atoms[1] - 1)))
    known = {"column": 4096}
    part, offset = product_partition(tensor, (permutation, None), sizes, atom_tv, atoms, (thread, position))
    repeats = [
        size * many // (each * count)
        for size, many, each, count in zip(tile, (down, across), sizes, atoms, strict=True)
    ]
    for value, i, j in itertools.product(range(product(atom_tv.shape[1])), range(repeats[0]), range(repeats[1])):
        row, column = idx2crd(atom_tv((thread, value)), sizes)
        row += sizes[0] * (position[0] + atoms[0] * i)
        column += sizes[1] * (position[1] + atoms[1] * j)
        if permutation is not None:
            row = permutation(row % tile[0]) + row // tile[0] * tile[0]
        found = offset + part((value, i, j))
        assert evaluate(found, known) == evaluate(tensor((row, column)), known), f"value {value} of atom {i}, {j}"


@pytest.mark.parametrize(
    ("tensor", "tiler", "tile_tv", "expected"),
    [
        ("(32,16):(?{i64 div=4},1)", "[32:1;16:1]", COPIES[0][0], "((4,1),1,1):((1,0),0,0)"),
        ("(64,?{div=16}):(?{i64 div=4},1)", "[32:1;16:1]", COPIES[0][0], "((4,1),2,?):((1,0),?{i64 div=128},16)"),
        (
            "(8,64,?):(?{i64 div=4},1,?{i64 div=32})",
            "[8:1;64:1]",
            COPIES[1][0],
            "((4,1),1,1,?):((1,0),0,0,?{i64 div=32})",
        ),
        ("(8,64,3):(64,1,512)", "[8:1;64:1]", COPIES[1][0], "((4,1),1,1,3):((1,0),0,0,512)"),
    ],
)
def test_copy_as_the_wheel_infers_it(tensor: str, tiler: str, tile_tv: str, expected: str) -> None:
    # Threads have one run of values, which the wheel's atom copies at once: `(values, 1)`.
    atom_tv = parse_layout(tile_tv)
    values = Layout((atom_tv.shape[0], (atom_tv.shape[1], 1)), (atom_tv.stride[0], (atom_tv.stride[1], 0)))
    part, _ = copy_partition(parse_layout(tensor), parse_tile(tiler), values, symbol("thread"))
    assert str(part) == expected


@pytest.mark.parametrize(
    ("tensor", "tile", "sizes", "atom_tv", "atoms", "expected"),
    [
        # A of 2 x 2 warps of m16n8k16, its tile 32 x 16.
        (
            "(64,32):(1,?{div=64})",
            (32, 16),
            (16, 16),
            A_TV,
            (2, 1),
            "((2,2,2),2,2):((?{div=64},8,?{div=512}),32,?{div=1024})",
        ),
        # B, whose warps go twice over a tile of 32.
        (
            "(64,16):(?{i64 div=8},1)",
            (32, 16),
            (8, 16),
            B_TV,
            (2, 1),
            "((2,2),(2,2),1):((1,8),(?{i64 div=128},?{i64 div=256}),0)",
        ),
    ],
)
def test_product_as_the_wheel_infers_it(
    tensor: str, tile: Any, sizes: Any, atom_tv: Layout, atoms: Any, expected: str
) -> None:
    part, _ = product_partition(
        parse_layout(tensor), tile, sizes, atom_tv, atoms, (symbol("thread"), (symbol("i"), symbol("j")))
    )
    assert str(part) == expected
