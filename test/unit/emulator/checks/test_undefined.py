"""Undefined values: no finding where nobody uses them, one at the read where somebody does."""

from __future__ import annotations

import checked_kernels as kernels
import pytest

LOAD = "ld.shared.b32 %r8, [%r5];"
STORE = "st.global.b32 [%rd3], %r9;"


@pytest.mark.parametrize(
    "body",
    [
        LOAD,
        LOAD + "add.u32 %r9, %r8, 1;",
        # Only of the half that something has been written to.
        "@%p1 st.shared.b32 [%r5], 7;" + LOAD + "add.u32 %r9, %r8, 1; @%p1 " + STORE,
        LOAD + "selp.b32 %r9, %r8, 5, %p5;" + STORE,
        LOAD + "and.b32 %r9, %r8, 0;" + STORE,
        LOAD + "or.b32 %r9, %r8, -1;" + STORE,
        # Moved about, and back where it is not used.
        "mov.b32 {%rs1, %rs2}, %r8; mov.u16 %rs2, 5; mov.b32 %r9, {%rs2, %rs2};" + STORE,
        LOAD + "mov.b32 {%rs1, %rs2}, %r8; mov.u16 %rs1, 5; mov.b32 %r9, {%rs1, %rs2}; prmt.b32 %r9, %r9, 0, 0x1010;"
        "shl.b32 %r9, %r9, 16; mov.b32 {%rs3, %rs4}, %r9; cvt.u32.u16 %r9, %rs4;" + STORE,
        LOAD + "mov.b32 {%rs1, %rs2}, %r8; cvt.u32.u16 %r9, %rs1; shr.u32 %r9, %r9, 16;" + STORE,
        LOAD + "bar.sync 0; st.shared.b32 [%r6], %r8; bar.sync 0; st.shared.b32 [%r6], 3; bar.sync 0;"
        "ld.shared.b32 %r9, [%r5];" + STORE,
        LOAD + "prmt.b32 %r9, %r8, 5, 0x5410; mov.b32 {%rs1, %rs2}, %r8; mov.b32 %r9, {%rs3, %rs1};"
        "mov.u16 %rs3, 1; mov.b32 %r9, {%rs3, %rs1}; dp2a.lo.u32.u32 %r9, 1, %r9, 0;" + STORE,
        # Lane 0's is defined, and goes to all.
        "@%p1 st.shared.b32 [%r5], 7; @!%p1 bra NOT; ld.shared.b32 %r8, [%r5]; NOT:"
        "shfl.sync.idx.b32 %r9, %r8, 0, 31, -1; setp.lt.u32 %p3, %r1, 32; @%p3 " + STORE,
    ],
)
def test_nobody_uses_them(body: str) -> None:
    start = ".reg .b16 %rs<5>; setp.gt.u32 %p5, %r1, 999;"
    assert kernels.kinds(start + body) == []


HALF = """
    .reg .b16 %rs<9>; .reg .b64 %w; cvt.u16.u32 %rs1, %r1; or.b16 %rs1, %rs1, 0x7700; mov.b32 %r9, {%rs1, %rs8};
"""
"""Nothing writes %rs8, the upper half of %r9, nor %r20. The lower half is defined, and none of its bytes is 0."""
STORE_BYTE = "st.global.b8 [%rd3], %r9;"


