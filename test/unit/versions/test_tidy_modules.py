"""Modules without what a clean-up would remove: what has effects stays, whoever uses it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cutecc.versions.tidy import tidied


def lines(*texts: str) -> list[str]:
    return [text for _, text in tidied(texts)]


def numbers(*texts: str) -> list[int]:
    return [number for number, _ in tidied(texts)]


def test_values_that_nothing_uses_are_gone_with_what_only_they_use() -> None:
    assert numbers("%0 = arith.constant 1 : i32", "%1 = arith.addi %0, %0 : i32", "a.use") == [2]


def test_what_is_used_stays() -> None:
    assert numbers("%0 = arith.constant 1 : i32", "%1 = arith.addi %0, %0 : i32", "a.use %1") == [0, 1, 2]


def test_what_has_effects_stays() -> None:
    effects = [
        "%0 = cute.memref.load(%a)",
        "%1 = llvm.load %p",
        '%2 = "cute.copy"(%a) : x',
        "%3 = nvvm.barrier",
        "cute.x %a",
    ]
    assert numbers(*effects) == [0, 1, 2, 3, 4]


def test_the_same_value_twice_is_once() -> None:
    once = lines("%0 = arith.constant 1 : i32", "a.use %0, %0")
    assert lines("%0 = arith.constant 1 : i32", "%9 = arith.constant 1 : i32", "a.use %0, %9") == once


def test_other_values_and_operands_stay_apart() -> None:
    first, second = lines("%0 = arith.constant 1 : i32", "%1 = arith.constant 2 : i32", "a.use %0, %1")[:2]
    assert first.split(" = ")[0] != second.split(" = ")[0]
    assert numbers("%0 = arith.addi %a, %b : i32", "%1 = arith.addi %b, %a : i32", "a.use %0, %1") == [0, 1, 2]


def test_loads_are_not_once() -> None:
    assert numbers("%0 = llvm.load %p", "%1 = llvm.load %p", "a.use %0, %1") == [0, 1, 2]


def test_operations_with_regions_stay() -> None:
    assert numbers("%0 = arith.select %a {", "  a.use", "}") == [0, 1, 2]


operations = st.lists(
    st.builds(
        "%{} = {} %{}, %{} : i32".format,
        st.integers(0, 5),
        st.sampled_from(["arith.addi", "arith.muli", "cute.make_shape", "llvm.load", "cute.memref.load"]),
        st.integers(0, 5),
        st.integers(0, 5),
    )
    | st.builds("a.use %{}".format, st.integers(0, 5)),
    max_size=12,
)


@given(operations)
def test_what_is_tidy_stays_and_so_does_what_has_effects(texts: list[str]) -> None:
    kept = tidied(texts)
    again = tidied([text for _, text in kept])
    assert [number for number, _ in again] == [*range(len(kept))]
    effects = [number for number, text in enumerate(texts) if "load" in text or text.startswith("a.")]
    assert {*effects} <= {number for number, _ in kept}
    assert [number for number, _ in kept] == sorted(number for number, _ in kept)
