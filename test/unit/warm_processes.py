"""Processes of the command line that begin with their imports done: copies of one that has done nothing else.

Hundreds of tests run `cutecc`, and each run starts two to four interpreters, whose imports take longer than what they
do. A *template* is a fresh interpreter that imports what one of them imports, waits, and forks for every process that
is asked for. There is one for each kind, so that a process has no module of the wheel that it would not load itself:
the command line (never the MLIR bindings), the same with the emulator, with the analyses (which load the bindings),
with the operators of nvidia-cutlass-operators (which load the DSL), lowering (never the DSL), tracing and whatever else
a process may be asked for that serves any calls.

What needs an interpreter's own start is run without: `conftest.cutecc` says what, and `COLD_START=1` does it for all.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.util
import io
import json
import os
import pkgutil
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept_listings import keeping
from warm_client import WarmProcess, kind_of, same_start
from warm_columns import warm_columns

KINDS = ("command", "emulation", "lowering", "tracing")
ON_DEMAND = ("workbench", "operators")
"""Kinds that few tests need."""

_MOST_BYTES = 1 << 18
_MOST_DESCRIPTORS = 32


class Starter:
    """`isolation.start_python`, with the same contract, without an interpreter's start."""

    def __init__(self, folder: str, environment: Mapping[str, str], cold: Callable[..., Any]) -> None:
        """The templates listen in `folder`, and were started with `environment`; `cold` starts an interpreter."""
        from cutecc.support import isolation

        self._folder = folder
        self._environment = {**environment, "CUTE_DSL_ARCH": ""}
        self._isolation = isolation
        self._cold = cold

    def __call__(self, entry: str, *descriptors: int, **settings: Any) -> Any:
        environment: dict[str, str] = settings.get("env") or dict(os.environ)
        if not same_start({**environment, "CUTE_DSL_ARCH": ""}, self._environment):
            return self._cold(entry, *descriptors, **settings)
        # The driver names the target to the process that traces, and to no other; one that serves any calls may trace.
        traces = "CUTE_DSL_ARCH" in environment or entry == "cutecc.support.isolation:serve_calls"
        kind = "tracing" if traces else "lowering"
        with open(os.devnull, "r+b") as nothing:

            def stream(chosen: Any, standard: int) -> int:
                if chosen is None:
                    return standard
                chosen = nothing if chosen == subprocess.DEVNULL else chosen
                return chosen if isinstance(chosen, int) else chosen.fileno()

            return WarmProcess(
                f"{self._folder}/{kind}",
                entry,
                ["-c", json.dumps(sys.path)],
                streams=(nothing.fileno(), stream(settings.get("stdout"), 1), stream(settings.get("stderr"), 2)),
                descriptors=[*descriptors, *self._isolation._reply_descriptors],
                environment=environment,
                path=sys.path,
                # Calls end with their caller, by `die_with`.
                outlives=not entry.startswith("cutecc.support.isolation:"),
            )


class Templates:
    """A template of each kind, as long as this process lives."""

    def __init__(self, environment: Mapping[str, str], listings: Path) -> None:
        """Starts them with `environment`; what nvdisasm says of cubins is kept in the folder `listings`."""
        self._folder = tempfile.TemporaryDirectory(prefix="cutecc-warm-")
        self.environment = environment
        self._listings = listings
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start(*KINDS)

    def _start(self, *kinds: str) -> None:
        started = [
            subprocess.Popen(
                [sys.executable, __file__, kind, self._folder.name, self._listings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self.environment,
                # In the way of neither Ctrl-C nor a test's output.
                start_new_session=True,
            )
            for kind in kinds
        ]
        self._processes += started
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"

    def address(self, kind: str) -> str:
        """Where the template of a kind listens; it is started when it has to be."""
        address = f"{self._folder.name}/{kind}"
        if kind in ON_DEMAND and not os.path.exists(address):
            self._start(kind)
        return address

    def starter(self, cold: Callable[..., Any]) -> Starter:
        """What starts processes that the library asks for; `cold` is what starts an interpreter."""
        return Starter(self._folder.name, self.environment, cold)

    def folder_of_commands(self) -> Path:
        """A folder for `PATH` in which `cutecc` is a program that starts at once. Ctrl-C does not reach it."""
        folder = Path(self._folder.name) / "bin"
        if not folder.exists():
            folder.mkdir()
            start = [sys.executable, "-IS", str(Path(__file__).with_name("warm_client.py"))]
            words = [*start, self._folder.name, str(Path(sys.executable).with_name("cutecc"))]
            (folder / "cutecc").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            (folder / "cutecc").chmod(0o755)
        return folder

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        input: str = "",
        kind: str | None = None,
        entry: str = "cutecc.__main__:main",
        path: Sequence[str] | None = None,
    ) -> tuple[int, str, str]:
        """The status, standard output and error of `cutecc` with this command line, in `folder`, that reads `input`.

        Another program is an `entry`, `module:name`, found in `path`, of the `kind` that imports what it does.
        """
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            given.write(input.encode())
            given.seek(0)
            process = WarmProcess(
                self.address(kind or kind_of(command)),
                entry,
                command,
                streams=(given.fileno(), output.fileno(), errors.fileno()),
                environment=environment,
                folder=str(folder),
                path=path,
            )
            status = process.wait(timeout=300)
            texts: list[str] = []
            for stream in (output, errors):
                stream.seek(0)
                # As `subprocess` has it with `text=True`.
                texts.append(stream.read().decode().replace("\r\n", "\n").replace("\r", "\n"))
        return status, texts[0], texts[1]

    def close(self) -> None:
        """End the templates, and what still runs of their copies."""
        for process in self._processes:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.wait()
            process.stdout.close()
        self._folder.cleanup()


