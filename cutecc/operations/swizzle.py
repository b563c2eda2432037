"""The order in which threadblocks take the tiles of D."""

from __future__ import annotations

from typing import Literal, get_args

from cutecc.operations.words import known_word

Swizzle = Literal["identity1", "identity2", "identity4", "identity8", "horizontal", "batched"]
"""`identityN` goes down columns of tiles in strips N tiles wide, so that blocks that run together share more of A and B
in the L2 cache; `horizontal` goes along rows; `batched` takes one matrix of a batch after the other along Z."""

SWIZZLES: tuple[Swizzle, ...] = get_args(Swizzle)


def parse_swizzle(text: str) -> Swizzle:
    """The swizzle called `text`, in any case; `UsageError` with the close names for others."""
    return known_word(text, SWIZZLES, "swizzle")  # type: ignore[return-value]
