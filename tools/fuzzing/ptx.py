"""PTX that nobody means well with: texts that were changed, and instructions of every row of the emulator's table."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from cutecc.emulator.instructions.table import TABLE
from cutecc.emulator.machine.decode import FAMILIES

_INSTRUCTION = re.compile(r"^(?P<before>\s*(?:@!?%\w+\s+)?)(?P<name>[a-z][\w.:]*)\b(?P<operands>[^;/]*);(?P<after>.*)$")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{\[(]+")
_WORD = re.compile(r"%\w+(?:\.\w)?|\$?\b\w+")
_NUMBER = re.compile(r"\b\d\w*\b")

_FOLDER = Path(__file__).parent
_HOSTILE_OPERANDS = [
    *(_FOLDER / "operands.txt").read_text(encoding="utf-8").splitlines(),
    *("", "9" * 40, "-" + "9" * 400, "(x, y)", "{%r1, {%r2, %r3}}", "\0", "\N{NO-BREAK SPACE}"),
]
_HOSTILE_STATEMENTS = [
    *(_FOLDER / "statements.txt").read_text(encoding="utf-8").splitlines(),
    *(f".loc 1 {'9' * 30} 0", f'.file {"9" * 5000} "x"', f".local .b8 z[{'9' * 20}];", "a" * 3000 + ";"),
    *("add" + ".x" * 2000 + ";", "\0", "\ufeff", "// begin inline asm\n"),
]
_HOSTILE_NUMBERS = (
    *(
        "0",
        "1",
        "3",
        "7",
        "-1",
        "33",
        "4095",
        "65536",
        "2147483648",
        "18446744073709551616",
        "1" + "0" * 60,
        "9" * 5000,
    ),
    *("0x", "0xG", "08", "1.", "1e5", "٣", "0b2", "0x" + "F" * 40),
)
_DEEP = (
    ("{ ", " }", ""),
    ("mov.b32 %r1, ", ";", "("),
    ("mov.b32 %r1, ", ";", "{"),
    ("mov.b32 %r1, ", ";", "-"),
    ("ld.b32 %r1, ", ";", "["),
)


_SMALL: str = """
.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 dynamic[];
.global .align 16 .b8 variable[64] = {1, 2, 3};
.const .align 4 .f32 constant[2] = {1.0, 0f40000000};
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);
.func (.reg .b32 %result) function (.reg .b32 %given, .param .align 8 .b8 other[8])
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [other+4];
  add.s32 %result, %given, %r1;
  ret;
}
.visible .entry kernel(.param .u64 memory, .param .align 64 .b8 map[128])
{
  .reg .pred %p<20>;
  .reg .b16 %rs<40>;
  .reg .b32 %r<300>;
  .reg .b32 %f<20>;
  .reg .b64 %rd<100>;
  .reg .b64 %fd<9>;
  .reg .v4 .b32 %v;
  .local .align 16 .b8 depot[32];
  .shared .align 16 .b8 shared[1024];
  ld.param.u64 %rd1, [memory];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, shared;
  mbarrier.init.shared::cta.b64 [%r2], 64;
  setp.lt.u32 %p1, %r1, 40;
  @%p1 bra TAKEN;
  add.s32 %r3, %r1, 1;
TAKEN:
  st.global.b32 [%rd1], %r3;
  call.uni (%r4), function, (%r1, %rd1);
END:
  ret;
}
"""


class Texts:
    """What mutants are made of: texts of kernels, and their instructions, one of each name."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        lines = (line for text in texts for line in text.split("\n"))
        found = (match for match in map(_INSTRUCTION.match, lines) if match)
        self._statements = [
            *{match["name"]: f"{match['name']} {match['operands'].strip()};" for match in found}.values()
        ]

    def mutant(self, random: Random) -> str:
        """A text with a few changes: of a kernel, or of a small one with statements of others."""
        if random.random() < 0.3:
            lines = random.choice(self._texts).split("\n")
        else:
            lines = [*_SMALL.split("\n")]
            for _ in range(random.choice((1, 1, 2, 4))):
                lines.insert(random.randrange(_SMALL_BODY, len(lines) - 4), self._statement(random))
        return self.changed("\n".join(lines), random)

    def changed(self, text: str, random: Random) -> str:
        """The text with one to three changes."""
        lines = text.split("\n")
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            random.choice(_MUTATIONS)(random, lines)
        return "\n".join(lines)

    def _statement(self, random: Random) -> str:
        if not self._statements or random.random() < 0.3:
            return statement(random)
        lines = [random.choice(self._statements)]
        for _ in range(random.choice((0, 1, 1, 2))):
            _change_operands(random, lines)
        return lines[0]


_SMALL_BODY = _SMALL[: _SMALL.index("mov.u32 %r1")].count("\n")
"""The line of `_SMALL` from which on there are instructions."""


def statement(random: Random) -> str:
    """An instruction of any row of the table, with any operands."""
    count = random.choice((0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7))
    operands = ", ".join(random.choice(_HOSTILE_OPERANDS) for _ in range(count))
    guard = random.choice(("", "", "", "@%p1 ", "@!%p1 "))
    return f"{guard}{_name(random)} {operands};"


def _name(random: Random) -> str:
    """The name of an instruction that some row describes."""
    pattern = random.choice(_patterns())
    parts: list[str] = []
    for part in re.findall(r"(?:\{[^}]*\}|[^.{])+", pattern):
        if part.endswith("?") and random.random() < 0.5:
            continue
        part = part.removesuffix("?")
        if part == "**":
            parts += random.choices(_modifiers(), k=random.randrange(4))
        elif part == "*":
            parts.append(random.choice(_modifiers()))
        else:
            parts.append(random.choice(part.strip("{}").split(",")).strip())
    return ".".join(parts)


