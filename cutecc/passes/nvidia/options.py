"""The options of the wheel's pipeline."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WheelOptions:
    """The options of the wheel's pipeline, by the wheel's own names."""

    opt_level: int = 3
    """0 to 3, for libNVVM and ptxas."""
    preserve_line_info: bool = False
    """Keep source lines in PTX and cubin (`-lineinfo`)."""
    enable_assertions: bool = False
    """Keep device asserts."""
    ptx_options: str = ""
    """Options for the assembler, as ptxas takes them."""
    nvvm_options: str = ""
    """Options for libNVVM."""
    link_libraries: str = ""
    """Bitcode libraries to link, comma-separated paths."""
    fast_math: bool = False
    """Let libNVVM approximate division and square root, and flush denormals (`-ftz=1 -prec-div=0 -prec-sqrt=0`)."""