@pytest.mark.parametrize(
    "body",
    [
        # Stores of less than the register.
        STORE_BYTE,
        "st.global.v2.b16 [%rd3], {%r9, %r1};",
        "st.shared.b8 [%r5], %r9; ld.shared.u8 %r9, [%r5];" + STORE,
        "{ .local .align 4 .b8 own[4]; st.local.b16 [own], %r9; ld.local.u16 %r9, [own];" + STORE + "}",
        # Packed and unpacked.
        "mov.b32 {%rs2, %rs3}, %r9; cvt.u32.u16 %r9, %rs2;" + STORE,
        "mov.b64 %w, {%r1, %r20}; mov.b64 {%r9, %r10}, %w;" + STORE,
        "mov.b64 %w, {%rs1, %rs1, %rs8, %rs8}; st.global.b32 [%rd3], %w;",
        "mov.b32 %r9, {%rs8, 0x1234}; shr.u32 %r9, %r9, 16;" + STORE,
        # Bytes that are chosen.
        "prmt.b32 %r9, %r9, 0, 0x7771U;" + STORE,
        "prmt.b32 %r9, %r9, 0x123456, 0x4519;" + STORE,
        "prmt.b32.rc16 %r9, %r9, 0, 0;" + STORE,
        "mov.b32 %r10, 0x7710; prmt.b32 %r9, %r9, 0, %r10;" + STORE,
        # Bits that are shifted out, or taken out.
        "shl.b32 %r9, %r9, 16;" + STORE,
        "shf.l.wrap.b32 %r9, 7, %r9, 16; and.b32 %r9, %r9, -65536;" + STORE,
        "bfe.s32 %r9, %r9, 4, 12;" + STORE,
        "bfi.b32 %r9, %r1, %r9, 16, 16;" + STORE,
        "brev.b32 %r9, %r9; shr.u32 %r9, %r9, 16;" + STORE,
        "and.b32 %r9, %r9, 0xffff;" + STORE,
        # Converted from fewer bits.
        "cvt.u32.u8 %r9, %r9;" + STORE,
        "cvt.s32.s16 %r9, %r9;" + STORE,
        "cvt.rn.f32.s8 %f1, %r9; st.global.f32 [%rd3], %f1;",
        "mov.b32 {%rs2, _}, %r9; cvt.rn.f16x2.e4m3x2 %r9, %rs2;" + STORE,
        "prmt.b32 %r9, %r9, %r20, 0x7750; mov.b32 {%rs2, _}, %r9;"
        "cvt.rn.f16x2.e4m3x2 %r9, %rs2; st.global.b16 [%rd3], %r9;",
        "cvt.rn.satfinite.e4m3x2.f32 %rs2, %f9, 0f3f800000; cvt.u32.u16 %r9, %rs2;" + STORE_BYTE,
        "cvt.rn.satfinite.e2m1x2.f32 %rs2, %f9, 0f3f800000; and.b16 %rs2, %rs2, 15; cvt.u32.u16 %r9, %rs2;" + STORE,
        "cvt.pack.sat.u8.s32.b32 %r9, %r1, %r1, %r9;" + STORE,
        "cvt.rn.f32.s32 %f9, 5; st.global.f32 [%rd3], %f9;",
        # Nothing is carried downwards.
        "add.s32 %r9, %r9, 1; mad.lo.s32 %r9, %r9, 3, %r9; st.global.b16 [%rd3], %r9;",
        # From lane to lane; whether there is one is known.
        "shfl.sync.down.b32 %r9|%p3, %r9, 1, 31, -1; @%p3 " + STORE_BYTE,
    ],
)
def test_nobody_uses_the_half_that_nothing_has_written(body: str) -> None:
    assert kernels.kinds(HALF + body) == []


