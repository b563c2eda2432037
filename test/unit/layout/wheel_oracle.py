"""The oracle: what the installed wheel's own layout algebra gives for an expression.

An expression names an operation of the `cute` dialect and its operands as CuTe prints them:
`evaluate("composition", "(4,8):(8,1)", "(2,4):(1,2)")` is `"(2,(2,2)):(8,(16,1))"`. The answer is the text of the type
that the wheel infers, so static results are complete; the values behind the `?` of a dynamic one come from `values`,
which lowers the expression with the wheel's passes and computes what is left.

The bindings abort the process on some inputs, and walking IR is unsafe once a process has imported the DSL. So all of
it happens in a worker process, started when first asked.
"""

from __future__ import annotations

import atexit
import functools
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("wheel_worker.py")

_BATCH = 256

# Questions that are answered for all of a batch at once, in one module.
_TOGETHER = ("values", "lowered")


class Refused(Exception):
    """The wheel rejects the expression; the message is its diagnostic."""


class Aborted(Exception):
    """The wheel ended its process over the expression."""


class Undefined(Exception):
    """The lowered expression divides by zero, overflows or uses an undefined value."""


@dataclass(frozen=True)
class Expression:
    """An operation of the `cute` dialect, its operands as text or as expressions, and its attributes by name."""

    operation: str
    operands: tuple[str | Expression, ...]
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Written:
    """An expression as a function: the types of its operands and results, and the text of its module."""

    operands: list[str]
    results: list[str]
    text: str


Answer = tuple[str, ...]
Outcome = Answer | Refused | Aborted | Undefined
Leaves = tuple[int, ...]


def expression(operation: str, *operands: str | Expression, **attributes: Any) -> Expression:
    """`operation` applied to `operands`.

    The text of an operand says what it is: `(4,8):(8,1)` a layout, `S<3,4,3> o 0 o 64:1` a composed layout, `[4:1;8:1]`
    a tile, `S<3,4,3>` a swizzle. A tuple is what the operation takes at that place; `shape (4,8)`, `stride`, `coord`,
    `int_tuple` or `tile` in front of it say otherwise. Anything else is a whole type, `!cute.coord_tensor<…>`.
    Lists of integers among the attributes, such as `mode=[0, 1]`, and integers are given as such, others as MLIR text:
    `coord='#cute.coord<"(_,1)">'`.
    """
    named = sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in attributes.items())
    return Expression(operation, operands, tuple(named))


def evaluate(operation: str, *operands: str | Expression, **attributes: Any) -> str:
    """The text of the result of one expression; a type that is not a tuple, layout or tile is given whole.

    Raises `Refused` with the wheel's diagnostic, or `Aborted`.
    """
    (result,) = results(expression(operation, *operands, **attributes))
    return result


def results(case: Expression) -> Answer:
    """The texts of all results of one expression."""
    return _raised(outcomes([case])[0])


def outcomes(cases: Iterable[Expression]) -> list[Any]:
    """The result texts of each expression, or the exception that `results` would raise for it; much faster in bulk."""
    return _shared().ask("types", list(cases))


def values(cases: Iterable[tuple[Expression, Sequence[int]]]) -> list[Any]:
    """The values of the dynamic leaves of each expression's result, or the exception that stands for them.

    With each expression come the values of its operands' dynamic leaves, in the order of the text: those of a layout's
    shape before those of its stride; the pointer of a tensor before its layout. Results are in the same order.
    """
    return _shared().ask("values", [(case, tuple(leaves)) for case, leaves in cases])


def written(cases: Iterable[Expression]) -> list[Any]:
    """Each expression as a `Written` function, for another compiler to lower, or the exception that stands for it."""
    return _shared().ask("written", list(cases))


def lowered(case: Expression) -> str:
    """The arithmetic that the wheel lowers the expression to, as MLIR text."""
    return _raised(_shared().ask("lowered", [case])[0])


def canonical(text: str) -> str:
    """A type, whole or as operand text with its kind in front where that is needed, as the wheel prints it."""
    return _raised(_shared().ask("canonical", [text])[0])


def ask_type(text: str, name: str, *arguments: Any) -> str:
    """The text of the property, or of the method's result, called `name` of the type `text`.

    Tiled copies have `layout_src_tv_tiled`, layouts `get_divisibility([0])`, and so on.
    """
    return _raised(_shared().ask("ask_type", [(text, name, arguments)])[0])


class Oracle:
    """A worker process that answers questions about many cases at once, and survives the cases that end it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: str, cases: Sequence[Any]) -> list[Any]:
        """The answers to `question` about each of `cases`; an exception in place of an answer that there is not."""
        answers: list[Any] = []
        while len(answers) < len(cases):
            batch = cases[len(answers) : len(answers) + _BATCH]
            given = self._call(question, batch)
            answers += given
            if len(given) < len(batch):
                if question in _TOGETHER and len(batch) > 1:
                    # Only alone does the one show that ended the process.
                    for case in batch:
                        answers += self.ask(question, [case])
                else:
                    answers.append(Aborted(f"the wheel ended its process over {batch[len(given)]}"))
        return answers

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.stdin.close()  # pyright: ignore[reportOptionalMemberAccess]
            self._process.wait()
            self._process = None

    def _call(self, question: str, cases: Sequence[Any]) -> list[Any]:
        """The worker's answers, up to the case that ends its process."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((question, cases), self._process.stdin)
        self._process.stdin.flush()
        answers: list[Any] = []
        for _ in cases:
            answer = pickle.load(self._process.stdout)
            if isinstance(answer, Aborted):
                break
            if isinstance(answer, RuntimeError):
                raise answer
            answers.append(answer)
        return answers


@functools.cache
def _shared() -> Oracle:
    oracle = Oracle()
    atexit.register(oracle.close)
    return oracle


def _raised(outcome: Any) -> Any:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
