"""The coverage table says what the passes do: no more, and no less."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cutecc.errors import Error, UsageError
from cutecc.frontend.header import read_header
from cutecc.frontend.traced import TraceRequest
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.types import CopyAtom, Scalar
from cutecc.ir.types.atoms import Parameters
from cutecc.ir.walking import walk
from cutecc.lowering import multiplies
from cutecc.passes import manager
from cutecc.passes.lowering.atoms import registry
from cutecc.passes.lowering.atoms.registry import copy_row, spelled
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.support import isolation
from cutecc.target import Target
from cutecc.workbench.coverage import (
    ModuleCoverage,
    Need,
    lowered_by,
    missing_here,
    operations_of_dialects,
    rows,
    survey,
    uses_of,
)
from cutecc.workbench.inputs import find_inputs

ROOT = Path(__file__).parents[3]
KERNELS = ROOT / "test" / "kernels"
CUTE = ("cute.", "cute_nvgpu.")


def test_passes_declare_operations_that_there_are() -> None:
    assert {name for name in lowered_by() if name.startswith(CUTE)} <= set(operations_of_dialects())
    assert lowered_by()["cute.copy"] == ("expand-copies",)
    assert lowered_by()["cute.memref.load"] == ("lower-element-accesses",)
    assert lowered_by()["cute_nvgpu.atom.make_exec_tma"] == ("lower-tma-descriptors",)
    assert "cute.symbolic" not in lowered_by()


@pytest.mark.parametrize(
    "name",
    [
        *("gemm_sm80", "device_print", "fast_division", "persistent_tiles", "warp_ops"),
        *("im2col", "tma_multicast", "wgmma_registers"),
    ],
)
def test_a_pass_takes_away_what_it_declares_alone(name: str, traced_kernels) -> None:
    """Otherwise the table would say `no` of what is lowered."""
    kernel = traced_kernels[name]
    with fresh_context():
        module = parse(kernel.bytecode)
        for pass_ in open_pipeline(kernel.target):
            before = counts(module)
            if pass_.name == "lower-cute-types":
                # Whatever is left has to be what this pass takes; it looks for that itself.
                assert not {each for each in before if each.startswith(CUTE)} - set(pass_.lowers)
                break
            manager.run(Pipeline((pass_,)), module)
            if not pass_.lowers:
                continue
            after = counts(module)
            fewer = {each for each in before if each.startswith(CUTE) and after[each] < before[each]}
            # Values that a type says in full are made anew, and go with who wanted them.
            assert fewer - {"cute.static"} <= set(pass_.lowers)


def counts(module) -> Counter[str]:
    return Counter(operation.name for operation in walk(module))


def test_kernels_that_are_covered_go_through(tmp_path: Path, traced_kernels) -> None:
    for name in ("gemm_sm80", "mma_int8", "histogram"):
        (tmp_path / f"{name}-sm_80.mlirbc").write_bytes(traced_kernels[name].bytecode)
    modules = survey(find_inputs([str(tmp_path)]), jobs=1, verify=True)
    assert [Path(module.file).name.partition("-")[0] for module in modules] == ["gemm_sm80", "histogram", "mma_int8"]
    for module in modules:
        assert module.covered
        assert module.verified
        assert module.failed is None
    table = {row.need: row for row in rows(modules)}
    product = table[Need("matrix product atom", "sm80.mma 16×8×16 f16 f16 f32")]
    assert product.lowered_by == ("lower-atoms",)
    assert product.modules == 1
    assert table[Need("operation", "cute.kernel_smem_size")].modules == 3
    assert Need("operation", "cute.tuple_mod") not in table
    assert {row.need.name for row in rows(modules, every=True) if row.need.kind == "operation"} >= set(
        operations_of_dialects()
    )


def test_gaps_have_the_users_line(traced_kernels) -> None:
    file = ROOT / "docs" / "inputs" / "masked_store.py"
    header = read_header(file)
    request = TraceRequest(str(file), None, header.entry, header.args, target="sm_100a", sources=header.arg_sources)
    bytecode = isolation.call("cutecc.frontend.trace:trace_file", request).bytecode
    with fresh_context():
        uses = {use.need.name: use for use in uses_of(parse(bytecode), "sm_100a")}
    store = uses["bulk_copy_s2g mask"]
    assert store.lowered_by == ()
    assert store.first is not None
    line = file.read_text().splitlines()[(store.first.line or 0) - 1]
    assert "cute.copy(" in line
    assert "bulk_copy_s2g mask" in missing_here(bytecode, "sm_100a")
    assert missing_here(traced_kernels["softmax"].bytecode, "sm_80") == []


ONE_PRODUCT = """
!mma = !cute_nvgpu.sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32), md_format = tid >
!a = !cute.memref<f16, rmem, align<16>, "8:1">
!c = !cute.memref<f32, rmem, align<16>, "4:1">
gpu.module @kernels {
  cuda.kernel @kernel(%a: !a, %c: !c) {
    %0 = cute.make_atom() : () -> !mma
    cute.mma_atom_call(%0, %c, %a, %a, %c) : (!mma, !c, !a, !a, !c) -> ()
    return
  }
}
"""


def test_an_atom_is_known_for_some_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.load()
    monkeypatch.setattr(registry._PRODUCTS, "rows", dict(registry._PRODUCTS.rows))

    @multiplies("sm80.sparse_mma", chips=lambda chip: chip.major == 12)
    def multiply(product: Any) -> None: ...

    name = "sm80.sparse_mma 16×8×32 f16 f16 f32 md_format=tid"
    need = Need("matrix product atom", name)
    assert missing_here(ONE_PRODUCT.encode(), "sm_120a") == []
    assert missing_here(ONE_PRODUCT.encode(), "sm_80") == [name]
    with fresh_context():
        module = parse(ONE_PRODUCT.encode())
        looked_at = [ModuleCoverage("-", target, tuple(uses_of(module, target))) for target in ("sm_120a", "sm_80")]
    assert [bool(each.missing) for each in looked_at] == [False, True]
    by = [(row.lowered_by[:1], row.modules) for row in rows(looked_at) if row.need == need]
    assert sorted(by) == [((), 1), ((f"lower-atoms ({__name__.partition('.')[0]})",), 1)]


def test_an_atom_is_known_by_its_parameters_too() -> None:
    """A kind of atom has a row; of `ldmatrix` this one form is for chips of Blackwell's."""
    square = CopyAtom("ldsm", Scalar("f16"), Parameters(mode=(8, 8), num_matrices=4, transpose=False))
    wide = CopyAtom("ldsm", Scalar("i8"), Parameters(mode=(16, 16), num_matrices=1, transpose=True))
    assert copy_row(square)
    assert spelled(square) == "ldsm mode=8×8 num_matrices=4"
    with pytest.raises(Error, match="the copy atom ldsm mode=16×16 num_matrices=1 transpose on sm_90a yet"):
        copy_row(wide, Target.parse("sm_90a"))


