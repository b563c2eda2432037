"""Each mistake of the table, made with the installed DSL: the user's line, what it means, and what to write instead."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from cutlass.cute.typing import Tensor

from cutecc.arguments.grammar import parse_spec
from cutecc.errors import TraceError
from cutecc.frontend.mistakes import MISTAKES, explained
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest

KERNEL = """\
import cutlass
import numpy as np
from cutlass import cute


@cute.jit
def helper(i: cutlass.Int32):
    return i


{around}


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
{body}


@cute.jit
def mistake(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    {launch}
"""
LAUNCH = "kernel(x, y, n).launch(grid=[1, 1, 1], block=[128, 1, 1])"
MMA = """\
mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
a = cute.make_rmem_tensor(((2, 2, 2), 1, 1), cutlass.{a})
b = cute.make_rmem_tensor(((2, 2), 1, 1), cutlass.Float16)
c = cute.make_rmem_tensor(((2, 2), {m}, 1), cutlass.Float32)
cute.gemm(mma, c, a, b, c)  # here"""
SHARED = "s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)\n"
FRAGMENTS = """\
a = cute.make_rmem_tensor(4, cutlass.Float32)
b = cute.make_rmem_tensor({size}, cutlass.{type})
cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), a, b)  # here"""
TMA = """\
@cute.kernel
def load(atom: cute.CopyAtom, t: cute.Tensor):
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    tile = cute.group_modes(cute.local_tile(t, (64, 64), (0, 0)), 0, 2)
    target, source = cute.nvgpu.cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2), tile)
    cute.copy(atom, source, target)  # here
"""
TMA_LAUNCH = """\
g = cute.make_tensor(cute.recast_ptr(x.iterator, dtype=cutlass.Float16), cute.make_layout((64, 64), stride=(64, 1)))
    box = cute.make_layout((64, 64), stride=(64, 1))
    operation = cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp()
    atom, t = cute.nvgpu.cpasync.make_tiled_tma_atom(operation, g, box, (64, 64))
    load(atom, t).launch(grid=[1, 1, 1], block=[128, 1, 1])"""
PLAIN = """\
def plain(x, n):
    x[0] = 1.0
"""

BODIES: dict[str, str] = {
    "address-space": f"{SHARED}cute.arch.store(cute.arch.map_dsmem_ptr(s.iterator, cutlass.Int32(1)), 1.0)  # here",
    "no-pointer": "cute.arch.store(x, 1.0)  # here",
    "shared-space": 'cute.arch.store(x.iterator, 1.0, ss="cta")  # here',
    "no-scope": 'v = cute.arch.load(x.iterator, cutlass.Float32, sem="acquire")  # here',
    "cache-and-order": 'cute.arch.store(x.iterator, 1.0, sem="release", scope="gpu", cop="cg")  # here',
    "unknown-choice": 'cute.arch.store(x.iterator, 1.0, sem="release", scope="device")  # here',
    "copy-alignment": f"""\
{SHARED}operation = cute.nvgpu.cpasync.CopyG2SOp()
atom = cute.make_copy_atom(operation, cutlass.Float32, num_bits_per_copy=128)
cute.copy(atom, cute.local_tile(x, (4,), (thread,)), cute.local_tile(s, (4,), (thread,)))  # here""",
    "copy-shapes": FRAGMENTS.format(size=8, type="Float32"),
    "copy-bits": FRAGMENTS.format(size=4, type="Float16"),
    "copy-memory": """\
atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
halves = cute.make_tensor(cute.recast_ptr(x.iterator, dtype=cutlass.Float16), cute.make_layout(8))
cute.copy(atom, halves, cute.make_rmem_tensor(8, cutlass.Float16))  # here""",
    "tma-barrier": "pass",
    "gemm-shapes": MMA.format(a="Float16", m=2),
    "gemm-types": MMA.format(a="Float32", m=1),
    "mma-types": "op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float32, cutlass.Float32, (16, 8, 16))  # here",
    "wrong-rank": "x[thread, 0] = 1.0  # here",
    "slice": "x[thread:n] = 1.0  # here",
    "index-type": "x[thread / 2] = 1.0  # here",
    "tiler-rank": "tile = cute.local_tile(x, (4, 4), (thread, 0))  # here",
    "congruent": "layout = cute.make_layout((4, 4), stride=(1,))  # here",
    "dynamic-layout": "s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(n))  # here",
    "bits-of-float": "x[thread] = x[thread] & 3  # here",
    "tensor-arithmetic": "x = x + y  # here",
    "store-type": "x[thread] = cutlass.Int32(1 << 20)  # here",
    "python-type": 'x[thread] = "a"  # here',
    "element-type": "r = cute.make_rmem_tensor(4, float)  # here",
    "load-of-any-size": "y.store(cute.make_tensor(x.iterator, cute.make_layout(n)).load())  # here",
    "value-shapes": "x.store(cute.make_rmem_tensor(4, cutlass.Float32).load())  # here",
    "tensor-as-truth": "if x:  # here\n    y[thread] = 1.0",
    "length": "for i in range(len(x)):  # here\n    y[i] = 1.0",
    "early-exit": "for i in range(n):\n    if i == thread:\n        break  # here\n    x[i] = 1.0",
    "type-changes": "total = 0\nfor i in range(n):  # here\n    total = total + x[i]\nx[thread] = total",
    "value-for-constant": "table = [1.0, 2.0]\nx[thread] = table[thread]  # here",
    "dictionary": "table = {0: 1.0}\nx[thread] = table[thread]  # here",
    "loop-bound": "for i in range(x[0]):  # here\n    y[i] = 1.0",
    "constexpr-range": "for i in cutlass.range_constexpr(n):  # here\n    x[i] = 1.0",
    "assert": "assert thread < n  # here",
    "text-of-a-value": "x[thread] = float(str(thread))  # here",
    "foreign-function": "x[thread] = np.sin(x[thread])  # here",
    "method": "x[thread] = x[thread].sqrt()  # here",
    "iteration": "for value in x:  # here\n    y[thread] = value",
    "recursion": "x[thread] = factorial(thread)",
    "never-launched": "x[thread] = 1.0",
    "missing-argument": "x[thread] = 1.0",
    "too-many-arguments": "x[thread] = 1.0",
    "unknown-argument": "x[thread] = 1.0",
    "no-kernel": "x[thread] = 1.0",
    "brackets": "x[thread] = 1.0",
    "value-of-another-function": "x[thread] = 1.0\nreturn x",
}
AROUND = {
    "recursion": "def factorial(i):\n    return i * factorial(i - 1)  # here",
    "tma-barrier": TMA,
    "no-kernel": PLAIN,
}
LAUNCHES = {
    "tma-barrier": TMA_LAUNCH,
    "never-launched": "kernel(x, y, n)  # here",
    "missing-argument": "kernel(x, y).launch(grid=[1, 1, 1], block=[128, 1, 1])  # here",
    "too-many-arguments": "kernel(x, y, n, n).launch(grid=[1, 1, 1], block=[128, 1, 1])  # here",
    "unknown-argument": "kernel(x, y, n, m=n).launch(grid=[1, 1, 1], block=[128, 1, 1])  # here",
    "no-kernel": "plain(x, n).launch(grid=[1, 1, 1], block=[128, 1, 1])  # here",
    "brackets": "kernel[1, 128](x, y, n)  # here",
    "value-of-another-function": f"{LAUNCH}  # here",
}


def made(folder: Path, name: str, *, locations: bool = True) -> tuple[TraceError, int]:
    """The error, and the line that it has to be at."""
    text = KERNEL.format(
        around=AROUND.get(name, ""), body=textwrap.indent(BODIES[name], "    "), launch=LAUNCHES.get(name, LAUNCH)
    )
    file = folder / "mistake.py"
    file.write_text(text)
    specs = {"x": "f32[128]", "y": "f32[128]", "n": "i32"}
    request = TraceRequest(
        str(file),
        "mistake",
        None,
        {parameter: parse_spec(spec) for parameter, spec in specs.items()},
        target="sm_90a",
        locations=locations,
    )
    with pytest.raises(TraceError) as caught:
        trace_file(request)
    lines = text.split("\n")
    return caught.value, next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))


