"""Which thread holds what: compared with what the bindings say of the same types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cutecc.errors import LayoutError
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context
from cutecc.ir.types import view
from cutecc.layout import Layout, parse_tile
from cutecc.layout.facts import offsets
from cutecc.report.fragments import Fragment, Modes, matrix_instruction, tiled_copy, tiled_matrix

ATOMS = [
    "sm80.mma<16x8x16, elem_type = (f16, f16, f32) >",
    "sm80.mma<16x8x8, elem_type = (f16, f16, f32) >",
    "sm80.mma<16x8x4, elem_type = (tf32, tf32, f32) >",
    "sm80.mma<16x8x8, elem_type = (tf32, tf32, f32) >",
    "sm80.mma<16x8x32, elem_type = (i8, i8, i32) >",
    "sm80.mma<8x8x16, elem_type = (i8, i8, i32) >",
    "sm80.mma<8x8x4, elem_type = (f64, f64, f64) >",
    "sm89.mma<16x8x32, elem_type = (f8E4M3FN, f8E4M3FN, f32) >",
    "SM120.mma_bs<16x8x64, vec_size = 16, elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, "
    "use_sf_layout_TV = false>",
    "sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>",
    "sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>",
    "sm90.mma<64x64x16, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = rs, a_neg>",
    "sm90.mma<64x64x32, ab_major = (k, k), elem_type = (f8E4M3FN, f8E4M3FN, f32), frag_kind = rs>",
    "sm100.mma<128x64x16, num_cta = 1, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss, "
    "c_scale_exp = 0>",
    "sm100.mma<256x64x16, num_cta = 2, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss, "
    "c_scale_exp = 0>",
    "atom.universal_fma<1x1x1, (f32, f32) -> f32 >",
]
TILINGS = [
    ("(1,1,1):(0,0,0)", "[_;_;_]"),
    ("(2,2,1):(1,2,0)", "[_;_;_]"),
    ("(2,2,1):(2,1,0)", "[_;_;_]"),
    ("(4,1,1):(1,0,0)", "[_;_;_]"),
    ("(2,1,1):(1,0,0)", "[{2m}:1;{4n}:1;{2k}:1]"),
    ("(2,1,1):(1,0,0)", "[_;({n},2,2):(1,{2n},{n});_]"),
]


@pytest.fixture(autouse=True)
def context() -> Iterator[ir.Context]:
    with fresh_context() as current:
        yield current


def indices(modes: Modes) -> list[int]:
    found = np.zeros(1, np.int64)
    for size, stride in modes:
        found = np.add.outer(np.arange(size) * stride, found).ravel()
    return found.tolist()


def reached(fragment: Fragment) -> list[int]:
    return np.add.outer(indices(fragment.values), indices(fragment.threads)).ravel().tolist()


@pytest.mark.parametrize("atom", ATOMS)
def test_matrix_instructions(atom: str) -> None:
    found, said = matrix_instruction(f"!cute_nvgpu.{atom}"), view(ir.Type.parse(f"!cute_nvgpu.{atom}"))
    for fragment, layout in zip((found.a, found.b, found.c), (said.a_tv, said.b_tv, said.c_tv), strict=True):
        assert reached(fragment) == offsets(layout)


@pytest.mark.slow
@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.parametrize(("atoms", "tile"), TILINGS)
def test_tiled_matrix_products(atom: str, atoms: str, tile: str) -> None:
    found = matrix_instruction(f"!cute_nvgpu.{atom}")
    for factor, letter in ((1, "m"), (1, "n"), (1, "k"), (2, "m"), (2, "n"), (4, "n"), (2, "k")):
        size = factor * found.shape["mnk".index(letter)]
        tile = tile.replace("{" + (str(factor) if factor > 1 else "") + letter + "}", str(size))
    said: Any = view(
        ir.Type.parse(
            f'!cute.tiled_mma<!cute_nvgpu.{atom}, atom_layout_MNK = <"{atoms}">, permutation_MNK = <"{tile}">>'
        )
    )
    fragments = tiled_matrix(found, Layout.parse(atoms), parse_tile(tile))
    for fragment, layout in zip(fragments, (said.a_tv, said.b_tv, said.c_tv), strict=True):
        assert reached(fragment) == offsets(layout)


def test_atoms_that_share_k_have_the_same_elements_of_c() -> None:
    instruction = matrix_instruction(f"!cute_nvgpu.{ATOMS[0]}")
    _, _, c = tiled_matrix(instruction, Layout.parse("(1,1,2):(0,0,1)"), (None, None, None))
    half = len(indices(c.threads)) // 2
    assert indices(c.threads)[:half] == indices(c.threads)[half:]


@pytest.mark.parametrize("matrices", [1, 2, 4])
@pytest.mark.parametrize("transposed", ["n", "t"])
@pytest.mark.parametrize("kind", ["ldsm", "stsm"])
def test_matrix_copies(kind: str, matrices: int, transposed: str) -> None:
    element = "val_type = f16" if kind == "ldsm" else "f16"
    pattern = " sz_pattern = u16," if kind == "ldsm" else ""
    atom = f'!cute_nvgpu.atom.{kind}<{element}, mode = <"(8,8)">,{pattern} num_matrices = {matrices}, {transposed}>'
    layout = f"((4,8,4),((2,{matrices}),(2,1))):((32,1,0),((16,128),(8,0)))"
    text = f'!cute.tiled_copy<{atom}, layout_copy_tv = <"{layout}">, tiler_mn = <"[16:1;16:1]">>'
    said: Any = view(ir.Type.parse(text))
    source, destination = tiled_copy(atom, Layout.parse(layout))
    assert offsets(source) == offsets(said.source_tv)
    assert offsets(destination) == offsets(said.destination_tv)


def test_what_is_not_known_is_said() -> None:
    for atom in ("sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32) >", "sm80.mma<elem_type = (f16, f16, f32)>"):
        with pytest.raises(LayoutError):
            matrix_instruction(f"!cute_nvgpu.{atom}")
    instruction = matrix_instruction(f"!cute_nvgpu.{ATOMS[0]}")
    with pytest.raises(LayoutError, match="without gaps"):
        tiled_matrix(instruction, Layout.parse("(2,2,1):(1,4,0)"), ())
    with pytest.raises(LayoutError, match="do not divide"):
        tiled_matrix(
            matrix_instruction(f"!cute_nvgpu.{ATOMS[0]}"), Layout.parse("(2,1,1):(1,0,0)"), parse_tile("[24:1]")
        )
