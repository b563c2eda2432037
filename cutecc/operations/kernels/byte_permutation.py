# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Bytes of words of 32 bits, put together anew."""

from __future__ import annotations

import cutlass
from cutlass import cute


def permuted_bytes(low, high, selector) -> cutlass.Uint32:
    """The word of those bytes, of the eight of `low` and `high`, that the digits of `selector` name, lowest first."""
    return cutlass.Uint32(cute.arch.prmt(low, high, selector))


def transposed_bytes(words) -> list[cutlass.Uint32]:
    """Word `i` of the result has byte `i` of each of the four words."""
    a, b, c, d = words
    low = permuted_bytes(a, b, 0x5140), permuted_bytes(c, d, 0x5140)
    high = permuted_bytes(a, b, 0x7362), permuted_bytes(c, d, 0x7362)
    return [permuted_bytes(*pair, selector) for pair in (low, high) for selector in (0x5410, 0x7632)]
