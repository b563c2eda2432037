"""Results for some threads, what was there before for the others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from cutecc.emulator.numbers.compiled import Ufunc, compile_ufunc


@cache
def merger(dtype: np.dtype[Any]) -> Ufunc:
    """`merge(mask, new, old)` for arrays of bools or unsigned integers: `numpy.where` in a third of its time."""
    type_ = "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"
    return compile_ufunc("merge", lambda mask, new, old: mask.then(new, old), ["i1", type_, type_], [type_])
