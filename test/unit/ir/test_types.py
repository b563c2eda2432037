"""Views of types: what each kind of type says, and the way back to it."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from type_samples import ATOMS, F16, F32, GMEM, MATRIX, SAMPLES, SMEM, SWIZZLE, TILED, copy

from cutecc.errors import Error
from cutecc.ir.bindings import load_submodule
from cutecc.ir.mlir import ir
from cutecc.ir.modules import body_of, fresh_context, parse
from cutecc.ir.types import (
    AddressSpace,
    CopyAtom,
    IntTupleValue,
    MemRef,
    MmaAtom,
    OpaqueType,
    Parameters,
    Pointer,
    Scalar,
    SparseElement,
    TiledCopy,
    TiledMma,
    TypeView,
    Vector,
    element_bits,
    is_static,
    layout_of,
    natural_alignment,
    to_type,
    view,
)
from cutecc.ir.types.assembly_formats import ASSEMBLY_FORMATS
from cutecc.layout import Layout, Swizzle, coalesce, make_identity_tensor


@pytest.fixture(autouse=True)
def context() -> Iterator[ir.Context]:
    with fresh_context() as current:
        yield current


def without_derived(seen: TypeView) -> TypeView:
    """The view without what follows from the rest of it."""
    match seen:
        case CopyAtom():
            return replace(seen, thread_id=None, source_tv=None, destination_tv=None)
        case MmaAtom():
            return replace(seen, thread_id=None, a_tv=None, b_tv=None, c_tv=None)
        case TiledCopy(atom=atom):
            return replace(seen, atom=without_derived(atom), source_tv=None, destination_tv=None)
        case TiledMma(atom=atom):
            return replace(seen, atom=without_derived(atom), thread_layout_vmnk=None, a_tv=None, b_tv=None, c_tv=None)
        case _:
            return seen


@pytest.mark.parametrize("text", SAMPLES)
def test_a_type_and_its_view(text: str) -> None:
    type = ir.Type.parse(text)
    assert str(type) == text, "samples are spelled as MLIR prints them"
    assert without_derived(view(type)) == SAMPLES[text]
    assert to_type(view(type)) == to_type(SAMPLES[text]) == type


def binding_classes() -> dict[str, Any]:
    """The classes of types that the bindings of CuTe's own dialects have."""
    found: dict[str, Any] = {}
    for dialect in ("cute", "cute_nvgpu", "lir"):
        for name, kind in vars(load_submodule(f"dialects.{dialect}")).items():
            own = isinstance(kind, type) and issubclass(kind, ir.Type) and kind.__module__.endswith(f"_ir._{dialect}")
            if own and not name.endswith("Interface"):
                found[name] = kind
    return found


def test_every_class_of_the_bindings_has_a_view() -> None:
    seen = {type(ir.Type.parse(text)).__name__ for text in SAMPLES}
    classes = binding_classes()
    assert len(classes) > 60
    assert not set(classes) - seen, "a type that test/unit/ir/type_samples.py and cutecc/ir/types do not know"
    opaque = [
        text
        for text, sample in SAMPLES.items()
        if isinstance(sample, OpaqueType) and text.startswith(("!cute", "!lir"))
    ]
    assert not opaque


def test_every_spelling_has_a_sample() -> None:
    names = {text.removeprefix("!").partition("<")[0] for text in SAMPLES}
    assert not set(ASSEMBLY_FORMATS) - names


def test_an_unknown_type_is_opaque() -> None:
    assert view(ir.Type.parse("!cuda.stream")) == OpaqueType("cuda.stream", "!cuda.stream")
    assert view(ir.Type.parse("tuple<i32, f32>")) == OpaqueType("tuple", "tuple<i32, f32>")


# What follows from atoms.


def layouts(seen: object, *fields: str) -> list[str]:
    return [str(getattr(seen, field)) for field in fields]


def test_thread_value_layouts_of_a_copy_atom() -> None:
    atom = view(to_type(copy("ldsm", F16, mode=(8, 8), sz_pattern="u16", num_matrices=4, transpose=False)))
    assert layouts(atom, "thread_id", "source_tv", "destination_tv") == [
        "32:1",
        "(32,8):(8,1)",
        "(32,(2,4)):(2,(1,64))",
    ]


def test_thread_value_layouts_of_an_atom_without_a_class() -> None:
    text = '!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 2, g_stride = <"()">>'
    type_ = ir.Type.parse(text)
    assert type(type_) is ir.Type
    assert layouts(view(type_), "thread_id", "source_tv") == ["2:1", "(2,4096):(4096,1)"]


