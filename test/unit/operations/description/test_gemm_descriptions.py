"""A description as a value: JSON both ways, name, key, and the transposed product."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from description_strategies import descriptions, tensor_op, wgmma
from hypothesis import given, settings

from cutecc.errors import UsageError
from cutecc.operations.description import GemmDescription
from cutecc.operations.operand import Operand


@settings(max_examples=50, deadline=None)
@given(descriptions())
def test_json_is_read_as_it_is_written(description: GemmDescription) -> None:
    assert GemmDescription.from_json(description.to_json()) == description
    assert GemmDescription.from_json(description.to_json(places=False)) == description
    assert GemmDescription.from_json(description.to_json()).key == description.key


@settings(max_examples=50, deadline=None)
@given(descriptions())
def test_transposed_twice_is_the_same(description: GemmDescription) -> None:
    assert description.transposed().transposed() == description


def test_the_transposed_product_exchanges_what_belongs_to_rows_and_columns() -> None:
    description = wgmma(d="f16:column", cluster=(2, 1), threadblock=(128, 64, 64), c="f32:row")
    turned = description.compiled()
    assert (str(turned.a), str(turned.b)) == ("f16:row:8", "f16:column:8")
    assert (str(turned.d), str(turned.c)) == ("f16:row:8", "f32:column:4")
    assert turned.tile.threadblock == (64, 128, 64) and turned.tile.cluster == (1, 2)
    assert turned.epilogue.source is not None and turned.epilogue.source.layout == "column"
    assert not turned.is_compiled_transposed and turned.compiled() is turned


def test_names_are_short_and_tell_variants_apart() -> None:
    assert tensor_op().name == "gemm_sm80_f16_f16_f16_f32_tnt_128x128x32_s3_tensor_op_16x8x16_w2x2x1_nosource"
    names = {
        tensor_op(**parts).name
        for parts in (
            *({}, {"swizzle": "identity4"}, {"mode": "batched"}, {"a": "f16:row:1"}, {"b": "f16:row"}),
            *({"stages": 4}, {"shape": (16, 8, 8)}, {"c": "f16:row"}, {"accumulator": "f16"}),
        )
    }
    assert len(names) == 9


def test_kernels_are_called_by_what_is_compiled_whatever_the_epilogue_is_called() -> None:
    description = tensor_op(b="f16:row", d="f16:column")
    named = replace(description, epilogue=replace(description.epilogue, name="<lambda>"))
    assert named.kernel_name == description.kernel_name == description.transposed().kernel_name
    assert "_nnt_" in description.kernel_name  # as B is in rows, and A too
    for each in (description, tensor_op(mode="batched", swizzle="identity4", a="f16:row:1"), wgmma()):
        assert each.kernel_name.isidentifier() and each.kernel_name.isascii()


@pytest.mark.parametrize("text", ["", "[]", '{"operation":"gemm"}', '{"operation":"convolution","gemm":{}}', "{"])
def test_other_texts_are_no_description(text: str) -> None:
    with pytest.raises(UsageError, match="this is no description of a GEMM"):
        GemmDescription.from_json(text)


def test_unknown_words_are_refused_when_a_description_is_made() -> None:
    for field, value, close in (
        ("target", "sm_90b", "sm_90"),
        ("mode", "batchd", "batched"),
        ("swizzle", "batchd", "batched"),
    ):
        with pytest.raises(UsageError) as raised:
            replace(tensor_op(), **{field: value})
        assert any(f"did you mean {close}" in hint for hint in raised.value.hints)


def test_types_of_numpy_name_operands_too() -> None:
    assert Operand(np.float32, "row") == Operand("f32", "row")  # type: ignore[arg-type]
    assert Operand(np.dtype("float16"), "column") == Operand("f16", "column")  # type: ignore[arg-type]
