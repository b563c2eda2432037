"""The oracle itself: that it asks the wheel what it says it asks, and survives what the wheel does not."""

from __future__ import annotations

import pytest
import wheel_oracle as wheel
import worked_examples
from hypothesis import given, settings
from hypothesis import strategies as st
from wheel_oracle import expression

# Both modes of the block overlap, and the wheel divides by the empty mode of its complement.
ABORTS = expression("logical_product", "(2,2):(1,1)", "(2,2):(1,2)")
DIVIDE = expression("zipped_divide", "(?,?):(?{i64 div=4},1)", "[16:1;128:1]")


@pytest.mark.parametrize(
    ("operation", "operands", "attributes", "result"),
    [
        ("composition", ["(4,8):(8,1)", "(2,4):(1,2)"], {}, "(2,(2,2)):(8,(16,1))"),
        ("composition", ["S<3,4,3> o 0 o (8,64):(64,1)", "[4:2;8:8]"], {}, "S<3,4,3> o 0 o (4,8):(128,8)"),
        (DIVIDE.operation, DIVIDE.operands, {}, "((16,128),(?,?)):((?{i64 div=4},1),(?{i64 div=64},128))"),
        ("complement", ["4:2", "24"], {}, "(2,3):(1,8)"),
        ("size", ["(3,?{div=4})"], {}, "?{div=12}"),
        ("size", ["((2,3),4)"], {"mode": [0, 1]}, "3"),
        ("get", ["((2,3),4):((1,2),6)"], {"mode": [0]}, "(2,3):(1,2)"),
        ("make_layout", ["(2,?)", "(12,1)"], {}, "(2,?):(12,1)"),
        ("size", ["coord (3,4)"], {}, "12"),
        ("dice", ["(4,8):(8,1)"], {"coord": '#cute.coord<"(1,_)">'}, "(4):(8)"),
        (
            "slice",
            ['!cute.coord_tensor<"(0,0)", "(4,4):(1@0,1@1)">', "(2,_)"],
            {},
            '!cute.coord_tensor<"(2,0)", "(4):(1@1)">',
        ),
    ],
)
def test_types(operation, operands, attributes, result):
    assert wheel.evaluate(operation, *operands, **attributes) == result


def test_operands_can_be_expressions():
    tile = expression("get", expression("zipped_divide", "(8,16):(16,1)", "(4,8)"), mode=[0])
    assert wheel.results(expression("coalesce", tile)) == ("(4,8):(16,1)",)


def test_an_operation_with_several_results():
    assert wheel.results(expression("get_leaves", "(1,(?,3))")) == ("1", "?", "3")


def test_a_refusal_carries_the_diagnostic():
    with pytest.raises(wheel.Refused, match=r"unable to compute the following composition: .*\(4,8\):\(8,1\).*6:1"):
        wheel.evaluate("composition", "(4,8):(8,1)", "6:1")


@pytest.mark.parametrize("text", ["4:1/2", "_:1", "4:99999999999999999999"])
def test_text_that_the_wheel_silently_takes_for_something_empty_is_refused(text):
    with pytest.raises(wheel.Refused, match="not a type"):
        wheel.canonical(text)


def test_an_error_that_the_wheel_puts_into_a_type_is_a_refusal():
    with pytest.raises(wheel.Refused, match="infers an error"):
        wheel.evaluate("complement", "(2,2):(?,1)", "16")


def test_an_unknown_operation_is_a_refusal():
    with pytest.raises(wheel.Refused, match=r"no operation cute\.flatten"):
        wheel.evaluate("flatten", "(4,8):(8,1)")


def test_an_abort_costs_only_its_own_case():
    good = expression("coalesce", "(2,4):(1,2)")
    first, aborted, second, again, last = wheel.outcomes([good, ABORTS, good, ABORTS, good])
    assert first == second == last == ("8:1",)
    assert isinstance(aborted, wheel.Aborted)
    assert isinstance(again, wheel.Aborted)
    assert "logical_product" in str(aborted)


def test_an_abort_among_values_costs_only_its_own_case():
    first, aborted, last = wheel.values([(DIVIDE, (100, 300, 400)), (ABORTS, ()), (DIVIDE, (16, 1, 4))])
    assert first == (7, 3, 400, 6400)
    assert isinstance(aborted, wheel.Aborted)
    assert last == (1, 1, 4, 64)


def test_canonical_text():
    assert wheel.canonical("?{div=4 i64}") == '!cute.int_tuple<"?{i64 div=4}">'
    assert wheel.canonical("stride (?{div=1}@0,1@1)") == '!cute.stride<"(?@0,1@1)">'
    assert wheel.canonical("(4):(1)") == '!cute.layout<"(4):(1)">'


