"""What belongs to a key, and what does not."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.compilation import caching, planning, versions
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions, CompileRequest, Edit
from cutecc.ir.canonical import canonical_hash, kernel_name
from cutecc.ir.mlir import ir
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import registry
from cutecc.passes.base import ModulePass
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.lowering.atoms import registry as atoms
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.sources import module_files, source_files
from cutecc.passes.verifying import verify_after

_WORDS = st.text("abcdefghij_0123456789", max_size=30)
PLAIN = CompileOptions(artifacts=("ptx",))


def text_of(bytecode: bytes) -> str:
    with fresh_context():
        return to_text(parse(bytecode), locations=True)


def hash_of(text: str | bytes, *, locations: bool = False) -> str:
    with fresh_context():
        return canonical_hash(parse(text.encode() if isinstance(text, str) else text), locations=locations)


def key_of(module: str | bytes, options: CompileOptions = PLAIN, **changes: object) -> str | None:
    data = module.encode() if isinstance(module, str) else module
    request = replace(CompileRequest(data, "sm_80", "kernel", options=options), **changes)
    with fresh_context():
        parsed = parse(data)
        slot = caching.slot_for(request, planning.plan(request, parsed), parsed)
    return slot and slot.key


@pytest.fixture(scope="module")
def text(small_kernel) -> str:
    return text_of(small_kernel.bytecode)


# The module.


def test_locations_count_with_line_info_alone(text: str) -> None:
    moved = re.sub(r'(\.py":)(\d+)', lambda match: f"{match[1]}{int(match[2]) + 7}", text)
    assert moved != text
    assert hash_of(moved) == hash_of(text)
    assert hash_of(moved, locations=True) != hash_of(text, locations=True)
    line_info = CompileOptions(wheel=WheelOptions(preserve_line_info=True))
    assert key_of(moved) == key_of(text)
    assert key_of(moved, line_info) != key_of(text, line_info)


@settings(max_examples=15, deadline=None)
@given(host=_WORDS, count=st.integers(0, 10**6), rest=_WORDS)
def test_what_the_dsl_makes_of_names_does_not_count(text: str, host: str, count: int, rest: str) -> None:
    renamed = re.sub(r"(kernel_cutlass_copy_kernel)_\w+", rf"\1_tensorptr{rest}_{count}", text)
    renamed = re.sub(r"\bcutlass_vector_copy\w+", f"cutlass_{host}_x", renamed)
    assert renamed != text
    assert hash_of(renamed) == hash_of(text)


def test_the_users_name_of_a_kernel_counts(text: str) -> None:
    renamed = text.replace("kernel_cutlass_copy_kernel_", "kernel_cutlass_move_kernel_")
    assert renamed != text
    assert hash_of(renamed) != hash_of(text)


@pytest.mark.parametrize(
    "line",
    [
        '"cute.print"() <{{fmt = "cutlass_{0}"}}> : () -> ()',
        "func.call @cutlass_{0}() : () -> ()",
        '"test.text"() {{text = "kernel_cutlass_{0}"}} : () -> ()',
    ],
)
def test_other_names_that_begin_like_the_dsls_count(line: str) -> None:
    def module(name: str) -> str:
        body = line.format(name)
        return f"func.func private @cutlass_{name}()\nfunc.func @cutlass_host_1() {{\n{body}\nreturn\n}}"

    with fresh_context() as context:
        context.allow_unregistered_dialects = True
        one, other = (canonical_hash(ir.Module.parse(module(name))) for name in ("one", "other"))
    assert one != other


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("kernel_cutlass_add_kernel_tensorptrf32gmemalign16o16128_0", "add_kernel"),
        ("kernel_cutlass_kernel_gemmGemm_object_at__CopyAtom_ThrID10_0", "kernel"),
        ("kernel_cutlass_kernel_otherGemm_object_at__CopyAtom_ThrID10_1", "kernel"),
        ("kernel_cutlass_gemm_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_12", "gemm_kernel"),
        ("kernel_cutlass_spin_kernel__0", "spin_kernel"),
        ("kernel_cutlass_sm90_0", "sm90"),
    ],
)
def test_kernel_names(symbol: str, name: str) -> None:
    assert kernel_name(symbol) == name


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_every_number_in_the_code_counts(text: str, data: st.DataObject) -> None:
    constants = list(re.finditer(r"arith\.constant (\d+) : i(?:32|64)", text))
    chosen = data.draw(st.sampled_from(constants))
    changed = f"{text[: chosen.start(1)]}{int(chosen[1]) + 1}{text[chosen.end(1) :]}"
    assert hash_of(changed) != hash_of(text)


@pytest.mark.slow
def test_every_kernel_has_its_own_hash(traced_kernels) -> None:
    hashes = {
        name: hash_of(text_of(each.bytecode)) for name, each in traced_kernels.items() if name != "large_unrolled"
    }
    assert len(set(hashes.values())) == len(hashes)


# Options.


@pytest.mark.parametrize(
    "options",
    [
        replace(PLAIN, observe=True),
        replace(PLAIN, artifacts=ALL_ARTIFACTS),
        replace(PLAIN, dumps=DumpChoice(("all",))),
        replace(PLAIN, verify_each=True),
        replace(PLAIN, reproduce=False),
        replace(PLAIN, locations=True),
    ],
    ids=lambda options: "-".join(name for name, value in vars(options).items() if value != getattr(PLAIN, name)),
)
def test_what_changes_no_code_is_not_in_the_key(text: str, options: CompileOptions) -> None:
    assert key_of(text, options) == key_of(text)


def test_the_pipeline_counts_as_it_runs(text: str) -> None:
    edited = replace(PLAIN, pipeline="canonicalize,cse", edits=(Edit("without", "cse"),))
    assert key_of(text, edited) == key_of(text, replace(PLAIN, pipeline="canonicalize"))


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"source": "moved.py"}, {"command": ["cutecc"]}, {"output": Path("x")}]
)
def test_who_asks_is_not_in_the_key(text: str, change: dict[str, object]) -> None:
    assert key_of(text, **change) == key_of(text)


@pytest.mark.parametrize(
    "wheel",
    [
        WheelOptions(opt_level=2),
        WheelOptions(fast_math=True),
        WheelOptions(ptx_options="--maxrregcount=32"),
        WheelOptions(enable_assertions=True),
        WheelOptions(nvvm_options="-ftz=1"),
        WheelOptions(preserve_line_info=True),
    ],
    ids=str,
)
def test_what_changes_code_is_in_the_key(text: str, wheel: WheelOptions) -> None:
    assert key_of(text, replace(PLAIN, wheel=wheel)) != key_of(text)


def test_target_and_pipeline_are_in_the_key(text: str) -> None:
    keys = [
        key_of(text),
        key_of(text, target="sm_90a"),
        key_of(text, replace(PLAIN, pipeline="canonicalize")),
        key_of(text, replace(PLAIN, edits=(Edit("without", "loop-vectorize"),))),
    ]
    assert len(set(keys)) == 4
    assert None not in keys


def test_what_the_wheel_is_built_for_is_in_the_key(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {key_of(text)}
    monkeypatch.setattr(versions, "flavour", lambda: "cu99")
    assert len(keys | {key_of(text)}) == 2


def test_an_assembler_counts_by_content(text: str, tmp_path: Path) -> None:
    def key(file: str, content: str) -> str | None:
        path = tmp_path / file / "ptxas"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.1 # {content}\n")
        path.chmod(0o755)
        return key_of(text, replace(PLAIN, ptxas=path))

    first = key("a", "one")
    assert first not in (key_of(text), None)
    assert key("b", "one") == first
    assert key("b", "two") != first


def test_a_library_counts_by_content(text: str, tmp_path: Path) -> None:
    library = tmp_path / "device.bc"
    options = replace(PLAIN, wheel=WheelOptions(link_libraries=str(library)))
    library.write_bytes(b"one")
    first = key_of(text, options)
    library.write_bytes(b"two")
    assert key_of(text, options) != first
    library.unlink()
    assert key_of(text, options) is None


# Passes in Python.

PASS = """
from dataclasses import dataclass
from typing import ClassVar
import {helper}
from cutecc.passes.base import ModulePass

