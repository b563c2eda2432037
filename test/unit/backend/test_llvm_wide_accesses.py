"""Wide loads and stores split into several: the same bytes move, and none of more than 16."""

import ctypes
import re

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.backend.llvm.wide_accesses import split_wide_accesses

BYTES = {"i8": 1, "half": 2, "bfloat": 2, "i16": 2, "float": 4, "i32": 4, "double": 8, "i64": 8}
COPY = """define void @copy(ptr %0, ptr %1) {{
  %3 = load <{count} x {element}>, ptr %0, align {alignment}
  store <{count} x {element}> %3, ptr %1, align {alignment}
  ret void
}}
"""


def run(text: str, source: bytes, room: int) -> bytes:
    """What `@copy` of the CPU makes of `source`, in as many zeros."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("copy"))
    given, got = ctypes.create_string_buffer(source, room), ctypes.create_string_buffer(room)
    copy(given, got)
    return got.raw


@given(st.sampled_from(sorted(BYTES)), st.integers(1, 70), st.sampled_from([1, 4, 16]), st.data())
@settings(max_examples=40, deadline=None)
def test_the_same_bytes_are_moved(element: str, count: int, alignment: int, data: st.DataObject):
    # The buffers of the test are aligned to 16 bytes, as malloc's are.
    text = split_wide_accesses(COPY.format(count=count, element=element, alignment=alignment))
    size = count * BYTES[element]
    source = data.draw(st.binary(min_size=size, max_size=size))
    assert run(text, source, size + 64) == source + bytes(64)
    moved = [int(number) * BYTES[type] for number, type in re.findall(r"(?:load|store) <(\d+) x (\w+)>", text)]
    assert sum(moved) == 2 * size
    assert max(moved) <= (16 if size > 64 else 64)


def test_each_piece_has_the_alignment_that_is_known_of_it():
    text = split_wide_accesses(COPY.format(count=20, element="float", alignment=32))
    assert re.findall(r"= load .* align (\d+)", text) == ["32", "16", "32", "16", "32"]
    assert re.findall(r"store .* align (\d+)", text) == ["32", "16", "32", "16", "32"]


def test_bytes_are_stored_by_fours():
    # As an array of bytes in registers is: each piece is a register of its own.
    text = split_wide_accesses("  store <32 x i8> %3, ptr %1, align 32")
    pieces = re.findall(r"store <1 x i32> %[\w.]+, ptr (%[\w.]+), align (\d+)", text)
    assert len(pieces) == text.count("store ") == 8
    assert [alignment for _, alignment in pieces] == ["32", "4", "8", "4", "16", "4", "8", "4"]
    assert len({pointer for pointer, _ in pieces}) == 8
    assert split_wide_accesses("  store <6 x i8> %3, ptr %1, align 2").count("store <") == 2
    assert split_wide_accesses("  store <4 x i8> %3, ptr %1, align 4") == "  store <4 x i8> %3, ptr %1, align 4"


def test_a_constant_is_stored_and_places_in_the_source_stay():
    text = split_wide_accesses("  store <32 x float> zeroinitializer, ptr %1, align 64, !dbg !7")
    assert "extractelement <32 x float> zeroinitializer, i64 31, !dbg !7" in text
    assert all(line.endswith(", !dbg !7") for line in text.split("\n"))


@pytest.mark.parametrize(
    "line",
    [
        "  %3 = load <16 x float>, ptr %0, align 32",
        "  %3 = load volatile <64 x float>, ptr %0, align 32",
        "  %3 = load <64 x float>, ptr addrspace(1) %0, align 32",
        "  %3 = load <512 x i1>, ptr %0, align 32",
        "  store <16 x float> %3, ptr %0, align 32",
        "  store volatile <64 x float> %3, ptr %0, align 32",
        "  store float %3, ptr %0, align 4",
    ],
)
def test_what_is_left(line: str):
    assert split_wide_accesses(line) == line


def test_bytes_that_go_through_an_array_whole_are_not_taken_apart():
    text = split_wide_accesses(COPY.format(count=16, element="i8", alignment=16))
    assert text.count("bitcast") == 2 and "x i8> poison" not in text and "extractelement <16" not in text
