"""Gives every operation that the DSL traces the user's line, and keeps how the trace came there.

The DSL ascribes an operation to the innermost frame outside of itself, and one that it builds without a location
(loops, conversions, constants) to the `def` of the host function. Here each gets the line that is being traced; one
that a library built has a call site, from the library's line to the user's in the kernel's file. Code generation drops
what lies between two call sites in each other, so there is one only, and the whole chain is kept beside the module.

A failure in here disturbs no trace: what is being built then has the place that the DSL gives it, and the failure is
kept.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import linecache
import os
import re
import threading
import types
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from cutecc.errors import describe
from cutecc.frontend.failures import ENTRY_FRAME
from cutecc.frontend.installed import is_installed, is_library, is_users
from cutecc.frontend.user_frames import KERNELS
from cutecc.record.stages import CallFrame, UserLines

_PART = re.compile(
    r"(loop_body|(el)?if_region|while_region|(then|else|while_before|while_after)_block)_\d+|<\w+comp>|<genexpr>"
)
"""The names of the functions that the DSL makes of the bodies of loops and branches, and Python of comprehensions."""
_ROOT_CALLERS = ("kernel_wrapper", "build_ir_module")
"""The functions of the DSL that call a kernel and a host function."""
_BECOME_ASSEMBLY = ("llvm.inline_asm", "cute.gemm", "cute.mma_atom_call", "nvvm.mbarrier", "math.")
"""The beginnings of names of operations that become inline assembly of several lines."""
_FIND, _LOCATE = "_get_caller_frame_info", "_get_location_from_frame_info"
"""The functions of the DSL that find the frame to ascribe an operation to, and make its location."""
_OURS = __name__.rpartition(".")[0] + "."


@contextlib.contextmanager
def user_lines() -> Generator[UserLines]:
    """Has the DSL build operations with the line that is being traced, and puts everything back.

    Gives what is known of the user's program, complete in the end. With a DSL that finds lines in another way, nothing
    is changed and nothing known.
    """
    ir: Any = importlib.import_module("cutlass._mlir.ir")
    dsl: Any = importlib.import_module("cutlass._mlir_helpers.op")
    if not callable(getattr(dsl, "_is_framework_stack_frame", None)):
        yield UserLines()
        return
    places = _Places(ir, dsl)
    thread = threading.get_ident()
    build = ir.OpView.__init__
    # Before 4.7 the DSL's wrapper of a function that builds operations finds the place itself, and hands it down.
    find, locate = getattr(dsl, _FIND, None), getattr(dsl, _LOCATE, None)
    hands_down = not (find and locate)

    def build_with_line(self: Any, *args: Any, **kwargs: Any) -> None:
        # With one argument it is a view of an operation that there is.
        if len(args) > 1 and isinstance(args[0], str) and threading.get_ident() == thread:
            try:
                given = kwargs.get("loc")
                own = places.location(args[0], None if hands_down else given, inspect.currentframe())
                kwargs["loc"] = given if own is None else own
            except Exception as failure:
                places.failed(failure)
        build(self, *args, **kwargs)

    def find_frame() -> Any:
        assert find is not None
        place = None
        if threading.get_ident() == thread:
            try:
                place = places.of(inspect.currentframe())
            except Exception as failure:
                places.failed(failure)
        return find() if place is None else place.described

    def locate_frame(described: Any) -> Any:
        assert locate is not None
        place = places.described_as(described) if threading.get_ident() == thread else None
        return locate(described) if place is None else place.location

    ir.OpView.__init__ = build_with_line
    if not hands_down:
        setattr(dsl, _FIND, find_frame)
        setattr(dsl, _LOCATE, locate_frame)
    try:
        yield places.known
    finally:
        ir.OpView.__init__ = build
        if not hands_down:
            setattr(dsl, _FIND, find)
            setattr(dsl, _LOCATE, locate)


@dataclass(frozen=True)
class _Place:
    """Where an operation comes from."""

    location: Any
    assembly: Any
    """The location of inline assembly. Code generation adds the number of each line of assembly to the line: the call
    site keeps the statement's. It is made of that line without a column, as the same place twice would be a circle."""
    described: Any
    """The innermost frame, as the DSL's errors take it."""
    is_entry: bool = False
    """Outside of all that the user wrote."""


@dataclass
class _Function:
    """What a frame runs: a function, or what was made of a part of one."""

    code: types.CodeType
    """Kept, because functions are known by its identity."""
    counts: bool
    """Whether its lines say something: it has a source, and is not of the DSL or of Python's library."""
    package: str = ""
    is_installed: bool = False
    is_users: bool = False
    """Whether it is neither of an installed package nor of cutecc."""
    name: str = ""
    """Of the function, as the user wrote it: `Gemm.kernel`."""
    scope: str = ""
    """That function's full name in its file."""
    is_part: bool = False
    """Whether it is the body of a loop or branch of that function."""
    is_root: bool = False
    """Whether it is known to be a kernel or host function, or a part of one: no other place leads to its lines."""


