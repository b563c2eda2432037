"""Where rows of atoms come from, which of several an atom has, and that two of one atom are an error."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cutecc import Kernel, compile_module, lowering, passes
from cutecc.errors import Error, PassError, UsageError
from cutecc.ir.types import CopyAtom, MmaAtom, Scalar
from cutecc.lowering import copies, multiplies, prefetches
from cutecc.passes import plugins, registrations
from cutecc.passes.lowering.atoms import registry
from cutecc.target import Target

F16, F32 = Scalar("f16"), Scalar("f32")

FILE = """
from cutecc.lowering import copies, multiplies, prefetches

@{decorator}("{kind}")
def mine(use):
    raise AssertionError
"""


@pytest.fixture(autouse=True)
def _own_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registry.load()
    for table in (registry._COPIES, registry._PREFETCHES, registry._PRODUCTS):
        monkeypatch.setattr(table, "rows", dict(table.rows))
    monkeypatch.setattr(plugins, "_failures", [])
    yield
    plugins.load_installed_atoms.cache_clear()


def product(kind: str, element: Scalar = F16) -> MmaAtom:
    return MmaAtom(kind, (16, 8, 16), element, element, F32)


def test_every_name_of_the_toolkit_is_there() -> None:
    assert len(lowering.__all__) > 40
    for name in lowering.__all__:
        assert getattr(lowering, name) is not None
    with pytest.raises(AttributeError, match=r"'cutecc\.lowering' has no attribute 'nothing'"):
        _ = lowering.nothing


@pytest.mark.parametrize("package", [lowering, passes], ids=lambda package: package.__name__)
def test_names_that_are_not_loaded_yet_are_listed(package: ModuleType) -> None:
    """In another process: in this one they may be loaded."""
    code = f"import {package.__name__} as package; print(*dir(package))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {*package.__all__, "__all__", "__doc__"} <= {*listed}
    assert len(listed) == len({*listed})


DECORATED = [(copies, "universal_copy"), (prefetches, "tma_load"), (multiplies, "sm90.mma")]


@pytest.mark.parametrize(("decorator", "kind"), DECORATED, ids=lambda value: getattr(value, "__name__", value))
def test_a_file_cannot_take_over_atoms_that_cutecc_lowers(
    decorator: Callable[..., Any], kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows.py"
    file.write_text(FILE.format(decorator=decorator.__name__, kind=kind))
    with pytest.raises(UsageError, match=f"there are two rows for the .*atoms called {kind}: cutecc.*mine") as raised:
        plugins.load_file(file)
    assert raised.value.location is not None and raised.value.location.line == 4
    ours, theirs = raised.value.message.split(" and ")
    assert "/cutecc/passes/lowering/atoms/" in ours and f"({file}:4)" in theirs
    assert "takes" in str(raised.value.hints)


def test_a_second_row_of_a_kind_says_which_atoms_it_takes() -> None:
    @multiplies("test.mma", takes=lambda atom: atom.element_a == F16)
    def halves(product: Any) -> None: ...

    @multiplies("test.mma", takes=lambda atom: atom.element_a == F32, state=(("scale", "i32"),))
    def singles(product: Any) -> None: ...

    assert registry.mma_row(product("test.mma", F16)).lower is halves
    assert registry.mma_row(product("test.mma", F32)).lower is singles
    assert registry.state_of(product("test.mma", F32)) == (("scale", "i32"),)
    with pytest.raises(Error, match=r"does not know the matrix product atom test\.mma .* bf16"):
        registry.mma_row(product("test.mma", Scalar("bf16")))
    with pytest.raises(UsageError, match=r"test\.mma: .*halves \(.*test_atom_rows\.py:\d+\) and .*all_of_them"):

        @multiplies("test.mma")
        def all_of_them(product: Any) -> None: ...


def test_two_rows_that_take_one_atom_are_an_error_where_it_is_met() -> None:
    @copies("test.copy", takes=lambda atom: atom.element == F16)
    def first(copy: Any) -> None: ...

    @copies("test.copy", takes=lambda atom: "copy_bits" not in atom.parameters)
    def second(copy: Any) -> None: ...

    with pytest.raises(UsageError, match=r"two rows for the copy atom test\.copy: .*first .* and .*second") as raised:
        registry.copy_row(CopyAtom("test.copy", F16))
    assert raised.value.message.count("test_atom_rows.py:") == 2
    assert registry.copy_row(CopyAtom("test.copy", F32)).lower is second


def test_rows_for_several_chips_agree_about_what_comes_before() -> None:
    old, new = Target.parse("sm_90a"), Target.parse("sm_120a")
    fields = (("scale", "i32"),)

    @multiplies("test.mma", chips=lambda chip: chip.major < 10, state=fields)
    def first(product: Any) -> None: ...

    @multiplies("test.mma", chips=lambda chip: chip.major == 12, state=fields)
    def second(product: Any) -> None: ...

    atom = product("test.mma")
    assert [registry.mma_row(atom, chip).lower for chip in (old, new)] == [first, second]
    assert registry.mma_row(atom).state == registry.state_of(atom) == fields
    with pytest.raises(Error, match=r"does not know the matrix product atom test\.mma .* on sm_100a yet") as raised:
        registry.mma_row(atom, Target.parse("sm_100a"))
    assert raised.value.hints == ["sm_80 has a row for it: lower-atoms{chip=sm_80}", registry.HINT]

    @multiplies("test.mma", chips=lambda chip: chip.suffix == "f")
    def without_fields(product: Any) -> None: ...

    with pytest.raises(UsageError, match="two rows for the matrix product atom"):
        registry.mma_row(atom)
    with pytest.raises(UsageError, match="two rows for the matrix product atom"):
        registry.mma_row(atom, Target.parse("sm_120f"))
    with pytest.raises(UsageError, match="two rows for the matrix product atoms called"):

        @multiplies("test.mma")
        def everywhere(product: Any) -> None: ...


def test_two_functions_of_one_name_are_two_rows() -> None:
    def row() -> Callable[[Any], None]:
        @multiplies("test.mma")
        def mine(product: Any) -> None: ...

        return mine

    row()
    with pytest.raises(UsageError, match="two rows"):
        row()


def test_a_module_that_is_loaded_again_has_its_rows_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cutecc_test_rows.py").write_text(FILE.format(decorator="multiplies", kind="test.mma"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("cutecc_test_rows")
    importlib.reload(module)
    assert registry.mma_row(product("test.mma")).lower is module.mine


class Callee:
    def __call__(self, product: Any) -> None: ...


@pytest.mark.parametrize(("lower", "shown"), [(functools.partial(print), "partial"), (Callee(), "Callee"), (1, "1")])
def test_a_row_is_a_function(lower: Any, shown: str) -> None:
    with pytest.raises(UsageError, match=f"{shown}.* is no function") as raised:
        multiplies("test.mma")(lower)
    assert raised.value.hints == ["write the row as a function of one parameter, a thread's use of the atom"]
    assert lower not in registrations.definitions().values()


def test_of_several_kinds_a_row_has_all_or_none() -> None:
    @multiplies("test.second")
    def first(product: Any) -> None: ...

    with pytest.raises(UsageError, match=r"two rows for the matrix product atoms called test\.second"):

        @multiplies("test.first", "test.second")
        def second(product: Any) -> None: ...

    assert registry.find_mma_row(product("test.first")) is None
    assert registry.mma_row(product("test.second")).lower is first


CELL = """
from cutecc.lowering import multiplies
from cutecc.ir.types import Scalar