def test_thread_value_layouts_of_an_mma_atom() -> None:
    atom = view(to_type(MmaAtom("sm80.mma", (16, 8, 16), F16, F16, F32)))
    assert layouts(atom, "thread_id", "a_tv", "b_tv", "c_tv") == [
        "32:1",
        "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "((4,8),(2,2)):((16,1),(8,64))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ]


def test_what_follows_from_tilings() -> None:
    copy_text, mma_text, _ = TILED
    tiled_copy = view(ir.Type.parse(copy_text))
    assert isinstance(tiled_copy, TiledCopy)
    assert str(tiled_copy.source_tv) == str(tiled_copy.destination_tv) == "((32,4),(4,4)):((64,4),(16,1))"
    assert str(tiled_copy.atom.source_tv) == "(1,4):(0,1)"
    tiled_mma = view(ir.Type.parse(mma_text))
    assert isinstance(tiled_mma, TiledMma)
    assert layouts(tiled_mma, "thread_layout_vmnk", "a_tv") == [
        "(32,2,2,1):(1,32,64,0)",
        "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))",
    ]


def test_a_tiling_without_threads_and_values_has_no_layouts_of_them() -> None:
    tiled = view(to_type(TiledCopy(copy("universal_copy", F32), Layout(32, 1), (Layout(32, 1),))))
    assert isinstance(tiled, TiledCopy)
    assert tiled.layout_tv == Layout(32, 1)
    assert tiled.source_tv is None


@pytest.mark.parametrize("text", ATOMS)
def test_thread_value_layouts_have_as_many_values_as_the_atom(text: str) -> None:
    match view(ir.Type.parse(text)):
        case CopyAtom(thread_id=Layout() as threads, source_tv=Layout() as source, destination_tv=Layout() as copied):
            assert threads.size == source[0].size == copied[0].size
        case MmaAtom(thread_id=Layout() as threads, a_tv=Layout() as a, b_tv=Layout() as b, c_tv=Layout() as c):
            assert threads.size == a[0].size == b[0].size == c[0].size
        case other:
            raise AssertionError(other)


# Matching, changing, and the way back.


def test_a_view_is_made_for_match() -> None:
    type = ir.Type.parse('!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">')
    match view(type):
        case MemRef(Scalar("f16"), AddressSpace.SMEM, layout, swizzle=Swizzle(bits=3)):
            assert layout == MATRIX
        case other:
            raise AssertionError(other)
    match view(to_type(copy("ldsm", F16, mode=(8, 8), sz_pattern="u16", num_matrices=4, transpose=False))):
        case CopyAtom(kind="ldsm", parameters={"num_matrices": count}):
            assert count == 4
        case other:
            raise AssertionError(other)


def test_a_changed_view_is_another_type() -> None:
    memref = view(ir.Type.parse('!cute.memref<f32, gmem, align<16>, "(4,(2,8)):(1,(4,8))">'))
    assert isinstance(memref, MemRef)
    changed = to_type(replace(memref, layout=coalesce(memref.layout), alignment=4))
    assert str(changed) == '!cute.memref<f32, gmem, "64:1">'
    tiled = view(ir.Type.parse(next(iter(TILED))))
    assert isinstance(tiled, TiledCopy)
    parameters = tiled.atom.parameters.with_(copy_bits=None)
    narrow = to_type(
        replace(tiled, atom=CopyAtom(tiled.atom.kind, F32, parameters), source_tv=None, destination_tv=None)
    )
    assert str(narrow).startswith("!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32>, layout")


def test_parts_of_tensors() -> None:
    memref = view(ir.Type.parse('!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">'))
    assert isinstance(memref, MemRef)
    assert memref.pointer == Pointer(F16, SMEM, 1024, SWIZZLE)
    tensor = view(ir.Type.parse('!cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">'))
    assert tensor.tensor == make_identity_tensor((4, 8))
    composed = view(ir.Type.parse('!cute.coord_tensor<"(0,0)", "S<3,4,3> o 0 o (8,64):(64,1)">'))
    with pytest.raises(Error, match="composed, not plain"):
        _ = composed.tensor


