"""Fill the generated blocks of a documentation page from what the compiler and the command line really print.

    python tools/refresh_docs.py docs/reading-cute.md            # rewrite the blocks, and the pictures
    python tools/refresh_docs.py --check docs/reading-cute.md    # print what differs; status 1 if anything does

The page is its own source. A comment, which no reader sees, stands above a code block and says what the block holds:

    <!-- source: examples/gemm.py at="wait_group(1)" lines=2 -->      a line of a file by its text, and the next ones
    <!-- ir: examples/gemm.py after=cute-desugar op=cute.slice -->    lines of the IR after a pass, or after=traced
    <!-- ptx: examples/gemm.py at="cute.gemm(" op=wgmma.* -->         lines of the PTX
    <!-- run -->                                                      below each `$ command`, what it prints
    <!-- passes: open -->                                             above a table: the passes of a named pipeline
    <!-- glossary: examples/gemm.py … -->                             above a table of operations: its last column
    <!-- picture: cutecc layout '(4,8):(8,1)' -o pictures/x.svg -->   above `![…](pictures/x.svg)`: the file itself

`ir` and `ptx` compile the kernel for the target in its header, with `--line-info`, once for all blocks; with
`pipeline=open`, through that pipeline. They take the lines for which all of this holds: `op=` has a pattern, of several
separated by commas, of the operation's name; `with=` is in the line, and can be repeated; `at=` is in the line of
Python that it came from, and in that alone; with `used=1`, something uses its result. Of those, `pick=1,3..5,-1` takes
the first, the third to fifth and the last; `needs=2` adds what defines their operands, two levels deep; `context=1`
adds neighbours. A page says once how `ir_excerpts.show` prints them; an `ir` block begins with the stage it shows.

`glossary` tells after which pass dumps of the kernels hold none of a row's operations any more; the other columns are
written by hand. In the first, `cute.make_shape`, `make_stride` are two of one dialect. Operations that these kernels
have and the page does not name are an error.

Commands run in a scratch folder with copies of `examples/` and `test/kernels/`, in no promised order.

The text between the blocks is not generated, so `--check` also looks at what it names. Anything in backticks has to
be a file or folder or occur in a block or a comment of the page, `%names` and numbers of two digits or more in one of
the same section. Console blocks count: a test of their own follows them.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from glossary import LastSeen, completed, last_seen
from ir_excerpts import Choice, ExcerptError, Line, choose, read_dump, read_ptx, show

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("examples", "test/kernels")
MARKER = re.compile(r"^<!-- ((?:source|ir|ptx|picture|passes|glossary)(?=:)|run(?= -->)):?(.*?)-->\n", re.MULTILINE)
FENCE = re.compile(r"```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[[^\]]*\]\((pictures/[\w.-]+)\)")
TABLE = re.compile(r"((?:^\|.*\n)+)", re.MULTILINE)
BELOW = {"picture": (IMAGE, 1, "picture"), "passes": (TABLE, 1, "table"), "glossary": (TABLE, 1, "table")}
"""What stands below a marker that has no code block below it: its pattern, the group that is generated, its name."""


@dataclass
class Page:
    """A page as it should be: its text, and its pictures by path from the page's folder."""

    text: str
    pictures: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A marker and what stands below it."""

    kind: str
    arguments: str
    line: int
    """Of the marker, counted from 1."""
    body: str
    """The code, the table, or the path of the picture."""
    start: int
    end: int
    """Where in the page the body is."""


# Reading a page


def blocks(text: str) -> list[Block]:
    """The generated blocks of a page.

    Raises:
        ExcerptError: a marker without a block below it.
    """
    found: list[Block] = []
    for marker in MARKER.finditer(text):
        line = text.count("\n", 0, marker.start()) + 1
        below, group, what = BELOW.get(marker[1], (FENCE, 2, "code block"))
        body = below.match(text, marker.end())
        if body is None:
            raise ExcerptError(f"line {line}: no {what} below the comment")
        found.append(Block(marker[1], marker[2].strip(), line, body[group], body.start(group), body.end(group)))
    return found


def options(block: Block) -> tuple[str, dict[str, list[str]]]:
    """The file that a marker names, and its `key=value` options."""
    file, *rest = shlex.split(block.arguments)
    found: dict[str, list[str]] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals:
            raise ExcerptError(f"{word} is no key=value")
        found.setdefault(key, []).append(value)
    return file, found


def only(found: dict[str, list[str]], *allowed: str) -> None:
    if unknown := sorted(found.keys() - set(allowed)):
        raise ExcerptError(f"unknown: {', '.join(unknown)}; there is {', '.join(allowed)}")


# Making the blocks


@cache
def line_with(file: str, text: str) -> int:
    """The number of the one line of `file` that contains `text`."""
    numbers = [number for number, line in enumerate((ROOT / file).read_text().splitlines(), 1) if text in line]
    if len(numbers) != 1:
        raise ExcerptError(f"{len(numbers)} lines of {file} contain {text!r}, not one")
    return numbers[0]


def source(block: Block) -> str:
    """Lines of a Python file, their common indentation removed."""
    file, found = options(block)
    only(found, "at", "lines")
    first = line_with(file, found["at"][0])
    lines = (ROOT / file).read_text().splitlines()[first - 1 : first - 1 + int(found.get("lines", ["1"])[0])]
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "".join(line[indent:] + "\n" for line in lines)


class Kernels:
    """The kernels of a page, each compiled once, into folders below `folder`; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._lines: dict[tuple[Path, str], list[Line]] = {}
        self._failures: dict[Path, ExcerptError] = {}

    def lines(self, file: str, stage: str, pipeline: str = "nvidia") -> list[Line]:
        """The lines of the IR after a pass of a pipeline, or of `traced` or `ptx`."""
        with self._compiled(file, pipeline) as output:
            if (output, stage) not in self._lines:
                self._lines[output, stage] = self._read(file, output, stage)
            return self._lines[output, stage]

    def operations(self, file: str) -> LastSeen:
        """The operations of CuTe in a kernel's dumps."""
        with self._compiled(file, "nvidia") as output:
            return last_seen((stage, output / dump) for stage, dump in _stages(output))

    @contextmanager
    def _compiled(self, file: str, pipeline: str) -> Iterator[Path]:
        """The folder of a compiled kernel, to read while no other thread does."""
        output = self._folder / f"{pipeline}-{file.replace('/', '-')}"
        with self._lock:
            lock = self._locks.setdefault(output.name, threading.Lock())
        with lock:
            if output in self._failures:
                raise self._failures[output]
            if not output.exists():
                self._compile(file, pipeline, output)
            yield output

    def _compile(self, file: str, pipeline: str, output: Path) -> None:
        command = [*_cutecc(), "compile", ROOT / file, "--quiet", "--dump-after=all", "--line-info", "-o", output]
        done = subprocess.run([*command, "--pipeline", pipeline], capture_output=True, text=True)
        if done.returncode:
            # What the failed compilation left is not what other blocks want.
            self._failures[output] = ExcerptError(f"{file} does not compile: {done.stderr}")
            raise self._failures[output]

    def _read(self, file: str, output: Path, stage: str) -> list[Line]:
        if stage == "ptx":
            (path,) = output.glob("*.ptx")
            return read_ptx(path.read_text())
        dump = dict(_stages(output)).get(stage if "#" in stage else f"{stage}#1")
        if dump is None:
            raise ExcerptError(f"no pass {stage}")
        return read_dump((output / dump).read_text(), Path(file).name)


