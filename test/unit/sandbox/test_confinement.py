"""What a confined process can still do: it computes, and writes to one descriptor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has what confines")


def confined(code: str, *, memory: int = 1 << 28, seconds: float = 20) -> dict[str, Any]:
    """What a process says of its attempts once it is confined; each line of `code` is one, with its name."""
    receiver, sender = os.pipe()
    script = textwrap.dedent(
        f"""
        import json, os, signal, socket, subprocess, sys, threading, mmap, ctypes, resource
        parent, secret = os.getppid(), os.open("/etc/passwd", os.O_RDONLY)
        from cutecc.sandbox.confinement import confine
        found = {{"": confine(memory={memory}, seconds={seconds}, keep={sender})}}
        def attempt(name, action):
            try:
                found[name] = repr(action())
            except BaseException as failure:
                found[name] = f"{{type(failure).__name__}} {{getattr(failure, 'errno', '')}}"
        """
    )
    for line in code.strip().splitlines():
        name, _, action = line.strip().partition(": ")
        script += f"attempt({name!r}, lambda: {action})\n"
    script += f"os.write({sender}, json.dumps(found).encode())\nos._exit(0)\n"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            pass_fds=[sender],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        os.close(sender)
        said = os.read(receiver, 1 << 20)
    finally:
        os.close(receiver)
    assert said, (done.returncode, done.stderr[-2000:])
    return json.loads(said)


def test_it_says_what_is_in_force() -> None:
    found = confined("")[""]
    assert found[0] == "setrlimit"
    # Where the kernel has them; here and in CI it does.
    assert "seccomp" in found


def test_no_files_no_connections_no_processes(tmp_path: Path) -> None:
    left = tmp_path / "file"
    left.write_text("here")
    attempts = f"""
        read: open("/etc/passwd").read()
        write: open({str(tmp_path / "new")!r}, "w")
        remove: os.unlink({str(left)!r})
        rename: os.rename({str(left)!r}, {str(tmp_path / "other")!r})
        list: os.listdir("/")
        link: os.symlink("/etc/passwd", {str(tmp_path / "link")!r})
        inherited: os.read(secret, 10)
        socket: socket.socket()
        pair: socket.socketpair()
        fork: os.fork()
        run: subprocess.run(["/bin/true"])
        exec: os.execv("/bin/true", ["true"])
        thread: threading.Thread(target=print).start()
        kill: os.kill(parent, 0)
        limits: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        trace: (lambda c: (c.ptrace(16, parent, 0, 0), ctypes.get_errno()))(ctypes.CDLL(None, use_errno=True))
    """
    found = confined(attempts)
    del found[""]
    trace = found.pop("trace")
    assert trace == "(-1, 1)", "EPERM"
    allowed = {
        name: said
        for name, said in found.items()
        if not said.startswith(("PermissionError", "OSError", "Runtime", "ValueError"))
    }
    assert allowed == {}
    assert left.read_text() == "here" and [*tmp_path.iterdir()] == [left]


def test_computing_goes_on() -> None:
    attempts = """
        sum: sum(range(1000))
        memory: len(bytearray(100 << 20))
        mapping: len(mmap.mmap(-1, 1 << 20))
        random: len(os.urandom(8))
        time: __import__("time").monotonic() > 0
    """
    found = confined(attempts)
    assert {name: found[name] for name in ("sum", "memory", "mapping", "random", "time")} == {
        "sum": "499500",
        "memory": str(100 << 20),
        "mapping": str(1 << 20),
        "random": "8",
        "time": "True",
    }


def test_memory_has_an_end() -> None:
    found = confined("large: len(bytearray(400 << 20))", memory=1 << 28)
    assert found["large"] == "MemoryError "


def test_standard_streams_lead_nowhere() -> None:
    found = confined(
        """
        in: os.read(0, 10)
        out: os.write(1, b"hello")
        """
    )
    assert (found["in"], found["out"]) == ("b''", "5")


def test_a_kernel_without_filters_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecc.sandbox import landlock, seccomp

    monkeypatch.setattr(landlock, "system_call", lambda *arguments: -1)
    assert landlock.deny_all() is False
    monkeypatch.setattr(seccomp, "control_process", lambda *arguments: False)
    assert seccomp.allow_computing() is False
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert seccomp.allow_computing() is False
