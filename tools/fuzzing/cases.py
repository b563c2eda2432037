"""Cases of a fuzzer, each in a process that may take so much memory and time; what they come to.

A case is a number, of which the process that reads the input makes it: one that does not come back is known.
Processes are forked from this one, whose imports are done, and take several cases each.
"""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from random import Random
from typing import Literal

from cutecc.errors import Error, InternalError

Result = Literal["accepted", "refused", "raw exception", "over memory", "over time", "ended"]
"""`ended`: the process was, by a signal or on its own."""
THROUGH: frozenset[Result] = frozenset({"raw exception", "over memory", "over time", "ended"})
"""What no input may come to."""
_CASES = 500
"""That one process takes."""


@dataclass(frozen=True)
class Subject:
    """One kind of input."""

    name: str
    make: Callable[[Random], bytes]
    check: Callable[[bytes], object]
    """Takes an input as users' commands do; raises `Error` to refuse it."""
    seconds: float = 20
    """That one input may take."""


@dataclass(frozen=True)
class Case:
    """What came of one input."""

    subject: str
    number: int
    result: Result
    detail: str = ""
    """Of one that got through: the traceback, or how the process ended."""
    place: str = ""
    """What is the same for failures of one cause: the exception and where it was raised."""


def data_of(subject: Subject, number: int) -> bytes:
    """The input of a case: the same in each process."""
    return subject.make(Random(f"{subject.name} {number}"))


def run(subject: Subject, numbers: Sequence[int], memory: int) -> Iterator[Case]:
    """The cases of these numbers, in their order.

    `memory` are bytes that a process may take besides what it starts with.
    """
    yield from _run(subject, numbers, lambda number: data_of(subject, number), memory)


def replay(subject: Subject, inputs: Sequence[bytes], memory: int) -> Iterator[Case]:
    """The same of inputs that are there; their cases have their places as numbers."""
    yield from _run(subject, range(len(inputs)), lambda number: inputs[number], memory)


def _run(subject: Subject, numbers: Sequence[int], data: Callable[[int], bytes], memory: int) -> Iterator[Case]:
    done = 0
    while done < len(numbers):
        for case in _process(subject, numbers[done : done + _CASES], data, memory):
            done += 1
            yield case


def _process(subject: Subject, numbers: Sequence[int], data: Callable[[int], bytes], memory: int) -> Iterator[Case]:
    """The cases of one process, up to the one that ends it."""
    receive, send = Pipe(duplex=False)
    child = os.fork()
    if not child:
        _limit(memory)
        for number in numbers:
            send.send(_one(subject, number, data(number)))
        os._exit(0)
    send.close()
    for number in numbers:
        try:
            if receive.poll(subject.seconds):
                yield receive.recv()
                continue
            os.kill(child, signal.SIGKILL)
            result, detail = "over time", f"it took more than {subject.seconds:g} s"
        except EOFError:
            result, detail = "ended", ""
        _, status = os.waitpid(child, 0)
        detail = detail or f"the process ended with {os.waitstatus_to_exitcode(status)}"
        yield Case(subject.name, number, result, detail, detail)
        return
    os.waitpid(child, 0)


def _limit(memory: int) -> None:
    """What this process, and those that it starts, may take from now on. What they print is nobody's business."""
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _one(subject: Subject, number: int, data: bytes) -> Case:
    result: Result
    try:
        subject.check(data)
        return Case(subject.name, number, "accepted")
    except MemoryError as error:
        result, failure = "over memory", error
    except InternalError as error:
        result, failure = "raw exception", error
    except Error:
        return Case(subject.name, number, "refused")
    except BaseException as error:
        result, failure = "raw exception", error
    place = traceback.extract_tb(failure.__traceback__)[-1]
    where = f"{type(failure).__name__} in {place.filename}:{place.lineno}"
    return Case(subject.name, number, result, "".join(traceback.format_exception(failure)), where)


def shrunk(subject: Subject, data: bytes, case: Case, memory: int, seconds: float = 60) -> bytes:
    """A smaller input that fails at the same place, made in this time by leaving parts out: lines, then bytes."""
    end = time.monotonic() + seconds
    for separator in (b"\n", b""):
        parts = data.split(separator) if separator else [data[place : place + 1] for place in range(len(data))]
        size = max(1, len(parts) // 2)
        while time.monotonic() < end:
            start = 0
            while start < len(parts) and time.monotonic() < end:
                smaller = [*parts[:start], *parts[start + size :]]
                (found,) = replay(subject, [separator.join(smaller)], memory)
                if (found.result, found.place) == (case.result, case.place):
                    parts = smaller
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        data = separator.join(parts)
    return data
