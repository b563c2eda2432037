"""Special registers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hand import make_gang, make_machine

from cutecc.emulator.instructions.special import read_special
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.machine import Shape
from cutecc.errors import EmulatorError
from cutecc.ptx.operands import SPECIAL_REGISTERS

LANES = np.arange(32)
ABSENT = ("%pm", "%reserved_smem_offset")


def gang_of(shape: Shape, blocks: int = 1) -> Gang:
    memory = SimpleNamespace(shared_bytes=shape.shared_bytes)
    return make_gang(make_machine(shape.threads, blocks, memory=memory, shape=shape))


def value(gang: Gang, name: str) -> list[list[int]]:
    found, _ = read_special(gang, name)
    assert found.shape == gang.shape
    assert found.dtype.kind in "ub"
    return found.astype(np.int64).tolist()


@pytest.mark.parametrize("name", sorted(SPECIAL_REGISTERS))
def test_every_register_has_a_value_or_an_error(name: str) -> None:
    gang = gang_of(Shape((1, 1, 1), (32, 1, 1)))
    if name.startswith(ABSENT):
        with pytest.raises(EmulatorError, match=name):
            read_special(gang, name)
    else:
        value(gang, name)


def test_threads_of_a_block_with_three_dimensions() -> None:
    gang = gang_of(Shape((5, 1, 1), (4, 6, 2)))
    threads = np.arange(64).reshape(2, 32)
    assert value(gang, "%tid.x") == (threads % 4).tolist()
    assert value(gang, "%tid.y") == (threads // 4 % 6).tolist()
    assert value(gang, "%tid.z") == (threads // 24).tolist()
    assert [value(gang, f"%ntid.{axis}")[1][7] for axis in "xyzw"] == [4, 6, 2, 0]
    assert [value(gang, f"%nctaid.{axis}")[0][0] for axis in "xyz"] == [5, 1, 1]
    assert value(gang, "%laneid") == [LANES.tolist()] * 2
    assert value(gang, "%warpid") == [[0] * 32, [1] * 32]


def test_blocks_of_a_gang() -> None:
    gang = gang_of(Shape((3, 1, 1), (32, 1, 1)), blocks=3)
    assert value(gang, "%ctaid.x") == [[0] * 32, [1] * 32, [2] * 32]
    assert value(gang, "%smid") == [[0] * 32, [1] * 32, [2] * 32]
    assert value(gang, "%is_explicit_cluster") == [[0] * 32] * 3


def test_clusters() -> None:
    machine = make_machine(32, 0, memory=None, shape=Shape((4, 4, 1), (32, 1, 1), (2, 2, 1)))
    cluster = Cluster((1, 0, 0), (2, 2, 1))
    block = Block((3, 1, 0), 0, 32, cluster, 3)
    cluster.blocks.append(block)
    gang = Gang(machine, [(block, 0)], [])
    names = ("clusterid.x", "clusterid.y", "nclusterid.x", "nclusterid.y", "cluster_ctaid.x", "cluster_ctaid.y")
    assert [value(gang, f"%{name}")[0][9] for name in names] == [1, 0, 2, 2, 1, 1]
    names = ("cluster_nctaid.x", "cluster_nctaid.z", "cluster_ctarank", "cluster_nctarank", "is_explicit_cluster")
    assert [value(gang, f"%{name}")[0][9] for name in names] == [2, 1, 3, 4, 1]


def test_lane_masks() -> None:
    gang = gang_of(Shape((1, 1, 1), (32, 1, 1)))
    masks = {which: value(gang, f"%lanemask_{which}")[0] for which in ("eq", "lt", "le", "gt", "ge")}
    for lane in range(32):
        assert masks["eq"][lane] == 1 << lane
        assert masks["lt"][lane] == sum(1 << other for other in range(lane))
        assert masks["le"][lane] == masks["lt"][lane] | masks["eq"][lane]
        assert masks["gt"][lane] == 0xFFFFFFFF - masks["le"][lane]
        assert masks["ge"][lane] == masks["gt"][lane] | masks["eq"][lane]


@pytest.mark.parametrize(
    ("target", "own", "warps"),
    [
        *[("sm_90a", 2176, 64), ("sm_80", 3200, 64), ("sm_89", 3200, 48)],
        *[("sm_103a", 2176, 64), ("sm_110f", 2176, 48), ("sm_120a", 2176, 48)],
    ],
)
def test_shared_memory_and_warps_of_an_sm(target: str, own: int, warps: int) -> None:
    gang = gang_of(Shape((1, 1, 1), (32, 1, 1), (1, 1, 1), 2000, 3100, target))
    names = ("dynamic_smem_size", "total_smem_size", "aggr_smem_size", "nwarpid")
    assert [value(gang, f"%{name}")[0][0] for name in names] == [2000, own, 3200, warps]


@pytest.mark.parametrize("name", ["%clock", "%clock64", "%globaltimer"])
def test_time_goes_on(name: str) -> None:
    gang = gang_of(Shape((1, 1, 1), (32, 1, 1)))
    before, state = gang.special(name), gang.machine.state
    after = gang.special(name)
    assert (after > before).all()
    assert gang.machine.state > state


def test_constant_registers_are_made_once() -> None:
    gang = gang_of(Shape((1, 1, 1), (32, 1, 1)))
    assert gang.special("%tid.x") is gang.special("%tid.x")