# In a template.


@dataclass
class _Copy:
    pid: int
    outlives: bool
    exited: int
    """The file descriptor that becomes readable when the process has ended."""


class _Template:
    """Serves requests until its standard input ends."""

    def __init__(self, address: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(address)
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ, "listener")
        self._selector.register(0, selectors.EVENT_READ, "end")
        self._copies: dict[socket.socket, _Copy] = {}

    def serve(self) -> dict[str, Any]:
        """In each copy, returns the request that it is for; in the template, when no more will come, exits."""
        while True:
            for key, _ in self._selector.select():
                match key.data:
                    case "listener":
                        connection, _ = self._listener.accept()
                        self._selector.register(connection, selectors.EVENT_READ, "connection")
                    case "connection":
                        assert isinstance(key.fileobj, socket.socket)
                        if request := self._read(key.fileobj):
                            return request
                    case "end":
                        for copy in self._copies.values():
                            os.kill(copy.pid, signal.SIGKILL)
                        os._exit(0)
                    case socket.socket() as connection:
                        self._tell(connection)

    def _read(self, connection: socket.socket) -> dict[str, Any] | None:
        """Fork for the request that a connection brings, or end what it asked for when it is given up."""
        if connection.fileno() < 0:
            # Its process has ended in the same moment.
            return None
        try:
            message, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, _MOST_DESCRIPTORS)
        except ConnectionResetError:
            message, descriptors = b"", []
        if not message:
            self._selector.unregister(connection)
            if copy := self._copies.get(connection):
                if not copy.outlives:
                    os.kill(copy.pid, signal.SIGKILL)
            else:
                connection.close()
            return None
        request: dict[str, Any] = json.loads(message)
        pid = os.fork()
        if pid == 0:
            self._close()
            return request | {"descriptors": descriptors}
        for descriptor in descriptors:
            os.close(descriptor)
        self._copies[connection] = copy = _Copy(pid, request["outlives"], os.pidfd_open(pid))
        self._selector.register(copy.exited, selectors.EVENT_READ, connection)
        with contextlib.suppress(OSError):
            connection.send(str(pid).encode())
        return None

    def _tell(self, connection: socket.socket) -> None:
        """Send the status of a process that has ended."""
        copy = self._copies.pop(connection)
        self._selector.unregister(copy.exited)
        os.close(copy.exited)
        status = os.waitstatus_to_exitcode(os.waitpid(copy.pid, 0)[1])
        with contextlib.suppress(OSError):
            connection.send(str(status).encode())
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection)
        connection.close()

    def _close(self) -> None:
        """In a copy: leave the template's ends alone."""
        for connection, copy in self._copies.items():
            os.close(copy.exited)
            connection.close()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()


def _begin(request: dict[str, Any]) -> None:
    """Make this copy what a process that starts with the request would be, and run its entry."""
    descriptors: list[int] = request["descriptors"]
    for standard, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    for standard, name in enumerate(("stdin", "stdout", "stderr")):
        # The template's may be files where these are pipes, or terminals.
        old: io.TextIOWrapper = getattr(sys, name)
        stream = open(standard, old.mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=stream.line_buffering or old.line_buffering)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    # Worked out anew from the environment.
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [*request["arguments"], *map(str, descriptors[3:])]
    if request["path"] is not None:
        sys.path[:] = request["path"]
    module, _, name = request["entry"].partition(":")
    status: Any = 0
    try:
        getattr(importlib.import_module(module), name)()
    except SystemExit as end:
        status = 0 if end.code is None else end.code
    _end(status)


