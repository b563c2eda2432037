"""Element-wise functions as machine code, callable as NumPy ufuncs.

NumPy makes a ufunc of any C function of the right signature (`PyUFunc_FromFuncAndData`); its broadcasting, scalars and
allocation then cost what they cost `numpy.add`. llvmlite makes the C function of a body (see `code`).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutecc.emulator.numbers.code import Body, Rounding
from cutecc.emulator.numbers.loop import ELEMENT_BYTES, body_text, data_of, loop_text
from cutecc.errors import EmulatorError, NotInstalledError
from cutecc.support.distributions import needed_by
from cutecc.support.forks import SettledLock

Ufunc = Any
"""Arrays, or scalars, of unsigned integers and bools → an array, or a tuple of them."""


@dataclass(slots=True)
class _Waiting:
    """A function that has no machine code yet."""

    text: str
    declarations: set[str]
    data: Any
    """What the ufunc's loop finds the machine code by."""


_lock = SettledLock("making the emulator's machine code")
_depth = 0
"""How many `together` are open, of the thread that has the lock."""
_waiting: list[_Waiting] = []
_kept: list[Any] = []
"""What the ufuncs point into, for the life of the process."""


@contextmanager
def together() -> Generator[None]:
    """Functions asked for inside with `later` are compiled at the end of the outermost: in a fifth of the time.

    None may be called earlier. So where one is kept for others to find, they look for it inside of `together` too,
    where one thread is at a time. What cannot be compiled is tried again, and fails again, at the next end.
    """
    global _depth
    with _lock:
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if _waiting and not _depth:
                _compile(_waiting)
                _waiting.clear()


def compile_ufunc(
    name: str,
    body: Body,
    operands: Sequence[str],
    results: Sequence[str],
    rounding: Rounding = "rn",
    later: bool = False,
) -> Ufunc:
    """The function that does `body` with each element; types are `i1` (as bool), `i8`, `i16`, `i32`, `i64`.

    `rounding` is that of the floating operations in the body; for `later` see `together`.
    """
    data = data_of(operands, results)
    waiting = _Waiting(*body_text("BODY", body, operands, results, rounding), data)
    with _lock:
        if later and _depth:
            _waiting.append(waiting)
        else:
            _compile([waiting])
        loop = loop_of(rounding)
    numbers = [np.dtype("?" if each == "i1" else f"u{ELEMENT_BYTES[each]}").num for each in (*operands, *results)]
    functions = (ctypes.c_void_p * 1)(loop)
    datas = (ctypes.c_void_p * 1)(ctypes.addressof(data))
    types = (ctypes.c_char * len(numbers))(*numbers)
    label, document = name.encode(), b""
    _kept.append((functions, data, datas, types, label, document))
    addresses = [ctypes.addressof(each) for each in (functions, datas, types)]
    return _maker()(*addresses, 1, len(operands), len(results), -1, label, document, 0)


def _compile(functions: Sequence[_Waiting]) -> None:
    """Give these functions their machine code."""
    names = [f"body{index}" for index in range(len(functions))]
    texts = [each.text.replace("@BODY(", f"@{name}(") for name, each in zip(names, functions, strict=True)]
    declarations = sorted(set[str]().union(*(each.declarations for each in functions)))
    for each, address in zip(functions, machine_code("\n".join([*texts, *declarations]), names), strict=True):
        each.data[0] = address


@functools.cache
def loop_of(rounding: Rounding) -> int:
    """The address of the loop that sets this mode."""
    return machine_code(loop_text(rounding), ["loop"])[0]


def machine_code(text: str, names: Sequence[str]) -> list[int]:
    """The addresses of functions of this module, which stays."""
    llvm = _llvm()
    try:
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, jit=True
        )
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
    except RuntimeError as failure:
        raise EmulatorError(f"llvmlite cannot compile for this machine: {failure}") from None
    _kept.append(engine)
    return [engine.get_function_address(name) for name in names]


@functools.cache
def _llvm() -> Any:
    try:
        with needed_by("the emulator", extra="emulator"):
            llvm: Any = importlib.import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except NotInstalledError:
        raise
    except (ImportError, OSError, RuntimeError) as failure:
        raise EmulatorError(
            f"the emulator needs llvmlite, which cannot be used: {failure}",
            hints=["pip install --force-reinstall llvmlite"],
        ) from None
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


_mergers: dict[np.dtype[Any], Ufunc] = {}


def merger(dtype: np.dtype[Any]) -> Ufunc:
    """`merge(mask, new, old)` for arrays of bools or unsigned integers: `numpy.where` in a third of its time."""
    with together():
        found = _mergers.get(dtype)
        if found is None:
            type_ = "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"
            types = ["i1", type_, type_]
            found = compile_ufunc("merge", lambda mask, new, old: mask.then(new, old), types, [type_], later=True)
            _mergers[dtype] = found
    return found
