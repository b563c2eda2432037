"""The threads of warps, as arrays have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Of shape `(warps, 32)`, one element a thread, unless said otherwise."""
Mask = NDArray[np.bool_]

WARP = 32
"""Threads."""
