"""The response of `clusterlaunchcontrol.try_cancel`, as `query_cancel` decodes it.

PTX ISA, 9.7.13.17 "clusterlaunchcontrol.try_cancel" and 9.7.13.18 "clusterlaunchcontrol.query_cancel". The manual calls
the 16 bytes opaque; the fields here are those that ptxas makes the queries of for sm_100a. A program sees them only if
it looks at the bytes itself.
"""

from __future__ import annotations

from dataclasses import dataclass

RESPONSE_BYTES = 16
"""Also what the barrier's transaction count gets, in each block of the cluster with `.multicast::cluster::all`."""


@dataclass(frozen=True)
class Response:
    """Of a request: the index of the first block of a cluster that will not be launched, or None."""

    first_block: tuple[int, int, int] | None

    def encode(self) -> bytes:
        if self.first_block is None:
            return bytes(RESPONSE_BYTES)
        x, y, z = self.first_block
        return (x | y << 32 | z << 48 | 1 << 64).to_bytes(RESPONSE_BYTES, "little")

    @staticmethod
    def decode(response: bytes) -> Response:
        """What is undefined, the block's index of a request that failed, is not looked at."""
        bits = int.from_bytes(response, "little")
        if not bits >> 64 & 1:
            return Response(None)
        return Response((bits & 0xFFFFFFFF, bits >> 32 & 0xFFFF, bits >> 48 & 0xFFFF))


def may_request_again(observed: Response | None) -> bool:
    """Whether a block may issue another request: it is undefined once the block has seen one fail."""
    return observed is None or observed.first_block is not None