class _Places:
    """The places of one trace. Each is made once, which is what keeps tracing fast."""

    def __init__(self, ir: Any, dsl: Any) -> None:
        self.known = UserLines()
        self._ir, self._dsl = ir, dsl
        self._describe: Callable[[types.FrameType], Any] = getattr(dsl, "_fast_frameinfo", inspect.getframeinfo)
        self._locate = getattr(dsl, _LOCATE, self._location)
        self._functions: dict[int, _Function] = {}
        self._places: dict[tuple[int, ...], _Place] = {}
        self._described: dict[int, _Place] = {}
        self._by_location: dict[int, _Place] = {}
        self._chains: set[tuple[CallFrame, ...]] = set()
        self._context: Any = None

    def location(self, operation: str, given: Any, start: types.FrameType | None) -> Any:
        """The location of an operation of that name, `given` one or not, which is built in the frame `start`.

        `None` leaves it to the DSL.
        """
        if given is not None:
            if operation.startswith(_BECOME_ASSEMBLY) and (place := self._by_location.get(id(given))):
                return place.assembly
            return given
        place = self.of(start)
        # Whatever takes in the arguments stays where the DSL puts it.
        if place is None or place.is_entry:
            return None
        # The end of a kernel is built when that is left, at its launch. It goes with the last statement.
        if operation.endswith(".return"):
            return self._last_location()
        return place.assembly if operation.startswith(_BECOME_ASSEMBLY) else place.location

    def _last_location(self) -> Any:
        try:
            operations = self._ir.InsertionPoint.current.block.operations
        except ValueError:
            return None
        return operations[len(operations) - 1].location if len(operations) else None

    def of(self, start: types.FrameType | None) -> _Place | None:
        """The place of what is built in the frame `start`; `None` outside of a trace."""
        context = self._ir.Context.current
        if context is not self._context:
            # A location is good for the context that it was made in.
            self._places.clear()
            self._described.clear()
            self._by_location.clear()
            self._context = context
        if context is None:
            return None
        frame, function = self._next(start)
        if frame is None or function is None:
            return None
        way = [id(function.code), frame.f_lasti]
        caller, calling = frame, function
        while caller is not None and calling is not None and not calling.is_root:
            caller, calling = self._next(caller.f_back)
            if caller is not None and calling is not None:
                way += (id(calling.code), caller.f_lasti)
        key = tuple(way)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._make(frame, function)
            self._described[id(place.described)] = self._by_location[id(place.location)] = place
        return place

    def failed(self, failure: Exception) -> None:
        """Keep why a place is not known: that of the first, as many may follow."""
        self.known.failure = self.known.failure or describe(failure)

    def described_as(self, described: Any) -> _Place | None:
        """The place whose frame the DSL describes so."""
        return self._described.get(id(described))

    def _next(self, frame: types.FrameType | None) -> tuple[types.FrameType | None, _Function | None]:
        """The first frame from `frame` outwards whose lines say something."""
        functions = self._functions
        while frame is not None:
            function = functions.get(id(frame.f_code)) or self._function(frame)
            if function.counts:
                return frame, function
            frame = frame.f_back
        return None, None

    def _function(self, frame: types.FrameType) -> _Function:
        code, module = frame.f_code, frame.f_globals.get("__name__") or ""
        file = os.path.abspath(code.co_filename)
        function = self._functions[id(code)] = _Function(code, counts=False)
        if code.co_name == ENTRY_FRAME:
            function.counts = function.is_root = True
        elif module.startswith(KERNELS) or not (
            self._dsl._is_framework_stack_frame(frame) or module.startswith(_OURS) or is_library(file)
        ):
            # The methods that Python writes for a dataclass say less than who calls them.
            function.counts = self._keep_source(code.co_filename, frame.f_globals)
        if not function.counts:
            return function
        scopes = code.co_qualname.split(".<locals>.")
        # The DSL makes lambdas of the two sides of a conditional expression.
        if scopes[-1] == "<lambda>" and frame.f_back is not None and not self._counts(frame.f_back):
            scopes[-1] = "<genexpr>"
        while len(scopes) > 1 and _PART.fullmatch(scopes[-1]):
            scopes.pop()
            function.is_part = True
        function.name, function.scope = scopes[-1], f"{code.co_filename}:{'.<locals>.'.join(scopes)}"
        if not function.is_part:
            function.name = _method(frame) or function.name
        function.package, function.is_installed = module.partition(".")[0], is_installed(file)
        function.is_users = is_users(file)
        return function

    def _counts(self, frame: types.FrameType) -> bool:
        return (self._functions.get(id(frame.f_code)) or self._function(frame)).counts

    def _keep_source(self, file: str, module: dict[str, Any]) -> bool:
        if file not in self.known.sources:
            lines = linecache.getlines(file, module)
            if not lines:
                return False
            self.known.sources[file] = "".join(lines)
            if not is_users(os.path.abspath(file)):
                self.known.library.append(file)
        return True

    def _location(self, described: Any) -> Any:
        """The location of a frame, as the DSL makes them."""
        text = "".join(line.strip() for line in described.code_context or ()) or described.function
        where = described.positions
        file = self._ir.Location.file(described.filename, where.lineno, where.col_offset or 0)
        return self._ir.Location.name(text, childLoc=file)

    def _make(self, frame: types.FrameType, function: _Function) -> _Place:
        described = self._describe(frame)
        location = self._locate(described)
        if function.code.co_name == ENTRY_FRAME:
            return _Place(location, location, described, is_entry=True)
        chain, functions = self._chain(frame)
        function.is_root = len(chain) == 1
        if called := _called_by_library(functions):
            chain, functions = chain[called:], functions[called:]
            location = self._file(chain[0])
        user = _users_line(functions)
        # Code generation takes the lines of all callers for lines of the kernel's own file.
        at = self._file(next(frame for frame in chain[user:] if frame.file == chain[-1].file))
        if user > 0:
            location = assembly = self._ir.Location.callsite(location, [at])
        else:
            assembly = self._ir.Location.callsite(self._file(chain[0]._replace(column=0)), [at])
        if len(chain) > 1 and chain not in self._chains:
            self._chains.add(chain)
            self.known.chains.append([*chain])
        return _Place(location, assembly, described)

    def _file(self, frame: CallFrame) -> Any:
        return self._ir.Location.file(frame.file, frame.line, max(frame.column - 1, 0))

    def _chain(self, start: types.FrameType) -> tuple[tuple[CallFrame, ...], list[_Function]]:
        """The frames from `start` to the kernel or host function. Those of one function's parts are one frame."""
        chain: list[CallFrame] = []
        functions: list[_Function] = []
        inside: str | None = None
        frame, function = self._next(start)
        while frame is not None and function is not None and frame.f_code.co_name != ENTRY_FRAME:
            if function.scope != inside:
                chain.append(self._call_frame(frame, function.name))
                functions.append(function)
                inside = function.scope
            if not function.is_part:
                # Only the function's own frame says whether it is a method.
                chain[-1] = chain[-1]._replace(function=function.name)
                inside = None
            caller = frame.f_back
            if caller is not None and caller.f_code.co_name in _ROOT_CALLERS and not self._counts(caller):
                break
            frame, function = self._next(caller)
        return tuple(chain), functions

    def _call_frame(self, frame: types.FrameType, name: str) -> CallFrame:
        positions = self._describe(frame).positions
        # The DSL counts from 0, and as in a location column 0 is none.
        column = positions.col_offset + 1 if positions.col_offset else 0
        return CallFrame(frame.f_code.co_filename, positions.lineno, column, name)


