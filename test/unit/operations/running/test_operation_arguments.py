"""Arguments of products held against descriptions: what kernels are given for them, and what is refused, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from small_products import F32, biased

from cutecc.errors import ArgumentError, EpilogueError, UsageError
from cutecc.operations.arguments import described
from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.gemm import Gemm
from cutecc.operations.gemm_variant import GemmVariant
from cutecc.operations.variant import Bound
from cutecc.operations.views import DeviceMatrix


def variant(**parts: Any) -> GemmVariant:
    return Gemm(**(F32 | parts)).variants[0]


def matrix(*shape: int, pointer: int = 0x10000, leading: int | None = None, layout: Any = "row") -> DeviceMatrix:
    return DeviceMatrix(pointer, shape, leading or shape[-1 if layout == "row" else -2], "f32", layout)


def bind(of: GemmVariant, **arguments: Any) -> Bound:
    places = {name: 0x10000 * (index + 1) for index, name in enumerate(arguments)}
    given = {
        name: replace(each, pointer=places[name])
        if isinstance(each, DeviceMatrix) and each.pointer == 0x10000
        else each
        for name, each in arguments.items()
    }
    return of.bind(given, None)


layouts = st.sampled_from(["row", "column"])


@hypothesis.settings(max_examples=40)
@hypothesis.given(
    st.tuples(layouts, layouts, layouts), st.tuples(*[st.integers(1, 5)] * 3), st.integers(1, 3), st.integers(0, 3)
)
def test_kernels_see_the_elements_of_every_layout(
    chosen: tuple[str, str, str], sizes: tuple[int, int, int], batches: int, gap: int
) -> None:
    """The address of each element is the one that the user's strides give it, also in the transposed product."""
    of = _VARIANTS[chosen]
    (m, n, k) = sizes
    shapes = {"A": (m, k), "B": (k, n), "D": (m, n)}
    given: dict[str, Any] = {}
    for index, ((name, shape), layout) in enumerate(zip(shapes.items(), chosen, strict=True)):
        leading = shape[1 if layout == "row" else 0] + gap
        given[name] = DeviceMatrix(0x10000 * (index + 1), (batches, *shape), leading, "f32", layout)  # type: ignore[arg-type]
    bound = of.bind(given, None)
    turned = chosen[2] == "column"
    assert bound.values["problem"] == (*((n, m) if turned else (m, n)), k, batches)
    views = {"A": bound.values["b" if turned else "a"], "B": bound.values["a" if turned else "b"]}
    views["D"] = bound.values["operands"][1]  # alpha comes first
    for name, view in views.items():
        swapped = {"A": False, "B": True, "D": turned}[name]
        for batch, row, column in np.ndindex(batches, *shapes[name]):
            place = (column, row, batch) if swapped else (row, column, batch)
            assert all(index < size for index, size in zip(place, view.shape, strict=True))
            address = view.data_ptr() + 4 * sum(i * s for i, s in zip(place, view.stride(), strict=True))
            steps = given[name].stride()
            assert address == given[name].pointer + 4 * (batch * steps[0] + row * steps[1] + column * steps[2])
    assert {bound.sources["a"], bound.sources["b"]} == {"A", "B"} and bound.sources["operands[1]"] == "D"


