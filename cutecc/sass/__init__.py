"""SASS, NVIDIA's machine code: its functions, where each instruction is from, and what it does, reads and waits for."""

from cutecc.sass.functions import SassFunction, SassInstruction, is_warpgroup_product, read_sass

__all__ = ["SassFunction", "SassInstruction", "is_warpgroup_product", "read_sass"]
