"""Numbers of a launch, computed as the kernel does."""

from __future__ import annotations

import pytest

from cutecc.proving.formulas import Formula, evaluate, offset_in
from cutecc.record.host_program import KernelEntry, KernelParameter
from cutecc.runtime.launch import Launch

_TENSOR = "!llvm.struct<(struct<()>, struct<(struct<(i32, i32)>, struct<()>)>)>"
_STRIDED = "!llvm.struct<(ptr<1>, struct<(struct<(i32, i32)>, i64)>)>"


@pytest.mark.parametrize(
    ("text", "position", "offset"),
    [
        (_TENSOR, [1, 0, 1], 4),
        (_STRIDED, [1, 0, 0], 8),
        (_STRIDED, [1, 1], 16),
        ("!llvm.struct<(i1, array<3 x i16>, i32)>", [1, 2], 6),
        ("!llvm.struct<(i1, array<3 x i16>, i32)>", [2], 8),
        ("i32", [], 0),
    ],
)
def test_where_a_part_of_a_parameter_is(text: str, position: list[int], offset: int) -> None:
    assert offset_in(text, position) == offset


def test_a_part_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="i32"):
        offset_in("i32", [0])


@pytest.mark.parametrize(("size", "tiles"), [(0, 0), (1, 1), (64, 1), (65, 2), (520, 9)])
def test_tiles_of_a_size(size: int, tiles: int) -> None:
    """`ceil_div` as the DSL spells it: one more where a remainder is left."""
    parameter, tile = Formula("parameter", (1, 4)), Formula("constant", (64,))
    quotient = Formula("arith.divsi", (0, ""), (parameter, tile))
    whole = Formula("arith.muli", (0, ""), (quotient, tile))
    rest = Formula("arith.cmpi", (0, "1"), (parameter, whole), 1)
    more = Formula("arith.addi", (0, ""), (quotient, Formula("constant", (1,))))
    assert evaluate(Formula("arith.select", (0, ""), (rest, more, quotient)), _launch(size)) == tiles


@pytest.mark.parametrize(
    ("name", "width", "given", "expected"),
    [
        ("arith.subi", 32, (3, 5), -2),
        ("arith.divsi", 32, (-7, 2), -3),
        ("arith.remsi", 32, (-7, 2), -1),
        ("arith.addi", 32, (2**31 - 1, 1), -(2**31)),
        ("arith.ceildivsi", 32, (9, 2), 5),
        ("arith.trunci", 8, (300,), 44),
        ("arith.mului_extended", 32, (2**31, 6), 0),
    ],
)
def test_arithmetic(name: str, width: int, given: tuple[int, ...], expected: int) -> None:
    parts = tuple(Formula("constant", (each,), (), 64) for each in given)
    assert evaluate(Formula(name, (0, ""), parts, width), _launch(0)) == expected


def test_the_upper_half_of_a_product() -> None:
    parts = Formula("constant", (2**31 - 1,)), Formula("constant", (6,))
    assert evaluate(Formula("arith.mului_extended", (1, ""), parts), _launch(0)) == 2


def test_registers() -> None:
    launch = _launch(0)
    found = [evaluate(Formula("register", (name,)), launch) for name in ("nctaid.x", "nclusterid.x", "ctaid.x")]
    assert found == [6, 3, 0]


def test_what_is_not_modelled() -> None:
    with pytest.raises(KeyError):
        evaluate(Formula("arith.addf", (0, ""), (Formula("constant", (1,)),)), _launch(0))


def _launch(size: int) -> Launch:
    """With a tensor map and a tensor of (1, size)."""
    parameters = [KernelParameter(0, 128, 64), KernelParameter(128, 8, 4)]
    data = bytearray(128) + (1).to_bytes(4, "little") + size.to_bytes(4, "little")
    return Launch(KernelEntry("kernel", parameters, 136), (6, 1, 1), (128, 1, 1), 0, 0, {"cluster": (2, 1, 1)}, data)