def _stages(output: Path) -> list[tuple[str, str]]:
    """What a compilation went through, as `traced#1` and `cse#2`, each with its dump."""
    found = [("traced#1", "00-traced.mlir")]
    seen: Counter[str] = Counter()
    for step in json.loads((output / "manifest.json").read_text())["steps"]:
        seen[step["name"]] += 1
        # A pass that changed nothing wrote no dump: the last one before it is what it left.
        found.append((f"{step['name']}#{seen[step['name']]}", step["dump"] or found[-1][1]))
    return found


def _cutecc() -> list[str]:
    return [sys.executable, "-m", "cutecc"]


def ordinals(text: str) -> list[int]:
    """The numbers of `1,3..5,-1`."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        found += range(int(first), int(last or first) + 1)
    return found


def excerpt(block: Block, kernels: Kernels) -> str:
    """Lines of a kernel's IR or PTX."""
    file, found = options(block)
    stages = ["after"] if block.kind == "ir" else []
    only(found, "at", "op", "with", "used", "pick", "needs", "context", "pipeline", *stages)
    choice = Choice(
        operations=tuple(pattern for value in found.get("op", []) for pattern in value.split(",")),
        texts=tuple(found.get("with", [])),
        source=line_with(file, found["at"][0]) if "at" in found else None,
        pick=tuple(number for value in found.get("pick", []) for number in ordinals(value)),
        needs=int(found.get("needs", ["0"])[0]),
        context=int(found.get("context", ["0"])[0]),
        used="used" in found,
    )
    if block.kind == "ir" and "after" not in found:
        raise ExcerptError("an ir block says after=PASS")
    stage = "ptx" if block.kind == "ptx" else found["after"][0]
    lines = kernels.lines(file, stage, found.get("pipeline", ["nvidia"])[0])
    caption = {"ptx": "", "traced": "// traced\n"}.get(stage, f"// after {stage}\n")
    return caption + show(lines, choose(lines, choice))