@pytest.mark.parametrize(
    "body",
    [
        STORE,
        "mov.b32 %r9, {%rs8, %rs1};" + STORE_BYTE,
        "st.global.v2.b16 [%rd3], {%r1, %r20};",
        "st.shared.b32 [%r5], %r9; ld.shared.b32 %r9, [%r5];" + STORE,
        "{ .local .align 4 .b8 own[4]; st.local.b32 [own], %r9; ld.local.b32 %r9, [own];" + STORE + "}",
        "mov.b32 {%rs2, %rs3}, %r9; cvt.u32.u16 %r9, %rs3;" + STORE,
        "mov.b64 %w, {%r1, %r20}; mov.b64 {%r10, %r9}, %w;" + STORE,
        "mov.b64 %w, {%r1, %r20}; st.global.b64 [%rd1], %w;",
        "prmt.b32 %r9, %r9, 0, 0x7772U;" + STORE_BYTE,
        "prmt.b32 %r9, %r9, 0, 0x777b;" + STORE_BYTE,  # copies of byte 3's sign
        "prmt.b32 %r9, 0x123456, %r9, 0x6210;" + STORE,
        "prmt.b32 %r9, %r1, %r1, %r20;" + STORE_BYTE,
        "shl.b32 %r9, %r1, %r20;" + STORE,
        "shr.s32 %r9, %r9, 31;" + STORE,
        "shf.l.wrap.b32 %r9, %r9, 7, 8;" + STORE_BYTE,
        "bfe.u32 %r9, %r9, 12, 8;" + STORE,
        "bfi.b32 %r9, %r20, %r1, 0, 8;" + STORE,
        "and.b32 %r9, %r9, 0x1ffff;" + STORE,
        "cvt.s32.s8 %r9, %rs8;" + STORE,
        "cvt.rn.f32.u32 %f1, %r9; st.global.f32 [%rd3], %f1;",
        "mov.b32 %r9, {%rs8, %rs1}; cvt.rn.f32.u8 %f1, %r9; st.global.f32 [%rd3], %f1;",
        "cvt.rn.f16x2.e4m3x2 %r9, %rs8;" + STORE,
        "prmt.b32 %r9, %r9, %r20, 0x7750; mov.b32 {%rs2, _}, %r9; cvt.rn.f16x2.e4m3x2 %r9, %rs2;"
        "shr.u32 %r9, %r9, 16;" + STORE,
        "mov.b32 %f9, %r9; cvt.rn.satfinite.e4m3x2.f32 %rs2, %f9, 0f3f800000; st.global.b16 [%rd3], %rs2;",
        "mov.b32 %f9, %r9; cvt.rn.satfinite.e4m3x2.f32 %rs2, 0f3f800000, %f9;  st.global.b8 [%rd3], %rs2;",
        "cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %r9, %rs1, %rs8;" + STORE,
        "mov.b32 %r9, {%rs8, %rs1}; cvt.pack.sat.u8.s32.b32 %r9, %r1, %r1, %r9;" + STORE,
        "cvt.pack.sat.u8.s32.b32 %r9, %r9, %r1, 0;" + STORE,
        "add.s32 %r9, %r9, 1;" + STORE,
        "mov.b32 %r9, {%rs8, %rs1}; add.s32 %r9, %r9, 1; shr.u32 %r9, %r9, 16;" + STORE,
        "mul.hi.u32 %r9, %r9, 7;" + STORE,
        "setp.eq.u32 %p3, %r9, 1; @%p3 bra END; st.global.b32 [%rd3], 1; END:",
        "setp.eq.u32 %p3, %r9, 1; @%p3 st.global.b32 [%rd3], 1;",
        "and.b32 %r9, %r9, 0x10004; cvt.u64.u32 %w, %r9; add.u64 %w, %rd1, %w; st.global.b8 [%w], 1;",
        "red.global.add.u32 [%rd3], %r9;",
        "and.b32 %r9, %r9, 0x10008; @%p1 st.bulk.shared::cta [%r3], %r9, 0;",
        "shfl.sync.down.b32 %r9|%p3, %r1, %r20, 31, -1; @%p3 st.global.b32 [%rd3], 1;",
    ],
)
def test_somebody_uses_the_half_that_nothing_has_written(body: str) -> None:
    assert {kind for kind, *_ in kernels.kinds(HALF + body)} >= {"uninitialised-register"}


@pytest.mark.parametrize(
    "use",
    [
        "add.u32 %r9, %r8, 1;" + STORE,
        "mul.lo.u32 %r9, %r8, 3; shfl.sync.bfly.b32 %r9, %r9, 1, 31, -1;" + STORE,
        "and.b32 %r9, %r8, 1;" + STORE,
        "setp.gt.u32 %p3, %r8, 5; selp.b32 %r9, 1, 2, %p3;" + STORE,
        "setp.gt.u32 %p3, %r8, 5; @%p3 st.global.b32 [%rd3], 1;",
        "setp.gt.u32 %p3, %r8, 5; @%p3 bra END; st.global.b32 [%rd3], 1; END:",
        "and.b32 %r8, %r8, 28; add.u32 %r9, %r3, %r8; st.shared.b32 [%r9], 1;",
        "atom.global.add.u32 %r9, [%rd3], %r8;",
        # Through shared memory and back.
        "bar.sync 0; st.shared.b32 [%r6], %r8; bar.sync 0; ld.shared.b32 %r9, [%r5];" + STORE,
    ],
)
def test_where_they_come_from(use: str) -> None:
    """However they get to where they are used."""
    (found,) = [each for each in kernels.findings(LOAD + use) if each.kind != "race"]
    assert (found.kind, found.place.text) == ("uninitialised-shared", LOAD)


