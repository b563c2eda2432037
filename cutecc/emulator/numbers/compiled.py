"""Element-wise functions as machine code, callable as NumPy ufuncs.

NumPy makes a ufunc of any C function of the right signature (`PyUFunc_FromFuncAndData`); its broadcasting, scalars and
allocation then cost what they cost `numpy.add`. llvmlite makes the C function of a body (see `code`).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutecc.emulator.numbers.code import Body, Rounding
from cutecc.emulator.numbers.loop import ELEMENT_BYTES, body_text, loop_text

Ufunc = Any
"""Arrays, or scalars, of unsigned integers and bools → an array, or a tuple of them."""

_lock = threading.Lock()
"""LLVM's global context belongs to one thread at a time."""
_kept: list[Any] = []
"""What the ufuncs point into, for the life of the process."""


def compile_ufunc(
    name: str, body: Body, operands: Sequence[str], results: Sequence[str], rounding: Rounding = "rn"
) -> Ufunc:
    """The function that does `body` with each element; types are `i1` (as bool), `i8`, `i16`, `i32`, `i64`.

    `rounding` is that of the floating operations in the body.
    """
    loop = _loop(tuple(operands), tuple(results), rounding)
    address = _machine_code(body_text(body, operands, results, rounding), "body")
    numbers = [np.dtype("?" if each == "i1" else f"u{ELEMENT_BYTES[each]}").num for each in (*operands, *results)]
    functions = (ctypes.c_void_p * 1)(loop)
    data = (ctypes.c_void_p * 1)(address)
    types = (ctypes.c_char * len(numbers))(*numbers)
    label, document = name.encode(), b""
    _kept.append((functions, data, types, label, document))
    addresses = [ctypes.addressof(each) for each in (functions, data, types)]
    return _maker()(*addresses, 1, len(operands), len(results), -1, label, document, 0)


@functools.cache
def _loop(operands: tuple[str, ...], results: tuple[str, ...], rounding: Rounding) -> int:
    """The address of the loop for these types."""
    return _machine_code(loop_text(operands, results, rounding), "loop")


def _machine_code(text: str, name: str) -> int:
    """The address of a function of this module, which stays."""
    llvm = _llvm()
    with _lock:
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, jit=True
        )
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        _kept.append(engine)
        return engine.get_function_address(name)


@functools.cache
def _llvm() -> Any:
    llvm: Any = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def _maker() -> Any:
    """NumPy's `PyUFunc_FromFuncAndData(functions, data, types, ntypes, nin, nout, identity, name, doc, unused)`."""
    package = "numpy._core" if int(np.__version__.split(".")[0]) >= 2 else "numpy.core"
    capsule = importlib.import_module(f"{package}._multiarray_umath")._UFUNC_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    pointer, integer, string = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    signature = (pointer, pointer, pointer, integer, integer, integer, integer, string, string, integer)
    address = table[1]
    assert address
    return ctypes.PYFUNCTYPE(ctypes.py_object, *signature)(address)
