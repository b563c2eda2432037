"""Argument specs and headers of kernel files that nobody means well with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import named_values, unify_sizes
from cutecc.frontend.header import parse_header
from cutecc.frontend.size_arithmetic import evaluate
from cutecc.harness.arguments import check_memory
from cutecc.harness.choosing import choose_values
from cutecc.harness.points import ragged_points
from fuzzing.changes import changed_text

SPECS = (
    *(
        "f32[?M=1000,?N{div=4}=2048]:(?LDA{i64 div=4},1)@gmem align=16",
        "f16[2,3,4] order=(0,1,2)",
        "f8e4m3fn[(2,?),4]:((1,?),8)",
    ),
    *("i32=N", "f32=-inf", "bool=True", "ptr<f16>=1024@gmem align=16", "const({'tile': [128, 64], 'type': bf16})"),
    *(
        "(f32[?], (i32=3,), ())",
        "stream",
        "none",
        "const((1.0, -0.5, 'a(b'))",
        "f4e2m1fn[?M,?K{div=32}] align=16",
        "u8[]",
    ),
)
_WORDS = (
    *(
        "?",
        "?M",
        "?M=3",
        "{div=8}",
        "{i64 div=4}",
        "align=",
        "order=(1,0)",
        "@smem",
        "@gmem",
        ":(1,2)",
        ":(-1)",
        "f16",
        "f32[",
    ),
    *("const(", "ptr<", "stream", "none", "i32=", "True", "None", "nan", "inf", "(1,)", "[1,2]", "1024", "4294967296"),
)
_HEADER_WORDS = (
    *_WORDS,
    "# cutecc: ",
    "\n# cutecc: ",
    "args",
    "[args]\n",
    "bytes",
    "flops",
    "=",
    "M*N*2",
    "**",
    "1e9",
    "tolerance",
)


def spec(random: Random) -> bytes:
    """An argument spec."""
    return changed_text(random.choice(SPECS), random, _WORDS).encode(errors="replace")


def check_spec(data: bytes) -> None:
    """Read a spec, write it again, and choose the sizes that it leaves open."""
    found = parse_spec(data.decode(errors="replace"))
    assert parse_spec(str(found)) == found, f"{found} is read as another spec"
    specs = {"a": found, "b": found}
    unify_sizes(specs)
    chosen = choose_values(specs).specs
    check_memory(chosen, {}, on_cpu=True, compared=True)
    ragged_points(chosen)


def headers_of(text: str) -> str:
    """The header's lines of a kernel file."""
    return "\n".join(re.findall(r"^# cutecc:.*", text, re.MULTILINE))


def header(headers: Sequence[str], random: Random) -> bytes:
    """The header of a kernel file."""
    return changed_text(random.choice(headers), random, _HEADER_WORDS).encode(errors="replace")


def check_header(data: bytes) -> None:
    """Read a header, and what it says of sizes, bytes and operations."""
    found = parse_header(data.decode(errors="replace"), "kernel.py")
    sizes = named_values(unify_sizes(found.args, found.arg_sources))
    for arithmetic in filter(None, (found.bytes, found.flops)):
        evaluate(arithmetic, sizes)
    found.with_args({"a": "f32[?M=3]"})
    if found.bytes:
        evaluate(found.bytes, sizes | {"M": 7})
