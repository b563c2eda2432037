"""An executor over worker processes, of which one that dies takes its own call down and no other."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from cutecc.support import forks
from cutecc.support.isolation import ProcessDied, Worker

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Task:
    future: Future[Any]
    function: str
    arguments: tuple[Any, ...]


class WorkerPool(Executor):
    """`workers` processes that each serve one call after another, by default one for each processor.

    A function has to be importable by its module and name, its arguments and result picklable. Unlike with
    `ProcessPoolExecutor`, the process of a call that aborts is replaced, its future raises `ProcessDied`, and all other
    calls go on; and `__main__` is not run again in the workers.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._workers: dict[threading.Thread, Worker | None] = {}
        self._closing = forks.lock()
        self._closed = self._killed = False
        self._process = os.getpid()
        for index in range(workers or os.cpu_count() or 1):
            thread = threading.Thread(target=self._serve, name=f"cutecc-worker-{index}", daemon=True)
            self._workers[thread] = None
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As `Executor.submit`; without keyword arguments."""
        if kwargs:
            raise TypeError("keyword arguments do not cross to a worker")
        future: Future[T] = Future()
        # What came behind the ends of the threads would wait for ever.
        with self._closing:
            if self._closed:
                raise RuntimeError("the pool is shut down")
            if self._process != os.getpid():
                raise RuntimeError("the pool is of the process that this one was forked from")
            self._tasks.put(_Task(future, f"{fn.__module__}:{fn.__qualname__}", args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As `Executor.shutdown`."""
        with self._closing:
            self._closed = True
        while cancel_futures:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task:
                task.future.cancel()
        for _ in self._workers:
            self._tasks.put(None)
        if wait:
            for thread in self._workers:
                thread.join()

    def kill(self) -> None:
        """End at once, also calls that are running: their futures raise `ProcessDied`."""
        self._killed = True
        self.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._workers.values()):
            if worker:
                worker.kill()

    def _serve(self) -> None:
        """The life of one thread and its worker process, which starts with the first call."""
        worker: Worker | None = None
        while task := self._tasks.get():
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or Worker()
                self._workers[threading.current_thread()] = worker
                if self._killed:
                    # While it was starting, where `kill` could not see it.
                    worker.kill()
                task.future.set_result(worker.call(task.function, *task.arguments))
            except BaseException as error:
                if isinstance(error, ProcessDied | KeyboardInterrupt):
                    worker = None
                task.future.set_exception(error)
        if worker:
            worker.close()
