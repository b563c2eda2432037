"""SASS, NVIDIA's machine code: its functions and instructions, and the places that nvdisasm prints above them."""

from cutecc.sass.functions import SassFunction, SassInstruction, is_warpgroup_product, read_sass

__all__ = ["SassFunction", "SassInstruction", "is_warpgroup_product", "read_sass"]