@dataclass(frozen=True)
class Nothing(ModulePass):
    name: ClassVar[str] = "test-nothing"
    option: int = 0
    def run(self, module):
        pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's that defines a pass and imports a second one."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cache_helper.py").write_text("VALUE = 1\n")
    (tmp_path / "cache_pass.py").write_text(PASS.format(helper="cache_helper"))
    yield importlib.import_module("cache_pass")
    for name in ("cache_pass", "cache_helper"):
        del sys.modules[name]


def test_a_pass_counts_by_its_source(text: str, module: ModuleType, tmp_path: Path) -> None:
    def key(**options: int) -> str | None:
        return key_of(text, replace(PLAIN, pipeline=Pipeline((module.Nothing(**options),))))

    first = key()
    assert first is not None
    assert key() == first
    assert key(option=1) != first
    with (tmp_path / "cache_helper.py").open("a") as file:
        file.write("# changed\n")
    assert key() is None, "the module is still what the file was"
    importlib.reload(sys.modules["cache_helper"])
    second = key()
    assert second not in (None, first), "what it imports counts too"
    with (tmp_path / "cache_pass.py").open("a") as file:
        file.write("# changed\n")
    importlib.reload(module)
    assert key() not in (None, first, second)


ROW = """
import {helper}
from cutecc.lowering import multiplies

@multiplies("cache-test.mma", takes=lambda atom: {helper}.VALUE == 1)
def multiply(product):
    pass
"""


