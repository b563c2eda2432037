"""Launch operations of a folder at ragged sizes, for a tool that watches: `make gpu-sanitize` runs compute-sanitizer.

python launch_operations.py FOLDER [PART OF]    # PART from 0: only each OFth, so that several processes share the work

Those are launched that stand for others, of each family, mode and kind of epilogue. Every array is an allocation of its
own and no longer than it has to be; only the part of a workspace that has to be zeros is written before. Nothing is
compared: the tests do that.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from covering_set import cases

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.harness.elements import elements_of
from cutecc.operations import DeviceMatrix, Gemm
from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.epilogue.values import Output
from cutecc.operations.operand import Operand
from cutecc.operations.problem_sizes import Problem
from cutecc.runtime.workspace import Workspace

SLICES = 3


def main(folder: Path, part: int = 0, of: int = 1) -> None:
    """Launch each once."""
    names = [name for name, case in cases().items() if case.is_representative]
    with Workspace() as gpu:
        for name in names[part::of]:
            path = folder / f"{name}.operation"
            if not path.exists():
                print(f"{name}: not compiled", flush=True)
                continue
            op = Gemm.load(path)
            m, n, k = op.description.tile.threadblock
            # Multiples of 16 fit every alignment.
            m, n, k = (-(-size // 16) * 16 for size in (m + 1, n + 1, 2 * k + 1))
            batches = 2 if op.description.mode in ("batched", "array") else 1
            with gpu.scope():
                launch(op, Problem(m, n, k, batches), gpu)
            print(f"{name}: ran with {m}x{n}x{k}", flush=True)


def launch(op: Gemm, problem: Problem, gpu: Workspace) -> None:
    """Run an operation once on random data, and wait."""
    description, generator = op.description, np.random.default_rng(0)
    m, n, k, batches = problem.m, problem.n, problem.k, problem.batches
    arguments: dict[str, object] = {}

    def filled(dtype: str, count: int, written: bool) -> int:
        numeric = find_numeric_type(dtype)
        assert numeric is not None
        kind = elements_of(numeric)
        address = gpu.allocate(count * kind.code.itemsize)
        if not written:
            gpu.upload(address, np.ascontiguousarray(kind.random(count, generator)))
        return address

    def matrix(operand: Operand, rows: int, columns: int, written: bool = False) -> object:
        lines, length = (rows, columns) if operand.layout == "row" else (columns, rows)

        def one(shape: tuple[int, ...], count: int) -> DeviceMatrix:
            address = filled(operand.dtype, count * lines * length, written)
            return DeviceMatrix(address, shape, length, operand.dtype, operand.layout)

        if description.mode == "array":
            return [one((rows, columns), 1) for _ in range(batches)]
        return one((batches, rows, columns) if batches > 1 else (rows, columns), batches)

    arguments["A"] = matrix(description.a, m, k)
    arguments["B"] = matrix(description.b, k, n)
    for each in description.epilogue.operands:
        written = isinstance(each, Output)
        if each.kind == "full":
            operand = {"C": description.c, "D": description.d}.get(each.name)
            arguments[each.name] = matrix(operand or Operand(each.dtype, each.layout, each.alignment), m, n, written)
        elif written or each.in_memory:
            extent = {"row": n, "column": m}.get(each.kind, 1)
            address = filled(each.dtype, extent * batches, written)
            shape = (batches, extent) if batches > 1 else (extent,)
            arguments[each.name] = DeviceMatrix(address, shape, extent, each.dtype)
        elif each.name in ("alpha", "beta"):
            arguments[each.name] = 0.75
    slices = SLICES if description.mode in SPLIT_K_MODES else None
    size = op.workspace_bytes(problem=(m, n, k, batches), slices=slices)
    if size:
        address = gpu.allocate(size)
        zeroed = op.variants[0].zeroed_bytes(problem, slices or 1)
        if description.family == "sm90" and description.mode == "split_k_parallel":
            # initcheck does not see that TMA writes the partial sums.
            zeroed = size
        if zeroed:
            gpu.upload(address, np.zeros(zeroed, np.uint8))
        arguments["workspace"] = DeviceMatrix(address, (size,), size, "u8")
    op.run(**arguments, slices=slices, stream=gpu.stream)  # type: ignore[arg-type]
    gpu.synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
