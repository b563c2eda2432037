"""Products of types that there are none of are refused, at the kernel's line, and so are operands elsewhere."""

from itertools import product

import pytest

from cutecc.errors import PassError, SourceLocation
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.pipeline import Pipeline

KERNEL = SourceLocation("kernel.py", 7, 4)
MATRIX = '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1):(0)">'
UMMA = "128x128x{k}, num_cta = 1, ab_major = (k, k), elem_type = ({types})"
SPARSE = "sparse_metadata_format = tid"
DENSE = f"sm100.mma<{UMMA}, frag_kind = ss, c_scale_exp = 0>"
SPARSE_ALONE = f"sm100.mma_sp<{UMMA}, e_type = !cute.sparse_elem<8, i8>, {SPARSE}, frag_kind = ss, c_scale_exp = 0>"
SPARSE_SCALED = f"sm100.mma_bs_sp<{UMMA}, sf_type = {{scale}}, {SPARSE}, frag_kind = ss, vec_size = {{vector}}>"
OF_WARP = (
    "SM120.mma_bs<16x8x{k}, vec_size = {vector}, elem_type = ({types}), sf_type = {scale}, use_sf_layout_TV = false>"
)


def failure_of(atom: str, chip: str, d: str, a: str = MATRIX, b: str = MATRIX) -> PassError:
    """What `lower-atoms` says of a product of these."""
    return failure(f"cute.mma_atom_call(%0, %1, %2, %3, %1) : ({atom}, {d}, {a}, {b}, {d})", chip, atom, d, a, b)


def failure_of_copy(atom: str, source: str, destination: str) -> PassError:
    """The same of a copy."""
    call = f"cute.copy_atom_call(%0, %1, %2) : ({atom}, {source}, {destination})"
    return failure(call, "sm_100a", atom, source, destination)


def failure(call: str, chip: str, *types: str) -> PassError:
    arguments = ", ".join(f"%{index}: {type}" for index, type in enumerate(types))
    module = f'func.func @kernel({arguments}) {{\n  {call} -> () loc("kernel.py":7:3)\n  return\n}}'
    with fresh_context(), pytest.raises(PassError) as raised:
        manager.run(Pipeline.parse(f"lower-atoms{{chip={chip}}}"), parse(module.encode()))
    assert raised.value.location == KERNEL
    return raised.value


def tensor(element: str, space: str = "tmem") -> str:
    layout = "((128,128)):((65536,1))" if space == "tmem" else "(16):(1)"
    return f'!cute.memref<{element}, {space}, align<16>, "{layout}">'


WRONG = [
    (DENSE, 16, "bf16, bf16, f16", "", 0),
    (DENSE, 8, "tf32, tf32, f16", "", 0),
    (DENSE, 32, "i8, i8, f32", "", 0),
    (DENSE, 16, "f16, f16, f64", "", 0),
    (SPARSE_ALONE, 64, "i4, i4, i32", "", 0),
    (SPARSE_ALONE, 64, "f6E2M3FN, i8, i32", "", 0),
    (SPARSE_SCALED, 32, "f16, f16, f32", "f8E8M0FNU", 32),
    (SPARSE_SCALED, 16, "f8E4M3, f8E4M3, f32", "f8E8M0FNU", 32),
    (SPARSE_SCALED, 64, "f8E4M3FN, f8E4M3FN, f16", "f8E8M0FNU", 32),
    *((SPARSE_SCALED, 64, "f8E4M3FN, f8E4M3FN, f32", *each) for each in product(("f32", "f8E4M3FN"), (16, 32))),
    (SPARSE_SCALED, 64, "f8E4M3FN, f8E4M3FN, f32", "f8E8M0FNU", 64),
]


@pytest.mark.parametrize(("atom", "k", "types", "scale", "vector"), WRONG)
def test_tensor_cores_have_no_product_of_such_types(atom: str, k: int, types: str, scale: str, vector: int) -> None:
    text = f"!cute_nvgpu.{atom.format(k=k, types=types, scale=scale, vector=vector)}"
    message = failure_of(text, "sm_100a", tensor(types.split(", ")[2])).message
    assert "does not know the matrix product atom" in message
    assert "Scalar(" not in message


@pytest.mark.parametrize(
    ("k", "types", "scale", "vector"),
    [
        (64, "bf16, bf16, f32", "f8E4M3FN", 16),
        (64, "f4E2M1FN, f4E2M1FN, f16", "f8E4M3FN", 16),
        (64, "f4E2M1FN, f4E2M1FN, f32", "f8E4M3FN", 32),
        (64, "f4E2M1FN, f4E2M1FN, f32", "f16", 16),
        (64, "f8E4M3FN, f8E4M3FN, f32", "f8E8M0FNU", 32),
        (32, "f8E4M3FN, f8E4M3FN, f32", "f8E4M3FN", 32),
    ],
)
def test_a_warp_has_no_product_of_such_types(k: int, types: str, scale: str, vector: int) -> None:
    text = f"!cute_nvgpu.{OF_WARP.format(k=k, types=types, scale=scale, vector=vector)}"
    a, b, c = (tensor(each, "rmem") for each in types.split(", "))
    assert "does not know the matrix product atom" in failure_of(text, "sm_120a", c, a, b).message


def test_operands_elsewhere_are_refused() -> None:
    dense = f"!cute_nvgpu.{DENSE.format(k=16, types='f16, f16, f32')}"
    assert "in tensor memory" in failure_of(dense, "sm_100a", tensor("f32", "smem")).message
    assert "finds B by a descriptor" in failure_of(dense, "sm_100a", tensor("f32"), b=tensor("f16")).message
    hopper = "!cute_nvgpu.sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
    d, b = (f'!cute.memref<{element}, rmem, align<16>, "(4):(1)">' for element in ("f32", "f16"))
    assert "finds B by a descriptor" in failure_of(hopper, "sm_90a", d, b=b).message


@pytest.mark.parametrize("element", ["f16", "f4E2M1FN"])
def test_narrow_matrices_are_bytes(element: str) -> None:
    shared, registers = (f'!cute.memref<{element}, {space}, align<16>, "(16):(1)">' for space in ("smem", "rmem"))
    load = f'!cute_nvgpu.atom.ldsm<val_type = {element}, mode = <"(16,8)">, sz_pattern = u8, num_matrices = 2, t>'
    assert f"byte by byte, and {element} is none" in failure_of_copy(load, shared, registers).message
    store = f'!cute_nvgpu.atom.stsm<{element}, mode = <"(16,8)">, num_matrices = 4, t>'
    assert f"byte by byte, and {element} is none" in failure_of_copy(store, registers, shared).message


def test_there_are_copies_of_so_many_lanes_and_bits() -> None:
    atom = "!cute_nvgpu.atom.s2t_copy<i32, 4 DP, 128 bit, 2 cta>"
    assert "does not know the copy atom s2t_copy" in failure_of_copy(atom, MATRIX, tensor("i32")).message
