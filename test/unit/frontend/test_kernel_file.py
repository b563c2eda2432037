"""Looking up what to compile in a file."""

import sys
from pathlib import Path

import pytest

from cutecc.errors import SourceLocation, TraceError, UsageError
from cutecc.frontend.kernel_file import find_callee, split_path

KERNELS = """import cutlass
import cutlass.cute as cute


@cute.kernel
def device(x: cute.Tensor):
    pass


@cute.jit
def second(x: cute.Tensor):
    pass


first = second


@cute.jit(preprocess=True)
def third(x: cute.Tensor):
    pass


def plain(x):
    pass


class Gemm:
    def __init__(self, tile=64):
        self.tile = tile

    @cute.jit
    def __call__(self, x: cute.Tensor):
        pass

    @cute.jit
    def run(self, x: cute.Tensor):
        pass


class OnlyRun:
    @cute.jit
    def run(self, x: cute.Tensor):
        pass
"""
ONE = "import cutlass.cute as cute\n\n\n@cute.jit\ndef only(x: cute.Tensor):\n    pass\n"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return str(path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("kernel.py", ("kernel.py", None)),
        ("a/kernel.py:add", ("a/kernel.py", "add")),
        ("kernel.py:Gemm.run", ("kernel.py", "Gemm.run")),
        ("C:/kernel.py", ("C:/kernel.py", None)),
        ("a:b/kernel.py", ("a:b/kernel.py", None)),
    ],
)
def test_split_path(text: str, parts: tuple[str, str | None]) -> None:
    assert split_path(text) == parts


def test_by_name(kernels: str) -> None:
    assert find_callee(kernels, "second").__name__ == "second"
    assert find_callee(kernels, "third").__name__ == "third"


def test_the_only_function(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(ONE)
    assert find_callee(str(tmp_path / "one.py")).__name__ == "only"


def test_imported_functions_are_not_the_files_own(tmp_path: Path) -> None:
    (tmp_path / "sibling_kernels.py").write_text(ONE.replace("only", "imported"))
    (tmp_path / "one.py").write_text("from sibling_kernels import imported\n" + ONE)
    assert find_callee(str(tmp_path / "one.py")).__name__ == "only"


def test_files_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "some_kernel_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shared.py").write_text("SIZE = 4\n")
    (package / "one.py").write_text("from .shared import SIZE\n" + ONE)
    assert find_callee(str(package / "one.py")).__module__ == "some_kernel_package.one"


def test_files_named_like_a_module(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text(ONE)
    before = sys.modules["json"]
    assert find_callee(str(tmp_path / "json.py")).__name__ == "only"
    assert sys.modules["json"] is before


def test_importing_is_not_running_as_a_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ONE + "\nif __name__ == '__main__':\n    raise SystemExit(1)\n")
    assert find_callee(str(tmp_path / "script.py")).__name__ == "only"


def test_entries(kernels: str) -> None:
    gemm = find_callee(kernels, entry="Gemm(tile=128)")
    assert gemm.tile == 128
    run = find_callee(kernels, entry="Gemm(tile=2 * 16).run")
    assert (run.__name__, run.__self__.tile) == ("run", 32)
    assert find_callee(kernels, entry="third").__name__ == "third"


def failure(*args: object, **kwargs: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        find_callee(*args, **kwargs)  # pyright: ignore
    return caught.value


def test_several_functions_are_listed(kernels: str) -> None:
    error = failure(kernels)
    # `first` is another name of `second`.
    assert error.message == f"{kernels} has 3 @cute.jit functions: second (line 11), first (line 11), third (line 19)"
    assert error.hints == [f"choose one: {kernels}:second"]


def test_no_function(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("x = 3\n")
    assert failure(str(tmp_path / "none.py")).message.endswith("none.py has no @cute.jit function")


def test_wrong_names(kernels: str, tmp_path: Path) -> None:
    error = failure(kernels, "secnod")
    assert error.message == f"{kernels} has no function 'secnod'"
    assert error.hints[0] == f"did you mean {kernels}:second?"
    error = failure(str(tmp_path / "kernel.py"))
    assert error.message.startswith("there is no file")
    assert error.hints == [f"did you mean {kernels}?"]
    assert failure(str(tmp_path / "nowhere" / "kernel.py")).hints == []


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("device", "'device' is a @cute.kernel", "name the @cute.jit function that launches it"),
        ("plain", "'plain' is a function without @cute.jit", None),
        ("Gemm", "'Gemm' is a class", "make an object of it: 'Gemm(…)'"),
        ("OnlyRun()", "without a @cute.jit __call__", "@cute.jit methods of it: run; for example OnlyRun().run"),
        ("3", "'3' is of type int", None),
        ("Gem()", "NameError: name 'Gem' is not defined", "did you mean Gemm?"),
        ("Gemm(tiles=3)", "unexpected keyword argument 'tiles'", None),
    ],
)
def test_entries_that_are_no_host_function(kernels: str, name: str, message: str, hint: str | None) -> None:
    error = failure(kernels, entry=name)
    assert message in error.message
    assert error.hints == ([hint] if hint else [])


def test_a_wrong_entry_is_underlined_where_it_stands(kernels: str) -> None:
    line = '# cutecc: entry = "Gemm(("'
    error = failure(kernels, entry="Gemm((", source=SourceLocation("k.py", 3, 20, line))
    assert str(error.location) == "k.py:3:25"


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("x = 1\ny = = 2\n", "2:5", "SyntaxError: invalid syntax"),
        ("import a_module_that_is_not_there\n", "1:1", "ModuleNotFoundError"),
        ("def f(x):\n    return x / 0\n\n\ny = 3 + f(1)\n", "2:12", "ZeroDivisionError: division by zero"),
        ("import cutlass\n\nx = cutlass.no_such_thing\n", "3:5", "has no attribute 'no_such_thing'"),
        ("raise SystemExit('stop')\n", "1:1", "SystemExit: stop"),
    ],
)
def test_a_file_that_fails(tmp_path: Path, source: str, place: str, message: str) -> None:
    path = tmp_path / "failing.py"
    path.write_text(source)
    with pytest.raises(TraceError) as caught:
        find_callee(str(path))
    assert str(caught.value.location) == f"{path}:{place}"
    assert caught.value.message.startswith("failing.py fails when it is run: ")
    assert message in caught.value.message
    assert "failing" not in sys.modules