def test_the_rows_of_atoms_from_outside_count_where_a_pass_may_meet_atoms(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them a kernel uses is known behind the key."""
    opened = replace(PLAIN, pipeline="open")
    atoms.load()
    without = key_of(text, opened), key_of(text)
    monkeypatch.setattr(atoms._PRODUCTS, "rows", dict(atoms._PRODUCTS.rows))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cache_helper.py").write_text("VALUE = 1\n")
    (tmp_path / "cache_row.py").write_text(ROW.format(helper="cache_helper"))
    row = importlib.import_module("cache_row")
    try:
        first = key_of(text, opened)
        assert first not in (None, without[0])
        assert key_of(text) == without[1], "no pass of it lowers atoms"
        assert source_files(Pipeline.parse("lower-atoms")) == {tmp_path / "cache_row.py", tmp_path / "cache_helper.py"}
        for name in ("cache_row", "cache_helper"):
            with (tmp_path / f"{name}.py").open("a") as file:
                file.write("# changed\n")
            assert key_of(text, opened) is None, "the module is still what the file was"
            importlib.reload(sys.modules[name])
            second = key_of(text, opened)
            assert second not in (None, first)
            first = second
        monkeypatch.setattr(row.multiply, "__qualname__", "f.<locals>.multiply")
        assert key_of(text, opened) is None, "no file tells what it does"
    finally:
        for name in ("cache_row", "cache_helper"):
            del sys.modules[name]


def test_the_files_of_a_pass(module: ModuleType, tmp_path: Path) -> None:
    assert source_files([module.Nothing()]) == {tmp_path / "cache_pass.py", tmp_path / "cache_helper.py"}
    assert source_files(Pipeline.parse("canonicalize,convert-vector-to-scf")) == set(), "the wheel's, and ours"
    assert module_files(["cache_pass", "cutecc.driver"]) == source_files([module.Nothing()])


def test_a_named_pipeline_has_its_files(
    text: str, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They decide which passes run, so a direct entry depends on them."""
    monkeypatch.setattr(registry, "_pipelines", {})

    def build(target: object, options: object) -> Pipeline:
        return Pipeline.parse("canonicalize")

    build.__module__ = module.__name__
    registry.register_pipeline("of-a-file", build)
    request = CompileRequest(text.encode(), "sm_80", "kernel", options=replace(PLAIN, pipeline="of-a-file"))
    with fresh_context():
        parsed = parse(request.module)
        slot = caching.slot_for(request, planning.plan(request, parsed), parsed)
    assert slot is not None
    assert {str(tmp_path / "cache_pass.py"), str(tmp_path / "cache_helper.py")} <= {*slot.sources}
    assert slot.key == key_of(text, replace(PLAIN, pipeline="canonicalize"))


def test_a_pass_without_a_source_cannot_be_cached(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = ModuleType("nowhere")
    monkeypatch.setitem(sys.modules, "nowhere", nowhere)
    exec(PASS.format(helper="sys"), vars(nowhere))
    assert source_files([nowhere.Nothing()]) is None
    assert key_of(text, replace(PLAIN, pipeline=Pipeline((nowhere.Nothing(),)))) is None


def test_a_pass_made_in_a_function_cannot_be_cached() -> None:
    @dataclass(frozen=True)
    class Local(ModulePass):
        name: ClassVar[str] = "test-local"

        def run(self, module: object) -> None:
            verify_after(self, module)  # type: ignore[arg-type]

    assert source_files([Local()]) is None
