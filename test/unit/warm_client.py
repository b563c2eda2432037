"""Asking a template (`warm_processes`) for a process. Also a program: the `cutecc` command of a folder of commands.

It begins in a few milliseconds, for which it imports little.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence

_READ_AT_THE_START = ("PYTHON", "CUTE_", "CUTLASS_", "LD_", "MLIR_", "OMP_", "OPENBLAS_")
"""How variables begin that the interpreter or a library reads when it is loaded."""


def same_start(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether interpreters begin alike with both environments."""
    first, second = (
        {name: value for name, value in each.items() if name.startswith(_READ_AT_THE_START)} for each in (one, other)
    )
    return first == second


class WarmProcess:
    """A copy of a template; as much of `subprocess.Popen` as its users need."""

    def __init__(
        self,
        template: str,
        entry: str,
        arguments: Sequence[str],
        *,
        streams: Sequence[int],
        descriptors: Sequence[int] = (),
        environment: Mapping[str, str],
        folder: str | None = None,
        path: Sequence[str] | None = None,
        outlives: bool = False,
    ) -> None:
        """`entry`, a `module:name`, called in `folder` with `arguments` as its command line, and `path` as `sys.path`.

        It ends with the process that asked for it, unless it `outlives` that one.
        `streams` are the three standard ones. The numbers that `descriptors` have there follow the arguments.
        """
        request = {
            "entry": entry,
            "arguments": list(arguments),
            "inherited": len(descriptors),
            "environment": dict(environment),
            "folder": folder or os.getcwd(),
            "path": path,
            "outlives": outlives,
        }
        self.returncode: int | None = None
        self._waiting = threading.Lock()
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(template)
        socket.send_fds(self._connection, [json.dumps(request).encode()], [*streams, *descriptors])
        self.pid = int(self._connection.recv(32))

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; of a process that a signal ended, minus the signal's number."""
        with self._waiting:
            if self.returncode is None:
                self._connection.settimeout(timeout)
                self.returncode = int(self._connection.recv(32))
                self._connection.close()
        return self.returncode

    def leave(self) -> None:
        """Have it end, without waiting."""
        self._connection.close()

    def kill(self) -> None:
        """End it at once."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it ended by itself
                os.kill(self.pid, signal.SIGKILL)


def kind_of(command: Sequence[str]) -> str:
    """The kind of template whose copy is to be the program with this command line."""
    words = set(command)
    if words & {"operators", "--operator"}:
        return "operators"
    if words & {"bisect", "check", "coverage", "diff-test", "reduce"}:
        return "workbench"
    return "emulation" if words & {"sanitize", "cpu", "versions"} else "command"


def main() -> None:
    """Be `cutecc`, its command line the arguments after the first, which is the folder where templates listen."""
    folder, *command = sys.argv[1:]
    template = f"{folder}/{kind_of(command)}"
    if not os.path.exists(template):
        template = f"{folder}/command"
    process = WarmProcess(template, "cutecc.__main__:main", command, streams=(0, 1, 2), environment=os.environ)
    status = process.wait()
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
