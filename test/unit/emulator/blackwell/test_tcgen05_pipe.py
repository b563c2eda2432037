"""The tensor pipe: what is issued to it happens in order, however much of it waits."""

from __future__ import annotations

import numpy as np
import pytest

import cutecc
from cutecc.emulator.machine.schedule import Random
from cutecc.emulator.options import EmulatorOptions

COUNT = 2000
"""Python calls no 1000 functions within one another."""
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n"
COMMITS = f"""
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 x) {{
  .shared .align 8 .b64 barrier;
  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<3>;
  mov.u32 %r1, barrier; mov.u32 %r2, 7;
  mbarrier.init.shared.b64 [%r1], {COUNT};
  {COMMIT * COUNT}
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT;
  ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], %r2; ret;
}}
"""


def test_the_newest_of_many_happens_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Random, "lets_happen", lambda _, pending: pending - 1 if pending > COUNT - 300 else None)
    x = np.zeros(1, np.uint32)
    cutecc.emulate_ptx(COMMITS, grid=1, block=1, args=[x], options=EmulatorOptions(schedule="random"))
    assert x == [7]