def test_a_pass_that_fails_on_what_the_table_has_is_told(tmp_path: Path) -> None:
    module = tmp_path / "dynamic-sm_80.mlir"
    module.write_text(
        """
gpu.module @kernels {
  cuda.kernel @kernel(%size: i32) {
    %shape = cute.make_shape(%size) : (i32) -> !cute.shape<"?">
    %layout = cute.make_layout(%shape) : !cute.layout<"?:1">
    %tensor = cute.memref.alloca(%layout) : !cute.memref<f32, rmem, align<32>, "?:1">
    %at = cute.make_coord(%size) : (i32) -> !cute.coord<"?">
    %one = arith.constant 1.0 : f32
    cute.memref.store(%tensor, %at, %one) : (!cute.memref<f32, rmem, align<32>, "?:1">, !cute.coord<"?">, f32) -> ()
    return
  }
}
"""
    )
    (found,) = survey(find_inputs([str(module)]), jobs=1, verify=True)
    assert [use.need.name for use in found.missing] == []
    assert found.contradicts
    (alone,) = survey(find_inputs([str(module)]), jobs=1)
    assert not alone.covered
    assert not alone.contradicts
    assert alone.failed == found.failed
    assert found.failed is not None
    assert found.failed.pass_name == "allocate-registers"
    assert "how many has to be known" in found.failed.message


def test_what_a_pass_of_the_wheel_removes_is_lowered(tmp_path: Path) -> None:
    module = tmp_path / "ranges-sm_90a.mlir"
    module.write_text(
        """
gpu.module @kernels {
  cuda.kernel @kernel(%size: i32) {
    "iket.range_push"() <{event_name = "a"}> : () -> ()
    "iket.range_pop"() : () -> ()
    "iket.mark"(%size) <{event_name = "b"}> : (i32) -> ()
    %token = "iket.range_start"() <{event_name = "c"}> : () -> !iket.range.token
    "iket.range_end"(%token) : (!iket.range.token) -> ()
    return
  }
}
"""
    )
    (found,) = survey(find_inputs([str(module)]), jobs=1, verify=True)
    assert found.covered
    assert not found.contradicts
    assert {use.lowered_by for use in found.uses} == {("strip-iket-ops",)}