def test_one_view_for_one_type() -> None:
    assert Pointer(F32, GMEM) == Pointer(F32, GMEM, 4) == Pointer(F32, GMEM, 4, Swizzle(0, 4, 3))
    assert hash(copy("x", F32, a=1, b=2)) == hash(copy("x", F32, b=2, a=1))
    assert copy("x", F32, a=1, b=2) == copy("x", F32, b=2, a=1) != copy("x", F32, a=1)
    assert repr(Parameters(a=1)) == "Parameters(a=1)"


# Errors.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (IntTupleValue((None, 2)), r"MLIR takes it for '!cute\.int_tuple<\"\(\)\">'"),
        (Pointer(F32, GMEM, 0), "is no type"),
        (OpaqueType("cute.nonsense", "!cute.nonsense"), "'!cute.nonsense' is no type"),
        (Scalar("f17"), "'f17' is no type"),
        (copy("universal_copy", F32, num_matrices=4), "there is no place for num_matrices in the type"),
        (copy("ldsm", F16, mode=(8, 8), sz_pattern="u16", transpose=False), "the type needs num_matrices"),
        (copy("warp_copy", F32), "CuTe has no such type"),
        (
            TiledCopy(CopyAtom("universal_copy", F32, source_tv=MATRIX), Layout((32, 1), (1, 0)), (Layout(32, 1),)),
            r"source_tv of '!cute_nvgpu\.atom\.universal_copy<f32>' is",
        ),
        (copy("ldsm", F16, mode=(8, 9), sz_pattern="u16", num_matrices=1, transpose=False), "is no type"),
        (CopyAtom("universal_copy", Vector((4,), F32)), "no atom copies elements of type 'vector<4xf32>'"),
        (CopyAtom("universal_copy", F32, source_tv=MATRIX), r"source_tv of .* is \(1,1\):\(0,0\), not \(8,64\)"),
        (
            MmaAtom("sm90.mma", (64, 64, 16), F16, F16, F32, "k", parameters=Parameters(frag_kind="ss")),
            "the type needs major_b",
        ),
        (copy("tmem_load_red", F32, lanes=16, bits=32, repeat=4, reduction="max", half_split_off=1), "all or none"),
    ],
)
def test_views_that_are_of_no_type(wrong: TypeView, message: str) -> None:
    with pytest.raises(Error, match=message):
        to_type(wrong)


def test_there_has_to_be_a_context() -> None:
    script = "from cutecc.ir.types import Scalar, to_type\nimport sys\nassert 'cutlass' not in sys.modules\n"
    script += "to_type(Scalar('f32'))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "cutecc.errors.Error: no context is current to make the type 'f32' in" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "!cute_nvgpu.atom.universal_copy<f32, 128 bytes>",
        "!cute_nvgpu.atom.r2g<f16 copy_bits = 128 mem_scope = >",
        "!cute.ptr<f32, >",
        "!cute.ptr<f32, nowhere>",
        "!cute.ptr<f32, gmem>, more",
        '!cute.memref<f32, gmem, "(2,3):(1)">',
        '!cute.memref<!cute.ptr<f32, gmem, "4:1">',
        '!cute.layout<"(2,3):(1,2"',
        '!cute.swizzle<"S<3,4,1>">',
        "!cute.i32<multiple_of 4>",
    ],
)
def test_a_text_that_is_not_understood_is_an_error(text: str, context: ir.Context) -> None:
    """MLIR does not print these; a later release may print what we do not expect."""

    class Printed:
        """Stands for a type."""

        def __init__(self, context: ir.Context) -> None:
            self.context = context

        def __str__(self) -> str:
            return text

    with pytest.raises(Error) as caught:
        view(Printed(context))  # type: ignore[arg-type]
    assert caught.value.message == f"cannot read the type '{text}'"


def test_a_type_that_mlir_prints_wrongly_is_an_error() -> None:
    kind: Any = load_submodule("dialects.cute").PtrType
    with pytest.raises(Error, match=r"cannot read the type '!cute\.ptr<f32, >'"):
        view(kind.get(ir.F32Type.get(), 2, 4))


# Elements.


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("i1", 1),
        ("tf32", 32),
        ("f4E2M1FN", 4),
        ("f8E8M0FNU", 8),
        ("ui8", 8),
        ("bf16", 16),
        ("index", 64),
        ("i128", 128),
    ],
)
def test_bits_are_what_copy_atoms_count(text: str, bits: int) -> None:
    element = view(ir.Type.parse(text))
    assert isinstance(element, Scalar)
    assert element.bits == bits
    atom = view(to_type(copy("universal_copy", element, copy_bits=128)))
    assert isinstance(atom, CopyAtom)
    assert isinstance(atom.source_tv, Layout)
    assert atom.source_tv.size == 128 // bits


