"""docs/pipeline.md tells the truth: its excerpts are lines of real dumps, its tables are the installed pipelines.

An excerpt is a code block below `<!-- excerpt: FILE TARGET after=SELECTOR -->`, where FILE is a kernel or a module,
SELECTOR a pass or `traced`; or `only=PASSES`, for these alone on a module. Its lines occur in the dump in this order,
indentation aside. `…` on a line of its own stands for lines left out, at the end of a line for the rest of the line.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from cutecc.ir.mlir import passmanager
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.base import ModulePass
from cutecc.passes.manager import Observer, Position
from cutecc.passes.nvidia.descriptions import DESCRIPTIONS
from cutecc.passes.nvidia.wheel_pipeline import WheelOptions, nvidia_pipeline
from cutecc.passes.pipeline import Pipeline

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "pipeline.md").read_text()
SKIP = "…"

# One process of its own traces every kernel, as the DSL and a clean set of bindings do not mix well.
TRACE = """
import sys
from pathlib import Path
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest

folder, *kernels = sys.argv[1:]
for number, kernel in enumerate(kernels):
    path, target = kernel.split()
    header = read_header(path)
    traced = trace_file(TraceRequest(path, entry=header.entry, args=header.args, target=target))
    (Path(folder) / str(number)).write_bytes(traced.bytecode)
