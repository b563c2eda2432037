"""Calling a function in a fresh process, so that an abort there is an ordinary error here.

The MLIR bindings abort the process on some inputs. What must survive that runs in a child, which sends events while it
works, and at the end a result or an error. Both sides are this program: messages are pickles over a private pipe.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from cutecc.errors import Error, InternalError, describe
from cutecc.sandbox.native import control_process
from cutecc.support.forks import TemporaryFolder

_PR_SET_PDEATHSIG = 1
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {module} import {name}; {name}()"


class ProcessDied(Error):
    """The child ended without an answer: a native abort, a signal, or `os._exit`."""


_running: set[Call | Worker] = set()
"""Those that have work to do."""


def _forked() -> None:
    """In a forked child: these are the parent's."""
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def interrupt() -> None:
    """End the children of this process that are at work; whoever waits for one gets a `KeyboardInterrupt`.

    A `Worker` between two calls stays, for the next. Python delivers Ctrl-C to the main thread alone, and other threads
    may be waiting for children.
    """
    for running in list(_running):
        running.interrupted = True
        running.kill()


class Call:
    """A function that runs in a child process.

    `function` is `module:name`; it is called with the picklable `arguments`, and with `events` also with a keyword
    `emit`, a function whose arguments arrive here as events. The child's standard output goes to this process's
    standard error, so that ours stays clean; its standard error too, unless `quiet`, which keeps both for the message
    of a `ProcessDied`; with `replay`, they come to standard error when the child has ended in another way. On Linux the
    child dies with the thread that made the call. With `fork`, the child is a copy of this process where that is safe,
    which spares it the start of an interpreter and the imports that are done.
    """

    def __init__(
        self,
        function: str,
        *arguments: Any,
        events: bool = False,
        environment: Mapping[str, str] | None = None,
        quiet: bool = True,
        replay: bool = False,
        fork: bool = False,
    ) -> None:
        receiver, child_sender = os.pipe()
        child_receiver, sender = os.pipe()
        self._replay = replay
        self._log = tempfile.TemporaryFile() if quiet else None  # noqa: SIM115 - closed when the answer is there
        # The child's temporary files are ours to remove, also when it is killed.
        self._temporary = TemporaryFolder() if quiet else None
        changes = {**({"TMPDIR": self._temporary.name} if self._temporary else {}), **(environment or {})}
        if fork and _can_fork():
            output = self._log.fileno() if self._log else sys.stderr.fileno()
            self._process = _Fork(child_receiver, child_sender, output, changes, unwanted=(receiver, sender))
        else:
            self._process = start_python(
                "cutecc.support.isolation:serve",
                child_receiver,
                child_sender,
                stdout=self._log or sys.stderr.fileno(),
                stderr=self._log,
                env={**os.environ, **changes},
            )
        os.close(child_receiver)
        os.close(child_sender)
        self._connection = Connection(receiver, writable=False)
        self.interrupted = False
        _running.add(self)
        try:
            with Connection(sender, readable=False) as requests:
                requests.send((function, arguments, events, lasting_folder(), os.getpid()))
        except BrokenPipeError:
            # The child is dead already; `result` says so.
            pass
        except BaseException:
            _running.discard(self)
            self.kill()
            raise

    def result(self, on_event: Callable[[Any], None] | None = None) -> Any:
        """What the function returned; events go to `on_event` as they come.

        Raises what the function raised, or `ProcessDied`. When this call is interrupted, the child is killed.
        """
        answer: tuple[str, Any] | None = None
        try:
            # The end of the pipe, not the answer, is the end: children of the child may still be writing files.
            while (message := self._receive()) is not None:
                if message[0] == "event":
                    if on_event:
                        on_event(message[1])
                else:
                    answer = message
            status = self._process.wait()
        except BaseException:
            self.kill()
            self._show_log()
            raise
        finally:
            _running.discard(self)
            self._connection.close()
            if self._temporary is not None:
                self._temporary.cleanup()
        if self.interrupted:
            self._show_log()
            raise KeyboardInterrupt
        if answer is None:
            log = self._take_log().strip()[-4000:]
            raise ProcessDied(end_of(status), notes=[log] if log else [])
        self._show_log()
        try:
            return _result_of(*answer)
        finally:
            # An error whose frames hold it would live on with all that they hold, until the garbage is collected.
            del answer

    def kill(self) -> None:
        """End the child at once."""
        self._process.kill()
        self._process.wait()

    def _receive(self) -> tuple[str, Any] | None:
        try:
            return self._connection.recv()
        except EOFError:
            return None

    def _take_log(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        self._log.close()
        self._log = None
        return text

    def _show_log(self) -> None:
        """Give what the child printed to the user."""
        log = self._take_log()
        if self._replay and log:
            sys.stderr.write(log if log.endswith("\n") else f"{log}\n")
            sys.stderr.flush()


class Worker:
    """A child process that serves one call after another, and keeps what it has imported in between.

    What it prints is kept for the message of a `ProcessDied`. For one thread at a time; on Linux the child dies with
    the thread that started it, unless it is `detached`: then it ends with the call during which this process does.
    `prepare` is a function, `module:name`, that it calls before anything else, in the time before the first call.
    """

    def __init__(
        self, *, environment: Mapping[str, str] | None = None, prepare: str | None = None, detached: bool = False
    ) -> None:
        receiver, child_sender = os.pipe()
        child_receiver, sender = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        # It goes at the end of the program too: who keeps a worker until then has nothing to close.
        self._temporary = TemporaryFolder()
        self._process = start_python(
            "cutecc.support.isolation:serve_calls",
            child_receiver,
            child_sender,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "TMPDIR": self._temporary.name, **(environment or {})},
        )
        os.close(child_receiver)
        os.close(child_sender)
        self._requests = Connection(sender, readable=False)
        self._replies = Connection(receiver, writable=False)
        self.interrupted = False
        with contextlib.suppress(BrokenPipeError):
            self._requests.send((lasting_folder(), None if detached else os.getpid(), prepare))

    def call(self, function: str, *arguments: Any, on_event: Callable[[Any], None] | None = None) -> Any:
        """What `function`, a `module:name`, returns; with `on_event` it is called with `emit` too, as by `Call`.

        Raises what it raises; after `ProcessDied` the worker is over.
        """
        _running.add(self)
        try:
            self._requests.send((function, arguments, on_event is not None))
            while (message := self._replies.recv())[0] == "event":
                if on_event is not None:
                    on_event(message[1])
            kind, value = message
        except (EOFError, BrokenPipeError, ConnectionResetError):
            status = self._process.wait()
            self._log.seek(0)
            log = self._log.read().decode(errors="replace").strip()[-4000:]
            self.close()
            if self.interrupted:
                raise KeyboardInterrupt from None
            raise ProcessDied(end_of(status), notes=[log] if log else []) from None
        finally:
            _running.discard(self)
        try:
            return _result_of(kind, value)
        finally:
            del value

    def kill(self) -> None:
        """End the child at once."""
        self._process.kill()

    def close(self) -> None:
        """End the child, and take away its temporary files."""
        self._process.kill()
        self._process.wait()
        for resource in (self._requests, self._replies, self._log):
            resource.close()
        self._temporary.cleanup()


