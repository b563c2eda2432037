"""What is said of a row from outside that fails, or stores too little: where in its file, and where in the kernel."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from cutecc.errors import PassError, SourceLocation
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.lowering import (
    Copy,
    Product,
    copies,
    elements_of,
    in_memory,
    inline_assembly,
    load,
    multiplies,
    vector_of,
)
from cutecc.passes import manager
from cutecc.passes.lowering.atoms import registry
from cutecc.passes.pipeline import Pipeline
from cutecc.record.folder import read_folder

PRODUCT = """
!mma = !cute_nvgpu.sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32), md_format = tid >
!a = !cute.memref<f16, rmem, align<16>, "16:1">
!b = !cute.memref<f16, rmem, align<16>, "8:1">
!c = !cute.memref<f32, rmem, align<16>, "4:1">
func.func @kernel(%a: !a, %b: !b, %c: !c) {
  %0 = cute.make_atom() : () -> !mma
  cute.mma_atom_call(%0, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> () loc("kernel.py":7:3)
  return
}
"""
COPY = """
!ldsm = !cute_nvgpu.atom.ldsm<val_type = i8, mode = <"(16,16)">, sz_pattern = u8, num_matrices = 1, t>
!from = !cute.memref<i8, smem, align<16>, "16:1">
!to = !cute.memref<i8, rmem, align<16>, "8:1">
func.func @kernel(%from: !from, %to: !to) {
  %0 = cute.make_atom() : () -> !ldsm
  cute.copy_atom_call(%0, %from, %to) : (!ldsm, !from, !to) -> () loc("kernel.py":7:3)
  return
}
"""
KERNEL = SourceLocation("kernel.py", 7, 4)


@pytest.fixture(autouse=True)
def _own_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registry.load()
    for table in (registry._COPIES, registry._PRODUCTS):
        monkeypatch.setattr(table, "rows", {**table.rows, "ldsm": ()})
    yield


def lower(module: str) -> str:
    """What `lower-atoms` makes of a module."""
    with fresh_context():
        parsed = parse(module.encode())
        manager.run(Pipeline.parse("lower-atoms"), parsed)
        return to_text(parsed)


def failure_of(module: str) -> PassError:
    with pytest.raises(PassError) as raised:
        lower(module)
    return raised.value


def multiply(write: Callable[[Product], object]) -> None:
    """Make `write` what the row of the product does."""

    @multiplies("sm80.sparse_mma")
    def mine(product: Product) -> None:
        write(product)


def copy(write: Callable[[Copy], object]) -> None:
    """Make `write` what the row of the copy does."""

    @copies("ldsm", takes=lambda atom: atom.parameters["mode"] == (16, 16))
    def mine(copy: Copy) -> None:
        write(copy)


def sums_of(product: Product) -> list[Any]:
    return elements_of(product.addend())


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (lambda product: product.store(vector_of(sums_of(product)[:2])), "the row stores 2 numbers, D has 4"),
        (lambda product: product.store(vector_of(sums_of(product)[:1])), "the row stores 1 number, D has 4"),
        (lambda product: product.store(vector_of(sums_of(product) * 2)), "the row stores 8 numbers, D has 4"),
        (lambda product: product.store(sums_of(product)), "the row stores a list, D is a vector"),
        (lambda product: product.store(sums_of(product)[0]), "the row stores a value of type f32, D is a vector"),
        (
            lambda product: in_memory(product.operands[0]).store([vector_of(sums_of(product)[:2])], 4),
            "4 elements are to be stored, 2 are given",
        ),
    ],
)
def test_a_product_is_stored_whole(store: Callable[[Product], None], message: str) -> None:
    multiply(store)
    failure = failure_of(PRODUCT)
    assert (failure.message, failure.location) == (f"cute.mma_atom_call: {message}", KERNEL)
    (note,) = failure.notes
    assert note.startswith("the row multiply.<locals>.mine is at ") and "test_failing_rows.py:" in note


@pytest.mark.parametrize(
    "write",
    [lambda product: None, sums_of, lambda product: in_memory(product.operands[0]).load(4)],
    ids=["nothing", "loads of C, which is D", "loads of D"],
)
def test_a_product_is_stored(write: Callable[[Product], object]) -> None:
    multiply(write)
    failure = failure_of(PRODUCT)
    message = "cute.mma_atom_call: the row multiply.<locals>.mine stored nothing: D stays as it was"
    assert (failure.message, failure.location) == (message, KERNEL)
    assert "test_failing_rows.py:" in failure.notes[0]


def test_a_copy_into_registers_stores_them() -> None:
    copy(lambda copy: copy.source.load(8))
    failure = failure_of(COPY)
    message = "cute.copy_atom_call: the row copy.<locals>.mine stored nothing: the destination stays as it was"
    assert (failure.message, failure.location) == (message, KERNEL)


def in_parts(product: Product) -> None:
    """Stores each number by itself, past `Product.store`."""
    to = in_memory(product.operands[0])
    for index, number in enumerate(sums_of(product)):
        to.store([vector_of([number])], 1, begin=index)


def by_its_address(product: Product) -> None:
    """Hands the address to an instruction that may store."""
    inline_assembly("// $0", ["l"], [], [in_memory(product.operands[0]).address(2)])


@pytest.mark.parametrize("write", [lambda product: product.store(product.addend()), in_parts, by_its_address])
def test_a_row_may_store_as_it_likes(write: Callable[[Product], None]) -> None:
    """What it writes is what it would have without anyone who looks."""
    multiply(write)
    text = lower(PRODUCT)
    assert "mma_atom_call" not in text
    assert "llvm.bitcast" not in text


def test_a_copy_into_other_memory_is_the_rows_business() -> None:
    copy(lambda copy: None)
    assert "copy_atom_call" not in lower(COPY.replace("!to = !cute.memref<i8, rmem", "!to = !cute.memref<i8, smem"))


def unpacks_too_much(product: Product) -> None:
    _, _ = product.loaded()


def misuses_the_toolkit(product: Product) -> None:
    load(None, None, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("write", "message"),
    [(unpacks_too_much, "ValueError: too many values to unpack"), (misuses_the_toolkit, "")],
)
def test_what_a_row_raises_is_told_at_its_line(write: Callable[[Product], None], message: str) -> None:
    multiplies("sm80.sparse_mma")(write)
    failure = failure_of(PRODUCT)
    assert failure.message.startswith(f"the row {write.__name__} failed with an internal error: {message}")
    assert failure.location == SourceLocation(__file__, write.__code__.co_firstlineno + 1)
    assert failure.notes == [f"it is met at {KERNEL}, by cute.mma_atom_call"]
    assert failure.hints == ["this is a bug in the row; --debug shows where"]


def takes_two(product: Any, other: object) -> None: ...


def test_a_row_with_another_signature_is_told_where_it_begins() -> None:
    multiplies("sm80.sparse_mma")(takes_two)  # type: ignore[arg-type]  # what is tested
    failure = failure_of(PRODUCT)
    assert "TypeError: takes_two() missing 1 required positional argument: 'other'" in failure.message
    assert failure.location == SourceLocation(__file__, takes_two.__code__.co_firstlineno)


def asks_too_much(given: Any) -> bool:
    return given.no_such_thing


@pytest.mark.parametrize("asked", [{"takes": asks_too_much}, {"chips": asks_too_much}], ids=["takes", "chips"])
def test_what_is_asked_of_a_row_fails_at_its_line(asked: dict[str, Any]) -> None:
    @multiplies("sm80.sparse_mma", **asked)
    def mine(product: Product) -> None: ...

    failure = failure_of(PRODUCT)
    assert "mine failed with an internal error: AttributeError" in failure.message
    assert failure.location == SourceLocation(__file__, asks_too_much.__code__.co_firstlineno + 1)


def test_what_is_asked_without_a_file_fails_at_the_row() -> None:
    @multiplies("sm80.sparse_mma", takes=attrgetter("no_such_thing"))
    def mine(product: Product) -> None: ...

    assert failure_of(PRODUCT).location == SourceLocation(__file__, mine.__code__.co_firstlineno)


ROWS = """
from cutecc.lowering import multiplies

@multiplies("sm80.sparse_mma")
def mine(product):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [("a, b = product.loaded()", "rows.py:6: error: the row mine failed"), ("import os; os.abort()", "aborted")],
    ids=["raises", "aborts"],
)
def test_the_command_that_reproduces_loads_the_rows(body: str, message: str, tmp_path: Path, cutecc: Any) -> None:
    (tmp_path / "rows.py").write_text(ROWS.format(body=body))
    (tmp_path / "product.mlir").write_text(PRODUCT)
    options = ("--target=sm_80", "--pipeline=cse,lower-atoms", "--load=rows.py", "--output=out")
    first = cutecc("compile", "product.mlir", *options, status=1).stderr
    assert message in first
    command = first.splitlines()[-1].removeprefix("reproduce: ")
    assert command.endswith(" --load=rows.py")
    failure = read_folder(tmp_path / "out").failure
    assert failure is not None and failure.load == ["rows.py"]
    again = cutecc(*shlex.split(command)[1:], status=1).stderr
    assert message in again
