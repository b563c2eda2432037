"""Arbitrary compilations, as hypothesis makes them."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from cutecc.record import Compilation, Versions


def compilations() -> st.SearchStrategy[Compilation]:
    """Any compilation: every field of every data class of the record, from its type."""
    st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
    return st.builds(Compilation, **{field.name: st.from_type(hint) for field, hint in _hints()})


def _hints() -> list[tuple[dataclasses.Field, object]]:
    import typing

    hints = typing.get_type_hints(Compilation)
    return [(field, hints[field.name]) for field in dataclasses.fields(Compilation)]


def small() -> Compilation:
    return Compilation("k", "sm_80", "cse", Versions("0", "3", "4.8.1", "built in"))