def _method(frame: types.FrameType) -> str | None:
    """The name with its class, `Gemm.kernel`, of a method whose code the DSL has rewritten: that has the plain one."""
    code = frame.f_code
    if "." in code.co_qualname or not code.co_argcount:
        return None
    first: Any = frame.f_locals.get(code.co_varnames[0])
    kinds: tuple[type, ...] = type(first).__mro__
    for each in kinds:
        if code.co_name in vars(each):
            qualified: object = getattr(vars(each)[code.co_name], "__qualname__", None)
            name = str(qualified).rpartition(".<locals>.")[2]
            is_own = each.__module__ == frame.f_globals.get("__name__")
            return name if is_own and name.endswith(f".{code.co_name}") else None
    return None


def _called_by_library(functions: list[_Function]) -> int:
    """The index of the user's innermost frame in a chain to the kernel of a library, which calls what is the user's,
    as an epilogue; 0 where nothing is. What that calls belongs to it: a place has no room for two frames outside of the
    kernel's file."""
    if functions[-1].is_users:
        return 0
    return next((index for index, function in enumerate(functions) if function.is_users), 0)


def _users_line(functions: list[_Function]) -> int:
    """The index of the user's innermost frame in a chain that ends at a kernel or host function.

    An installed package that holds the kernel itself counts as the user's.
    """
    root = functions[-1]
    for index, function in enumerate(functions):
        if not function.is_installed or (root.is_installed and function.package == root.package):
            return index
    return 0
