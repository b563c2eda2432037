import pytest
from lowered_samples import FIRST, SECOND, host, launch

from cutecc.backend.launch import dynamic_shared_bytes
from cutecc.ir.modules import fresh_context, parse


def found(*launches: str) -> dict[str, int | None]:
    with fresh_context():
        return dynamic_shared_bytes(parse(host(*launches).encode()))


def test_constants_are_read():
    assert found(launch(*FIRST, "%some", 1), launch(*SECOND, "%zero", 2)) == {"first": 2048, "second": 0}


def test_what_is_not_launched_is_absent():
    assert found(launch(*FIRST, "%some", 1)) == {"first": 2048}
    assert found() == {}


def test_a_computed_size_is_unknown():
    assert found(launch(*FIRST, "%argument", 1), launch(*SECOND, "%some", 2)) == {"first": None, "second": 2048}


def test_launches_that_differ_are_unknown():
    assert found(launch(*SECOND, "%some", 1), launch(*SECOND, "%zero", 2)) == {"second": None}
    assert found(launch(*SECOND, "%some", 1), launch(*SECOND, "%some", 2)) == {"second": 2048}


@pytest.mark.parametrize(
    "also",
    [
        # A second store, through the pointer that was loaded back.
        """{c}q = llvm.getelementptr {c}r[0, 2] : (!llvm.ptr) -> !llvm.ptr, {configuration}
           llvm.store %argument, {c}q : i64, !llvm.ptr""",
        # The same with another constant.
        """{c}q = llvm.getelementptr {c}r[0, 2] : (!llvm.ptr) -> !llvm.ptr, {configuration}
           llvm.store %zero, {c}q : i64, !llvm.ptr""",
        # An index that nobody knows.
        """{c}q = llvm.getelementptr {c}[0, 0, %block] : (!llvm.ptr, i32) -> !llvm.ptr, {configuration}
           llvm.store %block, {c}q : i32, !llvm.ptr""",
        # The structure itself written at once.
        """{c}q = llvm.mlir.zero : {configuration}
           llvm.store {c}q, {c} : {configuration}, !llvm.ptr""",
        # Its address handed to somebody.
        "{c}q = llvm.ptrtoint {c} : !llvm.ptr to i64",
        "{c}q = llvm.ptrtoint {c}s : !llvm.ptr to i64",
        "{c}q = llvm.ptrtoint {c}t : !llvm.ptr to i64",
        "{c}q = llvm.ptrtoint {c}h : !llvm.ptr to i64",
    ],
)
def test_a_configuration_that_is_used_otherwise_is_unknown(also: str):
    assert found(launch(*FIRST, "%some", 1, also)) == {"first": None}
