"""The softmax of each row, in Triton; `python row_softmax.py` compiles it, without a GPU."""

import triton
from triton import language as tl


@triton.jit
def row_softmax(result, x, stride, columns, width: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, width)
    inside = column < columns
    values = tl.load(x + row * stride + column, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(result + row * stride + column, powers / tl.sum(powers, axis=0), mask=inside)


if __name__ == "__main__":
    from pathlib import Path

    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"result": "*fp32", "x": "*fp32", "stride": "i32", "columns": "i32", "width": "constexpr"}
    source = ASTSource(fn=row_softmax, signature=signature, constexprs={"width": 128})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
    Path(__file__).with_suffix(".ptx").write_text(compiled.asm["ptx"])
    print(f"{compiled.metadata.shared} bytes of shared memory")
