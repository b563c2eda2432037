"""The code of kernels for Blackwell by the open lowering beside the wheel's; no GPU.

    python tools/bench_blackwell_code.py              # prints the table
    python tools/bench_blackwell_code.py --write      # also replaces it in docs/benchmarks.md

Each kernel of `test/kernels/blackwell`, and two beside that folder, for each target of its header. Of both codes the
registers, the stack, which is what is spilled, shared memory, the instructions of SASS, and what a step of the main
loops has, as `main_loops.py` counts: all of them together, and of a kernel without such loops, all of its code.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT, write
from main_loops import COPIES, PRODUCTS, Step, kernel_kinds, kernel_steps

import cutecc
from cutecc.backend.launch import dynamic_shared_bytes
from cutecc.backend.resources import kernel_resources
from cutecc.compilation.request import CompileOptions
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
from cutecc.kernel import Kernel
from cutecc.sass import read_sass
from cutecc.target import Target

KERNELS = ROOT / "test" / "kernels"
FILES = (*sorted((KERNELS / "blackwell").glob("*.py")), KERNELS / "mma_fp8_sm120.py", KERNELS / "tcgen05_gemm.py")
PIPELINES = ("nvidia", "open")
BARRIERS = ("mbarrier.", "barrier.", "tcgen05.commit")


@dataclass(frozen=True)
class Code:
    """What the code of a kernel needs and has."""

    registers: int
    stack: int
    """Bytes of a thread: what is spilled, and arrays in local memory."""
    shared: int | None
    """Bytes of a block; `None` where the launch computes them."""
    steps: frozenset[Step]
    unrolled: int
    """Products and copies of tiles by TMA in all of the code: with as many, loops are unrolled alike."""

    @classmethod
    def of(cls, kernel: Kernel) -> Code:
        """That of a compilation of one kernel, without what `observe` takes, which is more than compiling it."""
        assert kernel.host_program is not None
        launched = dynamic_shared_bytes(kernel.host_program)
        (needs,) = kernel_resources(kernel.cubin, Target.parse(kernel.compilation.target), dynamic_shared=launched)
        dynamic = needs.shared_dynamic_bytes
        shared = None if dynamic is None else needs.shared_static_bytes + dynamic
        return cls(needs.registers, needs.stack_bytes, shared, kernel_steps(kernel.ptx), _tiles(kernel.ptx))

    @property
    def products(self) -> int:
        """In a step of each main loop."""
        return self._count(PRODUCTS)

    @property
    def copies(self) -> int:
        """Copies of tiles by TMA, as `products`."""
        return self._count(COPIES)

    @property
    def barriers(self) -> int:
        """Instructions that wait at or arrive at barriers of whichever kind, as `products`."""
        return self._count(BARRIERS)

    def _count(self, kinds: Iterable[str]) -> int:
        return sum(count for step in self.steps for kind, count in step if kind.startswith(tuple(kinds)))


def _tiles(ptx: str) -> int:
    kinds = kernel_kinds(ptx)
    return sum(kinds[kind] for kind in PRODUCTS | COPIES)


def cases() -> Iterator[tuple[Path, str]]:
    """Each kernel for each target of its header."""
    for file in FILES:
        for target in (read_header(file).target or "").split(","):
            yield file, target.strip()


def main() -> int:
    """Compile, print, and write with `--write`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table of docs/benchmarks.md")
    choice = parser.parse_args()
    table = [*rows()]
    print("\n".join(table))
    if choice.write:
        write("blackwell-code", table, "no Blackwell GPU: code is compared, not time; wheel, then open")
    return 0


def rows() -> Iterator[str]:
    """The table, a line for each kernel and target, and geometric means of the ratios."""
    heads = ["kernel", "target", "registers", "stack, B", "shared, B", "instructions", "open over wheel"]
    yield f"| {' | '.join([*heads, 'products', 'TMA', 'barriers'])} |"
    yield "|---" * 10 + "|"
    ratios: list[float] = []
    alike: list[float] = []
    for file, target in cases():
        made = [compiled(file, target, pipeline) for pipeline in PIPELINES]
        wheel, ours = map(Code.of, made)
        lengths = [*map(instructions, made)]
        ratios.append(lengths[1] / lengths[0])
        if wheel.unrolled == ours.unrolled:
            alike.append(ratios[-1])
        cells = [both(wheel.registers, ours.registers), both(wheel.stack, ours.stack)]
        cells += [both(wheel.shared, ours.shared)]
        cells += [both(*lengths), f"{ratios[-1]:.3f}"]
        cells += [both(getattr(wheel, name), getattr(ours, name)) for name in ("products", "copies", "barriers")]
        yield f"| `{file.stem}` | {target} | {' | '.join(cells)} |"
    yield f"| **geometric mean** | | | | | | **{statistics.geometric_mean(ratios):.3f}** | | | |"
    mean = statistics.geometric_mean(alike)
    yield f"| of the {len(alike)} that are unrolled alike | | | | | | **{mean:.3f}** | | | |"
    yield f"| largest | | | | | | {max(ratios):.3f} | | | |"


def compiled(file: Path, target: str, pipeline: str) -> Kernel:
    """A kernel with the SASS of its code."""
    header = read_header(file)
    request = TraceRequest(str(file), None, header.entry, header.args, target=target, sources=header.arg_sources)
    traced = trace_file(request)
    options = CompileOptions(pipeline=pipeline, artifacts=("ptx", "cubin", "sass", "host-program"))
    kernel = cutecc.compile_module(
        traced.bytecode, target=target, signature=traced.signature, options=options, cache=False
    )
    assert isinstance(kernel, Kernel)
    return kernel


def instructions(kernel: Kernel) -> int:
    """How many instructions of SASS a kernel has."""
    text = kernel.compilation.artifact("sass")
    assert text is not None
    return sum(len(function.instructions) for function in read_sass(text.decode()))


def both(wheel: int | None, ours: int | None) -> str:
    """Two numbers, or one if they are the same."""
    first, second = ("" if each is None else f"{each:,}" for each in (wheel, ours))
    return first if first == second else f"{first}, {second}"


if __name__ == "__main__":
    sys.exit(main())