def test_a_bulk_copy_uses_what_it_reads() -> None:
    """Undefined values that were stored where it reads come from their load."""
    body = f"""
      {LOAD} st.shared.b32 [%r5+512], %r8; fence.proxy.async.shared::cta; bar.sync 0;
      @!%p1 bra END;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3+512], 256; cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
      END:
    """
    (found,) = kernels.findings(body)
    assert (found.kind, found.place.text) == ("uninitialised-shared", LOAD)


def test_some_threads_have_loaded_it_and_others_nothing() -> None:
    """Each is told where it comes from: the load, and the first instruction that computes on nothing."""
    add = "add.u32 %r9, %r8, 1;"
    found = kernels.findings("setp.lt.u32 %p3, %r1, 32; @%p3 " + LOAD + add + STORE)
    assert sorted((each.kind, each.place.text, each.count) for each in found) == [
        ("uninitialised-register", add, 32),
        ("uninitialised-shared", LOAD, 32),
    ]


@pytest.mark.parametrize("word", [0, 4])
def test_one_of_two_words_that_are_loaded_at_once(word: int) -> None:
    """The other is defined; the load that is to blame is the one before the store."""
    body = f"""
      shl.b32 %r10, %r1, 3; add.u32 %r10, %r10, %r3;
      ld.shared.b32 %r8, [%r10+512];
      st.shared.b32 [%r10+{word}], %r8; st.shared.b32 [%r10+{4 - word}], %r1;
      ld.shared.v2.b32 {{%r11, %r12}}, [%r10]; add.u32 %r9, %r11, %r12;
    """
    (found,) = kernels.findings(body + STORE, threads=32)
    assert (found.kind, found.place.text) == ("uninitialised-shared", "ld.shared.b32 %r8, [%r10+512];")


@pytest.mark.parametrize("half", ["and.b32 %r9, %r9, 65535;", "shr.u32 %r9, %r9, 16;"])
def test_both_elements_of_a_conversion(half: str) -> None:
    """They come from one byte each, so neither is defined."""
    body = "{ .reg .b16 %rs<3>; .shared .b8 pair[128]; ld.shared.b16 %rs1, [pair]; cvt.rn.f16x2.e4m3x2 %r9, %rs1;"
    assert kernels.kinds(body + half + STORE + "}") == [("uninitialised-shared", "ld", "")]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("st.shared.b32 [%r5+1024], %r8;", "out-of-bounds"),
        ("@%p1 bra END; shfl.sync.idx.b32 %r9, %r8, 0, 31, 0xfffffffe; END:", "uninitialised-register"),
    ],
)
def test_what_else_is_wrong_is_told_once(body: str, kind: str) -> None:
    """Not again of the undefined bits."""
    start = "setp.eq.u32 %p1, %r1, 0;"
    counts = [
        [each.count for each in kernels.findings(start + value + body, threads=32) if each.kind == kind]
        for value in ("mov.u32 %r8, 1;", LOAD)
    ]
    assert counts[0] == counts[1] != []


def test_local_memory() -> None:
    """Each thread's own; what is stored there is as undefined as before."""
    start = "{ .local .align 4 .b8 own[8]; "
    copy = "ld.local.b32 %r8, [own]; st.local.b32 [own+4], %r8; ld.local.b32 %r9, [own+4];"
    assert kernels.kinds(start + copy + "}") == []
    assert {kind for kind, *_ in kernels.kinds(start + copy + STORE + "}")} == {"uninitialised-register"}
    assert kernels.kinds(start + "st.local.b32 [own], %r1;" + copy + STORE + "}") == []


