"""Seccomp: the system calls of a process that computes (Linux, Documentation/userspace-api/seccomp_filter.rst).

The filter is a program of the kernel's packet filter over `struct seccomp_data`: the number of the call at byte 0, the
architecture at 4.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from cutecc.sandbox.native import control_process

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_LOAD, _RETURN = 0x20, 0x06
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE = 0, 4
_FIRST_OF_X32 = 0x40000000
"""Calls of another ABI on x86-64, with the same numbers otherwise."""

# By machine: what the kernel calls it, and the numbers of its calls (asm/unistd_64.h, asm-generic/unistd.h).
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            **{"read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11},
            **{"brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24},
            **{"mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "gettimeofday": 96},
            **{"getrusage": 98, "sigaltstack": 131, "gettid": 186, "futex": 202, "sched_getaffinity": 204},
            **{"restart_syscall": 219, "clock_gettime": 228, "clock_nanosleep": 230, "exit_group": 231},
            **{"getrandom": 318},
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            **{"close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93, "exit_group": 94},
            **{"futex": 98, "nanosleep": 101, "clock_gettime": 113, "clock_nanosleep": 115, "sched_getaffinity": 123},
            **{"sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134},
            **{"rt_sigprocmask": 135, "rt_sigreturn": 139, "getrusage": 165, "gettimeofday": 169, "getpid": 172},
            **{"gettid": 178, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233},
            **{"getrandom": 278},
        },
    ),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def allow_computing() -> bool:
    """Have all other system calls of this process fail with `EPERM`; whether the kernel has filters.

    What is left: memory, time, and reading and writing what is open. Memory may be executed: the emulator compiles
    what an instruction does with numbers when it meets it.
    """
    known = _MACHINES.get(platform.machine())
    if known is None:
        return False
    code = _filter(*known)
    program = _Program(len(code) // 8, code)
    return control_process(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.cast(ctypes.byref(program), ctypes.c_void_p))


def _filter(architecture: int, numbers: dict[str, int]) -> bytes:
    """The program: each call's number is compared with those that are allowed."""
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_IF_EQUAL, architecture, 1, 0),
        _return(_KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_IF_AT_LEAST, _FIRST_OF_X32, 0, 1),
        _return(_KILL),
    ]
    for number in numbers.values():
        code += [_instruction(_IF_EQUAL, number, 0, 1), _return(_ALLOW)]
    return b"".join([*code, _return(_FAIL)])


def _return(action: int) -> bytes:
    return _instruction(_RETURN, action)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """A `struct sock_filter`; jumps are so many instructions further."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
