"""One or more types of each kind, as MLIR prints them, and their views; what follows from an atom is left out here.

As a script: prints the views of all of them in a process that has imported the DSL.
"""

import json
import sys

from cutecc.ir.types import (
    AddressSpace,
    CircularPipelineState,
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordTensor,
    CoordValue,
    CopyAtom,
    FastDivisor,
    IntTupleValue,
    LayoutValue,
    MemRef,
    MmaAtom,
    OpaqueType,
    Parameters,
    Pipeline,
    PipelineState,
    Pointer,
    Scalar,
    ShapeValue,
    SmemDescriptor,
    SmemDescriptorView,
    SparseElement,
    StageToken,
    StrideValue,
    SwizzleValue,
    TiledCopy,
    TiledMma,
    TileValue,
    TmaDescriptor,
    TypeView,
    Vector,
    WorkIdResponse,
)
from cutecc.layout import Basis, ComposedLayout, Layout, Ratio, Swizzle, symbol

F16, F32, I8, I32 = map(Scalar, ("f16", "f32", "i8", "i32"))
E2M1, E4M3, E8M0 = map(Scalar, ("f4E2M1FN", "f8E4M3FN", "f8E8M0FNU"))
GMEM, SMEM, RMEM, TMEM = AddressSpace.GMEM, AddressSpace.SMEM, AddressSpace.RMEM, AddressSpace.TMEM
SWIZZLE = Swizzle(3, 4, 3)
MATRIX = Layout((8, 64), (64, 1))
PIPELINE = Pipeline(3, "SM90_TMA_LOAD", "LD_SHARED", "cta")

