import os
import pickle
import sys
import time
from pathlib import Path

import pytest

from cutecc.backend import tools
from cutecc.backend.tools import Tool, ToolFailure, find_tool, run_tool, tool_version
from cutecc.errors import ToolError, UsageError

NAMES: tuple[tools.ToolName, ...] = ("ptxas", "nvdisasm", "cuobjdump")


def script(folder: Path, body: str) -> Tool:
    path = folder / "ptxas"
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(0o755)
    return find_tool("ptxas", path)


@pytest.fixture
def unfound(monkeypatch: pytest.MonkeyPatch):
    """No package is installed, and what was found before is forgotten."""

    def missing(name: str):
        raise tools.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(tools.importlib.metadata, "files", missing)
    tools._installed_tool.cache_clear()
    yield
    tools._installed_tool.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_comes_from_its_package(name: tools.ToolName):
    tool = find_tool(name)
    assert tool.origin == "package"
    assert tool.path.name == name
    assert "nvidia" in tool.path.parts
    assert tool_version(tool)[0].isdigit()
    assert "." in tool_version(tool)


def test_a_given_program_wins(tmp_path: Path):
    assert script(tmp_path, "print('release 1.2, V1.2.3')").origin == "given"
    assert tool_version(find_tool("ptxas", tmp_path / "ptxas")) == "1.2.3"


@pytest.mark.parametrize("content", [None, "not executable"])
def test_a_given_program_that_cannot_run_is_a_usage_error(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "ptxas").write_text(content)
    with pytest.raises(UsageError, match="is not a program"):
        find_tool("ptxas", tmp_path / "ptxas")


def test_path_is_searched_only_without_the_package(unfound: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tool("ptxas") == Tool("ptxas", (tmp_path / "ptxas").resolve(), "PATH")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_tool_names_its_package(
    unfound: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: tools.ToolName
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=f"{name} is not installed") as caught:
        find_tool(name)
    assert f"pip install {tools._PACKAGES[name]}" in str(caught.value)


def test_a_failure_carries_the_complaints_and_the_command(tmp_path: Path):
    tool = script(tmp_path, "import sys; print('no such register', file=sys.stderr); sys.exit(3)")
    with pytest.raises(ToolFailure, match="ptxas failed with exit status 3") as caught:
        run_tool(tool, ["--an option"])
    assert "note: no such register" in str(caught.value)
    assert "'--an option'" in caught.value.command_line
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_signal_is_told(tmp_path: Path):
    tool = script(tmp_path, "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(ToolFailure, match="was ended by signal 11"):
        run_tool(tool, [])


def test_a_tool_that_hangs_is_ended(tmp_path: Path):
    tool = script(tmp_path, "import time; time.sleep(60)")
    begin = time.monotonic()
    with pytest.raises(ToolFailure, match=r"took longer than 0\.2 s"):
        run_tool(tool, [], timeout=0.2)
    assert time.monotonic() - begin < 10


def test_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tools, "_OUTPUT_LIMIT_BYTES", 1 << 20)
    tool = script(tmp_path, "while True: print('x' * 4096)")
    with pytest.raises(ToolFailure, match="printed more than 1 MiB"):
        run_tool(tool, [])


def test_a_file_that_is_no_program_is_told(tmp_path: Path):
    path = tmp_path / "ptxas"
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)
    with pytest.raises(ToolFailure, match="cannot be started"):
        run_tool(find_tool("ptxas", path), [])


def test_no_shell_sees_the_arguments(tmp_path: Path):
    tool = script(tmp_path, "import sys; print(sys.argv[1:])")
    assert run_tool(tool, ["$HOME; ls"]).stdout == b"['$HOME; ls']" + os.linesep.encode()
