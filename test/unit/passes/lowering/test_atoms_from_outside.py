"""What a pass from outside can do for an atom that has no row, as docs/lowering.md says."""

from __future__ import annotations

from pathlib import Path

PASS = '''
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes import ModulePass, register, walk


@register
@dataclass(frozen=True)
class LowerSparse(ModulePass):
    """A barrier for each sparse product, and nothing for what sets its fields."""

    name: ClassVar[str] = "lower-sparse"

    def run(self, module: ir.Module) -> None:
        for product in list(walk(module, "cute.gemm")):
            with ir.InsertionPoint(product), product.location:
                ir.Operation.create("nvvm.barrier0")
            product.erase()
        for setting in list(walk(module, "cute_nvgpu.atom.set_value")):
            setting.results[0].replace_all_uses_with(setting.operands[0])
            setting.erase()
'''
KERNEL = """
!mma = !cute_nvgpu.sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32), md_format = tid >
!fields = !cute_nvgpu.sm107.mma<128x64x16, num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss,
    c_scale_exp = 0, ab_collector_op = (discard, fill)>
!a = !cute.memref<f16, rmem, align<16>, "(4,2,2):(1,4,8)">
!c = !cute.memref<f32, rmem, align<16>, "(4,2,2):(1,4,8)">
func.func @kernel(%a: !a, %c: !c, %adds: i1) {
  %0 = cute.make_atom() : () -> !mma
  cute.gemm(%0, %c, %a, %a, %c) : (!mma, !c, !a, !a, !c)
  %1 = cute.make_atom() : () -> !fields
  %2 = cute_nvgpu.atom.set_value<accum_c>(%1, %adds) : (!fields, i1)
  return
}
"""
SETTING = "%2 = cute_nvgpu.atom.set_value<accum_c>(%1, %adds) : (!fields, i1)"


def lowered(cutecc, folder: Path, before: str, status: int, text: str = KERNEL) -> str:
    """The kernel through the passes that are about atoms, the pass from outside in front of one of them."""
    kernel, plugin = folder / "kernel.mlir", folder / "lower_sparse.py"
    kernel.write_text(text)
    plugin.write_text(PASS)
    passes = ["unfold-layouts", "lower-atom-fields", "expand-copies", "expand-gemms", "lower-atoms", "lower-cute-types"]
    passes.insert(passes.index(before), "lower-sparse")
    ran = cutecc("opt", kernel, "--load", plugin, "--pipeline", ",".join(passes), status=status)
    return ran.stdout + ran.stderr


def test_its_products_and_fields_can_be_taken_over(cutecc, tmp_path: Path) -> None:
    printed = lowered(cutecc, tmp_path, "lower-atom-fields", 0)
    assert "nvvm.barrier0" in printed and "cute" not in printed


def test_behind_lower_atom_fields_is_too_late(cutecc, tmp_path: Path) -> None:
    refused = lowered(cutecc, tmp_path, "expand-copies", 1)
    assert "the open lowering does not know the field accum_c of sm107.mma" in refused


def test_there_are_no_calls_to_take_over(cutecc, tmp_path: Path) -> None:
    refused = lowered(cutecc, tmp_path, "lower-atoms", 1, KERNEL.replace(SETTING, ""))
    assert "does not know the matrix product atom sm80.sparse_mma" in refused
