"""Every type of CuTe's dialects: its name, its assembly format, and its view.

Read off what the bindings of nvidia-cutlass-dsl 4.8.1 print, and what they say is missing from incomplete types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cutecc.ir.types import values
from cutecc.ir.types.atoms import CopyAtom, MmaAtom, TiledCopy, TiledMma
from cutecc.ir.types.elements import SparseElement


@dataclass(frozen=True)
class AssemblyFormat:
    """What one type says after its name."""

    view: type[Any]
    directives: str = ""
    """See `cutecc.ir.types.directives`; the fields are those of the view, and for atoms their parameters."""
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the view that the name alone gives."""


_POINTER = "{element:type}, {space:space}[, align<{alignment:int}>][, {swizzle:swizzle}]"
_PIPELINE = "<{stages:int}, {producer:word} -> {consumer:word}, {locale:word}>"

_VALUES = {
    "cute.layout": AssemblyFormat(values.LayoutValue, '<"{layout:layout}">'),
    "cute.composed_layout": AssemblyFormat(values.ComposedLayoutValue, '<"{layout:layout}">'),
    "cute.shape": AssemblyFormat(values.ShapeValue, '<"{shape:tuple}">'),
    "cute.stride": AssemblyFormat(values.StrideValue, '<"{stride:tuple}">'),
    "cute.int_tuple": AssemblyFormat(values.IntTupleValue, '<"{value:tuple}">'),
    "cute.coord": AssemblyFormat(values.CoordValue, '<"{coordinate:coord}">'),
    "cute.tile": AssemblyFormat(values.TileValue, '<"{tile:tile}">'),
    "cute.swizzle": AssemblyFormat(values.SwizzleValue, '<"{swizzle:swizzle}">'),
    "cute.ptr": AssemblyFormat(values.Pointer, f"<{_POINTER}>"),
    "cute.memref": AssemblyFormat(values.MemRef, f'<{_POINTER}, "{{layout:layout}}">'),
    "cute.coord_tensor": AssemblyFormat(values.CoordTensor, '<"{offset:tuple}", "{layout:layout}">'),
    "cute.arith_tuple_iter": AssemblyFormat(values.CoordIterator, '<"{offset:tuple}">'),
    "cute.fast_divmod_divisor": AssemblyFormat(values.FastDivisor, "<{width:int}[, {power_of_two:flag=is_pow_2}]>"),
    "cute.sparse_elem": AssemblyFormat(SparseElement, "<{logical:int}, {physical:type}>"),
    "cute_nvgpu.smem_desc": AssemblyFormat(values.SmemDescriptor, constants={"generation": ""}),
    "cute_nvgpu.sm107.smem_desc": AssemblyFormat(values.SmemDescriptor, constants={"generation": "sm107"}),
    "cute_nvgpu.smem_desc_view": AssemblyFormat(values.SmemDescriptorView, '<{descriptor:type}, "{layout:layout}">'),
    "cute_nvgpu.tma_descriptor_tiled": AssemblyFormat(values.TmaDescriptor, constants={"mode": "tiled"}),
    "cute_nvgpu.tma_descriptor_im2col": AssemblyFormat(values.TmaDescriptor, constants={"mode": "im2col"}),
    "cute_nvgpu.workid_response": AssemblyFormat(values.WorkIdResponse),
    "lir.pipeline": AssemblyFormat(values.Pipeline, _PIPELINE),
    "lir.pipeline_state": AssemblyFormat(values.PipelineState, "<{stages:int}>"),
    "lir.circular_buffer_pipeline_state": AssemblyFormat(
        values.CircularPipelineState, "<{stages:int}, {units_per_stage:int}, {units_per_iteration:int}>"
    ),
    # A token spells its pipeline without the name.
    "lir.stage_token": AssemblyFormat(values.StageToken, f"<{_PIPELINE}>"),
    "cute.tiled_copy": AssemblyFormat(
        TiledCopy, '<{atom:type}, layout_copy_tv = <"{layout_tv:layout}">, tiler_mn = <"{tiler:tile}">>'
    ),
    "cute.tiled_mma": AssemblyFormat(
        TiledMma,
        '<{atom:type}, atom_layout_MNK = <"{atom_layout_mnk:layout}">[, permutation_MNK = <"{permutation_mnk:tile}">]>',
    ),
}