MULTIPLY = """
    .reg .b32 %a<4>; .reg .b32 %b<2>; .reg .f32 %c<4>;
    mov.b32 %b0, %r1; mov.b32 %b1, %r1; mov.b32 %a2, 0; mov.b32 %a3, 0;
    setp.lt.u32 %p3, %r1, ROWS;
    @%p3 mov.b32 %a0, 0; @%p3 mov.b32 %a1, 0; @%p3 mov.b32 %a2, 0; @%p3 mov.b32 %a3, 0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%a0, %a0, %a2, %a2}, {%b0, %b1},
        {0f00000000, 0f00000000, 0f00000000, 0f00000000};
    setp.lt.u32 %p4, %r1, 16; @%p4 st.global.f32 [%rd3], %f0;
"""


@pytest.mark.parametrize(("rows", "found"), [(16, []), (12, [("uninitialised-register", "mma", "")])])
def test_rows_of_a_product(rows: int, found: list[tuple[str, str, str]]) -> None:
    """Four threads have a row of A, and the same row of the result; other rows may be undefined."""
    assert kernels.kinds(MULTIPLY.replace("ROWS", str(rows)), threads=32) == found


SCALE = """
    .reg .b32 %a; .reg .b32 %s; .reg .b32 %t;
    mov.b32 %a, %r1; and.b32 %r9, %r1, 3; setp.lt.u32 %p3, %r9, SCALED; setp.eq.u32 %p4, %r9, 2;
    @%p3 mov.b32 %s, 0x7f7f7f7f; @%p4 mov.b32 %t, 0x7f7f7f7f; prmt.b32 %t, %t, %f9, 0x5410;
    mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 {%f0, %f1, %f2, %f3},
        {%a, %a, %a, %a}, {%a, %a}, {0f00000000, 0f00000000, 0f00000000, 0f00000000}, %s, {2, 0}, %t, {0, 2};
    setp.lt.u32 %p4, %r1, 16; @%p4 st.global.f32 [%rd3], %f2;
"""


@pytest.mark.parametrize(("scaled", "found"), [(2, []), (1, [("uninitialised-register", "mma", "")])])
def test_scales_of_a_product(scaled: int, found: list[tuple[str, str, str]]) -> None:
    """Some threads have scales, in some bytes; what is in other threads and bytes may be undefined."""
    assert kernels.kinds(SCALE.replace("SCALED", str(scaled)), threads=32) == found


READ = "ld.shared.b32 %r10, [%r5+{}];\nadd.u32 %r9, %r9, %r10;\n"


def test_sum_of_elements_that_are_not_there() -> None:
    """One finding for each instruction that reads one, not one for each thread or result."""
    body = "st.shared.b32 [%r5], %r1; mov.u32 %r9, 0; bar.sync 0;\n" + "".join(map(READ.format, (0, 4, 8))) + STORE
    found = sorted((each.place.text.split("+")[-1], each.address, each.count) for each in kernels.findings(body))
    assert found == [("4];", "shared+256", 1), ("8];", "shared+256", 2)]


@pytest.mark.parametrize("outputs", [1, 3])
def test_padding_that_many_results_come_from(outputs: int) -> None:
    """All threads add up a row of which half is missing, and store it several times: a few findings tell."""
    row = "".join(READ.replace("%r5", "%r3").format(4 * column) for column in range(64))
    stores = "".join(f"st.global.b32 [%rd3+{256 * output}], %r9;\n" for output in range(outputs))
    body = "setp.lt.u32 %p3, %r1, 32; @%p3 st.shared.b32 [%r5], 1; mov.u32 %r9, 0; bar.sync 0;\n" + row + stores
    found = kernels.findings(body)
    assert 1 <= len(found) <= 4
    assert {(each.kind, each.count) for each in found} == {("uninitialised-shared", 64)}
