"""Calls of `tcgen05.mma` in the form of LLVM 22, where the wheel's newer LLVM has one argument more."""

from __future__ import annotations

import re

_MMA_NAME = r"@(?P<name>llvm\.nvvm\.tcgen05\.mma\.(?!ws)[\w.]+)"
_MMA_DECLARATION = re.compile(rf"^declare void {_MMA_NAME}\((?P<inner>.*)\)(?P<rest>[^()]*)$", re.MULTILINE)
_MMA_CALL = re.compile(rf"call void {_MMA_NAME}\((?P<inner>.*)\)(?P<rest>[^()]*)$", re.MULTILINE)
_DISCARD = re.compile(r"(?:/\*[^*]*\*/ )?i32 0")


def mend_tensor_core_calls(text: str) -> tuple[str, int]:
    """`text` with its calls of `tcgen05.mma` in the form that LLVM 22 knows, and how many calls changed.

    The wheel's LLVM has, as their last argument, the use of the collector buffer for the second operand (collector_b,
    of an architecture to come); LLVM 22's IntrinsicsNVVM.td ends with that for the first. It is dropped where it is 0,
    discard; an intrinsic that is called with another value anywhere keeps it.
    """
    newer = {
        match["name"]
        for match in _MMA_DECLARATION.finditer(text)
        if match["inner"].count("i32 immarg") > _llvm22_immediates(match["name"])
    }
    if not newer:
        return text, 0
    for match in _MMA_CALL.finditer(text):
        if not _DISCARD.fullmatch(_split_last(match["inner"])[1]):
            newer.discard(match["name"])

    def shorten(match: re.Match[str]) -> str:
        if match["name"] not in newer:
            return match[0]
        inner = match["inner"]
        return match[0].replace(f"({inner})", f"({_split_last(inner)[0]})", 1)

    text = _MMA_DECLARATION.sub(shorten, text)
    mended = sum(match["name"] in newer for match in _MMA_CALL.finditer(text))
    return _MMA_CALL.sub(shorten, text), mended


def _llvm22_immediates(name: str) -> int:
    """How many trailing `i32` immediates the intrinsic has in LLVM 22: the kind, the group of blocks, collector_a.

    The group is part of the name where lanes are disabled, the kind where operands are scaled by block.
    """
    return 2 if ".disable_output_lane" in name or ".block_scale" in name else 3


def _split_last(arguments: str) -> tuple[str, str]:
    """All but the last argument, and that one; the last is an immediate without parentheses, except for a range."""
    depth = 0
    for position in range(len(arguments) - 1, -1, -1):
        character = arguments[position]
        depth += (character == ")") - (character == "(")
        if character == "," and depth == 0:
            return arguments[:position], arguments[position + 1 :].strip()
    return "", arguments