VALUES: dict[str, TypeView] = {
    '!cute.layout<"(?,?{div=4}):(?{i64 div=4},1)">': LayoutValue(
        Layout((symbol("0"), symbol("1", divisibility=4)), (symbol("2", width=64, divisibility=4), 1))
    ),
    '!cute.layout<"S<3,4,3> o 0 o (8,64):(64,1)">': LayoutValue(ComposedLayout(SWIZZLE, 0, MATRIX)),
    '!cute.composed_layout<"S<3,4,3> o ?{div=8} o (8,64):(64,1)">': ComposedLayoutValue(
        ComposedLayout(SWIZZLE, symbol("0", divisibility=8), MATRIX)
    ),
    '!cute.composed_layout<"(8,64):(64,1)">': ComposedLayoutValue(MATRIX),
    '!cute.shape<"((8,?{div=2}),64)">': ShapeValue(((8, symbol("0", divisibility=2)), 64)),
    '!cute.stride<"(1@0,4@1@2,-1)">': StrideValue((Basis(1, (0,)), Basis(4, (2, 1)), -1)),
    '!cute.int_tuple<"(0,?{div=64})">': IntTupleValue((0, symbol("0", divisibility=64))),
    '!cute.coord<"((_,1),?)">': CoordValue(((None, 1), symbol("0"))),
    '!cute.coord<"_">': CoordValue(None),
    '!cute.tile<"[16:1;(8,2):(1,16);_]">': TileValue((Layout(16, 1), Layout((8, 2), (1, 16)), None)),
    '!cute.tile<"64:1">': TileValue(Layout(64, 1)),
    '!cute.tile<"_">': TileValue(None),
    '!cute.swizzle<"S<3,4,-3>">': SwizzleValue(Swizzle(3, 4, -3)),
    "!cute.i64<divby 4>": ConstrainedInteger(64, 4),
    "!cute.i32<pow2, divby 8>": ConstrainedInteger(32, 8, True),
    "!cute.i32<pow2>": ConstrainedInteger(32, 1, True),
    "!cute.i16": ConstrainedInteger(16),
    "!cute.fast_divmod_divisor<32>": FastDivisor(32),
    "!cute.fast_divmod_divisor<64, is_pow_2>": FastDivisor(64, True),
    "!cute.sparse_elem<2, f16>": SparseElement(2, F16),
    "!cute.sparse_elem<8, vector<4xi8>>": SparseElement(8, Vector((4,), I8)),
    "!cute.ptr<f32, gmem>": Pointer(F32, GMEM, 4),
    "!cute.ptr<f16, smem, align<1024>, S<3,4,3>>": Pointer(F16, SMEM, 1024, SWIZZLE),
    "!cute.ptr<f4E2M1FN, tmem, align<16>>": Pointer(E2M1, TMEM, 16),
    "!cute.ptr<f4E2M1FN, gmem>": Pointer(E2M1, GMEM, None),
    "!cute.ptr<!cute.ptr<i8, dsmem>, generic>": Pointer(
        Pointer(I8, AddressSpace.DSMEM, 1), AddressSpace.GENERIC, alignment=1
    ),
    "!cute.ptr<!llvm.array<6 x i64>, cmem, align<8>>": Pointer(
        OpaqueType("llvm.array", "!llvm.array<6 x i64>"), AddressSpace.CMEM, 8
    ),
    '!cute.memref<f32, gmem, align<16>, "(?,4):(4,1)">': MemRef(F32, GMEM, Layout((symbol("0"), 4), (4, 1)), 16),
    '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">': MemRef(F16, SMEM, MATRIX, 1024, SWIZZLE),
    '!cute.memref<i1, rmem, "():()">': MemRef(Scalar("i1"), RMEM, Layout((), ()), 1),
    '!cute.memref<f32, gmem, "S<3,4,3> o 0 o (8,64):(64,1)">': MemRef(F32, GMEM, ComposedLayout(SWIZZLE, 0, MATRIX), 4),
    # The `?` of the layout is another one than that of the offset.
    '!cute.stride<"(1/2@0,?@1)">': StrideValue((Basis(Ratio(1, 2), (0,)), Basis(symbol("0"), (1,)))),
    '!cute.coord_tensor<"(0,0)", "(4,(2,8)):(1/2@0,(-3/2@1,2/4@0@1))">': CoordTensor(
        (0, 0), Layout((4, (2, 8)), (Basis(Ratio(1, 2), (0,)), (Basis(Ratio(-3, 2), (1,)), Basis(Ratio(2, 4), (1, 0)))))
    ),
    '!cute.coord_tensor<"(0,?{div=8})", "(4,?):(1@0,?@1)">': CoordTensor(
        (0, symbol("0", divisibility=8)), Layout((4, symbol("1")), (Basis(1, (0,)), Basis(symbol("2"), (1,))))
    ),
    '!cute.arith_tuple_iter<"(0,(?,2))">': CoordIterator((0, (symbol("0"), 2))),
    "!cute_nvgpu.smem_desc": SmemDescriptor(),
    "!cute_nvgpu.sm107.smem_desc": SmemDescriptor("sm107"),
    '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2):(0,512)">': SmemDescriptorView(
        SmemDescriptor(), Layout((1, 2), (0, 512))
    ),
    "!cute_nvgpu.tma_descriptor_tiled": TmaDescriptor("tiled"),
    "!cute_nvgpu.tma_descriptor_im2col": TmaDescriptor("im2col"),
    "!cute_nvgpu.workid_response": WorkIdResponse(),
    "!lir.pipeline<3, SM90_TMA_LOAD -> LD_SHARED, cta>": PIPELINE,
    "!lir.stage_token<<3, SM90_TMA_LOAD -> LD_SHARED, cta>>": StageToken(PIPELINE),
    "!lir.pipeline_state<2>": PipelineState(2),
    "!lir.circular_buffer_pipeline_state<2, 3, 4>": CircularPipelineState(2, 3, 4),
    "f8E4M3FN": E4M3,
    "index": Scalar("index"),
    "vector<2x4xf32>": Vector((2, 4), F32),
    "!llvm.ptr<3>": OpaqueType("llvm.ptr", "!llvm.ptr<3>"),
    "(i32) -> f32": OpaqueType("function", "(i32) -> f32"),
}

TILE = Layout((64, 64), (Basis(1, (1,)), Basis(1, (0,))))
_TMA = 'copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN'
_TMA_PARAMETERS = {"copy_bits": 65536, "tma_gbasis": TILE, "tma_format": "F16_RN"}


def copy(kind: str, element: Scalar, **parameters: object) -> CopyAtom:
    return CopyAtom(kind, element, Parameters(**parameters))


