"""The process behind the oracle: builds operations of the `cute` dialect, reads their types, lowers them.

Run as a program it answers the questions of `wheel.Oracle`, pickles over its standard streams.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import pickle
import re
import resource
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wheel_arithmetic import call
from wheel_oracle import Aborted, Answer, Expression, Leaves, Refused, Undefined, Written

from cutecc.ir import bindings
from cutecc.ir.mlir import ir, passmanager

# What a tuple means as an operand, where it is not an `int_tuple`: by operation and position.
_TUPLES: dict[str, tuple[str, ...]] = {
    "append_to_rank": ("shape", "shape"),
    "ceil_div": ("shape", "shape"),
    "coalesce": ("layout", "coord"),
    "complement": ("layout", "shape"),
    "composition": ("layout", "shape"),
    "cosize": ("shape",),
    "crd2idx": ("coord", "layout"),
    "dice": ("shape",),
    "elem_less": ("coord", "shape"),
    "equal": ("shape", "shape"),
    "flat_divide": ("layout", "shape"),
    "filter_zeros": ("layout", "coord"),
    "get": ("shape",),
    "get_flat_coord": ("int_tuple", "shape"),
    "get_hier_coord": ("int_tuple", "shape"),
    "get_integral_coord": ("int_tuple", "shape"),
    "group_modes": ("shape",),
    "idx2crd": ("int_tuple", "shape"),
    "increment_coord": ("coord", "shape"),
    "local_partition": ("layout", "layout", "coord"),
    "local_tile": ("layout", "shape", "coord"),
    "logical_divide": ("layout", "shape"),
    "make_identity_layout": ("shape",),
    "make_identity_tensor": ("shape",),
    "make_layout": ("shape", "stride"),
    "make_ordered_layout": ("shape", "int_tuple"),
    "prepend_to_rank": ("shape", "shape"),
    "select": ("shape",),
    "shape_div": ("shape", "shape"),
    "size": ("shape",),
    "slice": ("shape", "coord"),
    "tile_to_shape": ("layout", "shape", "int_tuple"),
    "tiled_copy_partition_D": ("layout", "layout", "coord"),
    "tiled_copy_partition_S": ("layout", "layout", "coord"),
    "tiled_divide": ("layout", "shape"),
    "tiled_mma_partition": ("layout", "layout", "coord"),
    "zipped_divide": ("layout", "shape"),
}
_KINDS = ("int_tuple", "shape", "stride", "coord", "tile", "layout", "composed_layout", "swizzle")
_WITH_KIND = re.compile(rf"({'|'.join(_KINDS)}) (.*)", re.DOTALL)
_ERRONEOUS = re.compile(r"\bx\b")
_WHOLE = re.compile(rf'!cute\.(?:{"|".join(_KINDS)})<"([^"]*)">')

# For a host function without a kernel, and for operations that reach no memory, these are enough.
_LOWERING = "builtin.module(cute-desugar,cute-expand-ops,cute-fold-static,convert-cute-to-core,canonicalize)"

# Operations whose result type the bindings do not infer: how to work it out from the operands' types.
_RESULT_TYPES: dict[str, Callable[..., ir.Type]] = {
    "get": lambda source, mode=(): _typed(source).get_op_res_type(list(mode)),
    "make_layout": lambda shape, stride=None: _cute().LayoutType.get(shape, stride),
}


def types(cases: Sequence[Expression]) -> Iterator[Answer | Exception]:
    """The texts of each expression's results."""
    scratch = _Scratch()
    for case in cases:
        yield _attempt(lambda case=case: tuple(_text(value.type) for value in scratch.build(case)))


def canonical(cases: Sequence[str]) -> Iterator[str | Exception]:
    """Each type as the wheel prints it."""
    return (_attempt(lambda text=text: str(_parsed(text, "int_tuple"))) for text in cases)


def ask_type(cases: Sequence[tuple[str, str, tuple[Any, ...]]]) -> Iterator[str | Exception]:
    """A property, or a method's result, of each type."""

    def ask(text: str, name: str, arguments: tuple[Any, ...]) -> str:
        found = getattr(_typed(_parsed(text, "int_tuple")), name)
        found = found(*arguments) if callable(found) else found
        return _text(found) if isinstance(found, ir.Type) else str(found)

    return (_attempt(lambda case=case: ask(*case)) for case in cases)


def values(cases: Sequence[tuple[Expression, Leaves]]) -> Iterator[Leaves | Exception]:
    """The dynamic leaves of each expression's result."""
    expressions = list(dict.fromkeys(case for case, _ in cases))
    functions = dict(zip(expressions, _lower(expressions), strict=True))
    return (_evaluated(functions[case], leaves) for case, leaves in cases)


