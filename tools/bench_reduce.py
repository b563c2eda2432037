"""How long `cutecc reduce` takes, and how far it gets, on generated modules in which four things have to meet.

    python tools/bench_reduce.py            # prints the table
    python tools/bench_reduce.py --write    # also replaces it in docs/benchmarks.md

A module of many functions fails when one has a certain operation in a nest of loops, another calls that one, a third
has an attribute of a certain value, and a fourth a layout of a certain size, far apart from each other. The failure is
that of a pass, or of a command that reads the text. Each row is one run.
"""

from __future__ import annotations

import argparse
import json
import random
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import write

SIZES = (1_000, 10_000, 30_000)
FUNCTION_LINES = 120
SEEDS = {"loops": 0.1, "layout": 0.4, "attribute": 0.6, "call": 0.9}
"""What has to meet, and which part of the functions comes before it."""

PASS = '''
"""A pass that fails where four things meet."""

import re
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.passes import register
from cutecc.passes.base import ModulePass


@register
@dataclass(frozen=True)
class Seeded(ModulePass):
    """Looks, and changes nothing."""

    name: ClassVar[str] = "seeded"

    def run(self, module):
        nests, calls, layout, attribute = set(), set(), False, False

        def visit(operation):
            nonlocal layout, attribute
            if operation.name == "math.exp2":
                around, depth = operation.parent, 0
                while around is not None and around.name != "func.func":
                    depth += around.name == "scf.for"
                    around = around.parent
                if depth == 2:
                    nests.add(around.attributes["sym_name"].value)
            elif operation.name == "cute.static":
                size = 1
                for each in re.findall("[0-9]+", str(operation.results[0].type).partition(":")[0]):
                    size *= int(each)
                layout |= size > 2048
            elif operation.name == "func.call":
                calls.add(operation.attributes["callee"].value)
            elif operation.name == "arith.mulf" and "unroll" in operation.attributes:
                attribute |= operation.attributes["unroll"].value > 32
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        if layout and attribute and nests & calls:
            raise PassError(f"{len(nests)} nests meet {len(calls)} calls")
'''

COMMAND = f'''#!{sys.executable} -S
"""Ends with status 3 where the same four things meet in a module's text."""

import re
import sys

nests, calls, layout, attribute, name, loops = set(), set(), 0, 0, "", []
for line in open(sys.argv[1]):
    indent = len(line) - len(line.lstrip())
    loops = [each for each in loops if each < indent]
    if found := re.search("func.func @([a-z_0-9]+)", line):
        name = found[1]
    elif "scf.for" in line:
        loops.append(indent)
    elif "math.exp2" in line and len(loops) == 2:
        nests.add(name)
    elif found := re.search('cute.layout<"([^:]+):', line):
        layout = max(layout, eval("*".join(re.findall("[0-9]+", found[1]))))
    elif found := re.search("call @([a-z_0-9]+)", line):
        calls.add(found[1])
    elif found := re.search("arith.mulf .*unroll = ([0-9]+)", line):
        attribute = max(attribute, int(found[1]))
sys.exit(3 if nests & calls and layout > 2048 and attribute > 32 else 0)
'''


