"""Classes of instructions, and the work of matrix instructions."""

from __future__ import annotations

import pytest

from cutecc.emulator.counters.classes import class_of, matrix_kind, matrix_work
from cutecc.emulator.instructions.form import Form


def form(text: str) -> Form:
    opcode, *modifiers = text.split(".")
    return Form(opcode, tuple(modifiers))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.s32", "integer"),
        ("lop3.b32", "integer"),
        ("setp.lt.s32", "integer"),
        ("setp.lt.f32", "float"),
        ("fma.rn.f32", "float"),
        ("add.rn.bf16x2", "float"),
        ("div.rn.f32", "float"),
        ("rcp.approx.ftz.f32", "special"),
        ("ex2.approx.f32", "special"),
        ("cvt.rn.f16x2.f32", "conversion"),
        ("mov.b32", "move"),
        ("selp.b32", "move"),
        ("isspacep.shared", "move"),
        ("mapa.shared::cluster.u32", "move"),
        ("ld.global.v4.b32", "global"),
        ("ld.b32", "global"),
        ("ld.param.b64", "parameter"),
        ("ld.const.b32", "parameter"),
        ("st.local.b32", "local"),
        ("ld.shared.b32", "shared"),
        ("ld.shared::cluster.b32", "shared"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "shared"),
        ("atom.global.add.u32", "atomic"),
        ("red.shared.add.u32", "atomic"),
        ("cp.async.cg.shared.global", "copy"),
        ("cp.async.commit_group", "barrier"),
        ("cp.async.wait_all", "barrier"),
        ("cp.async.bulk.wait_group.read", "barrier"),
        ("cp.async.mbarrier.arrive.noinc.shared.b64", "barrier"),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", "copy"),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "copy"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", "copy"),
        ("bar.sync", "barrier"),
        ("mbarrier.try_wait.parity.shared.b64", "barrier"),
        ("fence.proxy.async.shared::cta", "barrier"),
        ("wgmma.fence.sync.aligned", "barrier"),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", "matrix"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "matrix"),
        ("shfl.sync.bfly.b32", "warp"),
        ("elect.sync", "warp"),
        ("griddepcontrol.wait", "barrier"),
        ("tcgen05.mma.cta_group::1.kind::f16.collector::a::discard", "matrix"),
        ("tcgen05.ld.sync.aligned.32x32b.x32.b32", "tensor"),
        ("tcgen05.cp.cta_group::1.32x128b.warpx4", "tensor"),
        ("tcgen05.wait::ld.sync.aligned", "barrier"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "barrier"),
        ("bra.uni", "control"),
        ("ret", "control"),
        ("setmaxnreg.inc.sync.aligned.u32", "other"),
    ],
)
def test_classes(text: str, expected: str) -> None:
    assert class_of(form(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (1, 4096)),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", (1, 4096)),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", (4, 2 * 64 * 128 * 16)),
        ("wgmma.commit_group.sync.aligned", (1, 0)),
        ("add.s32", (1, 0)),
    ],
)
def test_matrix_work(text: str, expected: tuple[int, int]) -> None:
    assert matrix_work(form(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma f16"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.s8.s32", "mma.sp s8"),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "wgmma bf16"),
        ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "mma kind::mxf4"),
        ("tcgen05.mma.ws.sp.cta_group::1.kind::i8", "tcgen05.sp kind::i8"),
    ],
)
def test_matrix_kinds(text: str, expected: str) -> None:
    assert matrix_kind(form(text)) == expected