_VARIANTS = {
    (a, b, d): variant(a=f"f32:{a}:1", b=f"f32:{b}:1", d=f"f32:{d}:1", mode="batched")
    for a in ("row", "column")
    for b in ("row", "column")
    for d in ("row", "column")
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"B": matrix(16, 21)}, r"A \(33, 17\), B \(16, 21\), D \(33, 21\): K is 17 in A and 16 in B"),
        ({"D": matrix(21, 33)}, r"D is not M×N = 33×21"),
        ({"A": matrix(2, 33, 17)}, r"a batch of 2, and B, D of another number"),
        ({"A": DeviceMatrix(0x90000, (33, 17), 17, "f16")}, r"argument 'A': .* its elements are f16, not f32"),
        ({"A": DeviceMatrix(0x90001, (33, 17), 17, "f32")}, r"not a multiple of 4 bytes"),
        ({"A": matrix(33, 17, layout="column")}, r"argument 'A': .* its rows are not contiguous: strides \(1, 33\)"),
        ({"A": matrix(17)}, r"argument 'A': .* it has 1 mode, not 2, or 3 with a batch in front"),
        ({"A": 0x10000}, r"argument 'A' has to be an array, and an int is given\nhint: an address needs its layout"),
        ({"D": None}, r"argument 'D' has to be an array, and nothing is given"),
        ({"D": DeviceMatrix(0x10010, (33, 21), 21, "f32")}, r"D is written and shares memory with A"),
        ({"D": matrix(33, 21, leading=3)}, r"'D' is written, and elements of it share memory: .* strides \(3, 1\)"),
        ({"A": np.zeros((33, 17), np.float32)[::-1]}, r"it is in reverse order: strides \(-17, 1\)\nhint: pass A.copy"),
        ({"A": [matrix(33, 17)]}, r"a list is given\nhint: Gemm\(…, mode=\"array\"\) and .* take lists"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_does_not_fit_is_refused_with_both_sides(wrong: dict[str, Any], message: str) -> None:
    arguments = {"A": matrix(33, 17), "B": matrix(17, 21), "D": matrix(33, 21)} | wrong
    with pytest.raises(ArgumentError) as caught:
        bind(variant(), **arguments)
    import re

    assert re.search(message, str(caught.value)), caught.value


def test_promised_alignments_are_checked() -> None:
    of = variant(a="f32:row:4", d="f32:row:1")
    good = {"A": matrix(33, 16), "B": matrix(16, 21), "D": matrix(33, 21)}
    bind(of, **good)
    for wrong, message in (
        (DeviceMatrix(0x90008, (33, 16), 16, "f32"), "its address 0x90008 is not a multiple of 16 bytes"),
        (matrix(33, 16, leading=18), "its leading dimension 18 is not a multiple of 4"),
    ):
        with pytest.raises(ArgumentError, match=message) as caught:
            bind(of, **good | {"A": wrong})
        assert "f32:row:1 for any" in str(caught.value)
    with pytest.raises(ArgumentError, match="18 columns are not a multiple of 4"):
        bind(of, **good | {"A": matrix(33, 18, leading=20), "B": matrix(18, 21)})


def test_modes_are_checked() -> None:
    batch = {"A": matrix(2, 33, 17), "B": matrix(2, 17, 21), "D": matrix(2, 33, 21)}
    with pytest.raises(ArgumentError, match="a batch of 2, and the operation is of mode gemm"):
        bind(variant(), **batch)
    with pytest.raises(ArgumentError, match="slices=2, and the operation is of mode gemm"):
        variant().bind({"A": matrix(4, 4), "B": matrix(4, 4, pointer=0x20000), "D": matrix(4, 4, pointer=0x30000)}, 2)


def test_vectors_have_the_shapes_that_broadcast() -> None:
    of = Gemm(
        **F32, mode="batched", epilogue=biased, operands={"bias": Row("f32", 1), "sums": Column("f32", 1)}
    ).variants[0]
    good = {"A": matrix(2, 33, 17), "B": matrix(2, 17, 21), "D": matrix(2, 33, 21)}
    vector = {"bias": matrix(21), "sums": matrix(2, 33)}
    bias, _, sums = bind(of, **good, **vector).values["operands"]
    assert (bias.shape, bias.stride(), sums.shape, sums.stride()) == ((21, 2), (1, 0), (33, 2), (1, 33))
    for shape, stride in (((1, 21), (1, 0)), ((2, 21), (1, 21)), ((2, 1, 21), (1, 21))):
        assert bind(of, **good, **vector | {"bias": matrix(*shape)}).values["operands"][0].stride() == stride
    with pytest.raises(ArgumentError, match=r"it holds one value a column, N = 21: the shape \(21,\), or \(2, 21\)"):
        bind(of, **good, **vector | {"bias": matrix(33)})
    with pytest.raises(ArgumentError, match=r"one value a row, M = 33: the shape \(2, 33\)"):
        bind(of, **good, **vector | {"sums": matrix(33)})
    with pytest.raises(ArgumentError, match="'bias' has to be an array"):
        bind(of, **good, sums=matrix(2, 33))


def test_lists_are_wanted_of_an_array_of_matrices() -> None:
    status = Gemm(**F32, mode="array").supports(matrix(33, 17), matrix(17, 21), None, matrix(33, 21))
    assert "argument 'A' is one array, and the operation is of mode array" in str(status) and "op.matrices" in str(
        status
    )


def test_outputs_have_to_be_writable_on_the_emulator_too() -> None:
    D = np.zeros((4, 4), np.float32)
    D.flags.writeable = False
    A, B = np.zeros((4, 4), np.float32), np.zeros((4, 4), np.float32)
    with pytest.raises(ArgumentError, match="'D' is written, and its array is read-only\nhint: pass a copy"):
        Gemm(**F32).run(A, B, None, D, device="cpu")
    assert Gemm(**F32).supports(D, B, None, A)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"a": np.zeros((2, 2))}, r"not array(.|\n)*\nhint: of arrays: Gemm.for_arguments"),
        ({"a": None}, "not None"),
        ({"tile": (32, 32, 8)}, r"a tile is text such as 128x128x32, .* not \(32, 32, 8\)"),
        ({"problem": 4096}, r"a problem is \(M, N, K\), or \(M, N, K, batch\), not 4096"),
    ],
)
def test_wrong_descriptions_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Gemm(**(F32 | wrong))