_COPIES: dict[str, CopyAtom] = {
    "universal_copy<f32>": copy("universal_copy", F32),
    "universal_copy<f32, 128 b>": copy("universal_copy", F32, copy_bits=128),
    "simt_async_copy<f16, cache = global, 128 b>": copy("simt_async_copy", F16, cache="global", copy_bits=128),
    "g2r<f16 copy_bits = 128 invariant = true>": copy("g2r", F16, copy_bits=128, invariant=True),
    "g2r<f16 copy_bits = 128 mem_order = relaxed mem_scope = gpu l2_prefetch_size = size_64b "
    "l1_cache_evict_priority = evict_last shared_space = cluster>": copy(
        "g2r",
        F16,
        copy_bits=128,
        mem_order="relaxed",
        mem_scope="gpu",
        l2_prefetch_size="size_64b",
        l1_cache_evict_priority="evict_last",
        shared_space="cluster",
    ),
    "r2g<f16 copy_bits = 128 mem_scope = gpu l1_cache_evict_priority = evict_last store_cache_mode = global>": copy(
        "r2g",
        F16,
        copy_bits=128,
        mem_scope="gpu",
        l1_cache_evict_priority="evict_last",
        store_cache_mode="global",
    ),
    "r2s<f16 copy_bits = 128 shared_space = cluster>": copy("r2s", F16, copy_bits=128, shared_space="cluster"),
    "s2r<f16 copy_bits = 128 mem_order = acquire>": copy("s2r", F16, copy_bits=128, mem_order="acquire"),
    "dsmem_store<f16, 32 b>": copy("dsmem_store", F16, copy_bits=32),
    "bulk_copy_g2s<f16 copy_bits = 1024 mcast = true>": copy("bulk_copy_g2s", F16, copy_bits=1024, mcast=True),
    "bulk_copy_s2g<f16 copy_bits = 1024 mask = true>": copy("bulk_copy_s2g", F16, copy_bits=1024, mask=True),
    "bulk_copy_s2s<f16 copy_bits = 1024>": copy("bulk_copy_s2s", F16, copy_bits=1024),
    'ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, t>': copy(
        "ldsm", F16, mode=(8, 8), sz_pattern="u16", num_matrices=4, transpose=True
    ),
    'stsm<f16, mode = <"(8,8)">, num_matrices = 2, n>': copy("stsm", F16, mode=(8, 8), num_matrices=2, transpose=False),
    **{
        f"non_exec_{kind}<sm_100_2sm, f16, {_TMA}>": copy(
            f"non_exec_{kind}", F16, instruction="sm_100_2sm", **_TMA_PARAMETERS
        )
        for kind in ("tiled_tma_load", "im2col_tma_load", "2d_gather4_tma_load")
    },
    **{
        f"non_exec_{kind}<f16, {_TMA}>": copy(f"non_exec_{kind}", F16, **_TMA_PARAMETERS)
        for kind in ("tiled_tma_store", "im2col_tma_store", "2d_scatter4_tma_store")
    },
    f"non_exec_tiled_tma_reduce<ADD, f16, {_TMA}>": copy(
        "non_exec_tiled_tma_reduce", F16, reduction="ADD", **_TMA_PARAMETERS
    ),
    'tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"(1,?{i64})"> mcast = true '
    'tma_gbasis = <"(64,64):(1@1,1@0)">>': copy(
        "tma_load",
        F16,
        copy_bits=65536,
        mode="tiled",
        num_cta=1,
        g_stride=(1, symbol("0", width=64)),
        mcast=True,
        tma_gbasis=TILE,
    ),
    'im2col_tma_load<f16, copy_bits = 65536, num_cta = 1, g_stride = <"()"> mcast = true '
    'tma_gbasis = <"(64,64):(1@1,1@0)">>': copy(
        "im2col_tma_load", F16, copy_bits=65536, num_cta=1, g_stride=(), mcast=True, tma_gbasis=TILE
    ),
    'im2col_tma_store<f16, copy_bits = 65536, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>': copy(
        "im2col_tma_store", F16, copy_bits=65536, g_stride=(), tma_gbasis=TILE
    ),
    'tma_store<f16, copy_bits = 65536, mode = im2col, g_stride = <"()">>': copy(
        "tma_store", F16, copy_bits=65536, mode="im2col", g_stride=()
    ),
    'tma_reduce<f32, copy_bits = 65536, mode = tiled, kind = MIN, g_stride = <"()">>': copy(
        "tma_reduce", F32, copy_bits=65536, mode="tiled", reduction="MIN", g_stride=()
    ),
    "s2t_copy<f16, 32 DP, 128 bit, 2 cta, x4>": copy("s2t_copy", F16, lanes=32, bits=128, num_cta=2, broadcast="x4"),
    "tmem_load<f16, 32 DP, 32 bit, x4, pack16b>": copy("tmem_load", F16, lanes=32, bits=32, repeat=4, pack16b=True),
    "tmem_store<f32, 16 DP, 256 bit, x4>": copy("tmem_store", F32, lanes=16, bits=256, repeat=4),
    "tmem_load_red<f32, 16 DP, 32 bit, x4, maxabs, nan, half_split_off=32 : i32>": copy(
        "tmem_load_red",
        F32,
        lanes=16,
        bits=32,
        repeat=4,
        reduction="maxabs",
        nan=True,
        half_split_off=32,
        half_split_off_type="i32",
    ),
    "tmem_load_spcompress<f32, 32 DP, 32 bit, x4, max, red, nan>": copy(
        "tmem_load_spcompress", F32, lanes=32, bits=32, repeat=4, reduction="max", red=True, nan=True
    ),
}

