"""Kinds of work, by which an instruction is known again in the code that was made of it.

A kind is coarse: what an operation of LLVM IR may become in PTX and SASS, whatever the assembler makes of it. An `add`
becomes an `IADD3`, a `LEA` or an `IMAD`, but never a `SHFL`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from cutecc.report.instruction_mix import OTHER, classify

Kinds = frozenset[str]
ZERO = "zero"
"""Of instructions that set registers to 0, as at the start of a sum."""

_NAMES: tuple[tuple[str, str], ...] = (
    # The first that is found in a dotted name says its kinds. PTX and LLVM's intrinsics have the same words.
    (r"read\.ptx\.sreg|^mov\.\w+ %|^%(tid|ctaid|laneid|warpid|clock)", "special register, constant load"),
    (r"mbarrier|clusterlaunchcontrol\.try_cancel", "mbarrier, branch, compare, integer, warp"),
    (r"wgmma\.mma|^mma|\.mma\.|wmma\.mma|tcgen05\.mma", "matrix, matrix load, special register"),
    (r"ldmatrix|stmatrix|movmatrix|wmma\.(load|store)|tcgen05\.(ld|st|cp|shift)", "matrix load"),
    (r"tcgen05\.(alloc|dealloc|relinquish|commit|wait|fence)", "group, fence, mbarrier"),
    (r"wgmma\.|cp\.async\.(bulk\.)?(commit|wait)|async\.(commit|wait)", "group, fence"),
    (r"cp\.(async\.bulk|reduce\.async\.bulk)|prefetch|tensormap", "bulk copy, fence"),
    (r"cp\.async", "async copy"),
    (r"setmaxnreg", "group"),
    (r"fence|membar|proxy", "fence"),
    (r"barrier|^bar\b|\bbar\.|griddepcontrol|nanosleep", "barrier, fence, group, convergence"),
    (r"shfl|vote|match\.|redux|elect\.sync|activemask", "warp"),
    (r"^(atom|red)\b|atomic|cmpxchg", "atomic"),
    (r"\b(ex2|lg2|sin|cos|exp2?|log2?)\b|rcp|rsqrt|sqrt|tanh|\bdiv\.\w*\.?f", "special function, float"),
    (r"f2\w*x2|^cvt|\.cvt|fptrunc|fpext|[sf]ptosi|fptoui|[su]itofp|\bf2|2f\b", "conversion, float, integer"),
    (r"fmax|fmin|maxnum|minnum|maximum|minimum|\bfma\b|fabs|fneg|fmul|fadd|copysign|reduce\.f", "float, compare"),
    (r"^(ld|ldu)\.(param|const)", "constant load"),
    (r"^ld\.(global|weak\.global)|^ld\.\w+\.global|^ldu", "global load"),
    (r"^ld\.(\w+\.)*shared", "shared load"),
    (r"^ld\.(\w+\.)*local", "local load"),
    (r"^ld\b", "generic load, global load, shared load"),
    (r"^st\.(\w+\.)*global", "global store"),
    (r"^st\.(\w+\.)*shared|^st\.async", "shared store"),
    (r"^st\.(\w+\.)*local", "local store"),
    (r"^st\b", "generic store, global store, shared store"),
    (r"^(bra|brx|br)\b", "branch"),
    (r"^(exit|ret|trap)\b", "exit, call"),
    (r"^call\b", "call"),
    (r"^(setp|set|selp|slct|testp)\b", "compare"),
    (r"^(add|sub|mul|fma|mad|neg|abs|min|max)\.(\w+\.)*(f16|f32|f64|bf16)", "float, compare"),
    (r"^(add|sub|mul|mad|min|max|shl|shr|shf|and|or|xor|not|neg|abs|cvta|lea|bfe|bfi|prmt|popc|clz|brev|lop3|dp4a)\b"
     r"|ctpop|ctlz|cttz|bitreverse|bswap|fsh[lr]|mulhi|[su](max|min|add|sub|mul)\b|prmt|bfe", "integer, compare"),
    (r"^mov\b", "move"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), frozenset(kinds.split(", "))) for pattern, kinds in _NAMES)
_NOTHING: Kinds = frozenset()


@functools.lru_cache(4096)
def _kinds_of_name(name: str) -> Kinds:
    return next((kinds for pattern, kinds in _PATTERNS if pattern.search(name)), _NOTHING)


_PTX_OPCODE = re.compile(r"\s*(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?:\s+[^,;]*,\s*%([a-z_]+))?")
_REGISTERS = frozenset({"r", "rd", "rs", "rq", "f", "fd", "h", "hh", "p", "b", "q"})
"""What virtual registers of PTX are called: other names behind `%` are those of special ones."""


def kinds_of_ptx(instruction: str) -> Kinds:
    """The kinds of an instruction of PTX; none of what is no instruction."""
    if _PTX_ZERO.match(instruction):
        return frozenset({"move", ZERO})
    match = _PTX_OPCODE.match(instruction)
    if match is None:
        return _NOTHING
    is_special = match[1].startswith("mov") and match[2] is not None and match[2] not in _REGISTERS
    return _kinds_of_name("read.ptx.sreg" if is_special else match[1])


_PTX_ZERO = re.compile(r"\s*mov\.\w+\s+%\w+, (?:0[fd]0+|0);")

# LLVM IR.

_LLVM = re.compile(r"\s*(?:%[\w.$-]+ = |%\"[^\"]*\" = )?(?:(?:tail|musttail|notail) )?(\w+)\b(.*)")
_POINTER = re.compile(r"\bptr(?: addrspace\((\d+)\))?")
_CALLEE = re.compile(r'@"?llvm\.(?:nvvm\.)?([\w.]+)')
_ASSEMBLY = re.compile(r'\basm (?:sideeffect )?(?:alignstack )?(?:inteldialect )?"((?:[^"\\]|\\.)*)"')
_SPACES = {"1": "global", "3": "shared", "4": "constant", "5": "local", "7": "shared", "101": "constant"}
_VECTOR = re.compile(r"\s*<(\d{1,6}) x ")
_STORED_ZERO = re.compile(r"\s*<?[^,]*?\b(?:zeroinitializer|float 0\.0|0\.0+e\+0+)\b")
_LLVM_KINDS = {
    **dict.fromkeys(("fadd", "fsub", "fmul", "fneg"), "float"),
    **dict.fromkeys(("fdiv", "frem"), "float, special function, call, compare, integer, branch"),
    **dict.fromkeys(("fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp"), "conversion, float, integer"),
    **dict.fromkeys(("icmp", "fcmp"), "compare"),
    "select": "compare, integer, float",
    **dict.fromkeys(("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor"), "integer, compare"),
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), "integer, compare, conversion, special function, call"),
    **dict.fromkeys(("getelementptr", "ptrtoint", "inttoptr", "addrspacecast"), "integer"),
    **dict.fromkeys(("sext", "zext", "trunc", "bitcast"), "integer"),
    **dict.fromkeys(("insertelement", "extractelement", "shufflevector"), "integer"),
    **dict.fromkeys(("atomicrmw", "cmpxchg"), "atomic"),
    **dict.fromkeys(("br", "switch", "indirectbr"), "branch, exit"),
    **dict.fromkeys(("ret", "unreachable"), "exit, call"),
    "fence": "fence",
    "extractvalue": "constant load",
    "phi": "phi",
}  # fmt: skip
_BY_LLVM = {name: frozenset(kinds.split(", ")) for name, kinds in _LLVM_KINDS.items()}


def kinds_of_llvm(instruction: str) -> Kinds:
    """The kinds of an instruction of LLVM IR, that of inline assembly's PTX too; none of what becomes no code."""
    match = _LLVM.match(instruction)
    if match is None:
        return _NOTHING
    opcode, rest = match.groups()
    if opcode in ("load", "store"):
        return _access(opcode, rest)
    if opcode != "call":
        return _BY_LLVM.get(opcode, _NOTHING)
    if assembly := _ASSEMBLY.search(rest):
        statements = re.split(r";|\\0A|\{|\}", assembly[1].replace("\\09", " "))
        return _together(kinds_of_ptx(each.strip()) for each in statements)
    if callee := _CALLEE.search(rest):
        return _NOTHING if callee[1].startswith(("assume", "lifetime", "dbg")) else _kinds_of_name(callee[1])
    # A function that is not LLVM's own is one of a library, which is inlined, or stays a call.
    return frozenset({"call", "branch", "float", "special function", "integer", "compare", "conversion", "move"})