def test_calls_say_what_is_missing_or_too_much() -> None:
    op = Gemm(**F32, c="f32:row:1")
    good = [matrix(33, 17), matrix(17, 21, pointer=0x20000), matrix(33, 21, pointer=0x30000)]
    a, b, d = good
    c = matrix(33, 21, pointer=0x40000)
    assert op.supports(a, b, c, d, beta=1.0) and op.supports(a, b, None, d)
    for status, reason in (
        (op.supports(a, b, None, d, beta=2.0), "beta = 2.0, and no C is given"),
        (op.supports(a, b, c, d, alpa=1.0), "the epilogue has no operand 'alpa'"),
        (op.supports(a, b, c, d, beta="x"), "argument 'beta' has to be a number of type f32, not a str"),
        (op.supports(a, b, c, d, beta=np.complex64(1)), "a number of type f32, not a numpy.complex64"),
        (op.supports(a, b, c, d, alpha=10**400), "argument 'alpha' has to be a number of type f32"),
        (Gemm(**F32).supports(a, b, c, d, beta=1.0), "beta = 1.0 is given, and the operation has none"),
        (Gemm(**F32, epilogue="identity").supports(a, b, None, d, alpha=2.0), "the epilogue has none"),
    ):
        assert not status and reason in status.reason, status
    assert "did you mean alpha?" in str(op.supports(a, b, c, d, alpa=1.0))


@pytest.mark.parametrize("source", [{"c": "f32:row:1"}, {}])
def test_a_result_in_the_place_of_the_source_is_told_of(source: dict[str, str]) -> None:
    op = Gemm(**F32, **source)
    a, b, d = matrix(33, 17), matrix(17, 21, pointer=0x20000), matrix(33, 21, pointer=0x30000)
    order = r"the order is \(A, B, C, D\); the third argument is C.*: op\.run\(A, B, D=D\)"
    for call in (op.run, op.emulate, op.workspace_bytes):
        with pytest.raises(ArgumentError, match=order) as caught:
            call(a, b, d)
        assert ("which this operation does not have" in str(caught.value)) is not bool(source)
    assert op.supports(a, b, d).hints and not op.supports(a, b)


def test_arguments_describe_themselves() -> None:
    a = np.zeros((64, 48), np.float16)
    assert str(described("A", a)) == "f16:row:8" and str(described("A", a.T)) == "f16:column:8"
    assert str(described("A", a[:, :36])) == "f16:row:4"
    assert str(described("A", a[:, :36], extents=False)) == "f16:row:8"
    assert str(described("A", DeviceMatrix(0x1002, (8, 8), 8, "f16"))) == "f16:row:1"
    with pytest.raises(ArgumentError, match="neither its rows nor its columns are contiguous"):
        described("A", a[::2, ::2])
    for shape in ((0, 0), (7, 0), (0, 7)):  # nothing is read there
        assert str(described("A", np.zeros(shape, np.float16))) == "f16:row:8"


def test_copies_of_numpy_arrays_are_aligned_and_arrays_for_the_emulator_as_they_are() -> None:
    op = Gemm("f16", "f16", "f16", target="sm_80")
    shifted, B, D = np.zeros(257, np.float16)[1:].reshape(16, 16), *np.zeros((2, 16, 16), np.float16)
    assert op.supports(shifted, B, D=D, stream=5, sync=True) and op.workspace_bytes(shifted, B, D=D) == 0
    assert "is not a multiple of 16 bytes" in op.supports(shifted, B, D=D, device="cpu").reason


