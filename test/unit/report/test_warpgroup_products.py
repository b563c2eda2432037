"""The places of `HGMMA` and the like, for which ptxas writes no line."""

from __future__ import annotations

from cutecc.ptx.locations import PtxText
from cutecc.report.listings import sass_listing
from cutecc.report.sass_places import sass_functions
from cutecc.support.locations import Frame

SASS = """\
//--------------------- .text.kernel --------------------------
\t.section\t.text.kernel,"ax",@progbits
\t//## File "/k.py", line 193
        /*0000*/                   UIADD3 UR5, UR5, 0x1, URZ ;
        /*0010*/                   HGMMA.64x128x16.F32 R24, gdesc[UR8], R24 ;
        /*0020*/                   UMOV UR9, 0x40000040 ;
\t//## File "/k.py", line 204
        /*0030*/              @!P0 IMAD.MOV.U32 R3, RZ, RZ, 0x1 ;
        /*0040*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 ;
        /*0050*/                   EXIT ;
"""
PTX = """\
.visible .entry kernel()
{
\t.loc\t1 %d 16
\t.loc\t1 %d 0, function_name $L__info_string0, inlined_at 1 %d 16
\t// begin inline asm
\t{
\t.loc\t1 3 0, function_name $L__info_string0, inlined_at 1 3 16
wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%%r1}, %%rd1, %%rd2, p, 1, 1, 0, 1;
}
\t// end inline asm
\t.loc\t1 %d 16
wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%%r1}, %%rd1, %%rd2, p, 1, 1, 0, 1;
\tret;
}
\t.file\t1 "/k.py"
"""


def lines(sass: str, ptx: list[str]) -> list[int | None]:
    (function,) = sass_functions(sass, [PtxText(each) for each in ptx])
    return [each.place[-1].line if each.place else None for each in function.instructions]


def test_a_product_has_the_line_of_the_ptx() -> None:
    assert lines(SASS, [PTX % (199, 199, 199, 199)]) == [193, 199, 193, 204, 199, 204]
    assert lines(SASS, [PTX % (199, 199, 199, 201)]) == [193, 199, 193, 204, 201, 204]


def test_one_place_holds_for_as_many_products_as_an_unrolled_loop_has() -> None:
    unrolled = SASS.replace("UMOV UR9, 0x40000040", "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24")
    assert lines(unrolled, [PTX % (199, 199, 199, 199)]) == [193, 199, 199, 204, 199, 204]


def test_what_is_not_known_has_no_place() -> None:
    other = SASS.replace("64x64x16", "64x32x16")
    assert lines(other, [PTX % (199, 199, 199, 201)]) == [193, None, 193, 204, None, 204]
    assert lines(SASS, []) == [193, None, 193, 204, None, 204]


def test_a_line_of_its_own_counts() -> None:
    own = SASS.replace("        /*0010*/", '\t//## File "/k.py", line 198\n        /*0010*/')
    assert lines(own, [])[:2] == [193, 198]


def test_the_listing_has_it_too() -> None:
    listing = sass_listing(SASS, "k.sass", sass_functions(SASS, [PtxText(PTX % (199, 199, 199, 199))]))
    assert listing.table[listing.places[4]] == (Frame("/k.py", 199, 0),)