_SIMT = "<{element:type} copy_bits = {copy_bits:int}"
_BULK = "<{element:type}[ copy_bits = {copy_bits:int}]"
_ORDERED = "[ mem_order = {mem_order:word}][ mem_scope = {mem_scope:word}]"
_SHARED = "[ shared_space = {shared_space:word}]"
_DESCRIBED = (
    '{element:type}, copy_bits = {copy_bits:int}, tma_gbasis = <"{tma_gbasis:layout}">, tma_format = {tma_format:word}>'
)
_TMA_TAIL = 'g_stride = <"{g_stride:tuple}">'
_TMA_BASIS = '[ tma_gbasis = <"{tma_gbasis:layout}">]>'
_TMA_LOAD_TAIL = f"num_cta = {{num_cta:int}}, {_TMA_TAIL}[ mcast = {{mcast:bool=false|true}}]{_TMA_BASIS}"
_TMEM = "<{element:type}, {lanes:int} DP, {bits:int} bit, x{repeat:int}"

_COPIES = {
    "universal_copy": "<{element:type}[, {copy_bits:int} b]>",
    "simt_async_copy": "<{element:type}, cache = {cache:word}, {copy_bits:int} b>",
    "g2r": f"{_SIMT}{_ORDERED}[ l2_prefetch_size = {{l2_prefetch_size:word}}]"
    "[ l1_cache_evict_priority = {l1_cache_evict_priority:word}][ load_cache_mode = {load_cache_mode:word}]"
    f"{_SHARED}[ invariant = {{invariant:bool=false|true}}]>",
    "r2g": f"{_SIMT}{_ORDERED}[ l1_cache_evict_priority = {{l1_cache_evict_priority:word}}]"
    f"[ store_cache_mode = {{store_cache_mode:word}}]{_SHARED}>",
    "r2s": f"{_SIMT}{_ORDERED}{_SHARED}>",
    "s2r": f"{_SIMT}{_ORDERED}{_SHARED}>",
    "dsmem_store": "<{element:type}, {copy_bits:int} b>",
    "bulk_copy_g2s": f"{_BULK}[ mcast = {{mcast:bool=false|true}}]>",
    "bulk_copy_s2g": f"{_BULK}[ mask = {{mask:bool=false|true}}]>",
    "bulk_copy_s2s": f"{_BULK}>",
    "ldsm": '<val_type = {element:type}, mode = <"{mode:tuple}">, sz_pattern = {sz_pattern:word}, '
    "num_matrices = {num_matrices:int}, {transpose:bool=n|t}>",
    "stsm": '<{element:type}, mode = <"{mode:tuple}">, num_matrices = {num_matrices:int}, {transpose:bool=n|t}>',
    "non_exec_tiled_tma_load": f"<{{instruction:word}}, {_DESCRIBED}",
    "non_exec_im2col_tma_load": f"<{{instruction:word}}, {_DESCRIBED}",
    "non_exec_2d_gather4_tma_load": f"<{{instruction:word}}, {_DESCRIBED}",
    "non_exec_tiled_tma_store": f"<{_DESCRIBED}",
    "non_exec_im2col_tma_store": f"<{_DESCRIBED}",
    "non_exec_2d_scatter4_tma_store": f"<{_DESCRIBED}",
    "non_exec_tiled_tma_reduce": f"<{{reduction:word}}, {_DESCRIBED}",
    "tma_load": f"<{{element:type}}, copy_bits = {{copy_bits:int}}, mode = {{mode:word}}, {_TMA_LOAD_TAIL}",
    "im2col_tma_load": f"<{{element:type}}, copy_bits = {{copy_bits:int}}, {_TMA_LOAD_TAIL}",
    "tma_store": f"<{{element:type}}, copy_bits = {{copy_bits:int}}, mode = {{mode:word}}, {_TMA_TAIL}{_TMA_BASIS}",
    "im2col_tma_store": f"<{{element:type}}, copy_bits = {{copy_bits:int}}, {_TMA_TAIL}{_TMA_BASIS}",
    "tma_reduce": "<{element:type}, copy_bits = {copy_bits:int}, mode = {mode:word}, kind = {reduction:word}, "
    f"{_TMA_TAIL}{_TMA_BASIS}",
    "s2t_copy": "<{element:type}, {lanes:int} DP, {bits:int} bit, {num_cta:int} cta[, {broadcast:word}]>",
    "tmem_load": f"{_TMEM}[, {{pack16b:flag=pack16b}}]>",
    "tmem_store": f"{_TMEM}[, {{expand16b:flag=expand16b}}]>",
    "tmem_load_red": f"{_TMEM}, {{reduction:word}}[, {{nan:flag=nan}}]"
    "[, half_split_off={half_split_off:int} : {half_split_off_type:word}]>",
    "tmem_load_spcompress": f"{_TMEM}, {{reduction:word}}[, {{red:flag=red}}[, {{nan:flag=nan}}]]>",
}

