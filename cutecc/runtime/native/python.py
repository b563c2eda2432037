"""CPython's C interface as machine code uses it: addresses of its functions, and where an object has its type.

That is the same in all release builds with the global lock, CPython 3.11 to 3.14, on 64-bit machines.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig

from cutecc.runtime.native.errors import Unsupported

TYPE_OFFSET = 8
"""Of an object's type in the object."""
FASTCALL_KEYWORDS = 0x80 | 0x02
"""`METH_FASTCALL | METH_KEYWORDS`."""


def require_known_layout() -> None:
    """Raise `Unsupported` unless this interpreter's objects are laid out as this file says."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 14):
        raise Unsupported(f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor} is not known")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Unsupported("this Python has no global lock")
    if hasattr(sys, "gettotalrefcount") or hasattr(sys, "getobjects"):
        raise Unsupported("this Python is a debug build")
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unsupported("this platform is not 64-bit Linux")
    probe = ctypes.c_void_p.from_address(id(1.5) + TYPE_OFFSET).value
    if probe != id(float):
        raise Unsupported("the layout of this Python's objects is not known")


@functools.cache
def address_of(function: str) -> int:
    """The address of a function of CPython's C interface."""
    address = ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value
    assert address is not None
    return address


class MethodDefinition(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def make_builtin(definition: MethodDefinition, owner: object) -> object:
    """A builtin function whose `self` is `owner`, which must keep `definition` and its function alive."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(definition), owner, None)


def capsule_pointer(capsule: object, name: bytes) -> int | None:
    """What a capsule of this name holds; `None` when it is not one."""
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
    if not is_valid(capsule, name):
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return get(capsule, name)
