"""Doing what a page says, as a reader would, and comparing what comes out with what it shows.

In a console block, a line that begins with `$ ` is a command; the lines below it are its output. `…` stands for any
text within a line, and alone on a line for any number of lines; spaces count as one. A block that begins with a comment
of a file's name alone is that file, which the commands below find; `# name.py, continued` is what a reader adds to it.
Other Python blocks have to compile. `cutecc run` and `cutecc bench` do what the page shows where there is a GPU, and
elsewhere say that there is none, unless they name the CPU. `cutecc versions` across releases of the wheel takes the
environments of `make test-few-versions`, and is left out where there are none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_GPU = re.compile(r"cutecc (run|bench) ")
NEEDS_WHEELS = re.compile(r"cutecc versions .*--across (\d+\.\d+\.\d+),(\d+\.\d+\.\d+) ")
NO_GPU = "error: this machine has no CUDA driver: "
FILE = re.compile(r"(?:#|//) ([\w./-]+\.\w+)(, continued)?\n")


@dataclass
class Command:
    """A command of a document and the excerpt below it."""

    line: str
    excerpt: list[str] = field(default_factory=list)


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block, in order."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *excerpt = part.splitlines()
        yield Command(line, excerpt)


def prepare(folder: Path) -> Path:
    """Where a reader works: a folder in `folder` with the examples, beside a checkout called `cutecc`."""
    (folder / "cutecc").symlink_to(ROOT)
    for name in ("examples", "test/kernels", "docs/inputs"):
        shutil.copytree(ROOT / name, folder / "work" / name)
    return folder / "work"


def follow(page: str, folder: Path, commands_in: Path = Path(sys.executable).parent) -> None:
    """Do what a page's text says, as a reader in `folder` would; what comes out has to be what it shows.

    `commands_in` is where `cutecc` is found.
    """
    for language, block in BLOCK.findall(page):
        if language == "console":
            for command in commands(block):
                names_device = "--device" in command.line or "--untrusted" in command.line
                wheels = NEEDS_WHEELS.match(command.line)
                environments = wheels and environments_of(wheels[1], wheels[2])
                if wheels and not environments:
                    continue
                needs_gpu = NEEDS_GPU.match(command.line) and not names_device
                line = f"{command.line} --device cuda:0" if needs_gpu else f"{command.line} {environments or ''}"
                output = run(line, folder, commands_in)
                if needs_gpu and output[0].startswith(NO_GPU):
                    continue
                assert matches(command.excerpt, output), f"{command.line}\n" + "\n".join(output)
        elif name := FILE.match(block):
            path = folder / name[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text() + "\n\n" if name[2] else ""
            path.write_text(before + block.removeprefix(name[0] if name[2] else ""))
        elif language == "python":
            compile(block, "page", "exec")


def environments_of(first: str, newest: str) -> str | None:
    """The option for environments with two releases, the second of them this one; `None` where there is none."""
    python = ROOT / f".venv-{first}" / "bin" / "python"
    if not python.exists() or metadata.version("nvidia-cutlass-dsl") != newest:
        return None
    return f"--env {first}={python} --env {newest}={sys.executable}"


def run(command: str, folder: Path, commands_in: Path = Path(sys.executable).parent) -> list[str]:
    """The lines that `command` prints. What it installs comes into `folder`, from no index."""
    site = folder.parent / "site"
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(commands_in), str(Path(sys.executable).parent), os.environ["PATH"]]),
        **({"PYTHONPATH": os.pathsep.join(paths)} if site.exists() else {}),
        "PIP_TARGET": str(site),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        # pip reads it as the value of --no-build-isolation's opposite.
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    return printed(command, folder, environment)


def printed(command: str, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """The lines that `command` prints, with both streams in one."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.stdout.splitlines()


def matches(excerpt: list[str], output: list[str]) -> bool:
    """Whether `excerpt` describes the whole of `output`."""
    if not excerpt:
        return not output
    if excerpt[0] == "…":
        return any(matches(excerpt[1:], output[skipped:]) for skipped in range(len(output) + 1))
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in excerpt[0].split("…"))
    line = " ".join(output[0].split()) if output else None
    return line is not None and re.fullmatch(pattern, line) is not None and matches(excerpt[1:], output[1:])
