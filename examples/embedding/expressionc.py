"""A compiler for vector expressions that embeds cutecc, and never imports the DSL.

    python examples/embedding/expressionc.py "relu(a * X + Y)" --device cpu
    python examples/embedding/expressionc.py "relu(a * X + Y)" --target sm_90a --save relu.cutecc
    python examples/embedding/expressionc.py "relu(a * X + Y)" --load relu.cutecc --device cuda:0

It builds a cute module (`building.py`), hands it to `cutecc.compile_module` (`compiling.py`), launches what comes back
and compares the result with numpy. Without `--target` it compiles for the GPU of this machine. `--load` needs no MLIR,
and a GPU cuda-bindings and numpy, nothing else.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from language import Expression, parse

import cutecc


def check(kernel: Any, expression: Expression, elements: int, device: str) -> float:
    """Launch the kernel on random numbers; the largest relative difference from numpy's result."""
    random = np.random.default_rng(0)
    values: dict[str, Any] = {name: np.float32(random.uniform(0.5, 2)) for name in expression.numbers}
    values |= {name: random.uniform(0.5, 2, elements).astype(np.float32) for name in expression.vectors}
    out = np.full(elements, np.nan, np.float32)
    if device == "cpu":
        kernel(*values.values(), out, device="cpu")
    else:
        from gpu_memory import OnGpu

        with OnGpu(int(device.removeprefix("cuda:"))) as gpu:
            arguments = [gpu.copy(value) if isinstance(value, np.ndarray) else value for value in values.values()]
            result = gpu.copy(out)
            kernel(*arguments, result)
            gpu.fetch(result, out)
    expected = expression.evaluate(values)
    return float(np.max(np.abs(out - expected) / np.maximum(np.abs(expected), np.float32(1e-6))))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile a vector expression with cutecc, run it and check it.")
    parser.add_argument("expression", help='such as "relu(a * X + Y)": capital letters are vectors')
    parser.add_argument("--target", help="sm_80, sm_90a …; by default the GPU of this machine")
    parser.add_argument("--pipeline", default="nvidia", help="nvidia or open")
    parser.add_argument("--isolation", default="none", choices=["none", "worker"])
    parser.add_argument("--device", help="cpu or cuda:0: where to run it")
    parser.add_argument("--elements", type=int, default=10_000)
    parser.add_argument("--save", metavar="FILE", help="write the kernel as a bundle")
    parser.add_argument("--load", metavar="FILE", help="run this bundle, and compile nothing")
    arguments = parser.parse_args()
    try:
        expression = parse(arguments.expression)
        if arguments.load:
            kernel = cutecc.load(arguments.load)
        else:
            from compiling import compile_expression

            kernel = compile_expression(expression, arguments.target, arguments.pipeline, arguments.isolation)
        if arguments.save:
            kernel.save(arguments.save)
        if arguments.device:
            error = check(kernel, expression, arguments.elements, arguments.device)
            print(f"{arguments.expression} on {arguments.device}: largest relative error {error:.1e}")
            if not error < 1e-5:
                sys.exit(1)
    except (cutecc.Error, SyntaxError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
