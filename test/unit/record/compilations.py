"""Arbitrary compilations, as hypothesis makes them."""

from __future__ import annotations

import typing

import msgspec
from hypothesis import strategies as st

from cutecc.record import Compilation, Versions, compilation, warp_request


def compilations() -> st.SearchStrategy[Compilation]:
    """Any compilation: every field of every data class of the record, from its type."""
    st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
    for kind in (*vars(warp_request).values(), *vars(compilation).values()):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            st.register_type_strategy(kind, _with_every_field(kind))
    return _with_every_field(Compilation)


def _with_every_field(kind: type) -> st.SearchStrategy:
    return st.builds(kind, **{name: _of(hint) for name, hint in typing.get_type_hints(kind).items()})


def _of(hint: object) -> st.SearchStrategy:
    """Any value of a type; lists are short, since what they hold has lists too."""
    if typing.get_origin(hint) is list:
        return st.lists(_of(typing.get_args(hint)[0]), max_size=3)
    return st.from_type(hint)  # pyright: ignore[reportArgumentType]


def small() -> Compilation:
    return Compilation("k", "sm_80", "cse", Versions("0", "3", "4.8.1", "built in"))
