"""Operations of the layout algebra, lowered by cutecc's passes, compute what they do lowered by the wheel's.

Each is asked about with everything known, and as mutants of which some numbers are `?`. `HYPOTHESIS_PROFILE=long`
looks at forty times as many, each time at others.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
import wheel_oracle as wheel
from drawn_operands import Drawing
from open_values import values_of
from operation_cases import CASES
from operation_mutants import mutant
from wheel_oracle import Expression, Leaves, Undefined, Written, expression

from cutecc.errors import Error, ParseError
from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse

_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
_DRAWN = 400 if _LONG else 10
"""Cases for each operation, each with two mutants."""

_REFUSED = (
    # The wheel goes on: with sizes below 1, or as if offsets were not visited twice.
    *("is not injective", "is negative", "sizes are at least 1"),
    *("with several modes, strides have to be known", "divides the other"),
    # It recasts to a swizzle with a base below 0, and takes one apart whose offset shares bits with the coordinate.
    *("moves bits within one of the new elements", "cannot be taken apart into the strides"),
)
"""Parts of cutecc's errors where the wheel answers."""


FOUND = [
    (expression("tile_to_shape", "2:1", "((3,?))", "(0)"), (4,)),
    (expression("tile_to_shape", "(2,2):(1,2)", "((3,?),4)", "(1,0)"), (4,)),
    (expression("slice", "S<3,4,3> o 0 o (64,128):(1,64)", "(?,_)"), (17,)),
    (expression("slice", "S<3,4,3> o 192 o (16,64):(1,512)", "(_,16)"), ()),
    (expression("slice", "S<2,1,-3> o 0 o ((8),32):((1),8)", "((3),_)"), ()),
    (expression("tuple_sub", "(10,8)", "(3,2,?)"), (5,)),
    (expression("tuple_sub", "0", "(?,0)"), (8,)),
    (expression("tuple_add", "0", "((5,?),5)"), (7,)),
    (expression("tuple_mul", "(5,?)", "(33)"), (16,)),
    (expression("tuple_div", "(?)", "(33,?,17)"), (17, 16)),
    (expression("recast_layout", "(4,8):(?,1)", new_type_bits=32, old_type_bits=8), (2,)),
    (expression("recast_layout", "4:?{i64}", new_type_bits=32, old_type_bits=8), (-3,)),
    (expression("recast_layout", "16:? o 3 o (8,?):(4,1)", new_type_bits=32, old_type_bits=64), (8, 16)),
    (expression("append_to_rank", "shape (4,?)", "shape (2,3)", rank=3), (5,)),
    (expression("append_to_rank", "coord _", "coord (2,?)", rank=2), (5,)),
    (expression("prepend_to_rank", "stride (?@0,1@1)", "stride 0", rank=4), (5,)),
    (expression("dice", "coord (3,?)", coord='#cute.coord<"(_,1)">'), (5,)),
    (expression("dice", "stride ((?,1),2)", coord='#cute.coord<"((1,_),1)">'), (5,)),
    (expression("dice", "S<3,3,3> o 0 o (8,?):(1,8)", coord='#cute.coord<"(_,0)">'), (5,)),
    (expression("get", "(16,?):(4,64) o 0 o (64,(8,2)):(1,(512,256))", mode=[1]), (8,)),
    (expression("cosize", "S<2,4,3> o 0 o ((6,?),2):((1,6),2)", mode=[0, 1]), (16,)),
    (expression("complement", "(2,?):(1,2)", "(32,16):(1,32)"), (8,)),
    (expression("get_layouts_from_tile", "[[?:1;3:4];_;2:1]"), (32,)),
    (expression("ceil_div", "shape (8,?)", "tile (2,2):(1,4)"), (8,)),
    (expression("ceil_div", "int_tuple ((16,1),5)", "[2:?]"), (2,)),
    (expression("ceil_div", "shape ((2),(?,3),32)", "[16:1;4:1]"), (6,)),
    (expression("get_scalars", "S<3,4,3>"), ()),
    (expression("get_scalars", "S<3,4,3> o ? o (2,?):(?,2)"), (16, 3, 2)),
    (expression("get_scalars", "stride (1@0,?@1@2)"), (3,)),
    (expression("get_flat_coord", "i32", "(?,4):(?,1)"), (9, 8, 0)),
    (expression("get_flat_coord", "i32", "(4,(6,2)):(-1,(0,12))"), (8,)),
    (expression("ceil_div", "shape ((64,4),?)", "[[?:2]]"), (3, 2)),
    (expression("ceil_div", "int_tuple ((3,3),(?,0))", "shape (3,4)"), (5,)),
    (expression("equal", "stride (1@0,?)", "stride (1@1,2)"), (2,)),
    (expression("equal", "coord (?,3)", "coord (1,_)"), (1,)),
    (expression("equal", "(2,?):(1,2)", "(2,(3,4)):(1,(2,4))"), (3,)),
    (expression("complement", "((1,1),1):((1@0@0,1@1@0),1@1)", "shape (4,(16,3),8)"), ()),
    (expression("left_inverse", "(2,(8,1),3):(1@0,(2@0@1,1@1@1),1@2)"), ()),
    (expression("complement", "(2,(8,8)):(1@0,(1@0@1,1@1@1))", "shape 32"), ()),
]
"""What once gave other numbers or failed, with the values of the leaves."""


