"""Mutations of a module's text that keep to the grammar of MLIR, more or less: of lines, values, types, attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from hypothesis import strategies as st

_TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<value>%[\w$.#-]+)
    | (?P<symbol>@[\w$.-]+|@"[^"\n]*")
    | (?P<block>\^\w+)
    | (?P<type>![\w.]+(?:<"[^"\n]*">|<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)?|\b(?:i\d+|f\d+|bf16|index|vector<[^>\n]*>)\b)
    | (?P<attribute>\#[\w.]+(?:<[^<>\n]*>)?)
    | (?P<number>-?\b\d[\w.]*)
    | (?P<name>[A-Za-z_][\w$.]*)
    """,
    re.VERBOSE,
)
_KINDS = ("string", "value", "symbol", "block", "type", "attribute", "number", "name")
_HOSTILE: dict[str, list[str]] = {
    "string": ['""', '"\\00\\FF"', f'"{"x" * 5000}"', '"(2147483647,?):(0,-1)"', '"((((1))))"'],
    "value": ["%nothing", "%0", "%arg0#7"],
    "symbol": ["@nothing", '@""', '@"../../x"'],
    "block": ["^nowhere", "^bb0"],
    "type": [
        "none",
        "i0",
        "i16777215",
        '!cute.layout<"(0,0):(0,0)">',
        "!llvm.ptr<99>",
        "vector<2147483647xi8>",
        "tuple<>",
        '!cute.memref<f32, gmem, align<4096>, "(?,?):(?,?)">',
        '!cute.int_tuple<"(?,(?,?))">',
        "() -> ()",
    ],
    "attribute": ["#nothing", "#llvm.poison", "unit", "dense<1> : tensor<9999999xi32>"],
    "number": ["-1", "0", "9223372036854775808", "-9223372036854775809", "1" + "0" * 60, "0x" + "F" * 40, "1.0e999"],
    "name": ["cute.nothing", "func.return", "scf.yield", "arith.addi", "unreachable", "else", "loc"],
}


class MutableModule:
    """A module's text, taken apart once."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._operations = [
            number for number, line in enumerate(self._lines) if re.match(r"\s+(%|[a-z_]+\.[a-z_]|\")", line)
        ]

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """By kind, what the module has."""
        found: dict[str, dict[str, None]] = {kind: {} for kind in _KINDS}
        for line in self._lines:
            for match in _TOKEN.finditer(line):
                if match.lastgroup in found:
                    found[match.lastgroup][match[0]] = None
        return {kind: [*words] for kind, words in found.items()}

    def mutants(self, most: int) -> st.SearchStrategy[str]:
        """Texts that come of one to `most` mutations."""

        @st.composite
        def make(draw: st.DrawFn) -> str:
            lines = [*self._lines]
            for _ in range(draw(st.integers(1, most))):
                draw(st.sampled_from(self._mutations))(draw, lines)
            return "\n".join(lines)

        return make()

    @property
    def _mutations(self) -> list[Callable[[st.DrawFn, list[str]], None]]:
        # The first ones keep most modules valid, so that passes see them.
        valid = [self._constant, self._double_anew, self._operand]
        return [*valid, *valid, self._word, self._word, self._swap, self._double, self._delete, self._nest, self._move]

    def _operation(self, draw: st.DrawFn, lines: list[str]) -> int:
        return min(draw(st.sampled_from(self._operations)), len(lines) - 1)

    def _word(self, draw: st.DrawFn, lines: list[str]) -> None:
        """Put another word of its kind in the place of one."""
        number = self._operation(draw, lines)
        words = [match for match in _TOKEN.finditer(lines[number]) if match.lastgroup in _KINDS]
        if not words:
            return
        word = draw(st.sampled_from(words))
        kind = word.lastgroup or ""
        new = draw(st.sampled_from(_HOSTILE[kind]) | st.sampled_from(self._words[kind]))
        lines[number] = lines[number][: word.start()] + new + lines[number][word.end() :]

    def _constant(self, draw: st.DrawFn, lines: list[str]) -> None:
        """Change the value of a constant."""
        number = draw(st.sampled_from([each for each, line in enumerate(lines) if "constant" in line] or [0]))
        value = draw(st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 7, 2**31 - 1]))
        lines[number] = re.sub(r"(constant )-?\d+( : i(?:32|64))", rf"\g<1>{value}\g<2>", lines[number])

    def _operand(self, draw: st.DrawFn, lines: list[str]) -> None:
        """Have an operation take another value that an operation just before it has made, or takes."""
        number = self._operation(draw, lines)
        operands = [*re.finditer(r"(?<=[ (\[])%\w+(?! =)", lines[number])]
        near = re.findall(r"%\w+", " ".join(lines[max(0, number - 5) : number]))
        if operands and near:
            old, new = draw(st.sampled_from(operands)), draw(st.sampled_from(near))
            lines[number] = lines[number][: old.start()] + new + lines[number][old.end() :]

    def _double_anew(self, draw: st.DrawFn, lines: list[str]) -> None:
        """Do something again, its results under other names."""
        number = self._operation(draw, lines)
        copies = draw(st.sampled_from([1, 2, 200]))
        if not lines[number].rstrip().endswith("{"):
            again = [re.sub(r"^(\s*%\w+)", rf"\1_again{len(lines)}_{index}", lines[number]) for index in range(copies)]
            lines[number + 1 : number + 1] = again

    def _swap(self, draw: st.DrawFn, lines: list[str]) -> None:
        one, other = self._operation(draw, lines), self._operation(draw, lines)
        lines[one], lines[other] = lines[other], lines[one]

    def _move(self, draw: st.DrawFn, lines: list[str]) -> None:
        line = lines.pop(self._operation(draw, lines))
        lines.insert(self._operation(draw, lines), line)

    def _double(self, draw: st.DrawFn, lines: list[str]) -> None:
        number = self._operation(draw, lines)
        lines[number:number] = [lines[number]] * draw(st.sampled_from([1, 1, 100]))

    def _delete(self, draw: st.DrawFn, lines: list[str]) -> None:
        number = self._operation(draw, lines)
        del lines[number : number + draw(st.sampled_from([1, 1, 1, 5, 50]))]
        lines += [""] * (number >= len(lines))

    def _nest(self, draw: st.DrawFn, lines: list[str]) -> None:
        """Put an operation into regions."""
        number, depth = self._operation(draw, lines), draw(st.sampled_from([1, 2, 500]))
        before, after = draw(
            st.sampled_from([("scf.execute_region {", "}"), ("module {", "}"), ('"x.y"() ({', "}) : () -> ()")])
        )
        lines[number] = f"{before * depth}\n{lines[number]}\n{after * depth}"