_UMMA = "128x128x64, num_cta = 1, ab_major = (k, mn), elem_type = (f4E2M1FN, f4E2M1FN, f32)"


def umma(kind: str, a: Scalar, b: Scalar, c: Scalar, shape: tuple[int, int, int], **parameters: object) -> MmaAtom:
    return MmaAtom(kind, shape, a, b, c, "k", "mn", Parameters(num_cta=1, frag_kind="ss", **parameters))


_COLLECTOR = {"collector_a": "discard", "collector_b": "fill"}
_PRODUCTS: dict[str, MmaAtom] = {
    "atom.universal_fma<1x1x1, (f32, f32) -> f32 >": MmaAtom("atom.universal_fma", (1, 1, 1), F32, F32, F32),
    "sm80.mma<16x8x16, elem_type = (f16, f16, f32) >": MmaAtom("sm80.mma", (16, 8, 16), F16, F16, F32),
    "sm80.mma<16x8x32, elem_type = (i8, i8, i32), int_overflow = <wrapped>, binary_op = <xor_popc> >": MmaAtom(
        "sm80.mma", (16, 8, 32), I8, I8, I32, parameters=Parameters(int_overflow="wrapped", binary_op="xor_popc")
    ),
    "sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32), md_format = tid >": MmaAtom(
        "sm80.sparse_mma", (16, 8, 32), F16, F16, F32, parameters=Parameters(md_format="tid")
    ),
    "sm89.mma<16x8x32, elem_type = (f8E4M3FN, f8E4M3FN, f32) >": MmaAtom("sm89.mma", (16, 8, 32), E4M3, E4M3, F32),
    "sm90.mma<64x64x16, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = rs, a_neg>": MmaAtom(
        "sm90.mma", (64, 64, 16), F16, F16, F32, "k", "mn", Parameters(frag_kind="rs", a_neg=True)
    ),
    "sm100.mma<128x64x16, num_cta = 1, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss, "
    "c_scale_exp = 0>": umma("sm100.mma", F16, F16, F32, (128, 64, 16), c_scale_exp=0),
    "sm100.mma_sp<128x128x32, num_cta = 1, ab_major = (k, mn), elem_type = (f16, f16, f32), "
    "e_type = !cute.sparse_elem<8, i8>, sparse_metadata_format = tid, frag_kind = ss, c_scale_exp = 0>": umma(
        "sm100.mma_sp",
        F16,
        F16,
        F32,
        (128, 128, 32),
        e_type=SparseElement(8, I8),
        sparse_metadata_format="tid",
        c_scale_exp=0,
    ),
    "sm100.mma_bs<128x128x96, num_cta = 1, ab_major = (k, k), elem_type = (f4E2M1FN, f4E2M1FN, f32), "
    "sf_type = f8E4M3FN, frag_kind = ss, vec_size = 16, arch_promote = sm_103>": MmaAtom(
        "sm100.mma_bs",
        (128, 128, 96),
        E2M1,
        E2M1,
        F32,
        "k",
        "k",
        Parameters(num_cta=1, sf_type=E4M3, frag_kind="ss", vec_size=16, arch_promote="sm_103"),
    ),
    "sm100.mma_bs_sp<128x128x64, num_cta = 1, ab_major = (k, mn), elem_type = (f8E4M3FN, f8E4M3FN, f32), "
    "sf_type = f8E8M0FNU, sparse_metadata_format = tid, frag_kind = ss, vec_size = 32>": umma(
        "sm100.mma_bs_sp",
        E4M3,
        E4M3,
        F32,
        (128, 128, 64),
        sf_type=E8M0,
        sparse_metadata_format="tid",
        vec_size=32,
    ),
    "sm107.mma<128x64x16, num_cta = 1, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss, "
    "c_scale_exp = 0, ab_collector_op = (discard, fill)>": umma(
        "sm107.mma", F16, F16, F32, (128, 64, 16), c_scale_exp=0, **_COLLECTOR
    ),
    "sm107.mma_sp<128x128x32, num_cta = 1, ab_major = (k, mn), elem_type = (f16, f16, f32), e_type = i8, "
    "sparse_metadata_format = tid, frag_kind = ss, c_scale_exp = 0, ab_collector_op = (discard, fill)>": umma(
        "sm107.mma_sp",
        F16,
        F16,
        F32,
        (128, 128, 32),
        e_type=I8,
        sparse_metadata_format="tid",
        c_scale_exp=0,
        **_COLLECTOR,
    ),
    "sm107.mma_bs<128x128x64, num_cta = 1, ab_major = (k, k), elem_type = (f4E2M1FN, f4E2M1FN, f32), "
    "sf_type = f8E4M3FN, frag_kind = ss, vec_size = 16, ab_collector_op = (discard, fill)>": MmaAtom(
        "sm107.mma_bs",
        (128, 128, 64),
        E2M1,
        E2M1,
        F32,
        "k",
        "k",
        Parameters(num_cta=1, sf_type=E4M3, frag_kind="ss", vec_size=16, **_COLLECTOR),
    ),
    "sm107.mma_bs_sp<128x128x128, num_cta = 1, ab_major = (k, k), elem_type = (f4E2M1FN, f4E2M1FN, f32), "
    "sf_type = f8E4M3FN, sparse_metadata_format = tid, frag_kind = ss, vec_size = 16, "
    "ab_collector_op = (discard, fill)>": MmaAtom(
        "sm107.mma_bs_sp",
        (128, 128, 128),
        E2M1,
        E2M1,
        F32,
        "k",
        "k",
        Parameters(num_cta=1, sf_type=E4M3, sparse_metadata_format="tid", frag_kind="ss", vec_size=16, **_COLLECTOR),
    ),
    "SM120.mma_bs<16x8x64, vec_size = 16, elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, "
    "use_sf_layout_TV = false>": MmaAtom(
        "SM120.mma_bs",
        (16, 8, 64),
        E2M1,
        E2M1,
        F32,
        parameters=Parameters(vec_size=16, sf_type=E4M3, use_sf_layout_TV=False),
    ),
}