@cache
def _patterns() -> list[str]:
    for family in FAMILIES:
        importlib.import_module(f"cutecc.emulator.instructions.{family}")
    return [row.pattern for rows in TABLE.values() for row in rows]


@cache
def _modifiers() -> list[str]:
    """All that rows name."""
    return sorted({each for pattern in _patterns() for each in re.findall(r"[\w:]+", pattern)})


# Changes of lines, in place.


def _place(random: Random, lines: list[str]) -> int:
    return random.randrange(len(lines))


def _instruction(random: Random, lines: list[str]) -> tuple[int, re.Match[str]] | None:
    """A line with one instruction, and its parts."""
    for _ in range(20):
        number = _place(random, lines)
        if found := _INSTRUCTION.match(lines[number]):
            return number, found
    return None


def _words(random: Random, lines: list[str]) -> list[str]:
    """What lines nearby name."""
    number = _place(random, lines)
    return _WORD.findall(" ".join(lines[number : number + 5])) or ["x"]


def _change_operands(random: Random, lines: list[str]) -> None:
    chosen = _instruction(random, lines)
    if chosen is None:
        return
    number, found = chosen
    operands = [each.strip() for each in _OPERAND.findall(found["operands"]) if each.strip()]
    new = random.choice((random.choice(_HOSTILE_OPERANDS), random.choice(_words(random, lines))))
    place = random.randrange(len(operands) + 1)
    match random.randrange(8):
        case 0:
            operands[place:place] = [new]
        case 1:
            del operands[place : place + 1]
        case 2:
            random.shuffle(operands)
        case 3 | 4 if operands:
            operands[place - 1] = _in_braces(random, operands[place - 1])
        case _:
            operands[place : place + 1] = [new]
    lines[number] = f"{found['before']}{found['name']} {', '.join(operands)};{found['after']}"


def _in_braces(random: Random, operand: str) -> str:
    """Other elements in the braces of an operand, or the operand in braces."""
    before, brace, rest = operand.partition("{")
    items = rest.partition("}")[0].split(",") if brace else [operand]
    place = random.randrange(len(items))
    items[place : place + random.randrange(2)] = random.choices(
        [*items, "_", "1", "%p1", "%rd1", "%rs1"], k=random.randrange(3)
    )
    return f"{before}{{{','.join(items)}}}{']' * ('[' in before)}"


def _change_name(random: Random, lines: list[str]) -> None:
    chosen = _instruction(random, lines)
    if chosen is None:
        return
    number, found = chosen
    parts = found["name"].split(".")
    place = random.randrange(len(parts))
    match random.randrange(4):
        case 0:
            parts = [_name(random)]
        case 1:
            del parts[place]
        case 2:
            parts.insert(place + 1, random.choice(_modifiers()))
        case _:
            parts[place] = random.choice(_modifiers())
    lines[number] = f"{found['before']}{'.'.join(parts)}{found['operands']};{found['after']}"


def _add_statement(random: Random, lines: list[str]) -> None:
    chosen = _instruction(random, lines)
    new = random.choice((random.choice(_HOSTILE_STATEMENTS), statement(random), statement(random)))
    lines.insert(chosen[0] if chosen else _place(random, lines), new)


def _change_word(random: Random, lines: list[str]) -> None:
    number = _place(random, lines)
    if found := [*_WORD.finditer(lines[number])]:
        word, new = random.choice(found), random.choice(_words(random, lines))
        lines[number] = lines[number][: word.start()] + new + lines[number][word.end() :]


def _change_number(random: Random, lines: list[str]) -> None:
    number = _place(random, lines)
    if found := [*_NUMBER.finditer(lines[number])]:
        word, new = random.choice(found), random.choice(_HOSTILE_NUMBERS)
        lines[number] = lines[number][: word.start()] + new + lines[number][word.end() :]


def _change_characters(random: Random, lines: list[str]) -> None:
    number = _place(random, lines)
    line = lines[number]
    start = random.randrange(len(line) + 1)
    new = random.choice(("", "", *'{}[]();,.:@!%|_+-<>="/*\\ 0', "\0", "\x85", "é", "\u2028", "\U0001f600"))
    lines[number] = line[:start] + new + line[start + random.randrange(3) :]


def _cut(random: Random, lines: list[str]) -> None:
    text = "\n".join(lines)
    lines[:] = text[: random.randrange(len(text) + 1)].split("\n")


def _move_lines(random: Random, lines: list[str]) -> None:
    number, count = _place(random, lines), random.choice((1, 1, 1, 3, 10))
    taken = lines[number : number + count]
    if random.random() < 0.7:
        del lines[number : number + count]
    if random.random() < 0.7 or not lines:
        place = random.randrange(len(lines) + 1)
        lines[place:place] = taken


def _nest(random: Random, lines: list[str]) -> None:
    before, after, repeated = random.choice(_DEEP)
    depth = random.choice((3, 50, 500, 20_000))
    if repeated:
        lines.insert(_place(random, lines), f"{before}{repeated * depth}1{after}")
    else:
        number = _place(random, lines)
        lines[number] = f"{before * depth}{lines[number]}{after * depth}"


_MUTATIONS: list[Callable[[Random, list[str]], None]] = [
    *[_change_operands] * 5,
    *[_change_name] * 3,
    *[_add_statement] * 5,
    *[_change_word, _change_number] * 2,
    *[_change_characters, _move_lines] * 2,
    *(_cut, _nest),
]
