"""What the user is told when a kernel cannot be imported or traced: their own line, and the DSL's own words."""

from __future__ import annotations

import ast
import builtins
import linecache
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator
from typing import Any

from cutecc.errors import NotInstalledError, SourceLocation, TraceError, message_of
from cutecc.frontend.installed import OWN, is_installed
from cutecc.frontend.mistakes import explained
from cutecc.support.spelling import close_names, did_you_mean

ENTRY_FRAME = "__cutecc_entry__"
"""The name of the frame that calls the DSL in the user's name; it stands at the function's `def`."""

_MOST_CAUSES = 100
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PICTURES = re.compile(r"[\U0001F300-\U0001FAFF\u2600-\u27BF\uFE0F]+")
# Of a call site, `callsite("library.py":1:2 at "kernel.py":3:4)`, the outer place is the user's.
_MLIR_LOCATION = re.compile(r'"(?P<file>[^"]+\.py)":(?P<line>\d+):(?P<column>\d+)(?!\d|\)? at )')
_PLACE = r'(?:callsite\([^\n]* at )?(?:"[^\n]*"\()?"[^"\n]+":\d+:\d+\)*: '
_MLIR_PLACE = re.compile(rf"^\s*{_PLACE}")
_MLIR_ERROR = re.compile(rf"\s*\berror: {_PLACE}")
_MLIR_NOTE = re.compile(r"\n\s*note: ")
_ARCH_ADVICE = re.compile(r"Ensure env CUTE_DSL_ARCH matches your GPU architecture|Set env CUTE_DSL_ARCH.*")
_OPERATORS = re.compile(r"cannot import name 'operators' from 'cutlass'|\bcutlass\.operators\b")
_RENAMED = {"make_fragment": "make_rmem_tensor", "range_dynamic": "range"}
_NO_GPU = re.compile(
    r"CUDA_ERROR_(NO_DEVICE|NOT_INITIALIZED|INVALID_CONTEXT|UNKNOWN)|NVIDIA driver library|no CUDA-capable device"
)


def trace_error(error: BaseException, context: str, user_file: str | None) -> TraceError:
    """The `TraceError` for an exception that came out of the user's file or the DSL.

    `context` says what failed; `user_file` counts as the user's wherever it lies. The location is the innermost frame
    of the user's, with the columns of the expression.
    """
    chain = list(_causes(error))
    location = _syntax_location(error)
    if location is None:
        frame = _first(_frame_location(each, user_file) for each in chain)
        reported = _first(_reported_location(each, user_file) for each in chain)
        # The DSL names the line when it rewrites a function, before that runs. Python's traceback knows the columns.
        same = frame and reported and (frame.file, frame.line) == (reported.file, reported.line)
        location = frame if same or reported is None else reported
    location = location or _first(_frame_location(each, user_file, ENTRY_FRAME) for each in chain)
    if known := explained(_message([each]) for each in chain):
        notes = [f"the DSL's own words: {known.original}"]
        return TraceError(f"{context}: {known.meaning}", location, notes, [known.instead])
    hints = _of_unknown_name(chain[0], location) or list(_hints(chain))
    return TraceError(f"{context}: {_message(chain)}", location, list(_notes(chain)), hints)


def _first(locations: Iterator[SourceLocation | None]) -> SourceLocation | None:
    return next((location for location in locations if location is not None), None)


def clean(text: str) -> str:
    """`text` without colours and pictures."""
    return _PICTURES.sub("", _ANSI.sub("", text)).strip()