ATOMS: dict[str, CopyAtom | MmaAtom] = {
    **{f"!cute_nvgpu.atom.{text}": atom for text, atom in _COPIES.items()},
    **{f"!cute_nvgpu.{text}": atom for text, atom in _PRODUCTS.items()},
}

_SM80 = "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >"
TILED: dict[str, TiledCopy | TiledMma] = {
    "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, "
    'layout_copy_tv = <"((32,4),(4,4)):((64,4),(16,1))">, tiler_mn = <"[16:1;128:1]">>': TiledCopy(
        copy("universal_copy", F32, copy_bits=128),
        Layout.parse("((32,4),(4,4)):((64,4),(16,1))"),
        (Layout(16, 1), Layout(128, 1)),
    ),
    f'!cute.tiled_mma<{_SM80}, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;_;16:1]">>': TiledMma(
        MmaAtom("sm80.mma", (16, 8, 16), F16, F16, F32),
        Layout.parse("(2,2,1):(1,2,0)"),
        (Layout(32, 1), None, Layout(16, 1)),
    ),
    f'!cute.tiled_mma<{_SM80}, atom_layout_MNK = <"(1,1,1):(0,0,0)">>': TiledMma(
        MmaAtom("sm80.mma", (16, 8, 16), F16, F16, F32), Layout.parse("(1,1,1):(0,0,0)")
    ),
}

SAMPLES: dict[str, TypeView] = {**VALUES, **ATOMS, **TILED}


def main() -> None:
    import cutlass.cute

    from cutecc.ir.mlir import ir
    from cutecc.ir.modules import fresh_context
    from cutecc.ir.types import view

    assert cutlass.cute.Layout
    with fresh_context():
        json.dump({text: repr(view(ir.Type.parse(text))) for text in SAMPLES}, sys.stdout)


if __name__ == "__main__":
    main()
