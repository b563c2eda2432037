"""Writing one LLVM function: instructions, blocks, stack memory, and the way out when something is not as expected."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.runtime.native.errors import Unsupported

_MOST_STACK = 256 << 10
"""Bytes of a call's own memory: threads may have small stacks."""
_MOST_LINES = 15_000
"""LLVM takes seconds for more; the calls of real programs have some hundred."""
ESCAPE = "escape"
"""The block that a failed requirement goes to."""


class Code:
    """The body of a function, as text."""

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._stack_bytes = 0
        self._lines: list[str] = []
        self._count = 0
        self.block = "start"
        """The block that is being written."""

    def do(self, instruction: str) -> None:
        """Append an instruction without a result. Raises `Unsupported` when there are too many."""
        if len(self._lines) == _MOST_LINES:
            raise Unsupported("the host program is long")
        self._lines.append(f"  {instruction}")

    def value(self, instruction: str) -> str:
        """Append an instruction and name its result."""
        name = f"%v{self._next()}"
        self.do(f"{name} = {instruction}")
        return name

    def new_block(self) -> str:
        """A name for a block to be."""
        return f"b{self._next()}"

    def begin(self, block: str) -> None:
        """Write `block` from here on; the one before must have ended."""
        self._lines.append(f"{block}:")
        self.block = block

    def stack(self, size: int, align: int = 8) -> str:
        """Memory of the call's own, `size` bytes, its content undefined. Raises `Unsupported` when it is too much."""
        self._stack_bytes += size + align
        if self._stack_bytes > _MOST_STACK:
            raise Unsupported("the host program needs much memory")
        name = f"%m{self._next()}"
        self._stack.append(f"  {name} = alloca [{max(size, 1)} x i8], align {align}")
        return name

    def counter(self, start: int = 0) -> str:
        """Memory for an i64 that is `start` when the function is entered."""
        memory = self.stack(8)
        self._stack.append(f"  store i64 {start}, ptr {memory}, align 8")
        return memory

    def at(self, pointer: str, offset: int) -> str:
        """`pointer` moved by `offset` bytes."""
        return pointer if offset == 0 else self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, offset: int = 0, align: int = 1) -> str:
        return self.value(f"load {kind}, ptr {self.at(pointer, offset)}, align {align}")

    def store(self, kind: str, what: str | int, pointer: str, offset: int = 0, align: int = 1) -> None:
        self.do(f"store {kind} {what}, ptr {self.at(pointer, offset)}, align {align}")

    def zero(self, pointer: str, size: int) -> None:
        """Set `size` bytes to 0."""
        if size:
            self.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)")

    def call(self, result: str, address: int, arguments: str = "") -> str:
        """Call the C function at `address`, which returns `result`."""
        return self.value(f"call {result} {pointer(address)}({arguments})")

    def require(self, condition: str, otherwise: str = ESCAPE) -> None:
        """Go on only where `condition` (an i1) holds."""
        block = self.new_block()
        self.do(f"br i1 {condition}, label %{block}, label %{otherwise}, !prof !0")
        self.begin(block)

    def require_all(self, conditions: Sequence[str], otherwise: str = ESCAPE) -> None:
        """Go on only where all of `conditions` hold."""
        if conditions:
            together = conditions[0]
            for condition in conditions[1:]:
                together = self.value(f"and i1 {together}, {condition}")
            self.require(together, otherwise)

    def text(self) -> str:
        """Everything written, stack memory first."""
        return "\n".join([*self._stack, "  br label %start", "start:", *self._lines])

    def _next(self) -> int:
        self._count += 1
        return self._count


def pointer(address: int) -> str:
    """The constant pointer to `address`."""
    return f"inttoptr (i64 {address} to ptr)" if address else "null"