def module(lines: int, seed: int = 0) -> str:
    """A module of about so many lines, at least some 600, that fails for both."""
    choice = random.Random(seed)
    count = max(lines // FUNCTION_LINES, 5)
    places = {what: int(count * before) for what, before in SEEDS.items()}
    texts = {
        "loops": [
            "    %s0 = scf.for %p = %one to %n step %one iter_args(%s1 = %x) -> (f32) {",
            "      %s2 = scf.for %q = %p to %n step %one iter_args(%s3 = %s1) -> (f32) {",
            "        %s4 = math.exp2 %s3 : f32",
            "        scf.yield %s4 : f32",
            "      }",
            "      scf.yield %s2 : f32",
            "    }",
        ],
        "layout": ['    %s5 = cute.static : !cute.layout<"((16,8),24):((1,16),128)">'],
        "attribute": ["    %s6 = arith.mulf %x, %y {unroll = 48 : i32} : f32"],
        "call": [
            f"    %s7 = func.call @{_name(places['loops'])}(%a, %b, %x, %y, %n) : (i32, i32, f32, f32, index) -> i32"
        ],
    }
    seeds = {place: texts[what] for what, place in places.items()}
    functions = [_function(_name(number), choice, seeds.get(number, [])) for number in range(count)]
    return "\n".join(["module {", *(line for function in functions for line in function), "}", ""])


def _name(number: int) -> str:
    return f"part_of_the_model_{number}"


def _function(name: str, choice: random.Random, seed: Sequence[str]) -> list[str]:
    body = _Body(choice)
    half = FUNCTION_LINES // 2 - 2
    body.add(2, half, 0, _Known())
    body.lines += seed
    body.add(2, half, 0, _Known())
    return [
        f"  func.func @{name}(%a: i32, %b: i32, %x: f32, %y: f32, %n: index) -> i32 {{",
        "    %one = arith.constant 1 : index",
        *body.lines,
        "    return %a : i32",
        "  }",
    ]


class _Known:
    """The values of each type that may be used at a place."""

    def __init__(self, outer: _Known | None = None) -> None:
        self.i32 = list(outer.i32) if outer else ["%a", "%b"]
        self.f32 = list(outer.f32) if outer else ["%x", "%y"]
        self.index = list(outer.index) if outer else ["%n"]


class _Body:
    """The lines of a function: arithmetic, layouts, vectors, loops that carry a value, and conditionals."""

    def __init__(self, choice: random.Random) -> None:
        self.lines: list[str] = []
        self._choice = choice
        self._count = 0

    def add(self, indent: int, lines: int, depth: int, known: _Known) -> str:
        """Add about so many lines; a value of type f32 at their end."""
        pick = self._choice.choice
        kinds = ["i32"] * 4 + ["f32"] * 4 + ["layout", "index", "loop", "if", "vector"]
        end = len(self.lines) + lines
        while len(self.lines) < end:
            left = end - len(self.lines)
            kind = pick(kinds)
            if kind in ("loop", "if") and (depth > 2 or left < 8):
                kind = "i32"
            if kind == "i32" and self._choice.random() < 0.25:
                known.i32.append(self._new(indent, f"arith.constant {self._choice.randrange(1 << 16)} : i32"))
            elif kind in ("i32", "f32"):
                values: list[str] = getattr(known, kind)
                name = pick(("addi", "muli", "xori", "subi") if kind == "i32" else ("addf", "mulf", "subf"))
                values.append(self._new(indent, f"arith.{name} {pick(values)}, {pick(values)} : {kind}"))
            elif kind == "index":
                known.index.append(self._new(indent, f"arith.index_cast {pick(known.i32)} : i32 to index"))
            elif kind == "layout":
                rows, columns = (1 << self._choice.randrange(1, 6) for _ in range(2))
                self._new(indent, f'cute.static : !cute.layout<"({rows},{columns}):({columns},1)">')
            elif kind == "vector":
                vector = self._new(indent, f"vector.broadcast {pick(known.f32)} : f32 to vector<4xf32>")
                place = self._choice.randrange(4)
                known.f32.append(self._new(indent, f"vector.extract {vector}[{place}] : f32 from vector<4xf32>"))
            elif kind == "loop":
                self._loop(indent, min(left - 5, self._choice.randrange(4, 30)), depth, known)
            else:
                condition = self._new(indent, f"arith.cmpi slt, {pick(known.i32)}, {pick(known.i32)} : i32")
                self._line(indent, f"scf.if {condition} {{")
                self.add(indent + 1, min(left - 5, self._choice.randrange(4, 16)), depth + 1, _Known(known))
                self._line(indent, "}")
        return pick(known.f32)

    def _loop(self, indent: int, lines: int, depth: int, known: _Known) -> None:
        start = self._new(indent, f"arith.constant {self._choice.randrange(8)} : index")
        number, first = self._count, self._choice.choice(known.f32)
        carried = f"iter_args(%c{number} = {first}) -> (f32)"
        result = self._new(indent, f"scf.for %i{number} = {start} to %n step %one {carried} {{")
        inner = _Known(known)
        inner.f32.append(f"%c{number}")
        inner.index.append(f"%i{number}")
        last = self.add(indent + 1, lines, depth + 1, inner)
        self._line(indent + 1, f"scf.yield {last} : f32")
        unroll = f" {{unroll = {self._choice.randrange(1, 33)} : i32}}" if self._choice.random() < 0.5 else ""
        self._line(indent, f"}}{unroll}")
        known.f32.append(result)

    def _new(self, indent: int, text: str) -> str:
        name = f"%v{self._count}"
        self._count += 1
        self._line(indent, f"{name} = {text}")
        return name

    def _line(self, indent: int, text: str) -> None:
        self.lines.append(f"{'  ' * indent}{text}")


def files(folder: Path) -> list[list[str]]:
    """The options of `cutecc reduce` for both checks, whose files are then in `folder`."""
    (folder / "seeded.py").write_text(PASS)
    command = folder / "seeded_command"
    command.write_text(COMMAND)
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return [
        ["--load", str(folder / "seeded.py"), "--pipeline=seeded", "--target=sm_90a"],
        ["--check", str(command)],
    ]


def row(lines: int, check: int, jobs: int) -> str:
    """The table's line of one run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "module.mlir").write_text(module(lines))
        options = [*files(folder)[check], f"--jobs={jobs}", "--json"]
        command = [sys.executable, "-m", "cutecc", "reduce", "module.mlir", *options]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    cells = [
        ("a pass", "a command")[check],
        f"{found['lines']['before']:,}",
        f"{found['lines']['after']}",
        f"{found['operations']['before']:,}",
        f"{found['operations']['after']}",
        f"{jobs}",
        f"{found['tried']}",
        f"{found['seconds']:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    choice = parser.parse_args()
    head = ["what fails", "lines", "after", "operations", "after", "processes", "modules tried", "seconds"]
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    print("\n".join(table))
    for lines in SIZES:
        for check in (0, 1):
            for jobs in (1, 2):
                table.append(row(lines, check, jobs))
                print(table[-1], flush=True)
    if choice.write:
        write("reduce", table)


if __name__ == "__main__":
    main()
