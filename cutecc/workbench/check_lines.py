"""From what a command prints to the lines that filecheck compares it with."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST = 60
"""Types, strings and symbols with more characters are shortened; twice as many where an alias is defined."""
SPLIT = "// -----"

FUNCTION = re.compile(
    r'^(?P<indent>\s*)(?P<head>[a-z_]\w*(?:\.\w+)+ (?:public |private )?@(?P<name>[\w$.-]+|"[^"]+")\()'
)
_ALIAS = re.compile(r"^(?P<name>[#!]\w+) = (?P<text>.*)$")
_DIAGNOSTIC = re.compile(r"^(?:\S.*: )?(?:error|warning|remark|note|hint): |^// -----// IR Dump ")
_DEFINITION = re.compile(r"^\s*(?P<results>%[^=]*?) = \"?(?P<operation>[a-z_][\w.]*)")
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|%(?P<value>[\w$.-]+)|\^(?P<block>bb\d+)|(?P<alias>(?<!\w)[#!][a-z_]\w*)(?![\w.<])'
)
ANYTHING, _NAME_REST = "\0", "\1"
"""Stand for what was left out, and for the rest of a name, until the line is escaped."""


@dataclass
class Block:
    """Check lines for one function of the output, or for what is not in a function."""

    function: str | None
    chunk: int
    """How many `// -----` lines come before it."""
    checks: list[str] = field(default_factory=list[str])
    """Check lines without comment sign and prefix, such as `-NEXT: return`."""

    @property
    def label(self) -> str:
        """The text of the `LABEL` line; empty for what is not in a function."""
        return next((check.removeprefix("-LABEL: ") for check in self.checks if check.startswith("-LABEL: ")), "")


def check_blocks(output: str, test: str) -> list[Block]:
    """The checks for `output`, which calls the file with the test `test`; function by function where it is MLIR."""
    lines = output.rstrip("\n").split("\n")
    if not any(FUNCTION.match(line) and line.endswith("{") for line in lines):
        return [Block(None, 0, list(_plain_checks(lines, test)))]
    chunks: list[list[str]] = [[]]
    for line in lines:
        if line == SPLIT:
            chunks.append([])
        else:
            chunks[-1].append(_any_line(line, test))
    blocks: list[Block] = []
    outside: list[str] = []
    for number, chunk in enumerate(chunks):
        found, outside = _chunk_blocks(chunk, number, outside)
        blocks += found
    blocks[-1].checks += outside
    return blocks


def _chunk_blocks(chunk: list[str], number: int, outside: list[str]) -> tuple[list[Block], list[str]]:
    """The checks for the functions of one module, and those that belong behind them; `outside` come before them."""
    aliases = _Aliases(chunk)
    blocks: list[Block] = []
    rest = iter(chunk)
    for line in rest:
        match = FUNCTION.match(line)
        if match and line.endswith("{"):
            body = [line]
            while body[-1] != f"{match['indent']}}}" and (inner := next(rest, None)) is not None:
                body.append(inner)
            blocks.append(Block(match["name"], number, outside + list(_function_checks(body, match, aliases))))
            outside = []
        elif _DIAGNOSTIC.match(line):
            outside.append(f": {_escaped(line)}")
        elif not blocks and _ALIAS.match(line):
            outside.append(line)
    if blocks:
        # Only now is it known which aliases the functions use.
        blocks[0].checks = [check for line in blocks[0].checks for check in aliases.definition(line)]
    return blocks, outside


def _plain_checks(lines: list[str], test: str) -> Iterator[str]:
    """Each line below the one before it, with no values captured."""
    kind = ""
    for line in lines:
        if line.strip():
            yield f"{kind}: {_escaped(_shortened(_any_line(line, test))).strip()}"
        kind = "-NEXT" if line.strip() else ""


def _function_checks(body: list[str], header: re.Match[str], aliases: _Aliases) -> Iterator[str]:
    """Checks for one function, whose lines are `body`."""
    values = _Values(body, aliases)
    yield f"-LABEL: {_escaped(_shortened(header['head']))}"
    rest = re.sub(r"( attributes \{.*)? \{$", "", body[0][header.end() :])
    if rest != ")":
        yield f"-SAME: {values.generalised(rest)}"
    for line in body[1:]:
        # What a block's predecessors are says nothing new.
        line = re.sub(r"(?<=:)\s+// .*$", "", line)
        line = re.sub(r' loc\((?:#\w+|unknown|["cf].*)\)$', "", line).strip()
        yield f"-NEXT: {values.generalised(line)}" if line else "-EMPTY:"


class _Aliases:
    """The attribute and type aliases that a module defines before its first function."""

    def __init__(self, module: list[str]) -> None:
        before = itertools.takewhile(lambda line: not FUNCTION.match(line), module)
        self._defined = {match["name"] for line in before if (match := _ALIAS.match(line))}
        self._used: set[str] = set()
        self.names = {alias[1:].upper() for alias in self._defined}

    def reference(self, alias: str) -> str:
        """How a check refers to `alias`, such as `#map`."""
        if alias not in self._defined:
            return f"{alias[0]}{{{{.*}}}}"
        self._used.add(alias)
        return f"{alias[0]}[[{alias[1:].upper()}]]"

    def definition(self, line: str) -> list[str]:
        """The check for `line`: one that captures an alias that is used, none for another alias, else `line` itself."""
        match = _ALIAS.match(line)
        if match is None:
            return [line]
        alias = match["name"]
        if alias not in self._used:
            return []
        # An alias inside another one is left open.
        text = re.sub(r"([#!])(\w+)(?![\w.<])", rf"\1{ANYTHING}", _shortened(match["text"], 2 * LONGEST))
        return [f": {alias[0]}[[{alias[1:].upper()}:.*]] = {_escaped(text)}"]


class _Values:
    """The values and blocks of one function, and the names that checks capture them under."""

    def __init__(self, body: list[str], aliases: _Aliases) -> None:
        self._aliases = aliases
        # A name that ends with its region may come again for another value: each definition begins a new one.
        self._definitions: Counter[str] = Counter()
        self._uses: Counter[tuple[str, int]] = Counter()
        for line in body:
            self._define(line)
            self._uses.update(
                self._key(name) for match in _TOKEN.finditer(line) if (name := match["value"] or match["block"])
            )
        self._definitions.clear()
        self._operation = ""
        self._names: dict[tuple[str, int], str] = {}

    def _define(self, line: str) -> None:
        match = _DEFINITION.match(line)
        self._operation = match["operation"] if match else ""
        defined = re.findall(r"%([\w$.-]+)", match["results"]) if match else []
        defined += re.findall(r"(?<!^)(?<=[ (])%([\w$.-]+) = ", line.strip())
        if line.lstrip().startswith("^"):
            defined += re.findall(r"%([\w$.-]+): ", line)
        self._definitions.update(set(defined))

    def _key(self, name: str) -> tuple[str, int]:
        return name, self._definitions[name]

    def generalised(self, line: str) -> str:
        """`line` as a check, with values, blocks and aliases captured or referred to; lines come in their order."""
        self._define(line)
        line = _shortened(line)
        parts: list[str] = []
        end = 0
        for match in _TOKEN.finditer(line):
            parts.append(_escaped(line[end : match.start()]))
            end = match.end()
            if match["value"]:
                parts.append(f"%{self._reference(match['value'], '.*')}")
            elif match["block"]:
                parts.append(f"^{self._reference(match['block'], 'bb[0-9]+')}")
            elif match["alias"]:
                parts.append(self._aliases.reference(match["alias"]))
            else:
                parts.append(_escaped(match[0]))
        return "".join(parts) + _escaped(line[end:])

    def _reference(self, value: str, pattern: str) -> str:
        key = self._key(value)
        if key in self._names:
            return f"[[{self._names[key]}]]"
        if self._uses[key] < 2:
            return f"{{{{{pattern}}}}}"
        name = self._names[key] = self._new_name(value)
        return f"[[{name}:{pattern}]]"

    def _new_name(self, value: str) -> str:
        """`LAYOUT` for the result of `cute.get_layout`, `ARG0` for `%arg0`, `C16_I32` for `%c16_i32`."""
        base = re.sub(r"\W", "_", value)
        if value.isdecimal():
            words = (self._operation or "value").split(".")
            # The last word of `nvvm.read.ptx.sreg.tid.x` is too little.
            base = re.sub(r"^(?:get|make|to)_(?=.)", "", words[-1] if len(words[-1]) > 2 else "_".join(words[-2:]))
        base = base.upper()
        taken = {*self._names.values(), *self._aliases.names}
        name, number = base, 1
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name


def _shortened(line: str, longest: int = LONGEST) -> str:
    """`line` with the inside of types, attributes, strings and names left out that are longer than `longest`."""
    line = re.sub(
        r'"((?:[^"\\]|\\.)*)"', lambda string: f'"{ANYTHING}"' if len(string[1]) >= longest else string[0], line
    )
    line = re.sub(rf"(@[\w$.-]{{{LONGEST * 2 // 3}}})[\w$.-]{{{LONGEST // 3},}}", rf"\1{_NAME_REST}", line)
    start = 0
    while match := re.compile(r"[#!][a-z_]\w*(?:\.\w+)+<").search(line, start):
        end = _closing(line, match.end())
        if end - match.start() > longest:
            line = f"{line[: match.end()]}{ANYTHING}{line[end - 1 :]}"
            start = match.end() + len(ANYTHING) + 1
        else:
            start = end
    return line


def _closing(line: str, start: int) -> int:
    """Where the `<` right before `start` is closed: the index behind the `>`, or the end of the line."""
    depth = 1
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>]').finditer(line, start):
        depth += (match[0] == "<") - (match[0] == ">")
        if depth == 0:
            return match.end()
    return len(line)


def _any_line(line: str, test: str) -> str:
    """`line` with its line numbers in `test` left open: they move."""
    return re.sub(rf'({re.escape(test)}"?):\d+(?=:)', rf"\1:{ANYTHING}", line)


def _escaped(text: str) -> str:
    """`text` as filecheck has to read it to match it; what was left out matches anything."""
    text = re.sub(r"\{\{|\[\[", lambda match: "{{[{][{]}}" if match[0] == "{{" else r"{{\[\[}}", text)
    return text.replace(ANYTHING, "{{.*}}").replace(_NAME_REST, "{{[^(), ]*}}")