def is_dsl_error(error: BaseException) -> bool:
    """Whether the DSL raised this error in its own words, with a `message` and a `suggestion`."""
    return type(error).__module__.split(".")[0] == "cutlass" and hasattr(error, "suggestion")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The errors behind `error`, the first cause first."""
    chain = [error]
    # Anybody may make a circle of them.
    while isinstance(cause := chain[-1].__cause__ or getattr(chain[-1], "cause", None), BaseException):
        if len(chain) == _MOST_CAUSES or any(cause is each for each in chain):
            break
        chain.append(cause)
    yield from reversed(chain)


def _message(chain: list[BaseException]) -> str:
    # What the DSL says about an unknown name is about another cause than the usual one, a misspelling.
    error = chain[0] if isinstance(chain[0], NameError) else chain[-1]
    if is_dsl_error(error):
        text = clean(str(getattr(error, "message")))  # noqa: B009 - an attribute of an untyped class
        return _message(chain[:-1]) if "IR Verification Failed" in text and len(chain) > 1 else text
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    if type(error).__name__ == "MLIRError":
        return _diagnostics(error)[0]
    return ": ".join(filter(None, (type(error).__name__, clean(message_of(error)))))


def _diagnostics(error: BaseException) -> list[str]:
    """What MLIR says, first the error and then its notes, without the places, which `SourceLocation` says."""
    return [
        _MLIR_PLACE.sub("", part).strip() for part in _MLIR_NOTE.split(_MLIR_ERROR.sub(" ", clean(message_of(error))))
    ]


def _notes(chain: list[BaseException]) -> Iterator[str]:
    said = _message(chain)
    for error in reversed(chain[:-1]):
        text = _message([error])
        if text not in said:
            said += text
            yield f"caused by {text}"
    for error in chain:
        if type(error).__name__ == "MLIRError":
            yield from _diagnostics(error)[1:]
    context: object = getattr(chain[-1], "context", None) if is_dsl_error(chain[-1]) else None
    if isinstance(context, dict):
        yield from (clean(f"{key}: {value}") for key, value in context.items())  # pyright: ignore
    elif isinstance(context, str) and clean(context):
        yield clean(context)


def _hints(chain: list[BaseException]) -> Iterator[str]:
    for error in chain:
        suggestion: Any = getattr(error, "suggestion", None) if is_dsl_error(error) else None
        for text in [suggestion] if isinstance(suggestion, str) else suggestion or ():
            yield _ARCH_ADVICE.sub("choose a target that has it, with --target", clean(str(text)))
        if isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType) and error.name:
            module = error.obj
            close = [_RENAMED[error.name]] if error.name in _RENAMED else close_names(error.name, dir(module))
            yield from (f"did you mean {module.__name__}.{each}?" for each in close)
        yield from _of_import(error)
        if _NO_GPU.search(message_of(error)):
            yield "the kernel asks a GPU while it is traced: pass the answer as a constant, and it compiles anywhere"


def _of_import(error: BaseException) -> Iterator[str]:
    if isinstance(error, ImportError) and _OPERATORS.search(message_of(error)):
        yield "it is of nvidia-cutlass-operators: pip install 'cutecc[operators]'"
    elif isinstance(error, NotInstalledError):
        yield from error.hints
    elif isinstance(error, ModuleNotFoundError) and error.name:
        yield from _of_missing_module(error.name.partition(".")[0])


def _of_missing_module(name: str) -> list[str]:
    if name == "cutlass":
        return ["the CuTe DSL comes with the distribution cutecc: pip install cutecc"]
    return [
        f"if it is a module of yours: is {name}.py beside the kernel file?",
        f"if it is a package: pip install {name}",
    ]


def _of_unknown_name(error: BaseException, location: SourceLocation | None) -> list[str]:
    """What may be meant by a name that the file gives to nothing; the DSL takes each for one that a branch makes."""
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or location is None:
        return []
    try:
        names = set(_names_given("".join(linecache.getlines(location.file))))
    except SyntaxError:
        return []
    if not error.name or error.name in names:
        return []
    if close := did_you_mean(error.name, [*names, *dir(builtins)]):
        return close
    return [f"nothing in {os.path.basename(location.file)} is called so: define it, or import it"]


def _names_given(source: str) -> Iterator[str]:
    """The names of a file's variables, parameters, functions, classes and imports."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case (
                ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case _:
                pass


def _syntax_location(error: BaseException) -> SourceLocation | None:
    if not isinstance(error, SyntaxError) or error.filename is None:
        return None
    length = (error.end_offset or 0) - (error.offset or 0) if error.end_lineno == error.lineno else 1
    return SourceLocation(error.filename, error.lineno, error.offset, error.text, max(1, length))


def _frame_location(error: BaseException, user_file: str | None, function: str | None = None) -> SourceLocation | None:
    """The innermost frame of the user's in the error's traceback; with `function`, that of this function."""
    found: SourceLocation | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_name
        if not is_users(frame.f_code.co_filename, user_file):
            continue
        if name != (function or name) or (function is None and name == ENTRY_FRAME):
            continue
        found = SourceLocation(frame.f_code.co_filename, line)
    if found is None or function is not None:
        return found
    # The traceback entry of that frame knows the columns.
    for summary in reversed(traceback.extract_tb(error.__traceback__)):
        if summary.filename == found.file and summary.lineno == found.line and summary.colno is not None:
            one_line = summary.end_lineno == found.line
            return _with_columns(found, summary.colno, summary.end_colno if one_line else sys.maxsize)
    return found


def _reported_location(error: BaseException, user_file: str | None) -> SourceLocation | None:
    """The place that the DSL itself names: in the error's fields, or in the text of an MLIR diagnostic."""
    file: object = getattr(error, "filename", None)
    line: object = getattr(error, "line", None)
    if isinstance(file, str) and isinstance(line, int) and is_users(file, user_file):
        column: object = getattr(error, "col", None)
        end: object = getattr(error, "end_col", None)
        location = SourceLocation(file, line)
        if not isinstance(column, int):
            return location
        return _with_columns(location, column, end if isinstance(end, int) else None)
    for match in _MLIR_LOCATION.finditer(message_of(error)):
        if is_users(match["file"], user_file):
            return _with_columns(SourceLocation(match["file"], int(match["line"])), int(match["column"]), None)
    return None


def _with_columns(location: SourceLocation, start: int, end: int | None) -> SourceLocation:
    """`location` with the columns `start` to `end`, which count bytes from 0."""
    assert location.line is not None
    line = linecache.getline(location.file, location.line).rstrip("\n")
    if not line:
        return location
    encoded = line.encode()
    column = len(encoded[:start].decode(errors="replace"))
    stop = column + 1 if end is None else len(encoded[:end].decode(errors="replace"))
    return SourceLocation(location.file, location.line, column + 1, line, max(1, stop - column))


def is_users(file: str, user_file: str | None) -> bool:
    """Whether `file` is the user's: not of the DSL, the standard library, an installed package or cutecc."""
    if file == user_file:
        return True
    path = os.path.abspath(file)
    return os.path.isfile(file) and not is_installed(path) and not path.startswith(OWN)
