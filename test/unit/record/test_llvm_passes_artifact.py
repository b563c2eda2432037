"""LLVM's passes in a record: what is written is read, and damage is refused with a sentence."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from cutecc.errors import RecordError
from cutecc.record.llvm_passes import LlvmPass, LlvmPasses, MissedOptimisation, decode, encode
from cutecc.support.locations import Frame


def made(name: str, kind: str = "llvm-ir", function: str = "f", **changes: object) -> LlvmPass:
    plain = LlvmPass(name, name, kind, function, None, "a\nb\n", [0, -1])  # pyright: ignore[reportArgumentType]
    return msgspec.structs.replace(plain, **changes)


WHOLE = LlvmPasses(
    [(Frame("k.py", 3, 1),)],
    [
        made("input"),
        made("GVN"),
        made("isel", "machine-ir"),
        made("isel", "machine-ir", "g"),
        made("cse", "machine-ir"),
    ],
    [MissedOptimisation("LICM", "no", 0, 2)],
)


def test_round_trip() -> None:
    assert decode(encode(WHOLE)) == WHOLE
    assert WHOLE.place(0) == (Frame("k.py", 3, 1),)
    assert WHOLE.place(-1) is None


def test_before_a_pass_is_the_same_code_earlier() -> None:
    given, gvn, isel, _, cse = WHOLE.passes
    assert WHOLE.before(given) is None
    assert WHOLE.before(gvn) is given
    assert WHOLE.before(isel) is None  # its input is LLVM IR
    assert WHOLE.before(cse) is isel  # not that of another function


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "damaged"),
        (b"nothing", "damaged"),
        (zlib.compress(b"[]"), "damaged"),
        (encode(LlvmPasses(passes=[made("x", places=[0, 0])])), "a place"),
        (encode(LlvmPasses(passes=[made("x", places=[-1])])), "another number of lines"),
        (encode(LlvmPasses(missed=[MissedOptimisation("x", "y", -2)])), "a place"),
        (encode(LlvmPasses([()])), "a place"),
    ],
)
def test_damage_is_told(data: bytes, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        decode(data)
