"""The external CUDA tools: where they are, which version, and how they are run."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cutecc.errors import ToolError, UsageError
from cutecc.ir import interrupts

ToolName = Literal["ptxas", "nvdisasm", "cuobjdump"]

_PACKAGES: dict[ToolName, str] = {
    "ptxas": "nvidia-cuda-nvcc",
    "nvdisasm": "nvidia-cuda-nvdisasm",
    "cuobjdump": "nvidia-cuda-cuobjdump",
}
_TIMEOUT_SECONDS = 600.0
_OUTPUT_LIMIT_BYTES = 256 << 20
_SHOWN_LOG_CHARACTERS = 4000


@dataclass(frozen=True)
class Tool:
    """One program of the CUDA toolkit."""

    name: ToolName
    path: Path
    origin: Literal["given", "package", "PATH"]
    """Named by the user, from the Python package that ships it, or found on `PATH` because that package is missing."""


@dataclass(frozen=True)
class ToolOutput:
    """What a tool that succeeded printed."""

    stdout: bytes
    stderr: str


def find_tool(name: ToolName, given: Path | None = None) -> Tool:
    """The tool called `name`: the one at `given`, else the installed package's, else the first on `PATH`.

    Raises `UsageError` when there is no program at `given`, `ToolError` when the tool is nowhere.
    """
    if given is None:
        return _installed_tool(name)
    if not _is_program(given):
        raise UsageError(f"{name}: {given} is not a program that can be run")
    return Tool(name, given.resolve(), "given")


@functools.cache
def _installed_tool(name: ToolName) -> Tool:
    package = _PACKAGES[name]
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        # The packages unpack into nvidia/cu13/bin, nvidia/cu14/bin, … by the toolkit's major version.
        if file.parts[0] == "nvidia" and file.parts[-2:] in (("bin", name), ("bin", f"{name}.exe")):
            path = Path(str(file.locate()))
            if _is_program(path):
                return Tool(name, path, "package")
    if found := shutil.which(name):
        return Tool(name, Path(found).resolve(), "PATH")
    hints = [f"install it: pip install {package}"]
    if name == "ptxas":
        hints.append("or name one with --ptxas PATH")
    raise ToolError(f"{name} is not installed", hints=hints)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@functools.cache
def tool_version(tool: Tool) -> str:
    """The version that the tool says it has, such as `13.5.37`; raises `ToolError` when it says none."""
    output = run_tool(tool, ["--version"], timeout=30)
    match = re.search(rb"\bV(\d+(?:\.\d+)+)", output.stdout)
    if match is None:
        raise ToolError(f"{tool.name}: {tool.path} does not tell its version", notes=[_shown(output.stdout.decode())])
    return match[1].decode()


def run_tool(
    tool: Tool, arguments: Sequence[str], *, folder: Path | None = None, timeout: float = _TIMEOUT_SECONDS
) -> ToolOutput:
    """Run the tool, without a shell, in `folder`, and return what it printed.

    `timeout` is in seconds. Raises `ToolFailure`, which carries the tool's complaints, when the tool cannot be started,
    fails, takes longer than `timeout` or prints more than 256 MiB.
    """
    command = [str(tool.path), *arguments]
    expired = threading.Event()
    with interrupts.let_through(), tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as failure:
            raise ToolFailure(tool, arguments, f"cannot be started: {failure}", "") from None

        def expire() -> None:
            expired.set()
            process.kill()

        # A timer instead of `wait(timeout)`, which polls: most runs take less than one of its naps.
        timer = threading.Timer(timeout, expire)
        timer.start()
        try:
            assert process.stdout is not None
            stdout = process.stdout.read(_OUTPUT_LIMIT_BYTES + 1)
            if len(stdout) > _OUTPUT_LIMIT_BYTES:
                process.kill()
            status = process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        errors.seek(0)
        stderr = errors.read(_OUTPUT_LIMIT_BYTES).decode(errors="replace")
    if expired.is_set():
        raise ToolFailure(tool, arguments, f"took longer than {timeout:g} s", stderr)
    if len(stdout) > _OUTPUT_LIMIT_BYTES:
        raise ToolFailure(tool, arguments, f"printed more than {_OUTPUT_LIMIT_BYTES >> 20} MiB", stderr)
    if status != 0:
        how = f"was ended by signal {-status}" if status < 0 else f"failed with exit status {status}"
        raise ToolFailure(tool, arguments, how, stderr)
    return ToolOutput(stdout, stderr)


class ToolFailure(ToolError):
    """A tool that ran and did not succeed."""

    def __init__(self, tool: Tool, arguments: Sequence[str], how: str, stderr: str) -> None:
        # Arguments that name files name them inside a temporary folder: the command reads the same every time.
        self.command_line = shlex.join([str(tool.path), *arguments])
        self.stderr = stderr
        notes = [_shown(stderr)] if stderr.strip() else []
        super().__init__(f"{tool.name} {how}", notes=[*notes, f"the command was: {self.command_line}"])


def _shown(log: str) -> str:
    text = log.strip()
    if len(text) <= _SHOWN_LOG_CHARACTERS:
        return text
    return f"{text[:_SHOWN_LOG_CHARACTERS]}\n… ({len(text) - _SHOWN_LOG_CHARACTERS} characters more)"