"""


@dataclass(frozen=True)
class Excerpt:
    file: str
    target: str
    stage: str
    """`after=SELECTOR` or `only=PASSES`."""
    lines: tuple[str, ...]
    number: int
    """The line of the page that it begins at."""

    @property
    def module(self) -> tuple[str, str]:
        return self.file, self.target


def _excerpts() -> Iterator[Excerpt]:
    pattern = re.compile(r"<!-- excerpt: (\S+) (\S+) ((?:after|only)=\S+) -->\n```mlir\n(.*?)\n```", re.DOTALL)
    for match in pattern.finditer(PAGE):
        lines = tuple(line.strip() for line in match[4].splitlines())
        yield Excerpt(match[1], match[2], match[3], lines, PAGE[: match.start()].count("\n") + 1)


EXCERPTS = list(_excerpts())


def _missing(lines: tuple[str, ...], dump: list[str]) -> str | None:
    """The first line that `dump` does not hold in its place; `None` when it holds them all."""
    # Where in the dump the lines so far may end: a line can occur several times.
    ends = set(range(-1, len(dump)))
    skipped = False
    for line in lines:
        if line == SKIP:
            skipped = True
            continue
        start = line.removesuffix(SKIP).rstrip()
        ends = {
            number
            for number, text in enumerate(dump)
            if (text.startswith(start) if line.endswith(SKIP) else text == line)
            and (number > min(ends) if skipped else number - 1 in ends)
        }
        if not ends:
            return line
        skipped = False
    return None


class _Texts(Observer):
    """Keeps the text of the module after the passes asked for."""

    def __init__(self, selectors: list[str], wanted: set[str]) -> None:
        self._selectors = selectors
        self._wanted = wanted
        self.texts: dict[str, str] = {}

    def after(self, position: Position, module: object, seconds: float) -> None:
        selector = self._selectors[position.index - 1]
        if selector in self._wanted:
            self.texts[selector] = to_text(module)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bytes]:
    """The modules that the page shows, by file and target, before any pass."""
    modules = sorted({excerpt.module for excerpt in EXCERPTS})
    kernels = [module for module in modules if module[0].endswith(".py")]
    folder = tmp_path_factory.mktemp("traced")
    command = [sys.executable, "-c", TRACE, str(folder), *map(" ".join, kernels)]
    subprocess.run(command, check=True, cwd=ROOT)
    found = {module: (ROOT / module[0]).read_bytes() for module in modules if module not in kernels}
    return found | {module: (folder / str(number)).read_bytes() for number, module in enumerate(kernels)}


@pytest.fixture(scope="module")
def dumps(traced: dict[tuple[str, str], bytes]) -> dict[tuple[str, str, str], list[str]]:
    """Every dump that the page shows lines of, by file, target and stage."""
    found: dict[tuple[str, str, str], str] = {}
    for module, source in traced.items():
        stages = {excerpt.stage for excerpt in EXCERPTS if excerpt.module == module}
        for stage in stages:
            if stage.startswith("only="):
                with fresh_context():
                    parsed = parse(source, module[0])
                    manager.run(Pipeline.parse(stage.removeprefix("only=")), parsed)
                    found[*module, stage] = to_text(parsed)
        wanted = {stage.removeprefix("after=") for stage in stages if stage.startswith("after=")}
        for selector, text in _run(module[1], source, wanted).items():
            found[*module, f"after={selector}"] = text
    return {key: [line.strip() for line in text.splitlines()] for key, text in found.items()}


def _run(target: str, source: bytes, wanted: set[str]) -> dict[str, str]:
    if not wanted:
        return {}
    with fresh_context():
        module = parse(source)
        start = to_text(module)
        pipeline = nvidia_pipeline(target, WheelOptions(preserve_line_info=True), lir="lir.func" in start)
        selectors = pipeline.selectors()
        last = max((selectors.index(selector) for selector in wanted - {"traced"}), default=-1)
        texts = _Texts(selectors, wanted)
        manager.run(Pipeline(pipeline.passes[: last + 1]), module, [texts])
    return texts.texts | ({"traced": start} if "traced" in wanted else {})


@pytest.mark.slow
@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda excerpt: f"line-{excerpt.number}")
def test_excerpt_is_in_the_dump(excerpt: Excerpt, dumps: dict[tuple[str, str, str], list[str]]) -> None:
    dump = dumps[*excerpt.module, excerpt.stage]
    missing = _missing(excerpt.lines, dump)
    place = f"the dump of {excerpt.file} for {excerpt.target}, {excerpt.stage}"
    assert missing is None, f"docs/pipeline.md:{excerpt.number}: not in {place}, or not there: {missing}"


def test_a_wrong_excerpt_is_noticed() -> None:
    dump = ["a = 1", "b = 2", "a = 1", "c = 3 : i32"]
    assert _missing(("a = 1", "b = 2"), dump) is None
    assert _missing(("a = 1", "c = 3 : i32"), dump) is None
    assert _missing(("b = 2", SKIP, f"c = {SKIP}"), dump) is None
    assert _missing(("c = 3 : i32", SKIP, "a = 1"), dump) == "a = 1"
    assert _missing(("b = 2", "c = 3 : i32"), dump) == "c = 3 : i32"
    assert _missing(("a = 1", "b = 3"), dump) == "b = 3"
    assert _missing(("a",), dump) == "a"


def test_every_code_block_is_checked() -> None:
    assert PAGE.count("```mlir") == len(EXCERPTS) > 30


@cache
def _pipelines() -> tuple[Pipeline, Pipeline]:
    options = WheelOptions(preserve_line_info=True)
    plain = nvidia_pipeline("sm_90a", options)
    whole = nvidia_pipeline("sm_90a", options, lir=True)
    return plain, Pipeline(whole.passes[: len(whole) - len(plain)])


def _provider(pass_: ModulePass) -> str:
    """Who provides a pass: the wheel only when it knows the name."""
    if pass_.provider != "wheel":
        return pass_.provider
    with fresh_context():
        try:
            passmanager.PassManager.parse(f"builtin.module({pass_})")
        except ValueError:
            return "reimplementation"
    return "wheel"


@pytest.mark.parametrize("number", [0, 1], ids=["nvidia", "lir"])
def test_table_is_the_installed_pipeline(number: int) -> None:
    header = "| | pass | what it does | provided by |\n"
    table = PAGE.split(header)[number + 1].split("\n\n")[0].splitlines()[1:]
    expected = [
        f"| {index} | `{pass_.name}` | {DESCRIPTIONS[pass_.name]} | {_provider(pass_)} |"
        for index, pass_ in enumerate(_pipelines()[number], start=1)
    ]
    assert table == expected


def test_every_pass_has_a_section() -> None:
    titles = [line for line in PAGE.splitlines() if line.startswith("### ")]
    described = {name for title in titles for name in re.findall(r"`([a-z-]+)(?:#\d)?`", title)}
    assert described == {pass_.name for pass_ in _pipelines()[0]}


def test_hidden_passes_are_listed() -> None:
    plain, _ = _pipelines()
    hidden = [str(index) for index, pass_ in enumerate(plain, start=1) if _provider(pass_) != "wheel"]
    sentence = " ".join(PAGE.split("## Hidden passes")[1].split())
    assert f"run them alone: {', '.join(hidden)}, and `lir-pipeline-to-nvvm`" in sentence


def test_older_names_lead_to_passes_of_today() -> None:
    today = {pass_.name for pass_ in _pipelines()[0]}
    table = PAGE.split("| name then | until | name today |\n|---|---|---|\n")[1].split("\n\n")[0]
    names = [re.findall(r"`([a-z0-9-]+)`", row.split(" | ")[2])[0] for row in table.splitlines()]
    assert len(names) > 5
    assert set(names) <= today
