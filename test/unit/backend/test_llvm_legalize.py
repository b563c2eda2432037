"""The text of LLVM IR, mended for LLVM 22."""

import pytest

from cutecc.backend.llvm.legalize import (
    emit_lines_alone,
    flush_denormals,
    give_columns,
    mark_assembly,
    mend_multicast_names,
    mended,
)


def test_assembly_is_convergent():
    before = '  %3 = call i32 asm "mov $0, 0;", "=r,~{memory}"(ptr addrspace(3) %1), !dbg !7'
    after = '  %3 = call i32 asm "mov $0, 0;", "=r,~{memory}"(ptr addrspace(3) %1) convergent nounwind, !dbg !7'
    assert mark_assembly(before) == after
    assert mark_assembly('  call void asm sideeffect "a", ""() #3') == (
        '  call void asm sideeffect "a", ""() convergent nounwind #3'
    )


def test_other_calls_stay():
    named = '!1 = !DIFile(filename: "k.py", directory: "/my asm kernels (old)")'
    for line in (named, "  call void @f(i32 %1)", '@asm = global [4 x i8] c" asm"', "  %asm = add i32 %1, %2"):
        assert mark_assembly(f'  call void asm "", ""()\n{line}').split("\n")[1] == line


def test_the_mask_of_a_multicast_is_not_named():
    for name in ("cp.async.bulk.tensor.g2s.tile.2d", "cp.async.bulk.global.to.shared.cluster", "tcgen05.commit.mc.cg2"):
        call = f"call void @llvm.nvvm.{name}"
        assert mend_multicast_names(f"{call}.i16(ptr %1)") == f"{call}(ptr %1)"
    assert mend_multicast_names("call i16 @llvm.ctpop.i16(i16 %1)") == "call i16 @llvm.ctpop.i16(i16 %1)"


def test_lines_without_other_debug_information():
    text = "!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly, enums: !3)"
    assert "emissionKind: DebugDirectivesOnly, enums" in emit_lines_alone(text)


_PLACES = """\
!3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 17, type: !4, scopeLine: 17, unit: !0)
!15 = distinct !DILexicalBlockFile(scope: !3, file: !1, discriminator: 0)
!25 = distinct !DILexicalBlockFile(scope: !3, file: !2, discriminator: 0)
!40 = !DILocation(line: 53, scope: {scope}, inlinedAt: !41)
!41 = !DILocation(line: 53, column: 12, scope: !3)
!42 = !DILocation(line: 17, scope: !3)
"""


@pytest.mark.parametrize(("scope", "column"), [("!15", 12), ("!25", 1)])
def test_the_place_of_assembly_has_a_column(scope: str, column: int):
    text = _PLACES.format(scope=scope)
    expected = text.replace("line: 53, scope", f"line: 53, column: {column}, scope")
    assert give_columns(text) == expected


def test_a_module_that_needs_nothing_stays():
    text = "define void @f() {\n  ret void\n}\n"
    assert mended(text) == text


def test_denormals_are_flushed():
    text = flush_denormals("define void @f() #0 !dbg !5 {\n  ret void\n}\ndeclare void @g() #0\n")
    assert text.startswith('define void @f() #0 "denormal-fp-math-f32"="preserve-sign" !dbg !5 {\n')
    assert "declare void @g() #0\n" in text
    assert text.endswith('!1000000 = !{i32 4, !"nvvm-reflect-ftz", i32 1}\n')
