"""Results for some threads, what was there before for the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutecc.emulator.numbers.compiled import Ufunc, compile_ufunc, together

_mergers: dict[np.dtype[Any], Ufunc] = {}


def merger(dtype: np.dtype[Any]) -> Ufunc:
    """`merge(mask, new, old)` for arrays of bools or unsigned integers: `numpy.where` in a third of its time."""
    with together():
        found = _mergers.get(dtype)
        if found is None:
            type_ = "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"
            types = ["i1", type_, type_]
            found = compile_ufunc("merge", lambda mask, new, old: mask.then(new, old), types, [type_], later=True)
            _mergers[dtype] = found
    return found