@pytest.mark.parametrize(("case", "leaves"), FOUND, ids=lambda each: getattr(each, "operation", ""))
def test_computes_what_the_wheel_computes(case: Expression, leaves: Leaves) -> None:
    assert compare([(case, leaves)]) == (1, [])


def test_a_swizzle_that_the_type_takes_apart_wrongly_is_refused() -> None:
    case = expression("slice", "S<3,3,3> o 192 o (2,(3,8)):(1,(2,6))", "(5,(2,_))")
    (written,) = wheel.written([case])
    with plain_values(), fresh_context(), pytest.raises(Error) as raised:
        values_of(parse(written.text.encode()), written, ())
    assert "cannot be taken apart into the strides of" in raised.value.message


@pytest.mark.slow
@pytest.mark.parametrize("operation", CASES)
def test_mutants_compute_what_the_wheel_computes(operation: str) -> None:
    seed = random.randrange(1 << 32) if _LONG else 0
    chosen = random.Random(f"{operation} {seed}")
    drawing = Drawing(chosen)
    asked: list[tuple[Expression, Leaves]] = []
    for _ in range(_DRAWN):
        case = CASES[operation](drawing)
        asked += [mutant(case, chance, chosen) for chance in (0, chosen.choice((0.3, 0.6)), 1)]
    compared, different = compare(list(dict.fromkeys(asked)))
    assert not different, f"seed {seed}:\n" + "\n".join(sorted(different, key=len)[:10])
    assert compared


def compare(asked: list[tuple[Expression, Leaves]]) -> tuple[int, list[str]]:
    """How many of the cases both sides compute alike, and what differs."""
    with plain_values(), fresh_context():
        made = zip(asked, wheel.written(case for case, _ in asked), strict=True)
        readable = [(case, written, module) for case, written in made if (module := module_of(written)) is not None]
        answers = wheel.values(case for case, _, _ in readable)
        compared, different = 0, list[str]()
        for ((case, leaves), written, module), theirs in zip(readable, answers, strict=True):
            problem = difference(module, written, leaves, theirs)
            if problem is None:
                compared += not isinstance(theirs, Exception)
                continue
            operands = " | ".join(map(str, case.operands))
            different.append(f"{case.operation} of {operands} {dict(case.attributes) or ''}, {leaves}: {problem}")
        return compared, different


def module_of(written: Written | Exception) -> ir.Module | None:
    """The module of an expression; none where the wheel refuses it, or makes what it does not read again."""
    if isinstance(written, Exception):
        return None
    try:
        return parse(written.text.encode())
    except ParseError:
        return None


def difference(module: ir.Module, written: Written, leaves: Leaves, theirs: Any) -> str | None:
    """What cutecc does that the wheel does not."""
    expected = f"{', '.join(written.results)}, the wheel {theirs!r}, cutecc"
    try:
        ours = values_of(module, written, leaves)
    except Undefined as undefined:
        return None if isinstance(theirs, Exception) else f"{expected}: {undefined}"
    except Error as error:
        is_told = "this is a bug" not in error.message
        expects = isinstance(theirs, Exception) or any(part in error.message for part in _REFUSED)
        return None if is_told and expects else f"{expected} refuses: {error.message}"
    except Exception as failure:
        return f"{expected} fails: {failure!r}"
    if isinstance(theirs, Exception) or ours == theirs:
        return None
    # Of some indices that it cannot fold the wheel lowers nothing at all.
    is_answer = theirs or not any("?" in result for result in written.results)
    return f"{expected} {ours}" if is_answer else None
