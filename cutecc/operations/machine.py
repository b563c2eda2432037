"""What a streaming multiprocessor (SM) of a target does in a cycle, from NVIDIA's architecture whitepapers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cutecc.target import Target


@dataclass(frozen=True)
class Machine:
    """What a target does in a cycle."""

    multiprocessors: int
    """Of the largest product of this architecture in data centers: A100, A40, Orin, L40, H100 and H200 SXM, B200, B300,
    Thor, RTX PRO 6000 Blackwell, GB10."""
    tensor: int
    """Multiply-adds of f16 a cycle and SM by `mma.sync`."""
    warpgroup: int
    """The same by `wgmma`; 0 where there is none."""
    f64: int
    """Multiply-adds of f64 a cycle and SM outside of tensor cores."""
    f64_tensor: int
    f32: int
    l2_bytes: float
    """Bytes a cycle and SM from the L2 cache."""


_MACHINES: dict[tuple[int, int], Machine] = {
    (8, 0): Machine(108, 1024, 0, 32, 64, 64, 46),
    (8, 6): Machine(84, 512, 0, 2, 2, 128, 28),
    (8, 7): Machine(16, 512, 0, 2, 2, 128, 28),
    (8, 9): Machine(142, 512, 0, 2, 2, 128, 28),
    (9, 0): Machine(132, 1280, 2048, 64, 128, 128, 46),
    (10, 0): Machine(148, 1024, 0, 64, 64, 128, 46),
    (10, 3): Machine(148, 1024, 0, 2, 2, 128, 46),
    (11, 0): Machine(20, 512, 0, 2, 2, 128, 28),
    (12, 0): Machine(188, 512, 0, 2, 2, 128, 28),
    (12, 1): Machine(48, 512, 0, 2, 2, 128, 28),
}
GLOBAL_BYTES = 16
"""A cycle and SM to and from global memory."""


@cache
def machine(target: str) -> Machine:
    parsed = Target.parse(target)
    return _MACHINES[parsed.major, parsed.minor]
