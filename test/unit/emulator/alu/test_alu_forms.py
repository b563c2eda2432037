"""Every arithmetic form that compiled kernels use has a row; what PTX does not have has none."""

from __future__ import annotations

import hand
import pytest

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.table import find

USED = """
abs.f32 add.f32 add.f64 add.s16 add.s32 add.s64 add.u64 and.b16 and.b32 and.b64 and.pred bfe.u32 brev.b32 clz.b32
copysign.f32 cos.approx.f32 cvt.f32.f16 cvt.f64.f32 cvt.rn.f16.s32 cvt.rn.f16x2.e4m3x2 cvt.rn.f16x2.f32 cvt.rn.f32.f64
cvt.rn.f32.s32 cvt.rn.f32.u32 cvt.rn.f64.s64 cvt.rn.satfinite.e4m3x2.f32 cvt.rna.tf32.f32 cvt.rni.s32.f32 cvt.s16.s8
cvt.s32.s16 cvt.s32.s8 cvt.s64.s32 cvt.sat.f32.f32 cvt.u16.u32 cvt.u32.u16 cvt.u32.u64 cvt.u64.u32 div.rn.f32 div.s32
ex2.approx.ftz.f32 fma.rm.f32 fma.rn.f32 fma.rn.f64 fma.rz.f32 lg2.approx.ftz.f32 lop3.b32 mad.lo.cc.u32 mad.lo.s32
mad.lo.s64 madc.hi.u32 max.bf16x2 max.f32 max.s32 max.u32 min.s32 mov.b16 mov.b32 mov.b64 mov.u32 mov.u64 mul.f16
mul.f32 mul.f64 mul.hi.u16 mul.hi.u32 mul.lo.s16 mul.lo.s32 mul.lo.s64 mul.rn.f32 mul.wide.s16 mul.wide.s32
mul.wide.u32 neg.f32 neg.s16 neg.s32 not.b32 not.pred or.b32 or.b64 or.pred popc.b32 prmt.b32 rcp.approx.ftz.f32
rcp.rn.f32 rem.s32 rem.s64 rem.u32 rsqrt.approx.f32 rsqrt.approx.ftz.f32 selp.b16 selp.b32 selp.f32 selp.f64
setp.eq.b32 setp.eq.f32 setp.ge.f32 setp.ge.s32 setp.geu.f32 setp.gt.f32 setp.gt.s32 setp.gt.u32 setp.le.s32
setp.lt.f32 setp.lt.f64 setp.lt.s32 setp.lt.s64 setp.lt.u16 setp.lt.u32 setp.ltu.f32 setp.nan.f32 setp.ne.b16
setp.ne.b32 setp.ne.b64 setp.ne.f32 setp.neu.f32 shf.l.wrap.b32 shl.b16 shl.b32 shl.b64 shr.s16 shr.s32 shr.s64
shr.u16 shr.u32 sqrt.rn.f32 sub.f32 sub.s16 sub.s32 sub.s64 xor.b32 xor.b64 fma.rn.ftz.f32x2 add.rn.ftz.bf16x2
tanh.approx.f32 ex2.approx.ftz.bf16x2 fma.rn.relu.bf16x2 cvt.rp.satfinite.ue8m0x2.f32 cvt.rn.satfinite.e2m1x2.f32
"""
NONE = "add.rn.s32 add.f16x4 mul.b32 lop3.xor.b32 cvt.rq.f16.f32 setp.like.s32 shf.l.b32 fma.f32 div.f32 mov.b8"


def known(name: str) -> bool:
    hand.load_families()
    opcode, *modifiers = name.split(".")
    return find(Form(opcode, tuple(modifiers))) is not None


@pytest.mark.parametrize("name", USED.split())
def test_known(name: str) -> None:
    assert known(name)


@pytest.mark.parametrize("name", NONE.split())
def test_unknown(name: str) -> None:
    assert not known(name)
