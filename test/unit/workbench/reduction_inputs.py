"""A module to reduce, and commands that say that it fails; what the tests of reducing share."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

MODULE = """
module {
  func.func @a_function_that_matters(%a: i32, %b: f32, %n: index, %k: index) -> f32 {
    %0 = arith.addi %a, %a : i32
    %r = scf.for %i = %n to %k step %n iter_args(%c = %b) -> (f32) {
      %1 = arith.addf %c, %b : f32
      %2 = math.exp2 %1 : f32
      scf.yield %2 : f32
    }
    %3 = arith.constant 40 : i32
    %4 = arith.muli %0, %3 : i32
    return %r : f32
  }
  func.func @another(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    %1 = arith.muli %0, %a : i32
    return %1 : i32
  }
}
"""
SMALLEST = """module {
  func.func @f0(%arg0: f32) {
    %0 = math.exp2 %arg0 : f32
    return
  }
}
"""


def module_in(path: Path) -> str:
    """The module that a file holds, without the comment lines before it."""
    return "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("//"))


def command_of(folder: Path, text: str) -> str:
    """A command that runs Python with the module's `text`."""
    file = folder / "check.py"
    file.write_text(f"#!{sys.executable} -S\nimport re, sys\ntext = open(sys.argv[1]).read()\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)