def test_properties_of_types():
    mma = (
        "!cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), "
        'frag_kind = ss>, atom_layout_MNK = <"(2,1,1):(1,0,0)">, permutation_MNK = <"[_;_;_]">>'
    )
    assert wheel.ask_type(mma, "layout_c_tv") == "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))"
    assert wheel.ask_type(mma, "thr_layout_vmnk") == "(128,2,1,1):(1,128,0,0)"
    assert wheel.ask_type("(?{div=8},4):(1,?)", "get_divisibility", [0]) == "1"
    assert wheel.ask_type("((2,2),4):((1,2),4)", "depth") == "2"


def test_values_of_a_composed_layout_stand_in_the_order_of_the_text():
    case = expression("composition", "S<3,4,3> o ? o (?,64):(64,1)", "2:?")
    assert wheel.results(case) == ("S<3,4,3> o ? o (?,?):(?{div=64},?)",)
    assert wheel.values([(case, (7, 32, 1))]) == [(7, 2, 1, 64, 1)]


def test_values_of_a_tensor_begin_with_its_address():
    case = expression("slice", '!cute.memref<f16, gmem, "(?,128):(?{i64 div=4},1)">', "(?,_)")
    assert wheel.values([(case, (4096, 64, 512, 3))]) == [(4096 + 2 * 3 * 512,)]


def test_what_the_lowered_expression_does_not_define_has_no_value():
    by_zero, overflow = wheel.values(
        [(expression("idx2crd", "?", "(?,?)"), (9, 0, 4)), (expression("size", "(?,?)"), (1 << 20, 1 << 20))]
    )
    assert isinstance(by_zero, wheel.Undefined)
    assert isinstance(overflow, wheel.Undefined)


def test_too_many_or_too_few_leaves_are_an_error_of_the_caller():
    for leaves in [(1, 2), (1, 2, 3, 4)]:
        with pytest.raises(RuntimeError, match="leaves"):
            wheel.values([(DIVIDE, leaves)])


SHAPE = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
STRIDE = st.tuples(st.integers(-20, 20), st.integers(0, 20), st.integers(0, 20))


@settings(max_examples=100, deadline=None)
@given(SHAPE, STRIDE, st.integers(0, 2000))
def test_values_are_those_of_the_same_expression_with_everything_known(shape, stride, index):
    """The lowering and its evaluation agree with the wheel's own folding, on index maps, cosizes and divisions."""
    (a, b, c), (x, y, z) = shape, stride
    known, unknown = f"({a},({b},{c})):({x},({y},{z}))", "(?,(?,?)):(?,(?,?))"
    pairs = [
        (expression("crd2idx", str(index), known), expression("crd2idx", "?", unknown), (index, *shape, *stride)),
        (expression("cosize", known), expression("cosize", unknown), (*shape, *stride)),
        (
            expression("idx2crd", str(index), f"({a},({b},{c}))"),
            expression("idx2crd", "?", "(?,(?,?))"),
            (index, *shape),
        ),
        (expression("ceil_div", f"({a},{b})", str(c)), expression("ceil_div", "(?,?)", "?"), shape),
    ]
    folded = wheel.outcomes([known for known, _, _ in pairs])
    computed = wheel.values([(unknown, leaves) for _, unknown, leaves in pairs])
    for (text,), values in zip(folded, computed, strict=True):
        assert tuple(int(leaf) for leaf in text.replace("(", "").replace(")", "").split(",")) == values


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 3)] * 4), st.tuples(st.integers(-9, 9), st.integers(-9, 9)), st.integers(0, 63))
def test_values_of_a_composition_are_those_of_the_known_one_at_every_index(powers, stride, index):
    a, b, size, step = (2**power for power in powers)
    x, y = stride
    known = expression("composition", f"({a},{b}):({x},{y})", f"{size}:{step}")
    unknown = expression("composition", "(?,?):(?,?)", "?:?")
    (folded,) = wheel.results(expression("crd2idx", str(index % size), known))
    (computed,) = wheel.values([(expression("crd2idx", "?", unknown), (index % size, a, b, x, y, size, step))])
    assert computed == (int(folded),)


def _asked(example: worked_examples.Example) -> wheel.Expression:
    return wheel.Expression(example.operation, example.operands, example.attributes)


def test_worked_examples_are_what_the_wheel_gives_but_for_those_marked():
    known = [
        example
        for example in [*worked_examples.EXAMPLES, *worked_examples.table_examples()]
        if example.wheel != worked_examples.NO_OPERATION
    ]
    for example, found in zip(known, wheel.outcomes(map(_asked, known)), strict=True):
        assert found == (example.wheel or example.result,), example
        assert example.wheel != example.result, example


def test_values_of_worked_examples_are_what_the_wheel_computes():
    dynamic = [example for example in worked_examples.EXAMPLES if example.leaves]
    computed = wheel.values([(_asked(example), example.leaves) for example in dynamic])
    assert computed == [example.result_leaves for example in dynamic]


def test_operations_that_the_wheel_does_not_have_are_still_missing():
    missing = {
        example.operation for example in worked_examples.EXAMPLES if example.wheel == worked_examples.NO_OPERATION
    }
    for operation in missing:
        with pytest.raises(wheel.Refused, match="no operation"):
            wheel.evaluate(operation, "4:1")