class _Fork:
    """A child process that is a copy of this one, and serves one call."""

    def __init__(
        self, receiver: int, sender: int, output: int, environment: Mapping[str, str], *, unwanted: tuple[int, ...]
    ) -> None:
        """Standard output and error go to `output`; `unwanted` are this side's descriptors, closed in the child."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._status: int | None = None
        self._pid = os.fork()
        if self._pid == 0:
            try:
                for descriptor in unwanted:
                    os.close(descriptor)
                nothing = os.open(os.devnull, os.O_RDONLY)
                for source, standard in ((nothing, 0), (output, 1), (output, 2)):
                    os.dup2(source, standard)
                os.environ.update(environment)
                # Worked out anew from the child's environment.
                tempfile.tempdir = None
                _serve(receiver, sender)
            finally:
                os._exit(1)

    def kill(self) -> None:
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit status; of a process that a signal ended, minus the signal's number."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status


def _can_fork() -> bool:
    """Whether a copy of this process would work: no other thread holds a lock, and the bindings have no threads yet."""
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return False
    return threads == 1 and "cutlass" not in sys.modules


def start_python(entry: str, *descriptors: int, **settings: Any) -> subprocess.Popen[bytes]:
    """A fresh interpreter that runs `entry`, a `module:name` without arguments, with this process's module path.

    It inherits the file `descriptors` and finds their numbers in `sys.argv[2:]`. Interrupts wait until it says what
    becomes of them, as `ignore_interrupts` does: one that comes while it starts would print a traceback.
    """
    module, _, name = entry.partition(":")
    code = _START.format(module=module, name=name)
    # -P: the current folder must not shadow modules of the standard library.
    command = [sys.executable, "-P", "-c", code, json.dumps(sys.path), *map(str, descriptors)]
    inherited = descriptors + _reply_descriptors
    process: subprocess.Popen[bytes] | None = None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen[bytes](command, stdin=subprocess.DEVNULL, pass_fds=inherited, **settings)
        # One that came meanwhile is delivered here.
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if process is not None:
            process.kill()
            process.wait()
        raise
    return process


def ignore_interrupts() -> None:
    """In a child: its parent decides what an interrupt means, and kills the child when it has to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


