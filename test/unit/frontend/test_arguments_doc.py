"""`docs/arguments.md` is true: its specs parse, and it names what there is."""

import re
from pathlib import Path

import pytest

from cutecc.arguments.dtypes import numeric_types
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import named_values, unify_sizes
from cutecc.arguments.specs import SPACES
from cutecc.frontend.header import parse_header
from cutecc.frontend.size_arithmetic import evaluate

DOCUMENT = (Path(__file__).parents[3] / "docs" / "arguments.md").read_text()
SPECS = [
    line
    for block in re.findall(r"^```spec\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]


def test_there_are_examples() -> None:
    assert len(SPECS) > 20


@pytest.mark.parametrize("text", SPECS)
def test_every_example_is_a_spec(text: str) -> None:
    spec = parse_spec(text)
    assert parse_spec(str(spec)) == spec


def test_examples_in_the_table_are_specs() -> None:
    [table] = re.findall(r"\| spec \| argument \|\n\|---\|---\|\n(.*?)\n\n", DOCUMENT, re.DOTALL)
    texts = [text for row in table.splitlines() for text in re.findall(r"`([^`]*)`", row.split("|")[1])]
    assert len(texts) > 8
    for text in texts:
        parse_spec(text)


def test_every_type_and_space_is_named() -> None:
    for dtype in numeric_types():
        assert f"`{dtype}`" in DOCUMENT
    for space in SPACES:
        assert f"`{space}`" in DOCUMENT


def test_the_header_is_one() -> None:
    [block] = re.findall(r"^```header\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    header = parse_header(block, "arguments.md")
    assert header.entry == "Gemm(tile=(128, 128))"
    sizes = named_values(unify_sizes(header.args, header.arg_sources))
    assert sizes == {"M": 1000, "K": 520, "N": 1032}
    assert evaluate(header.flops or "", sizes) == 2 * 1000 * 520 * 1032


def test_every_header_key_is_explained() -> None:
    for key in ("entry", "args.NAME", "target", "reference", "outputs", "tolerance", "bytes", "flops"):
        assert f"`{key}`" in DOCUMENT.split("| key | value |")[1]
