"""Command lines that nobody means: unknown and ill-typed options, hostile names of files, sizes, layouts, pipelines."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

from malformed_records import HOSTILE_NAME

GOOD = "func.func @f(%a: i32) { return }\n"
"""A module that is fine, in `good.mlir` of every folder."""

_DEEP = 3000


def _opt(pipeline: str) -> list[str]:
    return ["opt", "good.mlir", f"--pipeline={pipeline}"]


PIPELINES: dict[str, str] = {
    "empty": "",
    "spaces": " \t ",
    "comma": ",",
    "commas": "cse,,canonicalize",
    "comma-behind": "cse,",
    "unknown": "no-such-pass",
    "close-to-one": "canonicalise",
    "unbalanced-braces": "canonicalize{max-iterations=3",
    "too-many-braces": "cse}",
    "unbalanced-parentheses": "builtin.module(cse",
    "too-many-parentheses": "cse)",
    "unknown-option": "cse{nothing=1}",
    "option-without-value": "canonicalize{max-iterations=}",
    "option-without-name": "canonicalize{=3}",
    "option-of-wrong-type": "canonicalize{max-iterations=many}",
    "option-huge": f"canonicalize{{max-iterations={'9' * 100}}}",
    "option-of-ten-thousand-digits": f"canonicalize{{max-iterations={'9' * 10_000}}}",
    "option-negative": "canonicalize{max-iterations=-5}",
    "option-twice": "canonicalize{max-iterations=1 max-iterations=2}",
    "options-without-end": "canonicalize{" + "top-down=true " * 10_000,
    "unknown-anchor": "no.such(cse)",
    "anchor-in-itself": "func.func(func.func(cse))",
    "anchors-deep": "builtin.module(" * _DEEP + "cse" + ")" * _DEEP,
    "braces-deep": "cse" + "{" * _DEEP + "}" * _DEEP,
    "lists-deep": "cse{a=" + "[" * _DEEP + "]" * _DEEP + "}",
    "long": ",".join(["cse"] * 2000),
    "very-long-name": "x" * 100_000,
    "not-ascii": "cſe,canonicalizé",
    "null": "cse\\0",
    "escape-codes": "cse\x1b]0;owned\x07",
    "newlines": "cse\nerror: x\ncanonicalize",
    "markup": "[red]cse[/bold]",
    "quotes": "cse{a='\"}",
    "shell": "$(touch owned);`touch owned`",
    "path-up": "../../../../etc/passwd",
    "path-of-a-device": "/dev/zero",
    "path-of-a-folder": "/",
    "dumps-to-a-path": "cute-to-nvvm{cubin-chip=sm_80 dump-ptx-path=/tmp/owned-by-cutecc}",
    "json": '{"a": 1}',
    "selector": "cse#2",
    "open-without-a-kernel": "open",
    "composite": "composite:nothing",
    "an-option": "--help",
    "percent": "%s%n%d",
}

LAYOUTS: dict[str, str] = {
    "empty": "",
    "word": "layout",
    "unbalanced": "((4,8):(1,4)",
    "too-many": "(4,8):(1,4))",
    "colon": ":",
    "without-stride": "(4,8):",
    "ranks-differ": "(4,8):(1,(4,2))",
    "negative": "(-4,8):(1,4)",
    "zero": "(0,8):(1,4)",
    "huge": "(2147483647,2147483647):(2147483647,1)",
    "beyond-64-bits": f"{2**70}:1",
    "ten-thousand-digits": "9" * 10_000 + ":1",
    "deep": "(" * 5000 + "4" + ")" * 5000 + ":1",
    "deep-unbalanced": "(" * 100_000,
    "long": "(" + ",".join(["2"] * 20_000) + "):(" + ",".join(["1"] * 20_000) + ")",
    "swizzle-wrong": "S<9,9> o 4:1",
    "swizzle-huge": f"S<{10**9},{10**9},{10**9}> o 4:1",
    "swizzle-negative": "S<-3,-3,-3> o 4:1",
    "division-by-zero": "logical_divide(8:1, 0:1)",
    "division-that-does-not-fit": "logical_divide(7:1, 3:2)",
    "unknown-function": "destroy(4:1)",
    "too-few-arguments": "composition(4:1)",
    "too-many-arguments": "size(4:1, 4:1, 4:1)",
    "complement-huge": "complement(4:1, 999999999999999999999999)",
    "product-huge": "blocked_product((2147483647,2147483647):(1,2147483647), (2147483647,2147483647):(1,2147483647))",
    "power": "9**9**9**9",
    "code": "__import__('os').abort()",
    "escape-codes": "4:1\x1b]0;owned\x07",
    "not-ascii": "(４,８):(１,４)",
    "dynamic": "(?,?{div=0}):(?{div=-1},1)",
    "dynamic-of-many-digits": "?{div=" + "9" * 5000 + "}:1",
    "null": "4\\0:1",
    "newlines": "4:1\nerror: x",
}

SPECS: dict[str, str] = {
    "empty": "",
    "unknown-type": "f17[4]",
    "unbalanced": "f16[4,",
    "negative": "f16[-4,8]",
    "zero": "f16[0]",
    "huge": f"f16[{2**80},{2**80}]",
    "ten-thousand-digits": f"f16[{'9' * 10_000}]",
    "deep": "(" * 5000 + "f16" + ")" * 5000,
    "deep-shape": "f16[" + "(" * 5000 + "4" + ")" * 5000 + "]",
    "strides-of-other-rank": "f16[4,4]:(1,1,1)",
    "alignment-zero": "f16[4] align=0",
    "alignment-huge": f"f16[4] align={2**200}",
    "divisibility-zero": "f16[?{div=0}]",
    "divisibility-negative": "f16[?{div=-4}]",
    "divisibility-that-does-not-fit": "f16[?N{div=8}=9]",
    "option-unknown": "f16[4] colour=red",
    "constant-of-code": "const(__import__('os').abort())",
    "constant-deep": "const(" + "[" * 5000 + "]" * 5000 + ")",
    "constant-huge": f"const({'9' * 10_000})",
    "constant-power": "const(9**9**9)",
    "escape-codes": "f16[4]\x1b]0;owned\x07",
    "newlines": "f16[4]\nerror: x",
    "null-type": "none[4]",
}

SPEC_KERNEL = """import cutlass
from cutlass import cute


