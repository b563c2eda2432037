"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_NO_NEW_PRIVS = 38


def system_call(number: int, *arguments: int | ctypes.c_void_p | None) -> int:
    """What the call returns; -1 where it fails, as on other systems than Linux."""
    if sys.platform != "linux":
        return -1
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return ctypes.CDLL(None).syscall(ctypes.c_long(number), *words)


def control_process(option: int, *arguments: int | ctypes.c_void_p) -> bool:
    """Linux's `prctl`; whether it took effect."""
    if sys.platform != "linux":
        return False
    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in (*arguments, 0, 0, 0, 0)[:4]]
    return ctypes.CDLL(None).prctl(option, *words) == 0


def give_up_privileges() -> bool:
    """No program that this process starts gets more rights than it has: what filters of its own need."""
    return control_process(_PR_SET_NO_NEW_PRIVS, 1)