_reply_descriptors: tuple[int, ...] = ()
"""In a child: the pipe to its parent. Its own children inherit it, so that the parent waits for them too."""


_lasting_folder: str | None = None
"""In a child, whose own temporary folder goes when it ends: the temporary folder of the process that began it all."""


def lasting_folder() -> str:
    """Where to put a file that outlives this process, also when it is a child."""
    return _lasting_folder or tempfile.gettempdir()


def call(function: str, *arguments: Any, on_event: Callable[[Any], None] | None = None, **settings: Any) -> Any:
    """`Call(function, …).result(on_event)`."""
    return Call(function, *arguments, events=on_event is not None, **settings).result(on_event)


def _result_of(kind: str, value: Any) -> Any:
    """What a child answered, or raise it."""
    try:
        if kind == "error":
            raise value
        return value
    finally:
        del value


def end_of(status: int, what: str = "the compiler process") -> str:
    """How a process ended that has not answered: `the compiler process was ended by SIGSEGV`."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"{what} was ended by {name}"
    return f"{what} ended with status {status} and no answer"


def serve() -> None:
    """The child process that `start_python` starts for a call."""
    _serve(*(int(argument) for argument in sys.argv[2:4]))


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the process `parent` ends, however it does."""
    if not control_process(_PR_SET_PDEATHSIG, signal.SIGKILL):
        return
    if os.getppid() != parent:
        # It ended before.
        os._exit(1)


def _serve(receiver: int, sender: int) -> None:
    """One call in, events and an answer out; then the process ends."""
    global _lasting_folder, _reply_descriptors
    ignore_interrupts()
    with Connection(receiver, writable=False) as requests:
        function_name, arguments, events, _lasting_folder, parent = requests.recv()
    die_with(parent)
    _reply_descriptors = (sender,)
    replies = Connection(sender, readable=False)
    _buffer_by_line()
    try:
        _answer(function_name, arguments, events, replies)
        replies.close()
        # Skip the interpreter's tear-down: freeing large modules and native thread pools can take long, and abort.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    finally:
        # What ran here has taken from the interpreter, or closed, what answering needs; the parent says so.
        os._exit(1)


def serve_calls() -> None:
    """The child process of a `Worker`: one call after another, until the other side closes the pipe."""
    global _lasting_folder, _reply_descriptors
    ignore_interrupts()
    receiver, sender = (int(argument) for argument in sys.argv[2:4])
    requests, replies = Connection(receiver, writable=False), Connection(sender, readable=False)
    _lasting_folder, parent, prepare = requests.recv()
    if parent is not None:
        die_with(parent)
    _reply_descriptors = (sender,)
    _buffer_by_line()
    if prepare is not None:
        _function(prepare)()
    with contextlib.suppress(EOFError):
        while True:
            function_name, arguments, events = requests.recv()
            _answer(function_name, arguments, events, replies)
    os._exit(0)


def _buffer_by_line() -> None:
    """What a pass prints is in the order in which it was printed, also when the process is killed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _function(reference: str) -> Callable[..., Any]:
    """What a `module:name` names."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def _answer(function_name: str, arguments: tuple[Any, ...], events: bool, replies: Connection) -> None:
    """Call a function and send its result, or what it raised."""
    try:
        function = _function(function_name)

        def emit(event: Any) -> None:
            replies.send(("event", event))

        keywords: dict[str, Any] = {"emit": emit} if events else {}
        result = function(*arguments, **keywords)
        replies.send(("result", result))
    except Error as error:
        error.add_note("".join(traceback.format_exception(error)))
        replies.send(("error", error))
    except BrokenPipeError:
        # Nobody waits for the answer any more.
        pass
    except BaseException as failure:
        internal = InternalError(
            f"internal error: {describe(failure)}",
            hints=["this is a bug in cutecc, or versions do not fit (cutecc doctor says); --debug shows where"],
        )
        internal.add_note(traceback.format_exc())
        replies.send(("error", internal))
