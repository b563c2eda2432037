"""Modules as values: reading them from text or bytecode, writing them, comparing them, counting their operations."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections import Counter
from collections.abc import Generator, Iterator

from cutecc.errors import ParseError, SourceLocation
from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir

BYTECODE_MAGIC = b"ML\xefR"
_ENDLESS_INTEGER = re.compile(r'(?<![\w.$"%#@^!])(?:0x[0-9A-Fa-f]{4096}|[0-9]{1024})')
"""Outside of strings. MLIR reads one in a time that grows with the cube of its digits, hours for a million."""


@contextlib.contextmanager
def fresh_context() -> Generator[ir.Context]:
    """A context with the wheel's dialects, current inside the block together with an unknown location."""
    context = ir.Context()
    with context, ir.Location.unknown():
        yield context


def parse(source: bytes, name: str = "-") -> ir.Module:
    """The module in `source`, MLIR text or bytecode, in the current context.

    Raises `ParseError`, located in the file called `name` for text, when MLIR rejects it. Some broken inputs abort the
    process instead (facts of the bindings, not of MLIR): parse what you do not trust in a worker.

    The context stays without threads. One of MLIR's that verifies a part of the module waits for Python when it finds
    an error, while Python waits for the module: a deadlock. Modules have one or two parts, and take no longer.
    """
    ir.Context.current.enable_multithreading(False)
    if source.startswith(BYTECODE_MAGIC):
        # The reader takes its buffer for a string that ends in a null byte, and stops at nothing else.
        text: str | bytes = source
    else:
        try:
            text = source.decode()
        except UnicodeDecodeError as failure:
            raise ParseError(f"{name} is neither MLIR bytecode nor UTF-8 text: {failure}") from None
        if "\0" in text:
            raise ParseError(f"{name} is neither MLIR bytecode nor text: it contains a null byte")
        _refuse_endless_integers(text, name)
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as failure:
        raise _parse_error(failure, text, name) from None
    except (ValueError, RuntimeError) as failure:
        raise ParseError(f"{name}: {failure}") from None


def _refuse_endless_integers(text: str, name: str) -> None:
    if found := _ENDLESS_INTEGER.search(text):
        before = text[: found.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        place = SourceLocation(name, line, column, text.split("\n", line)[line - 1])
        raise ParseError("an integer with more digits than any type holds", place)


def _parse_error(failure: ir.MLIRError, source: str | bytes, name: str) -> ParseError:
    diagnostics = failure.error_diagnostics
    if not diagnostics:
        return ParseError(f"{name}: {failure}")
    first = diagnostics[0]
    notes = [note.message for note in first.notes] + [other.message for other in diagnostics[1:]]
    # What MLIR goes on to say of an unknown dialect is for whoever writes tools.
    message, _, advice = first.message.strip().partition(". If this is intended, please ")
    hints = [*_OTHER_DIALECTS] if advice or message.startswith("Dialect `") else []
    if isinstance(source, bytes):
        return ParseError(f"{name}: not readable as MLIR bytecode: {message}", notes=notes, hints=hints)
    position = re.fullmatch(r'loc\("-":(\d+):(\d+)\)', str(first.location))
    if position is None:
        # The verifier names the place that the module itself gives for an operation, in a file of the user's.
        return ParseError(f"{name}: {message}", user_location(first.location), notes, hints)
    line, column = int(position[1]), int(position[2])
    lines = source.split("\n")
    text = lines[line - 1] if 1 <= line <= len(lines) else None
    return ParseError(message, SourceLocation(name, line, column, text), notes, hints)


_OTHER_DIALECTS = [
    "a module has operations and types of the dialects of nvidia-cutlass-dsl: lower others to these first",
    "cutecc opt reads others with --allow-unregistered-dialect",
]


def to_bytecode(module: ir.Module) -> bytes:
    """The module as MLIR bytecode; the fastest way to keep it."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def to_text(module: ir.Module, *, locations: bool = False, generic: bool = False, verified: bool = False) -> str:
    """The module as MLIR prints it, ending in a newline; `parse` reads it back.

    MLIR verifies it first, and prints what is not valid in its generic form. With `verified`, somebody else has.
    """
    text = module.operation.get_asm(
        enable_debug_info=locations, print_generic_op_form=generic, assume_verified=verified
    )
    if locations:
        text = parsable(text)
    return text if text.endswith("\n") else text + "\n"


def parsable(located: str) -> str:
    """What MLIR prints with locations, such that MLIR can read it."""
    return _BARRIER.sub(_generic_barrier, located)


# MLIR's parser takes a location right behind `nvvm.barrier` for the attribute that may stand there, and fails.
_BARRIER = re.compile(
    r"^(?P<indent> *)nvvm\.barrier(?: id = (?P<id>%[\w#]+))?(?: number_of_threads = (?P<threads>%[\w#]+))?"
    r"(?P<location> loc\(.*\))$",
    re.MULTILINE,
)


def _generic_barrier(match: re.Match[str]) -> str:
    operands = [match[name] for name in ("id", "threads") if match[name]]
    segments = f"{int(bool(match['id']))}, {int(bool(match['threads']))}, 0"
    return (
        f'{match["indent"]}"nvvm.barrier"({", ".join(operands)}) <{{operandSegmentSizes = array<i32: {segments}>}}> : '
        f"({', '.join(['i32'] * len(operands))}) -> (){match['location']}"
    )


def content_hash(data: bytes) -> str:
    """The SHA-256 of a module's text or bytecode, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def count_operations(module: ir.Module) -> dict[str, int]:
    """How many operations of each dialect the module holds, nested ones included, by falling number."""
    names: Counter[str] = Counter()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        names[operation.name] += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    dialects: Counter[str] = Counter()
    for name, number in names.items():
        dialects[name.partition(".")[0]] += number
    return dict(dialects.most_common())


def body_of(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The operations directly inside `operation`, over all its regions and blocks.

    Plain operations, where the bindings' own iteration gives views, and a function's view has its symbol as `name`.
    """
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