def test_results_may_lie_between_the_rows_of_other_arrays() -> None:
    of = Gemm(**F32).variants[0]
    m, n, k, pitch = 33, 21, 17, 40
    A, B = matrix(m, k, leading=pitch), matrix(k, n, pointer=0x20000)
    (hazard, _) = of.bind({"A": A, "B": B, "D": replace(A, pointer=A.pointer + 4 * k, shape=(m, n))}, None).hazards
    assert hazard.allowed == -4 * k and hazard.happens(A.pointer + 4, A.pointer)
    for offset, columns in ((k - 1, n), (k, pitch - k + 1)):  # into A's last column, into the first of its next row
        wide = {"B": matrix(k, columns, pointer=0x20000)}
        with pytest.raises(ArgumentError, match="D is written and shares memory with A"):
            of.bind(wide | {"A": A, "D": replace(A, pointer=A.pointer + 4 * offset, shape=(m, columns))}, None)


@pytest.mark.parametrize(
    ("slices", "reason"),
    [(-1, "K = 64 cannot be split into -1"), (65, "cannot be split into 65"), ("2", "slices='2' is no whole number")],
)
def test_slices_are_checked_where_a_workspace_is_asked_for(slices: Any, reason: str) -> None:
    op = Gemm(**F32, mode="split_k_parallel")
    with pytest.raises(ArgumentError, match=reason):
        op.workspace_bytes(problem=(33, 21, 64), slices=slices)
    two = op.workspace_bytes(problem=(33, 21, 64), slices=2)
    assert op.workspace_bytes(problem=np.array([33, 21, 64]), slices=np.int64(4)) == 2 * two  # type: ignore[arg-type]


def test_an_operation_for_arguments_is_theirs() -> None:
    A, B, C = (np.zeros(shape, np.float32) for shape in ((2, 64, 33), (2, 33, 48), (2, 64, 48)))
    D = np.zeros((2, 48, 64), np.float32).transpose(0, 2, 1)
    op = Gemm.for_arguments(A, B, C, D, target="sm_80")
    found = op.description
    assert [str(each) for each in (found.a, found.b, found.c, found.d)] == [
        *("f32:row:1", "f32:row:4", "f32:row:4", "f32:column:4")
    ]
    assert found.mode == "batched" and op.supports(A, B, C, D, beta=1.0)
    with pytest.raises(ArgumentError, match=r"the shapes do not fit: A \(2, 64, 33\), B \(2, 64, 48\)"):
        Gemm.for_arguments(A, C, None, D, target="sm_80")
    with pytest.raises(ArgumentError, match="needs D"):
        Gemm.for_arguments(A, B, target="sm_80")


def test_a_function_takes_its_operands_from_arrays() -> None:
    A, B, D = (np.zeros(shape, np.float32) for shape in ((64, 32), (32, 48), (64, 48)))
    bias, sums = np.zeros(48, np.float32), np.zeros((64, 1), np.float32)
    op = Gemm.for_arguments(A, B, None, D, epilogue=biased, operands={"bias": bias, "sums": sums}, target="sm_80")
    kinds = {each.name: each.kind for each in op.epilogue.operands}
    assert kinds == {"bias": "row", "D": "full", "sums": "column"}
    assert op.supports(A, B, None, D, bias=bias, sums=sums)


