"""Launches that CUDA refuses are refused by the emulator, with CUDA's status and a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_kernels import asking_for_nothing, compilation, host_program, ptx

from cutecc.errors import LaunchError, UsageError
from cutecc.kernel import Kernel

INVALID = "launching 'scale' on the emulator: CUDA_ERROR_INVALID_VALUE (1): invalid argument"


def launch(target: str = "sm_90a", text: str | None = None, count: int = 64, blocks: Any = None, **host: Any) -> Any:
    record = compilation(target=target, text=text, host=host_program(**host))
    return Kernel(record).emulate(np.ones(count, "f4"), 2.0, blocks=blocks)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ({"block": 1025}, "the block's x is 1,025, and CUDA allows 1 to 1,024"),
        ({"block": 0}, "the block's x is 0, and CUDA allows 1 to 1,024"),
        ({"block": (1024, 2, 1)}, "a block has 2,048 threads, and CUDA allows 1,024"),
        ({"grid": (1, 65536, 1)}, "the grid's y is 65,536, and CUDA allows 1 to 65,535"),
        (
            {"shared_bytes": 232449},
            "takes 232,449 bytes of shared memory (0 static, 232,449 dynamic), and sm_90a has 232,448 for a block",
        ),
        (
            {"shared_bytes": 49153, "entry": asking_for_nothing()},
            "sm_90a has 49,152 for a block that does not ask for more",
        ),
        ({"attributes": (("cluster", (4, 1, 1)),)}, "the grid (2, 1, 1) is no multiple of the cluster (4, 1, 1)"),
    ],
)
def test_invalid_launches(host: dict[str, Any], reason: str) -> None:
    with pytest.raises(LaunchError) as caught:
        launch(**host)
    assert caught.value.message == INVALID
    assert reason in caught.value.notes[0]
    assert caught.value.notes[1].startswith("grid (")


def test_clusters() -> None:
    with pytest.raises(LaunchError, match="CUDA_ERROR_INVALID_CLUSTER_SIZE") as caught:
        launch(attributes=(("cluster", (16, 1, 1)),), entry=asking_for_nothing(), count=512)
    assert caught.value.notes[0] == "a cluster of 16 blocks; this kernel may have 8"
    with pytest.raises(LaunchError, match="CUDA_ERROR_NOT_SUPPORTED"):
        launch("sm_80", attributes=(("cluster", (2, 1, 1)),))
    assert launch(attributes=(("cluster", (2, 1, 1)),)).launches[0].cluster == (2, 1, 1)
    with pytest.raises(LaunchError, match="CUDA_ERROR_INVALID_VALUE"):
        launch(attributes=(("cluster", (0, 1, 1)),))


def test_what_just_fits() -> None:
    assert launch(shared_bytes=232448).blocks == 2
    assert launch("sm_80", shared_bytes=163 << 10).blocks == 2
    with pytest.raises(LaunchError):
        launch("sm_80", shared_bytes=(163 << 10) + 1)


def test_another_block_than_the_kernel_is_compiled_for() -> None:
    text = ptx().replace("(.param .u64 x", "(.param .u64 x").replace(")\n{", ")\n.reqntid 64, 1, 1\n{", 1)
    with pytest.raises(LaunchError, match="CUDA_ERROR_INVALID_VALUE") as caught:
        launch(text=text)
    assert caught.value.notes[0] == "the kernel is compiled for blocks of (64, 1, 1) threads"


def test_a_grid_without_blocks() -> None:
    with pytest.raises(LaunchError, match="which has no blocks"):
        launch(count=31)
    assert launch(count=0).launches == []


def test_a_cooperative_launch_runs_whole() -> None:
    cooperative = (("cooperative", (1,)),)
    assert launch(attributes=cooperative).blocks == 2
    with pytest.raises(UsageError, match="launched cooperatively: its blocks may wait for each other, so all run"):
        launch(attributes=cooperative, blocks=1)
