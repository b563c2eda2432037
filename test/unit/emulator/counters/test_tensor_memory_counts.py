"""What kernels of sm_100a do with tensor memory, counted."""

from __future__ import annotations

import pytest
from counted import count, instruction
from rich.console import Console

from cutecc.emulator.counters.counters import Counters
from cutecc.emulator.counters.table import counter_tables

DESCRIPTOR = 1 << 4 | (32 >> 3) << 17 | (128 >> 4) << 24
"""Of a product of 128 by 32 by 16, f16 to f32."""
SHARED = 128 >> 4 << 16 | 256 >> 4 << 32 | 1 << 46
"""Of rows in groups of 8, 256 bytes apart."""
BODY = f"""
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;
  ld.shared.u32 %r4, [%r3];
  mov.b32 %r5, 1;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r4], {{{{%r5, %r5}}}};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {{{{%r6, %r7, %r8, %r9}}}}, [%r4];
  tcgen05.wait::ld.sync.aligned;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  cvt.u64.u32 %rd2, %r3;
  shr.u64 %rd2, %rd2, 4;
  or.b64 %rd2, %rd2, {SHARED};
  add.u32 %r10, %r4, 32;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%r10], %rd2;
  setp.eq.u32 %p2, %r1, 1;
  tcgen05.mma.cta_group::1.kind::f16 [%r4], %rd2, %rd2, {DESCRIPTOR}, %p2;
  setp.eq.u32 %p2, %r1, 0;
  tcgen05.mma.cta_group::1.kind::f16.collector::a::discard [%r4], %rd2, %rd2, {DESCRIPTOR}, %p2;
DONE:
  bar.sync 0;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;
""".replace("{{", "{").replace("}}", "}")


@pytest.fixture(scope="module", params=["round-robin", "adversarial"])
def counters(request: pytest.FixtureRequest) -> Counters:
    return count(BODY, blocks=2, target="sm_100a", schedule=request.param)


def test_bytes_of_tensor_memory(counters: Counters) -> None:
    accumulators = 128 * 32 * 4
    expected = {
        "tcgen05.st.sync.aligned.32x32b.x2.b32": (0, 32 * 2 * 4),
        "tcgen05.ld.sync.aligned.32x32b.x4.b32": (32 * 4 * 4, 0),
        "tcgen05.cp.cta_group::1.32x128b.warpx4": (0, 4 * 32 * 16),
        "tcgen05.mma.cta_group::1.kind::f16": (0, accumulators),
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::discard": (accumulators, accumulators),
    }
    for form, (read, written) in expected.items():
        counts = instruction(counters, form).counts
        assert (counts.tensor_bytes_read, counts.tensor_bytes_written) == (2 * read, 2 * written), form
    copied = instruction(counters, "tcgen05.cp.cta_group::1.32x128b.warpx4").counts
    assert copied.async_shared_bytes_read == 2 * 32 * 16


def test_products_by_kind(counters: Counters) -> None:
    (found,) = counters.by_matrix_kind().items()
    kind, counts = found
    assert kind == "tcgen05 kind::f16"
    assert (counts.matrix_operations, counts.matrix_flops) == (4, 4 * 2 * 128 * 32 * 16)
    (kernel,) = counters.to_dict()["kernels"]
    assert kernel["matrix"] == {kind: {"operations": 4, "flops": counts.matrix_flops}}


def test_they_are_in_the_table(counters: Counters) -> None:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(counter_tables(counters, width=100))
    assert "tensor memory: 33.8k bytes read, 70.1k written" in capture.get()
    assert "matrix: 4 operations of tcgen05 kind::f16, 524k multiplications and additions" in capture.get()