def zeros(instruction: str) -> int:
    """How many numbers an instruction of LLVM IR sets to 0, all together; 0 of all others."""
    match = _LLVM.match(instruction)
    if match is None or match[1] != "store" or not _STORED_ZERO.match(match[2]):
        return 0
    vector = _VECTOR.match(match[2])
    return int(vector[1]) if vector else 1


def _access(opcode: str, rest: str) -> Kinds:
    pointers = _POINTER.findall(rest.partition("!dbg")[0])
    space = _SPACES.get(pointers[-1], "") if pointers else ""
    if space == "constant":
        return frozenset({"constant load"})
    if space:
        return frozenset({f"{space} {opcode}"})
    # A generic pointer, or one to a thread's stack, which may become registers.
    return frozenset(f"{each} {opcode}" for each in ("generic", "global", "shared", "local")) | {"move"}


def _together(kinds: Iterable[Kinds]) -> Kinds:
    return frozenset[str]().union(*kinds)


# SASS.

_GUARD = re.compile(r"@!?U?P\w+\s+")
_SPECIAL = re.compile(r"^(S2R|S2UR|CS2R\S*|CS2UR|B2R) .*\bSR_?(?!Z\b)\w")
_SASS_ZERO = re.compile(r"\b(?:CS2R\S* R\d+, SRZ|MOV\S* U?R\d+, (?:RZ, RZ, )?U?RZ|HFMA2\S* R\d+, -RZ, RZ, 0, 0)$")
_COPIED_PREDICATE = re.compile(r"U?PLOP3\.LUT U?P\d, U?PT, U?PT, U?PT, !?U?P\w, ")
_FLOATS = ("float 16", "float 32", "float 64")
_STEMS = {
    **dict.fromkeys(("BRA", "BRX", "BRXU", "JMP", "JMX"), "branch"),
    **dict.fromkeys(("EXIT", "KILL", "BPT"), "exit"),
    **dict.fromkeys(("CALL", "RET"), "call"),
    **dict.fromkeys(("BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC", "YIELD", "WARPSYNC_ALL"), "convergence"),
    **dict.fromkeys(("BAR", "UCGABAR_ARV", "UCGABAR_WAIT", "NANOSLEEP", "ACQBULK", "PREEXIT"), "barrier"),
    **dict.fromkeys(("SYNCS", "USYNCS", "ARRIVES", "UTCBAR", "UTMACMDBAR"), "mbarrier"),
    **dict.fromkeys(("MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR", "CCTL", "UCCTL", "UTMACCTL"), "fence"),
    **dict.fromkeys(
        ("DEPBAR", "LDGDEPBAR", "WARPGROUP", "WARPGROUPSET", "UTMACMDFLUSH", "UTCATOMSWS", "USETMAXREG", "UVIRTCOUNT"),
        "group",
    ),
    "ELECT": "warp",
}  # fmt: skip


def kinds_of_sass(instruction: str, *, spills: bool = False) -> Kinds:
    """The kinds of a SASS instruction, as nvdisasm prints it with or without its guard."""
    kind = _kind_of_sass(instruction, spills=spills)
    return frozenset({kind, ZERO}) if kind == "move" and _SASS_ZERO.search(instruction) else frozenset({kind})


@functools.lru_cache(16384)
def _kind_of_sass(instruction: str, *, spills: bool) -> str:
    text = _GUARD.sub("", instruction, count=1)
    if text.startswith("NANOSLEEP.SYNCS"):
        return "mbarrier"
    stem = text.partition(" ")[0].partition(".")[0]
    if stem in _STEMS:
        return _STEMS[stem]
    if _SPECIAL.match(text):
        return "special register"
    if _COPIED_PREDICATE.match(text):
        return "move"
    kind = classify(text, spills=spills)
    if kind in _FLOATS:
        return "float"
    if kind == "logic and shift":
        return "integer"
    if kind == "compare and select":
        return "compare"
    if kind == OTHER:
        return OTHER
    head, _, width = kind.rpartition(" ")
    return head if width.isdigit() else kind
