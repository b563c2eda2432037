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


# The kinds of the instruction: elements, those of the scales, sizes along K, scales there, and the DSL's operation.
KINDS = {
    "nvf4": (
        "f4E2M1FN",
        "f8E4M3FN",
        64,
        4,
        "MmaMXF4NVF4Op(cutlass.Float4E2M1FN, cutlass.Float32, cutlass.Float8E4M3FN)",
    ),
    "mxf4": ("f4E2M1FN", "f8E8M0FNU", 64, 2, "MmaMXF4Op(cutlass.Float4E2M1FN, cutlass.Float32, cutlass.Float8E8M0FNU)"),
    "mxf8": ("f8E4M3FN", "f8E8M0FNU", 32, 1, "MmaMXF8Op(cutlass.Float8E4M3FN, cutlass.Float32, cutlass.Float8E8M0FNU)"),
}

WITH_ROW = "--pipeline open --load block_scaled.py"
"""The file of the package, which a process that has its imports done finds too; the page has them give the same."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_instruction_is_the_wheels(work: Path, kind: str, command: Path) -> None:
    """The same opcode, and each operand from the same place in memory, by the same code generator."""
    element, scale, depth, scales, operation = KINDS[kind]
    text = re.sub(r"Mma\w+Op\(.*?\)", operation, (work / "scaled.py").read_text())
    text = re.sub(r"f4E2M1FN\[(\d+), 64\]", rf"{element}[\1, {depth}]", text)
    text = re.sub(r"f8E4M3FN\[(\d+), 4\] align=4", rf"{scale}[\1, {scales}] align={scales}", text)
    (work / f"{kind}.py").write_text(text)
    found: list[tuple[str, list[list[str]]]] = []
    for name, arguments in (("wheel", ""), ("open", f"{WITH_ROW} --backend nvvm")):
        run(f"cutecc compile {kind}.py {arguments} --quiet --output {kind}-{name}", work, command.parent)
        assert (work / f"{kind}-{name}/scaled_product.cubin").stat().st_size > 0, "ptxas assembled it"
        found.append(instruction((work / f"{kind}-{name}/scaled_product.ptx").read_text()))
    assert found[1] == found[0]
    opcode, (d, a, b, c, *selected) = found[1]
    assert f"m16n8k{depth}" in opcode and f"scale_vec::{scales}X" in opcode
    assert len(d) == 4 and len(c) == 4
    # A: rows of the thread's group and 8 below it, then the other half of K. B: the same of one row.
    row, half = depth * (4 if element == "f4E2M1FN" else 8) // 8, 16
    assert a == ["0", f"0+{8 * row}", f"0+{half}", f"0+{8 * row + half}"]
    assert b == ["1", f"1+{half}"]
    assert selected == [["2"], ["0", "0"], ["3"], ["0", "0"]], "scales, and the first byte and thread"


def instruction(ptx: str) -> tuple[str, list[list[str]]]:
    """The opcode of `mma.sync`, and where each operand is from, list by list.

    A parameter's number with the constant that is added to its address, or a constant alone; a result is itself.
    """
    (line,) = re.findall(r"^\s*(mma\.sync\S*) (.*);$", ptx, re.MULTILINE)
    lists = [each.split(", ") for each in re.findall(r"\{(.*?)\}", line[1])]
    return line[0], [lists[0], *([origin(ptx, register) for register in each] for each in lists[1:])]


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
    text = (work / "scaled.py").read_text()
    text = re.sub(
        r"MmaMXF4NVF4Op\(.*?\)",
        "MmaMXF8F6F4Op(cutlass.Float4E2M1FN, cutlass.Float8E5M2, cutlass.Float32, cutlass.Float8E8M0FNU)",
        text,
    )
    text = text.replace("f4E2M1FN[16, 64]", "f4E2M1FN[16, 32]").replace("f4E2M1FN[8, 64]", "f8E5M2[8, 32]")
    text = re.sub(r"f8E4M3FN\[(\d+), 4\] align=4", r"f8E8M0FNU[\1, 1] align=1", text)
    (work / "mixed.py").write_text(text)
    output = run(f"cutecc compile mixed.py {WITH_ROW} --quiet", work, command.parent)
    assert "does not know the matrix product atom SM120.mma_bs 16×8×32 f4E2M1FN f8E5M2" in "\n".join(output)
