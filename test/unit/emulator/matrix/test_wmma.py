"""`wmma`: loads, products and stores against numpy, and what the checks and counters are told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import cutecc
from cutecc.errors import EmulatorError

sys.path[:0] = [str(Path(__file__).parent)]

from wmma_kernels import PRODUCTS, Product  # noqa: E402

ALL = cutecc.EmulatorOptions(check="all")
F16 = Product((16, 16, 16), ("f32", "f16", "f16", "f32"))


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 256 bytes, as allocators of a GPU place it."""
    room = np.zeros(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def run(product: Product, gap: int = 0, options: cutecc.EmulatorOptions = ALL) -> tuple[np.ndarray, cutecc.Emulation]:
    """D as numbers."""
    inputs = product.inputs()
    given = [aligned(product.memory(role, each, gap)) for role, each in inputs.items()]
    d = aligned(product.empty(gap))
    found = cutecc.emulate_ptx(product.text(gap=gap), grid=1, block=32, args=[*given, d], options=options)
    return product.result(d), found


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_products(product: Product) -> None:
    result, found = run(product)
    expected = product.expected(product.inputs())
    assert found.ok
    if product.types[0] == "f64":
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    else:
        assert (result == expected).all()


@pytest.mark.parametrize("product", PRODUCTS[::5], ids=str)
def test_strides(product: Product) -> None:
    """Lines that do not follow one another; what is between them is left alone."""
    gap = 256 // min(8, {"s4": 4, "u4": 4, "b1": 1}.get(product.types[1], 8))
    assert (run(product, gap)[0] == run(product)[0]).all()


def test_a_gap_is_no_part_of_the_matrix() -> None:
    d = np.full((16, 24), 7, np.float32)
    text = F16.text().replace(
        "[%d], {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7};", "[%d], {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, 24;"
    )
    zeros = [aligned(np.zeros((16, 16), each)) for each in (np.float16, np.float16, np.float32)]
    d = aligned(d)
    cutecc.emulate_ptx(text, grid=1, block=32, args=[*zeros, d])
    assert (d[:, :16] == 0).all() and (d[:, 16:] == 7).all()


def test_counters() -> None:
    found = run(F16, options=cutecc.EmulatorOptions(counters=True))[1]
    assert found.counters is not None
    total = found.counters.total()
    assert (total.matrix_operations, total.matrix_flops) == (1, 2 * 16**3)
    assert total.global_bytes_read == 2 * 512 + 1024 and total.global_bytes_written == 1024
    assert [*found.counters.by_matrix_kind()] == ["wmma f16"]


@pytest.mark.parametrize("line", [15, 4])
def test_a_line_that_begins_anywhere(line: int) -> None:
    """An odd stride, or one that is no multiple of 16 bytes."""
    text = F16.text().replace("[%a];", f"[%a], {line};")
    arrays = [aligned(np.zeros(1024, each)) for each in (np.float16, np.float16, np.float32, np.float32)]
    with pytest.raises(EmulatorError, match="a row begins at an address that is not a multiple of 16"):
        cutecc.emulate_ptx(text, grid=1, block=32, args=arrays)


SHARED = """.version 7.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pd) {
.shared .align 32 .b8 s[1024]; .reg .b64 %d; .reg .b32 %i, %n; .reg .pred %p;
.reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>;
ld.param.u64 %d, [pd]; mov.u32 %i, s; mov.u32 %n, %tid.x; mad.lo.u32 %n, %n, 16, %i;
FILL
bar.warp.sync -1;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, [%i];
wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}, [%i+512];
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7},
  {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7},
  {0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000};
wmma.store.d.sync.aligned.col.m16n16k16.f32 [%d], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, 16;
ret; }
"""
WORD = 0x3C003C00
"""Two ones."""


def shared(fill: str) -> tuple[np.ndarray, list[str]]:
    d = aligned(np.zeros((16, 16), np.float32))
    found = cutecc.emulate_ptx(SHARED.replace("FILL", fill), grid=1, block=32, args=[d], options=ALL)
    return d, [each.kind for each in found.findings]


def test_shared_memory() -> None:
    ones = ", ".join([str(WORD)] * 4)
    d, kinds = shared(f"st.shared.v4.b32 [%n], {{{ones}}}; st.shared.v4.b32 [%n+512], {{{ones}}};")
    assert not kinds and (d == 16).all()


def test_what_nothing_has_written() -> None:
    ones = ", ".join([str(WORD)] * 4)
    assert shared(f"st.shared.v4.b32 [%n], {{{ones}}};")[1] == ["uninitialised-shared"]


def test_a_missing_barrier() -> None:
    ones = ", ".join([str(WORD)] * 4)
    fill = f"st.shared.v4.b32 [%n], {{{ones}}}; st.shared.v4.b32 [%n+512], {{{ones}}};"
    text = SHARED.replace("FILL", fill).replace("bar.warp.sync -1;", "")
    found = cutecc.emulate_ptx(
        text.replace("%tid.x", "%laneid"), grid=1, block=64, args=[aligned(np.zeros((16, 16), np.float32))], options=ALL
    )
    assert "race" in {each.kind for each in found.findings}


def test_saturated_floats() -> None:
    """`.satfinite` of floats, which PTX had until 6.5."""
    product = Product((16, 16, 16), ("f16", "f16", "f16", "f16"), end=".satfinite")
    a = np.full((16, 16), 60000, np.float16)
    a[0], a[1] = -60000, np.nan
    b = np.full((16, 16), 60000, np.float16)
    d = aligned(np.zeros((16, 16), np.float16))
    arrays = [*map(aligned, (a, b, np.zeros((16, 16), np.float16))), d]
    cutecc.emulate_ptx(product.text(), grid=1, block=32, args=arrays)
    assert d[:, 0].tolist() == [-65504.0, 0.0, *[65504.0] * 14]


@pytest.mark.parametrize(
    "form",
    [
        "wmma.load.a.sync.aligned.row.m16n16k8.f16 {%a0, %a1}, [%d]",
        "wmma.load.a.sync.aligned.col.m8n8k32.s4 {%a0}, [%d]",
        "wmma.load.d.sync.aligned.row.m16n16k16.f32 {%a0}, [%d]",
        "wmma.store.d.sync.aligned.row.m8n8k4.f32 [%d], {%a0, %a1}",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.s8.s8.f32 {%a0}, {%a1}, {%a2}, {%a3}",
    ],
)
def test_what_there_is_not(form: str) -> None:
    text = f""".version 7.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 d) {{
      .reg .b64 %d; .reg .b32 %a<4>; ld.param.u64 %d, [d]; {form}; ret; }}"""
    with pytest.raises(EmulatorError, match="does not model 'wmma"):
        cutecc.emulate_ptx(text, grid=1, block=32, args=[np.zeros(1024)])
