"""LLVM IR of the wheel's newer LLVM as LLVM 22's NVPTX target takes it.

Text goes in and comes out. Each function mends one thing; a line of LLVM IR is one instruction, so all work by lines.
"""

from __future__ import annotations

import re

from cutecc.backend.llvm.tensor_core_calls import mend_tensor_core_calls
from cutecc.backend.llvm.wide_accesses import split_wide_accesses

_END_OF_CALL = re.compile(r"\)((?: #\d+)?(?:, ![\w.]+ !\d+)*)$")
_ASSEMBLY = re.compile(r"\s+(?:%\S+ = )?(?:\w+ )?call .* asm ")
_MULTICAST_MASK = re.compile(
    r"(@llvm\.nvvm\.(?:cp\.async\.bulk\.(?:tensor\.g2s\.[\w.]+?|global\.to\.shared\.cluster)"
    r"|tcgen05\.commit\.mc\.[\w.]+?))\.i16\("
)
_DEFINITION = re.compile(r"^(define .*?)((?: ![\w.]+ !\d+)*) \{$", re.MULTILINE)
_CALLED = re.compile(r"^(!\d+) = !DILocation\(line: (\d+), scope: (!\d+), inlinedAt: (!\d+)\)$", re.MULTILINE)
"""A place without a column, called from another."""
_CALLER = re.compile(r"^(!\d+) = !DILocation\(line: (\d+), column: (\d+), scope: (!\d+)\)$", re.MULTILINE)
_SCOPE = re.compile(r"^(!\d+) = distinct !DI(?:Subprogram|LexicalBlockFile)\(.*?\bfile: (!\d+)", re.MULTILINE)
_EMISSION = re.compile(r"(!DICompileUnit\(.*\bemissionKind: )\w+")


def mended(text: str, *, flush: bool = False) -> str:
    """`text` with everything mended; `flush` asks for `flush_denormals` too."""
    text = mend_tensor_core_calls(text)[0]
    text = mend_multicast_names(text)
    text = split_wide_accesses(text)
    text = mark_assembly(text)
    text = give_columns(text)
    if flush:
        text = flush_denormals(text)
    return emit_lines_alone(text)


def mend_multicast_names(text: str) -> str:
    """Bulk copies and commits whose names end in the multicast mask's type, `.i16`, in LLVM 22's spelling, without."""
    return _MULTICAST_MASK.sub(r"\1(", text) if ".i16(" in text else text


def mark_assembly(text: str) -> str:
    """Inline assembly as `convergent` and `nounwind`, which the translation does not say.

    It may hold barriers, `wgmma` or shuffles: without the first, LLVM moves it into and out of branches; without the
    second, nothing crosses it.
    """
    if " asm " not in text:
        return text
    return "\n".join(
        _END_OF_CALL.sub(r") convergent nounwind\1", line) if _ASSEMBLY.match(line) else line
        for line in text.split("\n")
    )


def give_columns(text: str) -> str:
    """The places of inline assembly with a column.

    They have none but their caller's (`cutecc.support.locations.place_of`). libNVVM names that in `.loc`, LLVM 22 does
    not; and a `.loc` of column 0 is code of no line. What stands in another file than its caller is at its line's first
    column.
    """
    called = list(_CALLED.finditer(text))
    if not called:
        return text
    callers = {match[1]: match for match in _CALLER.finditer(text)}
    files = {match[1]: match[2] for match in _SCOPE.finditer(text)}

    def place(match: re.Match[str]) -> str:
        number, line, scope, at = match.groups()
        caller = callers.get(at)
        same = caller is not None and caller[2] == line and files.get(caller[4]) == files.get(scope)
        column = caller[3] if caller is not None and same else "1"
        return f"{number} = !DILocation(line: {line}, column: {column}, scope: {scope}, inlinedAt: {at})"

    return _CALLED.sub(place, text)


def emit_lines_alone(text: str) -> str:
    """Debug information that becomes `.loc` directives alone.

    With `LineTablesOnly` the PTX would hold DWARF sections, and be marked as one to debug, which ptxas does not
    optimise.
    """
    return _EMISSION.sub(r"\1DebugDirectivesOnly", text) if "!DICompileUnit(" in text else text


def flush_denormals(text: str) -> str:
    """Arithmetic on f32 that takes and gives denormal numbers as zero, as libNVVM's `-ftz=1` does, in libdevice too."""
    flag = '!llvm.module.flags = !{!1000000}\n!1000000 = !{i32 4, !"nvvm-reflect-ftz", i32 1}\n'
    return _DEFINITION.sub(r'\1 "denormal-fp-math-f32"="preserve-sign"\2 {', text) + flag