def _evaluated(found: _Lowered | Exception, leaves: Leaves) -> Leaves | Exception:
    if isinstance(found, Exception):
        return found
    return _attempt(lambda: call(found.function, found.operands, found.results, leaves))


def lowered(cases: Sequence[Expression]) -> list[str | Exception]:
    """The text of the function that each expression is lowered to."""
    return [found if isinstance(found, Exception) else str(found.function) for found in _lower(cases)]


def written(cases: Sequence[Expression]) -> Iterator[Written | Exception]:
    """Each expression as a module of one function, whose arguments are its operands."""

    def write(case: Expression) -> Written:
        module = ir.Module.create()
        return Written(*_function(module, "f", case), str(module))

    return (_attempt(lambda case=case: write(case)) for case in cases)


class _Scratch:
    """Where expressions are built: in a module of its own, or in a block, whose arguments their operands become."""

    def __init__(self, block: ir.Block | None = None) -> None:
        # Owns what is built; the operations go before what they use, which a garbage collector does not promise.
        self._module = ir.Module.create()
        self._point = ir.InsertionPoint(block or self._module.body)
        self._block = block
        self._sources: dict[str, ir.Value] = {}
        self.operands: list[str] = []

    def build(self, case: Expression) -> list[ir.Value]:
        """The values that `case` gives; raises `Refused`."""
        builder = getattr(_cute(), case.operation, None)
        if builder is None:
            raise Refused(f"the wheel has no operation cute.{case.operation}")
        operand_names, takes_mode = _signature(case.operation)
        if len(case.operands) > len(operand_names):
            raise ValueError(f"cute.{case.operation} takes {', '.join(operand_names)}, not {case.operands}")
        kinds = _TUPLES.get(case.operation, ())
        given: dict[str, Any] = {}
        for index, (name, operand) in enumerate(zip(operand_names, case.operands, strict=False)):
            kind = kinds[index] if index < len(kinds) else "int_tuple"
            given[name] = self.build(operand)[0] if isinstance(operand, Expression) else self._source(operand, kind)
        settings = {name: _setting(value) for name, value in case.attributes}
        if takes_mode:
            # Without the attribute that its own default stands for, inference reads through a null pointer.
            settings.setdefault("mode", [])
        try:
            if work_out := _RESULT_TYPES.get(case.operation):
                settings[_result_name(case.operation)] = work_out(*(value.type for value in given.values()), **settings)
            made = builder(**given, **settings, ip=self._point)
        except (ir.MLIRError, TypeError, ValueError, RuntimeError, AttributeError, IndexError) as failure:
            raise Refused(_message(failure)) from None
        found = [made] if isinstance(made, ir.Value) else list(getattr(made, "results", made))
        if any(_ERRONEOUS.search(str(value.type)) for value in found):
            # Some inference rules say that they have no answer in the type itself.
            raise Refused(f"the wheel infers an error: {', '.join(str(value.type) for value in found)}")
        return found

    def _source(self, text: str, kind: str) -> ir.Value:
        type_ = _parsed(text, kind)
        if self._block is not None:
            self.operands.append(str(type_))
            return self._block.add_argument(type_, ir.Location.unknown())
        key = str(type_)
        value = self._sources.get(key)
        if value is None:
            value = self._sources[key] = ir.Operation.create(
                "builtin.unrealized_conversion_cast", results=[type_], ip=self._point
            ).results[0]
        return value


@dataclass(frozen=True)
class _Lowered:
    """An expression's function after lowering, and the types that its arguments and results had before."""

    module: ir.Module  # Owns the function.
    function: ir.Operation
    operands: list[str]
    results: list[str]


def _lower(cases: Sequence[Expression]) -> list[_Lowered | Exception]:
    """A function for each expression, lowered to arithmetic."""
    module, made = ir.Module.create(), []
    for number, case in enumerate(cases):
        made.append(_attempt(lambda case=case, number=number: _function(module, f"f{number}", case)))
    if not (good := [found for found in made if not isinstance(found, Exception)]):
        return made
    try:
        manager = passmanager.PassManager.parse(_LOWERING)
        manager.enable_verifier(False)
        manager.run(module.operation)
    except (ir.MLIRError, RuntimeError) as failure:
        if len(good) == 1:
            return [
                found if isinstance(found, Exception) else Refused(f"lowering: {_message(failure)}") for found in made
            ]
        # One that cannot be lowered spoils the module; each in a module of its own shows which.
        return [
            found if isinstance(found, Exception) else _lower([case])[0]
            for case, found in zip(cases, made, strict=True)
        ]
    # Rewriting the signature makes a new function of the same name.
    functions = {str(operation.attributes["sym_name"]): operation for operation in _operations(module)}
    return [
        found if isinstance(found, Exception) else _Lowered(module, functions[f'"f{number}"'], *found)
        for number, found in enumerate(made)
    ]