_ELEMENTS = "elem_type = ({element_a:type}, {element_b:type}, {element_c:type})"
_OVERFLOW = "[, int_overflow = <{int_overflow:word}>]"
_UMMA = f"<{{shape_mnk:mnk}}, num_cta = {{num_cta:int}}, ab_major = ({{major_a:word}}, {{major_b:word}}), {_ELEMENTS}"
_SPARSE = "e_type = {e_type:type}, sparse_metadata_format = {sparse_metadata_format:word}"
_SCALED = "sf_type = {sf_type:type}"
_COLLECTOR = "ab_collector_op = ({collector_a:word}, {collector_b:word})"
_PROMOTE = "[, arch_promote = {arch_promote:word}]"
_FRAGMENT = "frag_kind = {frag_kind:word}"
_METADATA = "sparse_metadata_format = {sparse_metadata_format:word}"
_EXPONENT = "c_scale_exp = {c_scale_exp:int}"

_PRODUCTS = {
    "atom.universal_fma": "<{shape_mnk:mnk}, ({element_a:type}, {element_b:type}) -> {element_c:type} >",
    "sm80.mma": f"<{{shape_mnk:mnk}}, {_ELEMENTS}{_OVERFLOW}[, binary_op = <{{binary_op:word}}>] >",
    "sm80.sparse_mma": f"<{{shape_mnk:mnk}}, {_ELEMENTS}, md_format = {{md_format:word}}{_OVERFLOW} >",
    "sm89.mma": f"<{{shape_mnk:mnk}}, {_ELEMENTS} >",
    "sm90.mma": f"<{{shape_mnk:mnk}}, ab_major = ({{major_a:word}}, {{major_b:word}}), {_ELEMENTS}, "
    f"{_FRAGMENT}{_OVERFLOW}[, {{a_neg:flag=a_neg}}][, {{b_neg:flag=b_neg}}]>",
    "sm100.mma": f"{_UMMA}, {_FRAGMENT}, {_EXPONENT}{_OVERFLOW}>",
    "sm100.mma_sp": f"{_UMMA}, {_SPARSE}, {_FRAGMENT}, {_EXPONENT}{_OVERFLOW}>",
    "sm100.mma_bs": f"{_UMMA}, {_SCALED}, {_FRAGMENT}, vec_size = {{vec_size:int}}{_PROMOTE}>",
    "sm100.mma_bs_sp": f"{_UMMA}, {_SCALED}, {_METADATA}, {_FRAGMENT}, vec_size = {{vec_size:int}}{_PROMOTE}>",
    "sm107.mma": f"{_UMMA}, {_FRAGMENT}, {_EXPONENT}, {_COLLECTOR}{_OVERFLOW}>",
    "sm107.mma_sp": f"{_UMMA}, {_SPARSE}, {_FRAGMENT}, {_EXPONENT}, {_COLLECTOR}{_OVERFLOW}>",
    "sm107.mma_bs": f"{_UMMA}, {_SCALED}, {_FRAGMENT}, vec_size = {{vec_size:int}}, {_COLLECTOR}{_OVERFLOW}>",
    "sm107.mma_bs_sp": f"{_UMMA}, {_SCALED}, {_METADATA}, {_FRAGMENT}, vec_size = {{vec_size:int}}, "
    f"{_COLLECTOR}{_OVERFLOW}>",
    "SM120.mma_bs": f"<{{shape_mnk:mnk}}, vec_size = {{vec_size:int}}, {_ELEMENTS}, {_SCALED}, "
    "use_sf_layout_TV = {use_sf_layout_TV:bool=false|true}>",
}

ASSEMBLY_FORMATS: dict[str, AssemblyFormat] = {
    **_VALUES,
    **{f"cute_nvgpu.atom.{kind}": AssemblyFormat(CopyAtom, format, {"kind": kind}) for kind, format in _COPIES.items()},
    **{f"cute_nvgpu.{kind}": AssemblyFormat(MmaAtom, format, {"kind": kind}) for kind, format in _PRODUCTS.items()},
}
"""By the type's name without its parameters; `!cute.i32` and its like, whose names hold a number, are not here."""