def run(block: Block, scratch: Path) -> str:
    """The commands of a block, each followed by what it prints now."""
    shown: list[str] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            shown += [line, *_shell(line[2:], scratch).splitlines()]
    return "".join(f"{line}\n" for line in shown)


def _shell(command: str, scratch: Path) -> str:
    # The `cutecc` that compiles the kernels, and what is installed beside Python.
    folders = [Path(_cutecc()[0]).parent, Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=scratch,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ExcerptError(f"{command} ends with status {done.returncode}: {done.stdout}")
    return done.stdout


def passes(block: Block) -> str:
    """A table of the passes of a named pipeline: what each does in a sentence, its file, and who provides it."""
    from cutecc.passes.nvidia.descriptions import DESCRIPTIONS
    from cutecc.passes.nvidia.options import WheelOptions
    from cutecc.support import isolation
    from cutecc.target import Target

    arguments = (block.arguments, Target.parse("sm_80"), WheelOptions(preserve_line_info=True))
    texts: list[str] = isolation.call("cutecc.passes.pipelines:pipeline_texts", *arguments)
    known = {entry.name: entry for entry in isolation.call("cutecc.passes.catalog:catalog")}
    rows = ["| | pass | what it does | provided by |", "|--:|---|---|---|"]
    for number, text in enumerate(texts, 1):
        # A pass on the device module reads `gpu.module(convert-fastmath-ops)`.
        name = text.removeprefix("gpu.module(").rstrip(")").partition("{")[0]
        summary = DESCRIPTIONS.get(name, known[name].summary)
        rows.append(f"| {number} | {_linked(name)} | {summary} | {known[name].provider} |")
    return "".join(f"{row}\n" for row in rows)


def _linked(name: str) -> str:
    """A pass's name, with a link from a page to its file where it is in Python."""
    files = sorted(ROOT.glob(f"cutecc/passes/**/{name.replace('-', '_')}.py"))
    return f"[`{name}`](../{files[0].relative_to(ROOT)})" if files else f"`{name}`"


def picture(block: Block, scratch: Path) -> bytes:
    """The file that a command draws."""
    _shell(block.arguments, scratch)
    if not (scratch / block.body).is_file():
        raise ExcerptError(f"{block.arguments} writes no {block.body}")
    return (scratch / block.body).read_bytes()


def refreshed(text: str) -> Page:
    """A page with every generated block made anew.

    Raises:
        ExcerptError: with the line of the marker whose block cannot be made.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        scratch = Path(folder) / "scratch"
        for name in COPIED:
            shutil.copytree(ROOT / name, scratch / name)
        (scratch / "pictures").mkdir()
        kernels = Kernels(Path(folder))
        makers: dict[str, Callable[[Block], str | bytes]] = {
            "source": source,
            "ir": lambda block: excerpt(block, kernels),
            "ptx": lambda block: excerpt(block, kernels),
            "run": lambda block: run(block, scratch),
            "picture": lambda block: picture(block, scratch),
            "passes": passes,
            "glossary": lambda block: completed(block.body, map(kernels.operations, block.arguments.split()), text),
        }
        found = blocks(text)
        made = [(block, pool.submit(makers[block.kind], block)) for block in found]
        page = Page(text)
        for block, future in reversed(made):
            try:
                result = future.result()
            except ExcerptError as error:
                raise ExcerptError(f"line {block.line}: {error}") from None
            if isinstance(result, bytes):
                page.pictures[block.body] = result
            else:
                page.text = page.text[: block.start] + result + page.text[block.end :]
        return page


# Checking the text


def _shown(text: str, start: int, end: int) -> str:
    """What the generated and the console blocks between two places of a page show."""
    generated = [block.arguments + "\n" + block.body for block in blocks(text) if start <= block.start < end]
    followed = [match[2] for match in FENCE.finditer(text, start, end) if match[1] == "console"]
    return "".join(generated + followed)


def unsupported(text: str) -> list[str]:
    """What the text between the blocks names and no block shows, each with its line."""
    shown = _shown(text, 0, len(text))
    prose = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    prose = re.sub(r"<!--.*?-->|\]\([^)]*\)", lambda match: "\n" * match[0].count("\n"), prose, flags=re.DOTALL)
    found: list[str] = []
    headings = [match.start() for match in re.finditer(r"^#+ ", text, re.MULTILINE)] + [len(text)]
    for start, end in pairwise(headings):
        section = _shown(text, start, end)
        first = text.count("\n", 0, start)
        lines = prose.split("\n")[first : text.count("\n", 0, end)]
        for line, sentence in enumerate(lines, first + 1):
            spans = re.findall(r"`([^`]+)`", sentence)
            missing = [
                span
                for span in spans
                if not all(part in shown for part in span.split("…")) and not (ROOT / span).exists()
            ]
            close = [name for span in spans for name in re.findall(r"%\w+", span)]
            if not sentence.startswith("#"):
                close += re.findall(r"(?<!\w)\d\d+(?!\w)", re.sub(r"`[^`]+`", "", sentence))
            missing += [name for name in close if not re.search(rf"(?<!\d){re.escape(name)}(?!\d)", section)]
            found += [f"line {line}: no block shows {name}\n" for name in missing]
    return found


def differences(path: Path) -> str:
    """What is out of date in a page and its pictures, as a diff, and what no block supports; empty when all is well."""
    text = path.read_text()
    page = refreshed(text)
    lines = difflib.unified_diff(
        text.splitlines(keepends=True), page.text.splitlines(keepends=True), str(path), "as it should be"
    )
    stale = [
        f"{name} is not what its command draws\n"
        for name, content in sorted(page.pictures.items())
        if not (path.parent / name).is_file() or (path.parent / name).read_bytes() != content
    ]
    return "".join([*lines, *stale, *unsupported(page.text)])


def write(path: Path) -> None:
    """Make a page and its pictures what they should be."""
    page = refreshed(path.read_text())
    for name, content in page.pictures.items():
        (path.parent / name).parent.mkdir(exist_ok=True)
        (path.parent / name).write_bytes(content)
    path.write_text(page.text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, show what differs")
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE.md")
    arguments = parser.parse_args()
    stale = ""
    for page in arguments.pages:
        try:
            if arguments.check:
                stale += differences(page)
            else:
                write(page)
        except ExcerptError as error:
            print(f"{page}: {error}", file=sys.stderr)
            return 2
    print(stale, end="")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