def test_every_row_has_a_kernel() -> None:
    assert [each.name for each in MISTAKES] == [*BODIES]


@pytest.mark.slow
@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.name)
def test_the_mistake_is_explained_at_its_line(row, tmp_path: Path) -> None:
    error, line = made(tmp_path, row.name)
    assert error.location is not None
    assert (Path(error.location.file).name, error.location.line) == ("mistake.py", line)
    found = explained([error.notes[0].removeprefix("the DSL's own words: ")])
    assert found is not None
    assert error.message == f"mistake does not trace: {found.meaning}"
    assert error.hints == [found.instead]
    # The row itself, and no other before it.
    assert explained([found.original]) == found
    assert row.meaning.split("{")[0] in found.meaning
    assert row.instead.replace("{{", "{").split("{")[0] in found.instead
    assert "{" not in found.meaning


def test_a_recursion_ends_without_lines_too(tmp_path: Path) -> None:
    """What is traced for a plain compile has none. Without the bound it ends the process."""
    error, _ = made(tmp_path, "recursion", locations=False)
    assert "calls itself without end" in error.message


@pytest.mark.parametrize("expression", ["sum(x)", "[*x]", "sum(y.load())", "(lambda a, b: a)(*x)"])
def test_whatever_goes_over_a_tensor_ends(tmp_path: Path, expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would trace for ever."""
    monkeypatch.setitem(BODIES, "iteration", f"x[thread] = {expression}  # here")
    error, line = made(tmp_path, "iteration")
    assert "Python cannot go over a tensor" in error.message
    assert error.location is not None and error.location.line == line


@pytest.mark.parametrize(("value", "kind"), [("cutlass.Float64(1.0)", "Float64"), ("cutlass.Int32(1 << 20)", "i32")])
def test_an_element_of_another_type(tmp_path: Path, value: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The DSL has other words for a store through an index than for a fragment's."""
    monkeypatch.setitem(BODIES, "store-type", f"x[thread] = {value}  # here")
    error, line = made(tmp_path, "store-type")
    assert f"a value of type {kind} is stored into a tensor of Float32" in error.message
    assert error.location is not None and error.location.line == line


def test_tensors_are_left_as_they_were(tmp_path: Path) -> None:
    made(tmp_path, "iteration")
    assert not hasattr(Tensor, "__iter__")


def test_what_is_not_known_keeps_its_words() -> None:
    assert explained(["ValueError: something else"]) is None
    # Python's own, with values of Python.
    assert explained(["TypeError: unsupported operand type(s) for |: 'set' and 'int'"]) is None


def test_a_tensor_may_be_either_operand() -> None:
    for operands in ("'_Tensor' and 'float'", "'float' and '_Tensor'"):
        found = explained([f"TypeError: unsupported operand type(s) for *: {operands}"])
        assert found is not None
        assert "a tensor is memory" in found.meaning
