import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsByLine } from "../src/panels/python-functions";

const SOURCE = `import cute
class Gemm:
    size = 4
    @cute.kernel(
        fast=True,
    )
    def kernel(
        self, a=")",  # a bracket (
    ):
        """What it does,
in several lines."""
        for i in range(4):
            def inner(v):
                return v
            x = inner(i)

# outside
        y = 1
    @cute.jit
    def __call__(self): return 1
n = 4
async def other():
    await n
`;

test("each line has its function: decorators, signatures and what a string of several lines says too", () => {
  const found = functionsByLine(SOURCE).map((each) => (each === null ? "" : `${each.name}:${each.line}`));
  const kernel = "Gemm.kernel:7";
  assert.deepEqual(found, [
    "", "", "", kernel, kernel, kernel, kernel, kernel, kernel, kernel, kernel, kernel,
    "Gemm.kernel.inner:13", "Gemm.kernel.inner:13", kernel, kernel, kernel, kernel,
    "Gemm.__call__:20", "Gemm.__call__:20", "", "other:22", "other:22", "other:22",
  ]);
});

test("brackets in strings and comments open nothing", () => {
  const found = functionsByLine('def f():\n    x = "(" + \'[\'  # {\ndef g():\n    """a " (\n    """\n    return 1');
  assert.deepEqual(found.map((each) => each?.name), ["f", "f", "g", "g", "g", "g"]);
});