def test_coordinates_of_parts_of_a_step_are_looked_at(tmp_path: Path) -> None:
    """As those of fp4 elements, which are counted in bytes."""
    module = tmp_path / "fp4-sm_90a.mlir"
    tensor = '!cute.coord_tensor<"(0,0)", "(8,4):(1/2@0,1@1)">'
    module.write_text(
        f"""
gpu.module @kernels {{
  cuda.kernel @kernel(%row: i32, %out: !llvm.ptr<1>) {{
    %tensor = cute.static : {tensor}
    %at = cute.make_coord(%row) : (i32) -> !cute.coord<"(?,_)">
    %rows = cute.slice(%tensor, %at) : {tensor}, !cute.coord<"(?,_)">
    %begin = cute.get_iter(%rows) : !cute.coord_tensor<"(?,0)", "(4):(1@1)">
    %coordinate = cute.deref_arith_tuple_iter(%begin) : !cute.arith_tuple_iter<"(?,0)">
    %first, %second = cute.get_leaves(%coordinate) : !cute.int_tuple<"(?,0)">
    %number = cute.get_scalars(%first) : !cute.int_tuple<"?">
    llvm.store %number, %out : i32, !llvm.ptr<1>
    return
  }}
}}
"""
    )
    (found,) = survey(find_inputs([str(module)]), jobs=1, verify=True)
    assert (found.unreadable, found.failed) == (None, None)
    assert not found.contradicts


def test_an_abort_is_one_modules_failure(tmp_path: Path, traced_kernels) -> None:
    (tmp_path / "a-sm_90a.mlir").write_bytes((ROOT / "test/inputs/aborts-while-parsing.mlir").read_bytes())
    (tmp_path / "b-sm_80.mlirbc").write_bytes(traced_kernels["no_tensor"].bytecode)
    (tmp_path / "c-sm_80.mlir").write_text("module {")
    first, second, third = survey(find_inputs([str(tmp_path)]), jobs=1)
    assert first.unreadable is not None
    assert "SIGABRT" in first.unreadable.message
    assert second.covered
    assert third.unreadable is not None
    assert not third.covered


def test_an_abort_before_any_pass_is_in_none(tmp_path: Path, traced_kernels) -> None:
    (tmp_path / "a-sm_80.mlirbc").write_bytes(traced_kernels["no_tensor"].bytecode)
    (tmp_path / "b-sm_90a.mlir").write_bytes((ROOT / "test/inputs/aborts-while-parsing.mlir").read_bytes())
    first, second = survey(find_inputs([str(tmp_path)]), jobs=1)
    assert first.covered
    assert second.unreadable is not None
    assert second.unreadable.pass_name is None


def test_kernels_below_a_folder_have_a_header_and_a_target_that_fits(tmp_path: Path) -> None:
    for name in ("scalar_args", "tma_copy"):
        (tmp_path / f"{name}.py").write_text((KERNELS / f"{name}.py").read_text())
    (tmp_path / "notes.py").write_text("raise SystemExit\n")
    (tmp_path / "04-canonicalize.mlir").write_text(
        '// cutecc-stage: {"target":"sm_80","kernel":"k","after":"canonicalize#1"}\nmodule {}\n'
    )
    (tmp_path / "of-no-target.mlir").write_text("module {}\n")

    def found(targets: str | None) -> list[tuple[str, str]]:
        return [(each.name, each.target) for each in find_inputs([str(tmp_path)], targets)]

    assert found(None) == [("scalar_args", "sm_80"), ("tma_copy", "sm_90a")]
    assert found("sm_80,sm_90a") == [("scalar_args", "sm_80"), ("scalar_args", "sm_90a"), ("tma_copy", "sm_90a")]
    assert ("of-no-target", "sm_80") in found("sm_80")
    with pytest.raises(UsageError, match="which target is it for"):
        find_inputs([str(tmp_path / "of-no-target.mlir")])
    with pytest.raises(UsageError, match="neither a Python file nor a module"):
        find_inputs([str(ROOT / "README.md")])


def test_a_file_below_a_folder_that_cannot_be_read_is_one_failure(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# cutecc: target = sm_80\n")
    (tmp_path / "b.py").write_text((KERNELS / "no_tensor.py").read_text())
    (tmp_path / "c.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "d.py").write_text('# cutecc: target = "sm_42"\n')
    broken, good, latin, unknown = survey(find_inputs([str(tmp_path)]), jobs=1)
    assert good.covered
    assert broken.unreadable is not None
    assert broken.unreadable.message.startswith("the header is not TOML")
    assert str(broken.unreadable.location) == f"{tmp_path / 'a.py'}:1:20"
    assert latin.unreadable is not None
    assert latin.unreadable.message.endswith("not UTF-8 text")
    assert unknown.unreadable is not None
    assert unknown.unreadable.message == "unknown target 'sm_42'"
    with pytest.raises(UsageError, match="the header is not TOML"):
        find_inputs([str(tmp_path / "a.py")])


def test_files_are_named_or_found(tmp_path: Path) -> None:
    kernel = tmp_path / "b.py"
    kernel.write_text((KERNELS / "no_tensor.py").read_text())
    assert [each.named for each in find_inputs([str(kernel), str(tmp_path)])] == [True, False]
