"""Work on many modules, a few at a time in a process: it then ends, and gives its memory back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from cutecc.support import isolation
from cutecc.support.isolation import ProcessDied

Task = TypeVar("Task")

_CHUNK = 8
"""Modules for one process."""


def work_apart(
    function: str,
    tasks: Iterable[tuple[int, Task]],
    *,
    jobs: int,
    told: Callable[[int, Any], bool],
    died: Callable[[int, Task, ProcessDied], None],
) -> None:
    """Have `function`, a `module:name`, work on numbered tasks in `jobs` processes at a time.

    It is called with some of the tasks, a dictionary, and tells of them in that order: `emit((number, what))`. `told`
    says whether that was the last of a task. A task whose process dies has `died`, and those behind it go to another.
    Of all processes, one at a time is listened to.
    """
    listening = threading.Lock()

    def work(chunk: dict[int, Task]) -> None:
        def follow(event: tuple[int, Any]) -> None:
            number, what = event
            with listening:
                if told(number, what):
                    del chunk[number]

        while chunk:
            try:
                isolation.call(function, dict(chunk), on_event=follow)
            except ProcessDied as death:
                if chunk:
                    number = next(iter(chunk))
                    with listening:
                        died(number, chunk.pop(number), death)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for each in [pool.submit(work, chunk) for chunk in _chunks(tasks)]:
                each.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            isolation.interrupt()
            raise


def _chunks(tasks: Iterable[tuple[int, Task]]) -> Iterator[dict[int, Task]]:
    chunk: dict[int, Task] = {}
    for number, task in tasks:
        chunk[number] = task
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = {}
    if chunk:
        yield chunk