def test_interleaved_matrices_are_given_as_they_lie_in_memory() -> None:
    of = Gemm("i8:interleaved32", "i8:interleaved32", "i8:interleaved32", target="sm_80").variants[0]
    m, n, k = 24, 64, 96

    def grouped(extent: int, lines: int, pointer: int) -> DeviceMatrix:
        return DeviceMatrix(pointer, (extent // 32, lines, 32), 32, "i8")

    good = {"A": grouped(k, m, 0x10000), "B": grouped(k, n, 0x20000), "D": grouped(n, m, 0x30000)}
    bound = of.bind(good, None)
    assert bound.values["problem"] == (m, n, k, 1)
    a, b = bound.values["a"], bound.values["b"]
    assert (a.shape, a.stride()[:3]) == ((m, 32, k // 32, 1), (32, 1, 32 * m))
    assert (b.shape, b.stride()[:3]) == ((n, 32, k // 32, 1), (32, 1, 32 * n))
    with pytest.raises(
        ArgumentError, match=r"column_interleaved32 is \(K/32, M, 32\), or with a batch in front without"
    ):
        of.bind(good | {"A": DeviceMatrix(0x10000, (m, k, 1), k, "i8")}, None)
    with pytest.raises(ArgumentError, match="D is not M×N"):
        of.bind(good | {"D": grouped(k, m, 0x30000)}, None)


def test_matrices_that_are_interleaved_the_other_way_are_given_as_they_lie_too() -> None:
    of = Gemm("i8:row_interleaved32", "i8:column_interleaved32", "i8:row_interleaved32", target="sm_80").variants[0]
    m, n, k = 64, 96, 40

    def grouped(extent: int, lines: int, pointer: int) -> DeviceMatrix:
        return DeviceMatrix(pointer, (extent // 32, lines, 32), 32, "i8")

    good = {"A": grouped(m, k, 0x10000), "B": grouped(n, k, 0x20000), "D": grouped(m, n, 0x30000)}
    bound = of.bind(good, None)
    assert bound.values["problem"] == (n, m, k, 1), "rows of D together: computed as the transposed product"
    a, b, (*_, d) = bound.values["a"], bound.values["b"], bound.values["operands"]
    assert (a.shape, a.stride()[:3]) == ((32, n // 32, k, 1), (1, 32 * k, 32)) and a.data_ptr() == 0x20000
    assert (b.shape, b.stride()[:3]) == ((32, m // 32, k, 1), (1, 32 * k, 32)) and b.data_ptr() == 0x10000
    assert (d.shape, d.stride()[:3]) == ((n, 32, m // 32, 1), (32, 1, 32 * n))
    with pytest.raises(ArgumentError, match=r"column_interleaved32 is \(N/32, K, 32\), or with a batch") as error:
        of.bind(good | {"B": DeviceMatrix(0x20000, (k, n, 1), n, "i8")}, None)
    assert error.value.hints == ["of a matrix x: x.reshape(rows, columns // 32, 32).transpose(0, 1).contiguous()"]


def shifted(accum: Any, bias: Any) -> Any:
    D = accum + bias
    return D


def test_batches_of_vectors_say_what_they_are_and_how_they_are_aligned() -> None:
    a, b = np.ones((3, 6, 16), np.float32), np.ones((3, 16, 19), np.float32)
    d, bias = np.empty((3, 6, 19), np.float32), np.arange(57, dtype=np.float32).reshape(3, 19)
    small = {"target": "sm_80", "tile": "32x32x8:warps=1x1x1:stages=2"}
    op = Gemm.for_arguments(a, b, D=d, epilogue=shifted, operands={"bias": bias}, **small)
    operand = op.description.epilogue.operand("bias")
    assert operand is not None
    assert (operand.kind, operand.alignment) == ("row", 1)
    op.run(a, b, D=d, bias=bias, device="cpu")
    assert np.array_equal(d, 16 + np.broadcast_to(bias[:, None], d.shape))
    aligned = Gemm(*("f32:row:1",) * 3, epilogue=shifted, operands={"bias": Row("f32")}, mode="batched", **small)
    with pytest.raises(ArgumentError, match="its batches begin 19 elements apart, so it is not aligned") as caught:
        aligned.run(a, b, D=d, bias=bias, device="cpu")
    assert caught.value.hints == ['describe it with a smaller alignment: bias=Row("f32", alignment=1)']
    square = np.ones((4, 4, 4), np.float32)
    with pytest.raises(EpilogueError, match=r"shape \(4, 4\) can be full or row or column .* and 4 batches"):
        Gemm.for_arguments(square, square, D=square.copy(), epilogue=shifted, operands={"bias": square[0]}, **small)


def test_sums_of_integers_stay_exact_unless_more_is_asked_for() -> None:
    assert Gemm("i8:row", "i8:column", target="sm_90a").description.epilogue.compute == "i32"
    assert Gemm("i8:row", "i8:column", "i8:row", target="sm_90a").description.epilogue.name == "linear_combination"
    with_source = Gemm("i8:row", "i8:column", "i32:row", "i32:row", target="sm_90a")
    assert with_source.description.epilogue.name == "linear_combination"
    a = np.full((2, 1088), 127, np.int8)
    a[:, 0] = 126
    d = np.empty((2, 2), np.int32)
    Gemm.for_arguments(a, a.T, D=d, target="sm_80", tile="32x32x64:warps=1x1x1").run(a, a.T, D=d, device="cpu")
    assert np.array_equal(d, a.astype(np.int32) @ a.T.astype(np.int32))
    with pytest.raises(ArgumentError, match="emulator=True"):
        Gemm.for_arguments(a, a.T, D=d, target="sm_80").run(a, a.T, D=d, device="cpu", emulator=True)  # pyright: ignore[reportArgumentType]
