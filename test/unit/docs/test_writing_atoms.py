"""The page on atoms runs as printed, and its row does what the wheel does with the same kernels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from following import ROOT, follow, prepare, run

from cutecc import lowering

PAGE = (ROOT / "docs" / "writing-atoms.md").read_text()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, command: Path) -> Path:
    """The folder of a reader at the end, the package installed."""
    folder = prepare(tmp_path_factory.mktemp("reader"))
    before, install, after = PAGE.partition("```console\n$ pip install")
    assert install
    follow(before, folder, command.parent)
    # From here on a process that has its imports done would not find the package.
    follow(install + after, folder)
    return folder


def test_the_table_has_every_name_of_the_toolkit() -> None:
    table = PAGE.partition("## The toolkit")[2]
    assert {*re.findall(r"`(\w+)`", table)} == {*lowering.__all__} - {"ir"}


KINDS = {"f16": ("f16", 32), "bf16": ("bf16", 32), "short": ("f16", 16)}
"""Of the instruction: elements, and the size along K."""

WITH_ROW = "--pipeline open --load sparse_products.py"
"""The file of the package, which a process that has its imports done finds too; the page has them give the same."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_instruction_is_the_wheels(work: Path, kind: str, command: Path) -> None:
    """The same opcode, and each operand from the same place in memory, by the same code generator."""
    element, depth = KINDS[kind]
    text = (
        (work / "sparse.py")
        .read_text()
        .replace("16x8x32, elem_type = (f16, f16", f"16x8x{depth}, elem_type = ({element}, {element}")
    )
    text = text.replace('"f16[16, 16]', f'"{element}[16, {depth // 2}]').replace(
        '"f16[8, 32]', f'"{element}[8, {depth}]'
    )
    (work / f"{kind}.py").write_text(text)
    found: list[tuple[str, list[list[str]], str]] = []
    for name, arguments in (("wheel", ""), ("open", f"{WITH_ROW} --backend nvvm")):
        run(f"cutecc compile {kind}.py {arguments} --quiet --output {kind}-{name}", work, command.parent)
        assert (work / f"{kind}-{name}/sparse_product.cubin").stat().st_size > 0, "ptxas assembled it"
        found.append(instruction((work / f"{kind}-{name}/sparse_product.ptx").read_text()))
    assert found[1] == found[0]
    opcode, (d, a, b, c), metadata = found[1]
    assert f"m16n8k{depth}" in opcode and f".{element}.{element}." in opcode
    assert len(d) == 4 and len(c) == 4
    # A, of which half is there: rows of the thread's group and 8 below it, then further along K. B: one column.
    row, step = depth, 16
    assert a == [f"0+{step * k + 8 * row * i}".removesuffix("+0") for k in range(depth // 16) for i in range(2)]
    assert b == [f"2+{step * k}".removesuffix("+0") for k in range(depth // 8)]
    assert metadata == "1"


def instruction(ptx: str) -> tuple[str, list[list[str]], str]:
    """The opcode of `mma.sp`, where each operand is from, list by list, and where the metadata is.

    A parameter's number with the constant that is added to its address, or a constant alone; a result is itself.
    """
    ((opcode, operands),) = re.findall(r"^\s*(mma\.sp\S*) (.*), 0x0;$", ptx, re.MULTILINE)
    lists = [each.split(", ") for each in re.findall(r"\{(.*?)\}", operands)]
    metadata = operands.rpartition(",")[2].strip()
    return opcode, [lists[0], *([origin(ptx, each) for each in group] for group in lists[1:])], origin(ptx, metadata)


def origin(ptx: str, register: str) -> str:
    """Where the value of `register` is from, followed through loads, moves, extensions and additions to addresses."""
    written = re.findall(rf"^\s*([\w.]+)\s+{re.escape(register)}, (.*);$", ptx, re.MULTILINE)
    if not written:
        return register
    ((opcode, operands),) = written
    first = operands.split(", ")[0].strip("[]")
    if opcode.startswith("ld.param"):
        return first.rpartition("_")[2]
    address, _, offset = first.partition("+")
    of = address if address.isdigit() else origin(ptx, address)
    return f"{of}+{offset}" if offset else of


@pytest.mark.slow
def test_what_the_row_does_not_take_is_an_error(work: Path, command: Path) -> None:
    text = (work / "sparse.py").read_text().replace("(f16, f16, f32)", "(f16, f16, f16)")
    (work / "halves.py").write_text(text.replace('c = "f32[', 'c = "f16['))
    output = run(f"cutecc compile halves.py {WITH_ROW} --quiet", work, command.parent)
    assert "does not know the matrix product atom sm80.sparse_mma 16×8×32 f16 f16 f16" in "\n".join(output)
