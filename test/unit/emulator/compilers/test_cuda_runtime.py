"""What the CUDA runtime gives kernels of nvcc, and instructions that its intrinsics become."""

from __future__ import annotations

import numpy as np
import pytest

import cutecc
from cutecc.errors import EmulatorError

WORKSPACE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd2, {%r2, %r1};
  setp.eq.u64 %p, %rd2, 0; @%p ret;
  atom.add.release.gpu.u32 %r3, [%rd2+4], 1; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3; ret;
}
"""


@pytest.mark.parametrize(("cooperative", "last"), [(True, 3), (False, 0)])
def test_what_a_grid_meets_by(cooperative: bool, last: int) -> None:
    """Zeros of the launch's own, where it is cooperative."""
    x = np.zeros(1, np.uint32)
    for _ in range(2):
        cutecc.emulate_ptx(WORKSPACE, grid=3, block=1, args=[x], cooperative=cooperative)
        assert x == [last]


def video(name: str, a: np.ndarray, b: np.ndarray, c: int) -> np.ndarray:
    text = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 s) {{
  .reg .b32 %r<5>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [s]; mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4; add.u64 %rd1, %rd1, %rd4; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
  ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd2]; mov.u32 %r4, {c};
  {name} %r4, %r2, %r3, %r4; st.global.u32 [%rd3], %r4; ret;
}}
"""
    result = np.zeros_like(a)
    cutecc.emulate_ptx(text, grid=1, block=a.size, args=[a, b, result])
    return result


OPERATIONS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("how", ["u32.u32.u32", "s32.s32.s32.sat", "u32.u32.s32.sat", "u32.u32.u32.add"])
def test_several_integers_in_a_register(operation: str, count: int, how: str) -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 1 << 32, (2, 32)).astype(np.uint32)
    result, first, second, *more = how.split(".")
    width = {2: "16", 4: "8"}[count]
    parts = [
        x.view(f"{'u' * (kind == 'u32')}int{width}").reshape(32, count).astype(np.int64)
        for x, kind in ((a, first), (b, second))
    ]
    found = OPERATIONS[operation](*parts)
    if more == ["add"]:
        expected = (5 + found.sum(axis=1)).astype(np.uint32)
    else:
        kind = np.dtype(f"{'u' * (result == 'u32')}int{width}")
        if more == ["sat"]:
            found = found.clip(np.iinfo(kind).min, np.iinfo(kind).max)
        expected = np.ascontiguousarray(found.astype(kind)).view(np.uint32)[:, 0]
    assert video(f"{operation}{count}.{how}", a, b, 5).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "form", ["tex.1d.v4.f32.s32 {%f, %f, %f, %f}, [%rd, {%r}]", "suld.b.1d.b32.trap %r, [%rd, {%r}]"]
)
def test_textures_are_refused_in_plain_words(form: str) -> None:
    text = f""".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 t) {{
      .reg .b64 %rd; .reg .b32 %r; .reg .f32 %f; ld.param.u64 %rd, [t]; mov.u32 %r, 0; {form}; ret; }}"""
    with pytest.raises(EmulatorError, match="the emulator has no textures and no surfaces, which '"):
        cutecc.emulate_ptx(text, grid=1, block=1, args=[None])