def row(element):
    @multiplies("test.mma", takes=lambda atom: atom.element_a == element)
    def lower(product): ...

row(Scalar("f16"))
row(Scalar("f32"))

@multiplies("test.plain")
@traced
def plain(product): ...
"""
RUN_TWICE = f"""
import functools

def traced(lower):
    @functools.wraps(lower)
    def wrapper(product): return lower(product)
    return wrapper

cell = {CELL!r}
exec(cell), exec(cell)

from cutecc.ir.types import MmaAtom
from cutecc.passes.lowering.atoms import registry

for element in (Scalar("f16"), Scalar("f32")):
    assert registry.mma_row(MmaAtom("test.mma", (16, 8, 16), element, element, element))
    assert registry.mma_row(MmaAtom("test.plain", (16, 8, 16), element, element, element)).lower is plain
assert [len(registry._PRODUCTS.rows[kind]) for kind in ("test.mma", "test.plain")] == [2, 1]
"""


def test_what_is_run_again_has_its_rows_again() -> None:
    """As the cell of a notebook is: in `__main__`, which has no spec. Of one definition there may be several rows."""
    done = subprocess.run([sys.executable, "-c", RUN_TWICE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_atoms_of_a_kind_carry_is_said_once() -> None:
    with pytest.raises(Error, match="what the atoms called non_exec_tiled_tma_load carry is said twice"):
        registry.holds("non_exec_tiled_tma_load", state=())


def test_a_new_file_of_atoms_needs_no_list(tmp_path: Path) -> None:
    (tmp_path / "sm999.py").write_text(FILE.format(decorator="copies", kind="sm999.copy"))
    found = (
        f"from cutecc.passes.lowering import atoms; atoms.__path__.append({str(tmp_path)!r}); "
        "from cutecc.ir.types import CopyAtom, Scalar; from cutecc.passes.lowering.atoms.registry import copy_row; "
        "print(copy_row(CopyAtom('sm999.copy', Scalar('f16'))).lower.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert ran.stdout == "mine\n"


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, text: str, group: str = "cutecc.atoms"
) -> None:
    """A package with an entry point, as an installer leaves it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{package}.py").write_text(text)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nrows = {package}\n")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    plugins.load_installed_atoms.cache_clear()