@cute.jit
def host(x):
    pass
"""

_FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "newlines": ("a\nerror: b.mlir", lambda path: path.write_text("nonsense")),
    "escape-codes": ("\x1b]0;owned\x07\x9b31m.mlir", lambda path: path.write_text("nonsense")),
    "quotes": ("a'\"`$(touch owned).mlir", lambda path: path.write_text("nonsense")),
    "spaces": ("a b .mlir", lambda path: path.write_text("nonsense")),
    "markup": ("[bold][red].mlir", lambda path: path.write_text("nonsense")),
    "percent": ("%s%n%d.mlir", lambda path: path.write_text("nonsense")),
    "not-utf-8": (os.fsdecode(b"\xff\xfe.mlir"), lambda path: path.write_text("nonsense")),
    "right-to-left": ("\u202elrim.x.mlir", lambda path: path.write_text("nonsense")),
    "like-an-option": ("-o.mlir", lambda path: path.write_text("nonsense")),
    "long": ("x" * 250 + ".mlir", lambda path: path.write_text("nonsense")),
    "too-long": ("x" * 5000 + ".mlir", lambda _: None),
    "path-too-long": ("x/" * 50_000 + "x.mlir", lambda _: None),
    "up": ("../../../../../x.mlir", lambda _: None),
    "missing": ("missing.mlir", lambda _: None),
    "empty": ("", lambda _: None),
    "null-device": ("null.mlir", lambda path: path.symlink_to("/dev/null")),
    "device-without-end": ("zero.mlir", lambda path: path.symlink_to("/dev/zero")),
    "terabyte": ("huge.mlir", lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40)),
    "folder": ("folder.mlir", Path.mkdir),
    "pipe": ("pipe.mlir", os.mkfifo),
    "socket": ("socket.mlir", lambda path: socket.socket(socket.AF_UNIX).bind(str(path))),
    "leads-to-itself": ("loop.mlir", lambda path: path.symlink_to(path.name)),
    "leads-nowhere": ("nowhere.mlir", lambda path: path.symlink_to("missing")),
    "of-a-process": ("process.mlir", lambda path: path.symlink_to("/proc/self/mem")),
}
FILES = {name: file for name, (file, _) in _FILES.items()}
"""By name, what a file is called."""


def make_file(name: str, folder: Path) -> None:
    """Make the file of that name, where there is one to be."""
    file, make = _FILES[name]
    make(folder / file)


def _header(mark: str, body: object) -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return f"// cutecc-{mark}: {text}\n{GOOD}".encode()


_STAGE = {"target": "sm_80", "kernel": "f", "pipeline": "nvidia", "after": "cse#1", "options": {}}
_REPRODUCER = {
    "version": "1.2",
    "subcommand": "opt",
    "options": {"pipeline": "cse"},
    "expected": "failed",
    "pass_name": "cse",
    "message": "it failed",
    "versions": {"cutecc": "0", "python": "3", "nvidia_cutlass_dsl": "4", "ptxas": "1"},
}

HEADERS: dict[str, bytes] = {
    "stage-empty": _header("stage", ""),
    "stage-no-json": _header("stage", "{target"),
    "stage-null": _header("stage", None),
    "stage-list": _header("stage", [_STAGE]),
    "stage-deep": _header("stage", "[" * 100_000),
    "stage-long": _header("stage", _STAGE | {"kernel": "x" * 1_000_000}),
    "stage-unknown-target": _header("stage", _STAGE | {"target": "sm_9999"}),
    "stage-hostile-target": _header("stage", _STAGE | {"target": HOSTILE_NAME}),
    "stage-hostile-kernel": _header("stage", _STAGE | {"kernel": HOSTILE_NAME}),
    "stage-kernel-up": _header("stage", _STAGE | {"kernel": "../../../../tmp/owned"}),
    "stage-unknown-pipeline": _header("stage", _STAGE | {"pipeline": "no-such-pass"}),
    "stage-pipeline-of-a-file": _header("stage", _STAGE | {"pipeline": "/etc/passwd"}),
    "stage-pipeline-deep": _header("stage", _STAGE | {"pipeline": "a(" * 20_000}),
    "stage-pipeline-hostile": _header("stage", _STAGE | {"pipeline": HOSTILE_NAME}),
    "stage-after-unknown": _header("stage", _STAGE | {"after": "no-such-pass"}),
    "stage-after-hostile": _header("stage", _STAGE | {"after": HOSTILE_NAME}),
    "stage-after-many-digits": _header("stage", _STAGE | {"after": "cse#" + "9" * 10_000}),
    "stage-after-zero": _header("stage", _STAGE | {"after": "cse#0"}),
    "stage-options-list": _header("stage", _STAGE | {"options": []}),
    "stage-options-unknown": _header("stage", _STAGE | {"options": {"no-such": True}}),
    "stage-options-of-wrong-type": _header("stage", _STAGE | {"options": {"opt-level": "high"}}),
    "stage-options-huge": _header("stage", _STAGE | {"options": {"opt-level": 10**30}}),
    "stage-options-of-a-tool": _header(
        "stage", _STAGE | {"options": {"ptxas": "/bin/sh", "link-libraries": "/etc/passwd"}}
    ),
    "stage-options-of-plugins": _header("stage", _STAGE | {"options": {"load": "owned.py", "output": "/tmp/owned"}}),
    "stage-options-hostile": _header("stage", _STAGE | {"options": {"ptx-options": HOSTILE_NAME}}),
    "stage-twice": _header("stage", _STAGE) + _header("stage", _STAGE),
    "reproducer-empty": _header("reproducer", ""),
    "reproducer-no-json": _header("reproducer", "{version"),
    "reproducer-null": _header("reproducer", None),
    "reproducer-deep": _header("reproducer", '{"version": ' + "[" * 100_000),
    "reproducer-newer": _header("reproducer", _REPRODUCER | {"version": "9.0"}),
    "reproducer-of-many-digits": _header("reproducer", _REPRODUCER | {"version": "1" * 10_000}),
    "reproducer-of-a-shell": _header("reproducer", _REPRODUCER | {"subcommand": "watch -- sh -c 'touch owned'"}),
    "reproducer-of-a-plugin": _header(
        "reproducer", _REPRODUCER | {"options": {"load": "owned.py"}, "load": ["owned.py"]}
    ),
    "reproducer-of-an-output": _header("reproducer", _REPRODUCER | {"options": {"output": "owned"}}),
    "reproducer-of-a-pipeline-file": _header("reproducer", _REPRODUCER | {"options": {"pipeline": "/etc/passwd"}}),
    "reproducer-of-unknown-options": _header("reproducer", _REPRODUCER | {"options": {"no-such": True}}),
    "reproducer-of-wrong-types": _header("reproducer", _REPRODUCER | {"options": [1, 2], "expected": 5}),
    "reproducer-hostile": _header("reproducer", _REPRODUCER | {"message": HOSTILE_NAME, "pass_name": HOSTILE_NAME}),
    "reproducer-huge": _header("reproducer", _REPRODUCER | {"message": "x" * 5_000_000}),
    "reproducer-without-a-module": b"// cutecc-reproducer: {}",
}
"""Modules whose first line says what nobody may say."""

_BIG = "9" * 5000
LINES: dict[str, list[str]] = {
    "unknown-command": ["destroy"],
    "command-hostile": [HOSTILE_NAME],
    "command-long": ["x" * 100_000],
    "unknown-option": ["opt", "--no-such-option"],
    "option-hostile": ["opt", f"--{HOSTILE_NAME}"],
    "option-without-value": ["opt", "good.mlir", "--pipeline"],
    "option-twice-for-a-flag": ["opt", "good.mlir", "--verify-each=yes"],
    "choice-unknown": ["opt", "good.mlir", "--emit=exe"],
    "choice-hostile": ["opt", "good.mlir", f"--emit={HOSTILE_NAME}"],
    "target-unknown": ["opt", "good.mlir", "--target=sm_9999"],
    "target-hostile": ["opt", "good.mlir", f"--target={HOSTILE_NAME}"],
    "target-of-many-digits": ["opt", "good.mlir", f"--target=sm_{_BIG}"],
    "targets-empty": ["compile", "good.mlir", "--target=,"],
    "targets-many": ["compile", "good.mlir", "--target=" + ",".join(["sm_80"] * 1000)],
    "two-files": ["opt", "good.mlir", "good.mlir"],
    "output-is-a-folder": ["opt", "good.mlir", "-o", "."],
    "output-without-a-folder": ["opt", "good.mlir", "-o", "no/such/folder/out"],
    "output-hostile": ["opt", "good.mlir", "-o", f"no/{HOSTILE_NAME}"],
    "output-too-long": ["opt", "good.mlir", "-o", "x" * 5000],
    "output-of-a-full-device": ["opt", "good.mlir", "-o", "/dev/full"],
    "code-of-no-kernel": ["opt", "good.mlir", "--emit=sass"],
    "print-after-nothing": ["opt", "good.mlir", "--print-after=cse"],
    "print-after-unknown": ["opt", "good.mlir", "--pipeline=cse", "--print-after=no-such"],
    "print-after-many-digits": ["opt", "good.mlir", "--pipeline=cse", f"--print-after=cse#{_BIG}"],
    "load-missing": ["opt", "good.mlir", "--load=missing.py"],
    "load-a-folder": ["opt", "good.mlir", "--load=."],
    "load-a-module": ["opt", "good.mlir", "--load=good.mlir"],
    "split-bytecode": ["opt", "good.mlir", "--emit=bytecode", "--split-input-file"],
    "stop-after-unknown": ["compile", "good.mlir", "--target=sm_80", "--stop-after=no-such"],
    "start-after-unknown": ["compile", "good.mlir", "--target=sm_80", "--start-after=no-such"],
    "start-after-many-digits": ["compile", "good.mlir", "--target=sm_80", f"--start-after=cse#{_BIG}"],
    "insert-without-new": ["compile", "good.mlir", "--target=sm_80", "--insert-after=cse"],
    "insert-hostile": ["compile", "good.mlir", "--target=sm_80", f"--insert-after=cse={HOSTILE_NAME}"],
    "replace-unknown": ["compile", "good.mlir", "--target=sm_80", "--replace=no-such=cse"],
    "without-everything": ["compile", "good.mlir", "--target=sm_80", "--without=all"],
    "opt-level-huge": ["compile", "good.mlir", "--target=sm_80", f"--opt-level={_BIG}"],
    "opt-level-of-wrong-type": ["compile", "good.mlir", "--target=sm_80", "--opt-level=high"],
    "jobs-zero": ["compile", "good.mlir", "--target=sm_80", "-j", "0"],
    "jobs-huge": ["compile", "good.mlir", "--target=sm_80", "-j", "99999999999999999999"],
    "ptxas-is-a-folder": ["compile", "good.mlir", "--target=sm_80", "--ptxas=."],
    "ptxas-hostile": ["compile", "good.mlir", "--target=sm_80", f"--ptxas={HOSTILE_NAME}"],
    "output-holds-the-input": ["compile", "good.mlir", "--target=sm_80", "-o", "."],
    "output-is-a-file": ["compile", "good.mlir", "--target=sm_80", "-o", "good.mlir"],
    "bundle-is-the-input": ["compile", "good.mlir", "--target=sm_80", "--bundle=good.mlir"],
    "report-is-the-input": ["compile", "good.mlir", "--target=sm_80", "--report=good.mlir"],
    "report-in-no-folder": ["compile", "good.mlir", "--target=sm_80", "--report=no/such.html"],
    "arguments-of-a-module": ["compile", "good.mlir", "--arg", "x=f32"],
    "json-of-nothing": ["compile", "missing.mlir", "--target=sm_80", "--json"],
    "same-input-twice": ["compile", "good.mlir", "good.mlir", "--target=sm_80"],
    "operator-and-file": ["compile", "good.mlir", "--operator=x"],
    "gemm-of-nonsense": ["compile", "--operator=x", "--gemm=axbxc:f16"],
    "gemm-of-many-digits": ["compile", "--operator=x", f"--gemm={_BIG}x1x1:f16"],
    "run-a-module": ["run", "good.mlir"],
    "run-a-folder": ["run", "."],
    "run-nothing": ["run", "missing.cutecc"],
    "run-on-an-unknown-device": ["run", "missing.py", "--device=moon"],
    "report-of-a-module": ["report", "good.mlir"],
    "report-of-nothing": ["report", HOSTILE_NAME],
    "show-of-a-folder": ["show", "."],
    "diff-of-nothing": ["diff", "missing", "cse"],
    "explain-without-a-line": ["explain", ".", "nowhere"],
    "explain-of-a-huge-line": ["explain", ".", f"f.py:{_BIG}"],
    "check-of-nothing": ["check", "missing.mlir", "--target=sm_80", "--json"],
    "check-for-nothing": ["check", "good.mlir", "--only=no-such-analysis"],
    "passes-hostile": ["passes", HOSTILE_NAME],
    "pipelines-unknown": ["pipelines", "no-such"],
    "cache-unknown": ["cache", "explode"],
    "parity-of-nothing": ["parity", "missing"],
    "coverage-of-nothing": ["coverage", "missing"],
    "layout-drawn-into-no-folder": ["layout", "4:1", "-o", "no/such.svg"],
    "layout-of-unknown-format": ["layout", "4:1", "-o", "x.exe"],
    "layout-tiled-by-nonsense": ["layout", "4:1", "--tv", "0x-1"],
    "layout-tiled-hugely": ["layout", "(32,4):(1,32)", "--tv", f"{2**31}x{2**31}"],
    "watch-of-nothing": ["watch", "--"],
}
"""Whole command lines."""
