"""What the layout algebra says of an operation, against what the wheel inferred: the type of its result."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from conftest import TracedKernel

from cutecc.errors import Error
from cutecc.ir.casters import plain_values
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse
from cutecc.ir.types import MemRef, Pointer, view
from cutecc.ir.walking import walk
from cutecc.layout import ComposedLayout, variables
from cutecc.layout import evaluate as number_of
from cutecc.passes.lowering.values.leaves import dynamic
from cutecc.passes.lowering.values.materialize import algebraic, as_typed, evaluate, plain, plain_attributes
from cutecc.passes.lowering.values.semantics import PARTITIONING, SEMANTICS

pytestmark = pytest.mark.slow

HOPPERS = "cute_nvgpu.smem_desc"
"""What operands and results have that the open lowering does not know yet."""


def test_operations_of_kernels_give_what_their_types_say(traced_kernels: dict[str, TracedKernel]) -> None:
    seen: set[Any] = set()
    wrong: list[str] = []
    for name, kernel in traced_kernels.items():
        with plain_values(), fresh_context():
            for operation in walk(parse(kernel.bytecode), *SEMANTICS):
                types = [str(value.type) for values in (operation.operands, operation.results) for value in values]
                attributes = [str(operation.attributes[each]) for each in operation.attributes]
                key = (operation.name, *types, *attributes)
                if key not in seen and not any(HOPPERS in text for text in types):
                    seen.add(key)
                    wrong += [f"{name}: {operation}: {problem}" for problem in problems(operation)]
    assert not wrong, "\n".join(wrong)
    # Kernels use most of them; test/lit/passes/lowering has others.
    assert len({operation for operation, *_ in seen}) >= 35


def problems(operation: ir.Operation) -> list[str]:
    """Where an operation's types and its semantics disagree."""
    try:
        # An error where there are not as many numbers, or a known one is another.
        materialized = evaluate(operation, SEMANTICS[operation.name])
    except Error as failure:
        return [failure.message]
    found: list[str] = []
    for result, numbers, offset in zip(operation.results, materialized.numbers, materialized.offsets, strict=True):
        type_view = view(result.type)
        if isinstance(type_view, MemRef | Pointer) and not is_aligned(operation, type_view, offset):
            found.append(f"moved by {materialized.offset}, it is not aligned to {type_view.alignment} bytes")
        expected = [] if isinstance(type_view, Pointer) else dynamic(plain(type_view))
        for number, said in zip(numbers, expected, strict=True):
            found += [f"{value} is not {said}" for value in some_values(number) if value % said.divisibility]
    return found


def is_aligned(operation: ir.Operation, result: MemRef | Pointer, offset: Any) -> bool:
    """Whether a pointer that is moved by `offset` elements is aligned as the type of the result says."""
    operands = [view(value.type) for value in operation.operands]
    before = next(each for each in operands if isinstance(each, MemRef | Pointer))
    return all(
        math.gcd(before.alignment or 1, value * result.element.bits // 8) % (result.alignment or 1) == 0
        for value in some_values(offset)
    )


def some_values(number: Any) -> list[int]:
    """What an expression can be. Its variables are multiples of what is known to divide them."""
    chosen = random.Random(0)
    return [
        number_of(number, {each.name: each.divisibility * chosen.randint(1, 40) for each in variables(number)})
        for _ in range(3)
    ]


def test_swizzled_parts_hold_at_every_coordinate(traced_kernels: dict[str, TracedKernel]) -> None:
    # What CuTe makes of a swizzle for a thread is written in the type alone: strides, or an offset and a pointer.
    checked = 0
    with plain_values(), fresh_context():
        for operation in walk(parse(traced_kernels["gemm_sm80"].bytecode), *PARTITIONING):
            (result,) = (view(each.type) for each in operation.results)
            operands = [algebraic(view(value.type), index) for index, value in enumerate(operation.operands)]
            part = SEMANTICS[operation.name](*operands, **plain_attributes(operation))
            if isinstance(result, MemRef) and isinstance(part.layout, ComposedLayout):
                layout, offset = as_typed(result.layout, part.layout, part.offset)
                for thread, index in itertools.product(range(0, 128, 5), range(part.layout.outer.size)):
                    found, expected = offset + layout(index), part.offset + part.layout(index)
                    known = {each.name: thread for number in (found, expected) for each in variables(number)}
                    assert number_of(found, known) == number_of(expected, known), f"{operation}, thread {thread}"
                checked += 1
    assert checked >= 4


def test_a_meaning_that_a_type_contradicts_is_an_error() -> None:
    size_of_it = '%0 = cute.size(%a) : (!cute.layout<"(4,8):(1,4)">) -> !cute.int_tuple<"32">'
    text = f'func.func @f(%a: !cute.layout<"(4,8):(1,4)">) {{ {size_of_it} return }}'
    with plain_values(), fresh_context():
        module = parse(text.encode())
        (size,) = walk(module, "cute.size")
        assert evaluate(size, SEMANTICS["cute.size"]).numbers == ((),)
        with pytest.raises(Error, match=r"cutecc computed .*31.*, which is not what .*; this is a bug"):
            evaluate(size, lambda layout, **_: 31)