def test_rows_of_an_installed_package_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "cutecc_installed", FILE.format(decorator="multiplies", kind="test.mma"))
    row = registry.mma_row(product("test.mma"))
    assert (row.lower.__module__, row.origin) == ("cutecc_installed", "cutecc_installed")


def test_an_installed_package_that_cannot_be_used_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "a", monkeypatch, "cutecc_taken", FILE.format(decorator="copies", kind="universal_copy"))
    install(tmp_path / "b", monkeypatch, "cutecc_empty", "")
    install(tmp_path / "c", monkeypatch, "cutecc_works", FILE.format(decorator="multiplies", kind="test.mma"))
    assert registry.copy_row(CopyAtom("universal_copy", F16)).lower.__module__.startswith("cutecc.")
    assert registry.mma_row(product("test.mma")).lower.__module__ == "cutecc_works"
    taken, empty = sorted((failure.message for failure in plugins.failures()), key=lambda message: "empty" in message)
    assert taken.startswith(
        "plugin rows of cutecc_taken cannot be loaded: there are two rows for the copy atoms called"
    )
    assert empty == "plugin rows of cutecc_empty cannot be loaded: it registers no row of an atom"


MODULE = """
!mma = !cute_nvgpu.sm80.sparse_mma<16x8x32, elem_type = (f16, f16, f32), md_format = tid >
!a = !cute.memref<f16, rmem, align<16>, "8:1">
!c = !cute.memref<f32, rmem, align<16>, "4:1">
func.func @kernel(%a: !a, %c: !c) {
  %0 = cute.make_atom() : () -> !mma
  cute.mma_atom_call(%0, %c, %a, %a, %c) : (!mma, !c, !a, !a, !c) -> ()
  return
}
"""
MET = FILE.replace("raise AssertionError", "raise __import__('cutecc').errors.Error('met ' + use.atom.kind)")


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_rows_that_a_program_imports_are_everywhere(
    isolation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"cutecc_imported_{isolation}"
    (tmp_path / f"{name}.py").write_text(MET.format(decorator="multiplies", kind="sm80.sparse_mma"))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(name)
    with pytest.raises(PassError, match=r"cute\.mma_atom_call: met sm80\.sparse_mma"):
        compile_module(MODULE, "sm_80", "lower-atoms", isolation=isolation, cache=False)


def test_a_compilation_is_warned_of_rows_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "cutecc_broken", "import nothing_of_this_name")
    empty = "func.func @f() { return }"
    warned = compile_module(empty, "sm_80", "lower-atoms", cache=False)
    assert isinstance(warned, Kernel)
    (warning,) = [each for each in warned.compilation.warnings if "plugin" in each.message]
    assert warning.message.startswith("plugin rows of cutecc_broken cannot be loaded: ModuleNotFoundError")


def test_rows_are_no_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the wrong group they would be found too late, or not at all."""
    text = FILE.format(decorator="multiplies", kind="test.mma")
    install(tmp_path, monkeypatch, "cutecc_misplaced", text, group="cutecc.passes")
    plugins.load_installed.cache_clear()
    plugins.load_installed()
    plugins.load_installed.cache_clear()
    (failure,) = plugins.failures()
    assert failure.message.endswith("it registers no pass and no pipeline")
    assert registry.find_mma_row(product("test.mma")) is None