@pytest.mark.parametrize(
    "text",
    [
        *("i1", "i8", "i16", "i24", "i32", "i64", "i128", "si8", "ui8", "index"),
        *(
            "f8E4M3FN",
            "f8E5M2",
            "f8E4M3",
            "f8E4M3B11FNUZ",
            "f8E8M0FNU",
            "fnv8E5M3FNU",
            "f16",
            "bf16",
            "tf32",
            "f32",
            "f64",
        ),
        *(
            "!cute.sparse_elem<2, f16>",
            "!cute.sparse_elem<8, vector<4xi8>>",
            "!cute.sparse_elem<4, vector<2xf4E2M1FN>>",
        ),
        *("!cute.ptr<f32, gmem>", "!llvm.ptr", "!llvm.array<6 x i64>", "vector<4xf32>"),
        *("f4E2M1FN", "f6E3M2FN", "f6E2M3FN", "i4"),
    ],
)
def test_alignments_that_are_not_printed(text: str) -> None:
    pointer: Any = ir.Type.parse(f"!cute.ptr<{text}, smem>")
    assert natural_alignment(view(ir.Type.parse(text))) == pointer.alignment
    seen = view(pointer)
    assert isinstance(seen, Pointer)
    assert seen.alignment == pointer.alignment


def test_bits_of_other_elements() -> None:
    assert SparseElement(2, F16).bits == 8
    assert Vector((2, 4), F32).bits == 256
    assert Pointer(F32, GMEM).bits == 64
    with pytest.raises(Error, match=r"how many bits '!llvm\.ptr' takes is not known"):
        _ = OpaqueType("llvm.ptr", "!llvm.ptr").bits
    with pytest.raises(Error, match="'f17' is no integer or floating-point type"):
        _ = Scalar("f17").bits


# Questions of values.


KEPT: list[ir.Module] = []
"""Modules whose values are looked at."""


def arguments(*types: str) -> list[ir.Value]:
    names = ", ".join(f"%{number}: {text}" for number, text in enumerate(types))
    module = parse(f"func.func @f({names}) {{\n  return\n}}".encode())
    (function,) = body_of(module.operation)
    arguments_ = list(function.regions[0].blocks[0].arguments)
    KEPT.append(module)
    return arguments_


def test_layouts_of_values() -> None:
    of = arguments(
        '!cute.layout<"(8,64):(64,1)">',
        '!cute.memref<f16, smem, "(8,64):(64,1)">',
        '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(8,64):(64,1)">',
        '!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">',
        '!cute.coord_tensor<"(?,0)", "(4,8):(1@0,1@1)">',
        "i32",
    )
    assert [str(layout_of(value)) for value in of[:5]] == [
        "(8,64):(64,1)",
        "(8,64):(64,1)",
        "(8,64):(64,1)",
        "S<3,4,3> o 0 o (8,64):(64,1)",
        "(4,8):(1@0,1@1)",
    ]
    assert [is_static(value) for value in of] == [True, True, True, True, False, True]
    with pytest.raises(Error, match="a value of type 'i32' has no layout"):
        layout_of(of[-1])


def test_element_bits_of_values() -> None:
    memref, pointer, other = arguments('!cute.memref<f16, smem, "8:1">', "!cute.ptr<f4E2M1FN, gmem>", "f32")
    assert element_bits(memref) == 16
    assert element_bits(pointer) == 4
    with pytest.raises(Error, match="neither tensor nor pointer"):
        element_bits(other)


# The cache.


def test_views_are_kept_by_the_address_of_the_type() -> None:
    type_: Any = ir.Type.parse('!cute.layout<"(8,64):(64,1)">')
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = type_._CAPIPtr
    assert hash(type_) == api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    assert view(type_) is view(ir.Type.parse(str(type_))) is view(ir.Type(type_))


def test_views_keep_no_context_alive() -> None:
    with fresh_context() as inner:
        seen = view(ir.Type.parse(next(iter(TILED))))
        gone = weakref.ref(inner)
        del inner
    gc.collect()
    assert gone() is None
    assert isinstance(seen, TiledCopy)


@pytest.mark.slow
def test_views_are_the_same_once_the_dsl_is_imported() -> None:
    script = Path(__file__).with_name("type_samples.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {text: repr(view(ir.Type.parse(text))) for text in SAMPLES}
