"""Loading the bindings without the DSL, and the DSL after them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# Releases before 4.8 import what a program does again, and take no submodule for what `from` names.
LOAD = """
import cutecc.ir.bindings as bindings
from cutecc.ir.modules import fresh_context, parse, to_text
with fresh_context():
    assert "arith.addi" in to_text(parse(b"func.func @f(%a: i32) { %0 = arith.addi %a, %a : i32 return }"))
"""
USE_DSL = """
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = a[1] + a[2]

@cute.jit
def launch(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[1, 1, 1])

import cutlass.compiler
fake = make_fake_compact_tensor(cutlass.Float32, (128,))
artifact = cute.compile_to(cutlass.compiler.ArtifactType.PreCompiledMlir, launch, fake)
assert artifact.get_bitcode()
"""


def python(tmp_path, *parts: str) -> str:
    """Run a file: the DSL reads a kernel's source."""
    file = tmp_path / "program.py"
    file.write_text(
        "import os\nos.environ['CUTE_DSL_ARCH'] = 'sm_80'\n" + "\n".join(textwrap.dedent(part) for part in parts)
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_dsl_stays_out_when_all_modules_are_looked_at(tmp_path) -> None:
    # As hypothesis, unittest and inspect do.
    python(
        tmp_path,
        LOAD,
        """
        import sys
        for module in [*sys.modules.values()]:
            for name in ("__file__", "__warningregistry__", "__wrapped__", "__loader__"):
                getattr(module, name, None)
        assert not bindings.dsl_is_imported()
        assert sys.modules["cutlass"].__file__.endswith("__init__.py")
        """,
        USE_DSL,
    )


def test_the_dsl_stays_out(tmp_path) -> None:
    output = python(
        tmp_path,
        LOAD,
        """
        import sys
        assert not bindings.dsl_is_imported()
        loaded = [name for name in sys.modules if name.startswith("cutlass.") and not name.startswith("cutlass._mlir")]
        print(loaded)
        """,
    )
    assert output.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts", [(LOAD, USE_DSL), (USE_DSL, LOAD), (LOAD, USE_DSL, LOAD)], ids=["bindings-dsl", "dsl-bindings", "both"]
)
def test_the_dsl_works_before_and_after(tmp_path, parts) -> None:
    # Both have one `ir`: a module that the DSL traced is one for us.
    shared = """
    import cutlass._mlir.ir as theirs
    from cutecc.ir.mlir import ir as ours
    assert ours is theirs
    assert bindings.dsl_is_imported()
    with fresh_context():
        assert "cuda.kernel @" in to_text(parse(artifact.get_bitcode()))
    print("fine")
    """
    assert python(tmp_path, *parts, shared).strip() == "fine"


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import cutlass; assert cutlass.Float32",
        "from cutlass import cute; assert cute.Tensor",
        "import cutlass.cute; assert cutlass.cute.jit",
        "import cutlass.cute; assert cutlass.cute.typing and cutlass.cute.__spec__.loader",
        "import importlib; assert importlib.import_module('cutlass.cute.runtime').make_fake_stream",
        "import importlib.util; assert importlib.util.find_spec('cutlass').origin",
    ],
)
def test_every_way_to_import_the_dsl_afterwards(tmp_path, statement: str) -> None:
    python(tmp_path, LOAD, statement)


def test_without_the_wheel_the_error_says_what_to_install(tmp_path) -> None:
    output = python(
        tmp_path,
        """
        from importlib import metadata
        real = metadata.version
        def version(name):
            if name == "nvidia-cutlass-dsl":
                raise metadata.PackageNotFoundError(name)
            return real(name)
        metadata.version = version
        from cutecc.errors import UnsupportedVersionError
        from cutecc.ir import bindings
        try:
            bindings.load()
        except UnsupportedVersionError as error:
            print(error)
        """,
    )
    assert "nvidia-cutlass-dsl is not installed" in output
    assert "hint: pip install 'nvidia-cutlass-dsl==4.8.*'" in output
    assert "hint: cutecc doctor says what is installed" in output


@pytest.mark.parametrize("wrong", ["RuntimeError('no flavour for this driver')", "ImportError('libcuda.so.1: gone')"])
def test_bindings_that_do_not_load(tmp_path: Path, wrong: str) -> None:
    libraries = tmp_path / "cutlass" / "_mlir" / "_mlir_libs"
    libraries.mkdir(parents=True)
    (tmp_path / "cutlass" / "__init__.py").touch()
    (libraries / "__init__.py").write_text(f"raise {wrong}\n")
    output = python(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from cutecc.errors import UnsupportedVersionError
        from cutecc.ir import bindings
        for _ in range(2):
            try:
                bindings.load()
            except UnsupportedVersionError as error:
                print(error)
        assert not bindings.dsl_is_imported()
        """,
    )
    message = wrong.partition("'")[2].partition("'")[0]
    assert output.count(f"the MLIR bindings of nvidia-cutlass-dsl do not load: {message}") == 2
    assert output.count("hint: cutecc doctor says") == 2


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        *[("4.8.7", "4.8"), ("4.6.0", "4.6"), ("4.7.1", "4.7")],
        *[("4.9.0", "4.8, warned"), ("4.80.0", "4.8, warned"), ("4.9rc1", "4.8, warned")],
        *[("4.5.3", "refused"), ("3.0.0", "refused"), ("5.0.0", "refused"), ("4", "refused"), ("unknown", "refused")],
    ],
)
def test_versions(tmp_path, version: str, outcome: str) -> None:
    output = python(
        tmp_path,
        f"""
        import warnings
        from importlib import metadata
        metadata.version = lambda name: {version!r}
        from cutecc.errors import UnsupportedVersionError
        from cutecc.ir.version import installed_release
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                print(installed_release().version + (", warned" if caught else ""))
                assert all({version!r} in str(each.message) for each in caught)
            except UnsupportedVersionError as error:
                assert {version!r} in str(error) and "4.8" in str(error)
                print("refused")
        """,
    )
    assert output.strip() == outcome
