"""Landlock: no files, no connections (Linux, Documentation/userspace-api/landlock.rst)."""

from __future__ import annotations

import ctypes
import os

from cutecc.sandbox.native import system_call

# The numbers are the same for all architectures.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_GIVE_VERSION = 1
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""By the version of Landlock that brought the last of them, how many rights on files there are."""
_NETWORK_RIGHTS = {4: 2}
_SCOPES = {6: 2}


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def deny_all() -> bool:
    """Deny this process all that Landlock knows, with no exception; whether the kernel has it.

    Descriptors that are open stay so.
    """
    version = system_call(_CREATE_RULESET, None, 0, _GIVE_VERSION)
    if version < 1:
        return False
    rules = _Ruleset(*(_all(rights, version) for rights in (_FILE_RIGHTS, _NETWORK_RIGHTS, _SCOPES)))
    # A kernel refuses what is longer than what it knows, unless the rest is zero.
    descriptor = system_call(
        _CREATE_RULESET, ctypes.cast(ctypes.byref(rules), ctypes.c_void_p), ctypes.sizeof(rules), 0
    )
    if descriptor < 0:
        return False
    try:
        return system_call(_RESTRICT_SELF, descriptor, 0) == 0
    finally:
        os.close(descriptor)


def _all(rights: dict[int, int], version: int) -> int:
    """The bits of all rights that this version knows."""
    return (1 << max((count for since, count in rights.items() if since <= version), default=0)) - 1
