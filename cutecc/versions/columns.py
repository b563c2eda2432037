"""What `cutecc versions --across` names: a column is words that say what it has of its own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.ir.releases import RELEASES
from cutecc.ir.version import known_release
from cutecc.passes.generation.choice import PASSES
from cutecc.passes.named import NAMED
from cutecc.support.spelling import did_you_mean

INSTALLED = "installed"
"""The word for the environment that cutecc runs in."""
_WHEEL = re.compile(r"v?(?P<version>\d+(?:\.\w+)*)(?P<flavour>\[[\w-]+\])?")
_FLAVOUR = re.compile(r"\[(cu\d+)\]$")
_NUMBERS = 3
"""Of a whole version: `4.8.1`."""
_COMMA = re.compile(r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""")
"""Not one in quotes."""
_SHARED = ("--target", "--output", "-o", "--jobs", "-j")
"""Options of `cutecc compile` that a comparison gives to all columns."""
_REVISION = "git:"
_WORKING_TREE = "."


@dataclass(frozen=True)
class Column:
    """What is compiled for a column, and how; what it does not say is as in the environment and tree of the caller."""

    name: str
    """As the user wrote it."""
    wheel: str | None = None
    """The version of nvidia-cutlass-dsl to make an environment with, and its flavour: `4.8.1[cu13]`."""
    environment: str | None = None
    """The name of an environment that exists."""
    python: Path | None = None
    """Its interpreter."""
    revision: str | None = None
    """Of git, whose files are compiled in the place of those in the working tree."""
    options: tuple[str, ...] = field(default=())
    """For `cutecc compile`."""

    @property
    def flavour(self) -> str | None:
        """What the wheel shall be built for, `cu13`; `None` where that is left to it."""
        named = _FLAVOUR.search(self.wheel or "")
        return named and named[1]


def parse_columns(texts: Sequence[str], environments: Mapping[str, Path]) -> list[Column]:
    """The columns that options `--across` name, several in each with commas between them, in their order.

    A column is words: a version of nvidia-cutlass-dsl with its flavour, `installed`, a name of `environments`,
    `git:REVISION` or `.` for the working tree, a pipeline, a code generator, and options of `cutecc compile`. Raises
    `UsageError` for what is none of these, is said twice, and for two columns of one name.
    """
    columns = [_column(part, environments) for text in texts for part in _parts(text)]
    names = [each.name for each in columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--across names {twice} twice")
    return columns


def _parts(text: str) -> list[str]:
    """The text at its commas, but for those in quotes."""
    parts = [part.strip() for part in _COMMA.split(text)]
    if not all(parts):
        raise UsageError(f"--across '{text}' names nothing between two commas, or at an end")
    return parts


def _column(name: str, environments: Mapping[str, Path]) -> Column:
    try:
        words = shlex.split(name)
    except ValueError as failure:
        raise UsageError(f"--across '{name}': {failure}") from None
    said: dict[str, str] = {}
    options: list[str] = []
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            options += [word, *words]
            _check_options(name, options)
            break
        kind, value = _kind(word, environments)
        if kind in said:
            raise UsageError(f"--across '{name}': {said[kind]} and {word} are both {kind}; a column has one")
        said[kind] = word
        options += value if isinstance(value, list) else []
    environment, revision = said.get(_ENVIRONMENT), said.get(_SOURCES)
    is_wheel = environment is not None and environment not in environments and environment != INSTALLED
    return Column(
        name,
        wheel=environment.removeprefix("v") if is_wheel and environment else None,
        environment=environment if environment in environments else None,
        python=environments.get(environment) if environment else None,
        revision=revision.removeprefix(_REVISION) if revision and revision != _WORKING_TREE else None,
        options=tuple(options),
    )


def _check_options(name: str, words: Sequence[str]) -> None:
    for word in words:
        if (option := word.partition("=")[0]) in _SHARED:
            hints = [f"say {option} once, beside --across"]
            raise UsageError(f"--across '{name}': {option} is for all columns, and not for one of them", hints=hints)


def _check_wheel(word: str, version: str, flavour: str) -> None:
    """Before an environment is made: pip ignores an extra that it does not know."""
    if known_release(version) is None:
        known = f"{RELEASES[0].version} to {RELEASES[-1].version}"
        raise UsageError(f"--across {word}: cutecc needs nvidia-cutlass-dsl {known}")
    flavours = [each.name for each in RELEASES[-1].flavours]
    if flavour and flavour not in flavours:
        raise UsageError(
            f"--across {word}: nvidia-cutlass-dsl has no flavour '{flavour}'",
            hints=did_you_mean(flavour, flavours) or [f"there are {' and '.join(flavours)}"],
        )


_ENVIRONMENT, _SOURCES = "environments", "states of the sources"


def _kind(word: str, environments: Mapping[str, Path]) -> tuple[str, list[str] | None]:
    """What a word chooses between, and the options that it stands for."""
    if word in environments or word == INSTALLED:
        return _ENVIRONMENT, None
    if match := _WHEEL.fullmatch(word):
        missing = _NUMBERS - len(match["version"].split("."))
        if missing > 0:
            hints = [f"as in {match['version']}{'.0' * missing}{match['flavour'] or ''}"]
            raise UsageError(f"--across {word}: a version has three numbers", hints=hints)
        _check_wheel(word, match["version"], (match["flavour"] or "").strip("[]"))
        return _ENVIRONMENT, None
    if word == _WORKING_TREE or (word.startswith(_REVISION) and word != _REVISION):
        return _SOURCES, None
    if word in PASSES:
        return "code generators", ["--backend", word]
    if word in NAMED:
        return "pipelines", ["--pipeline", word]
    if Path(word).is_file():
        # The same file where a revision's sources are compiled, in a folder of theirs.
        return "pipelines", ["--pipeline", str(Path(word).absolute())]
    known = [*environments, INSTALLED, *NAMED, *PASSES]
    raise UsageError(
        f"--across: '{word}' is no version, environment, git:REVISION, pipeline, code generator or option",
        hints=did_you_mean(word, known) or ["as in --across 4.7.1,4.8.1[cu13] or --across git:HEAD~1,. or nvidia,open"],
    )