def _operations(module: ir.Module) -> list[ir.Operation]:
    return [view.operation for view in module.body.operations]


def _function(module: ir.Module, name: str, case: Expression) -> tuple[list[str], list[str]]:
    functions = bindings.load_submodule("dialects.func")
    empty = ir.FunctionType.get([], [])
    function = functions.FuncOp(name, empty, ip=ir.InsertionPoint(module.body))
    try:
        block = function.add_entry_block()
        scratch = _Scratch(block)
        made = scratch.build(case)
        functions.ReturnOp(made, ip=ir.InsertionPoint(block))
        results = [value.type for value in made]
        signature = ir.FunctionType.get([argument.type for argument in block.arguments], results)
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        return scratch.operands, list(map(str, results))
    except BaseException:
        function.operation.erase()
        raise


def _setting(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("#"):
        try:
            return ir.Attribute.parse(value)
        except (ir.MLIRError, ValueError) as failure:
            raise Refused(_message(failure)) from None
    return list(value) if isinstance(value, tuple) else value


@functools.cache
def _cute() -> Any:
    return bindings.load_submodule("dialects.cute")


@functools.cache
def _signature(operation: str) -> tuple[list[str], bool]:
    """The names of the operands that an operation's builder takes, and whether it takes an optional `mode`."""
    parameters = inspect.signature(getattr(_cute(), operation)).parameters
    operands = [name for name, parameter in parameters.items() if "Value" in str(parameter.annotation)]
    mode = parameters.get("mode")
    return operands, mode is not None and mode.default is None


@functools.cache
def _result_name(operation: str) -> str:
    return next(iter(inspect.signature(getattr(_cute(), operation)).parameters))


@functools.lru_cache(maxsize=100_000)
def _parsed(text: str, kind: str) -> ir.Type:
    """The type that an operand's text stands for; `kind` says what a tuple is."""
    text = text.strip()
    if named := _WITH_KIND.fullmatch(text):
        kind, text = named[1], named[2]
    elif text.startswith("["):
        kind = "tile"
    elif " o " in text:
        kind = "composed_layout"
    elif ":" in text and not text.startswith("!"):
        kind = "layout"
    elif text.startswith("S<"):
        kind = "swizzle"
    whole = text if text.startswith("!") or re.fullmatch(r"i\d+", text) else f'!cute.{kind}<"{text}">'
    try:
        type_ = ir.Type.parse(whole)
    except (ir.MLIRError, ValueError) as failure:
        raise Refused(_message(failure)) from None
    if '"():()"' in str(type_) and "():()" not in text:
        # What the parser cannot read at all becomes an empty layout, without a word.
        raise Refused(f"not a type: {whole}")
    return type_


def _typed(type_: Any) -> Any:
    return type_.maybe_downcast()


def _text(type_: ir.Type) -> str:
    text = str(type_)
    simple = _WHOLE.fullmatch(text)
    return simple[1] if simple else text


def _message(failure: Exception) -> str:
    diagnostics = getattr(failure, "error_diagnostics", None)
    if not diagnostics:
        return str(failure)
    return "; ".join(message for one in diagnostics for message in [one.message, *(note.message for note in one.notes)])


def _attempt(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (Refused, Undefined) as failure:
        return failure


def serve() -> None:
    """Answer questions until the other side goes, in a copy of this process that is replaced when it dies.

    The copies are forked: starting over would take a hundred times as long.
    """
    context = ir.Context()
    # Also for the sake of the fork, which copies no threads.
    context.enable_multithreading(False)
    # Loading the dialect is most of the first question's time.
    _cute()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Native code prints to the standard output too.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Nothing may be read ahead: what is left in the pipe is for the next copy.
    questions = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    while True:
        copy = os.fork()
        if copy == 0:
            _answer(context, questions, answers)
            os._exit(0)
        _, status = os.waitpid(copy, 0)
        if status == 0:
            return
        pickle.dump(Aborted(), answers)
        answers.flush()


def _answer(context: ir.Context, questions: io.RawIOBase, answers: io.BufferedIOBase) -> None:
    with context, ir.Location.unknown():
        while True:
            try:
                question, cases = pickle.load(questions)
            except EOFError:
                return
            try:
                for reply in _QUESTIONS[question](cases):
                    pickle.dump(reply, answers)
                    # What comes next may end the process.
                    answers.flush()
            except Exception as failure:
                pickle.dump(RuntimeError("".join(traceback.format_exception(failure))), answers)
                answers.flush()


_QUESTIONS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "types": types,
    "values": values,
    "lowered": lowered,
    "written": written,
    "canonical": canonical,
    "ask_type": ask_type,
}


if __name__ == "__main__":
    serve()
