"""What the Hopper family says of itself, and what its code has: memory, registers, boxes of D, refusals."""

from __future__ import annotations

import subprocess
import sys

import pytest
from launching import compiled
from products import multiply
from test_sm90_products import CASES, ONE, TWO, hopper

from cutecc.operations.kernels import sm90
from cutecc.operations.validity import check


def of_tile(tile: str, d: str = "f16:row", mode: str = "gemm"):
    return hopper("f16:row", "f16:column", d, f"{tile}:stages=3", mode=mode)


@pytest.mark.parametrize("name", ["f16-rc", "i8-i8"])
def test_shared_memory_and_threads_are_those_of_the_launch(name: str):
    description = CASES[name]
    product = multiply(description, 200, 80, 64, kernel=compiled(description), check=None)
    (launch,) = product.emulation.launches
    assert launch.dynamic_shared_bytes == sm90.shared_memory_bytes(description)
    assert launch.block == (sm90.block_threads(description), 1, 1)
    assert launch.grid == (4, 1, 1)


def test_shared_memory_is_stages_boxes_and_barriers():
    stages, boxes = 3 * (128 + 96) * 128, 64 * 64 * 2 * 2
    assert sm90.shared_memory_bytes(of_tile(f"cooperative:128x96:{ONE}", "f16:row:1")) == stages + 1024
    assert sm90.shared_memory_bytes(of_tile(f"cooperative:128x96:{ONE}")) == stages + boxes // 2 + 1024
    assert sm90.shared_memory_bytes(of_tile(f"cooperative:128x64:{TWO}")) == stages - 3 * 32 * 128 + 2 * boxes + 1024


@pytest.mark.parametrize(
    ("tile", "threads", "rows", "registers"),
    [
        (f"cooperative:128x128:{ONE}", 256, 128, None),
        (f"cooperative:128x256:{TWO}", 384, 64, (40, 232)),
        (f"cooperative:256x160:{TWO}", 384, 128, (24, 240)),
        (f"pingpong:64x256:{TWO}", 384, 64, (40, 232)),
    ],
)
def test_warpgroups_share_rows_and_registers(tile: str, threads: int, rows: int, registers: tuple[int, int] | None):
    description = of_tile(tile)
    assert check(description)
    assert sm90.block_threads(description) == threads
    assert sm90.rows_of_warpgroup(description) == rows
    assert sm90.registers(description) == registers
    if registers is not None:
        assert registers[0] + (threads // 128 - 1) * registers[1] <= 65536 // 128


@pytest.mark.parametrize(
    ("d", "n", "columns"),
    [
        *(("f16:row", 192, 64), ("f16:row", 96, 32), ("f16:row", 48, 16), ("f16:row", 40, 0), ("f16:row", 24, 0)),
        *(("f32:row", 192, 32), ("f32:row", 24, 8), ("f8E4M3FN:row", 192, 64), ("f8E4M3FN:row", 256, 128)),
    ],
)
def test_boxes_of_d_are_as_wide_as_the_widest_swizzle_that_divides_the_tile(d: str, n: int, columns: int):
    description = of_tile(f"cooperative:64x{n}:{ONE}", d)
    output = description.epilogue.operand("D")
    assert sm90.out_columns(description, output) == columns
    assert sm90.result(description) == (output if columns else None)


def test_d_of_less_than_16_bytes_of_alignment_is_stored_from_registers():
    assert sm90.result(of_tile(f"cooperative:64x64:{ONE}", "f16:row:4")) is None


@pytest.mark.parametrize(
    ("tile", "reason", "named"),
    [
        (f"pingpong:128x64:{TWO}", "cannot also wait for their turn", "tile.schedule"),
        (f"cooperative:128x64:{TWO}:cluster=2x1", "a cluster cannot wait", "tile.cluster"),
    ],
)
def test_what_is_refused_of_serial_split_k(tile: str, reason: str, named: str):
    refusal = sm90.accepts(of_tile(tile, mode="split_k_serial"))
    assert refusal is not None
    assert reason in refusal.reason
    assert named in refusal.parts
    assert sm90.accepts(of_tile(tile)) is None


def test_loads_of_a_cluster_are_multicast_and_16_bit_results_gathered_by_matrices():
    ptx = compiled(CASES["f16-f16"]).ptx
    assert "multicast::cluster" in ptx
    for instruction in ("stmatrix", "setmaxnreg.dec", "setmaxnreg.inc", "griddepcontrol.wait"):
        assert instruction in ptx
    assert "st.global" not in ptx
    assert "multicast::cluster" not in compiled(CASES["f16-rc"]).ptx


def test_f16_sums_stay_together_in_the_main_loop():
    ptx = compiled(CASES["f16-f16"]).ptx
    loop = ptx[ptx.index("wgmma.fence") : ptx.rindex("wgmma.commit_group")]
    assert loop.count("wgmma.mma_async") == 4
    assert "mov.b32 \t{" not in loop and ", {%rs" not in loop


def test_the_interface_needs_no_dsl():
    code = "import sys; from cutecc.operations.kernels import sm90; assert 'cutlass' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