def _end(status: Any) -> None:
    """Exit as an interpreter does, without taking down what it has: that touches every page, which copies it first."""
    if not isinstance(status, int):
        # The interpreter prints it.
        sys.exit(status)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # The interpreter says so.
        sys.exit(status)
    os._exit(status & 0xFF)


def _import(*modules: str) -> None:
    """Import modules; with `.*`, all of a package."""
    for name in modules:
        package = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            _import(*(each.name for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")))


def _import_lowering(listings: str) -> None:
    """Import what lowering needs; what nvdisasm says of cubins is kept in `listings`."""
    from cutecc.backend import nvdisasm

    _import("cutecc.driver", "cutecc.ir.*", "cutecc.passes.*", "cutecc.passes.nvidia.*", "cutecc.backend.*")
    _import("cutecc.backend.llvm.*", "cutecc.record.*")
    _import_passes()
    # What LLVM's processes import when they are first used.
    _import("llvmlite.binding")
    nvdisasm.disassemble = keeping(Path(listings))


def _import_passes() -> None:
    """Import all passes, and what they and the bindings import when they are first used."""
    _import("cutecc.passes.nvidia.reimplementations.*", "cutecc.passes.analysis.*", "cutecc.passes.transforms.*")
    _import("cutecc.passes.lowering.*", "cutecc.passes.lowering.values.*", "cutecc.passes.lowering.atoms.*")
    _import("cutecc.passes.generation.*", "cutlass._mlir.passmanager", "cutlass._mlir.rewrite")
    dialects = ("arith", "builtin", "cuda", "cute", "cute_nvgpu", "func", "gpu", "nvvm", "scf", "ub", "vector")
    _import(*(f"cutlass._mlir.dialects.{name}" for name in dialects))


def _main(kind: str, folder: str, listings: str) -> None:
    # Where a program that is installed has its own folder.
    sys.path[0] = str(Path(sys.executable).parent)
    from cutecc.support import isolation

    match kind:
        case "command":
            _import("cutecc.cli.*")
            assert "cutlass" not in sys.modules
        case "emulation":
            _import("cutecc.cli.*", "cutecc.emulator.device", "cutecc.emulator.parallel", "cutecc.harness.on_device")
            _import("cutecc.emulator.instructions.*", "cutecc.emulator.numbers.*", "cutecc.emulator.checks.*")
            _import("cutecc.runtime.launcher", "cutecc.ptx.parse")
            assert "cutlass" not in sys.modules
        case "workbench":
            _import("cutecc.cli.*", "cutecc.emulator.device", "cutecc.emulator.parallel", "cutecc.harness.on_device")
            _import("cutecc.emulator.instructions.*", "cutecc.emulator.numbers.*", "cutecc.runtime.launcher")
            _import("cutecc.ptx.parse", "cutecc.frontend.trace", "cutecc.driver", "cutecc.ir.*", "cutecc.passes.*")
            _import("cutecc.workbench.*", "cutecc.workbench.reduction.*")
            _import_passes()
            assert "cutlass.cute" not in sys.modules
        case "operators":
            _import("cutecc.cli.*")
            if importlib.util.find_spec("torch"):
                _import("cutecc.operations.operators.*")
        case "lowering":
            _import_lowering(listings)
            assert "cutlass.cute" not in sys.modules
        case "tracing":
            from cutecc.frontend import dsl

            _import("cutecc.frontend.*")
            dsl.cutlass()
            # Who serves any calls lowers too.
            _import_lowering(listings)
            _import("cutecc.compilation.sweep")
    isolation.start_python = Starter(folder, os.environ, isolation.start_python)
    if kind in ("command", "emulation"):
        from cutecc.versions import recording

        recording._run = warm_columns(folder, dict(os.environ), recording._run)
    # A copy of the command line would import the bindings each time, which takes longer than most of what it is for.
    isolation._can_fork = lambda: False
    if kind in ("lowering", "tracing"):
        # A copy dies with its connection, which goes with the process that asked for it: it is no child of that one.
        isolation.die_with = lambda parent: None
    template = _Template(f"{folder}/{kind}")
    # Not to be looked at again in each copy, which would copy its pages.
    gc.collect()
    gc.freeze()
    # Nor what a copy makes, after every 700 objects.
    gc.set_threshold(20_000, 20, 20)
    print("ready", flush=True)
    _begin(template.serve())


if __name__ == "__main__":
    _main(*sys.argv[1:])
