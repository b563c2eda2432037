"""Where variables are: in shared memory, in a thread's local memory, or among the module's."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

from cutecc.emulator.limits import Limits
from cutecc.emulator.machine.program import reserved_shared_bytes
from cutecc.emulator.memory.heap import IMAGE_BYTES
from cutecc.emulator.memory.spaces import FUNCTION_APERTURE, MODULE_APERTURE, OFFSET_MASK, SHARED_APERTURE
from cutecc.errors import EmulatorError
from cutecc.ptx.declarations import TYPE_BYTES
from cutecc.ptx.syntax import Function, Module, Variable, symbols_of

_FUNCTION_BYTES = 16
"""Between addresses of functions."""
_WORKSPACE_WORDS = 8
"""Of which cooperative groups use the first two: the size, and their barrier."""


class Layout:
    """The places of the module's variables, and of those of a kernel and the functions that it calls."""

    def __init__(self, module: Module, functions: Sequence[Function], limits: Limits) -> None:
        """`functions` are the kernel and those that it calls. Of the module's static shared memory a block has only
        what they name, as ptxas has it; of their own all. Raises `LimitError` for variables that take too much."""
        self._limits = limits
        self.image = bytearray()
        self.local_bytes = 0
        self.shared_bytes = reserved_shared_bytes(module.target)
        self._module: dict[str, tuple[str, int]] = {
            name: ("function", function_address(number)) for number, name in enumerate(module.functions)
        }
        self._dynamic: list[Variable] = []
        self._tables: list[ChainMap[str, tuple[str, int]]] = []
        """What names mean, of each function."""
        used = {name for function in functions for each in function.instructions for name in symbols_of(each)}
        for variable in module.variables.values():
            if variable.space == "shared" and variable.count is None:
                self._dynamic.append(variable)
            elif variable.space == "shared":
                if variable.name in used:
                    self._module[variable.name] = ("shared", self._take_shared(variable))
            else:
                self._module[variable.name] = self._take_module(variable)
        for variable in module.variables.values():
            if variable.addresses:
                self._place_addresses(variable)

    def _place_addresses(self, variable: Variable) -> None:
        """Put addresses into the initial value of a variable. Raises `EmulatorError` for one of an unknown name."""
        start = self._module[variable.name][1] & OFFSET_MASK
        for each in variable.addresses:
            found = self._module.get(each.symbol.name)
            if found is None:
                raise EmulatorError(f"the PTX does not declare '{each.symbol.name}', which '{variable.name}' points to")
            space, address = found
            # In its own space an address is an offset, but for global variables.
            window = {"const": MODULE_APERTURE, "shared": SHARED_APERTURE}.get(space, 0) if each.is_generic else 0
            bits = ((address + each.symbol.offset) | window) % (1 << 64) >> each.shift
            place = start + each.place
            self.image[place : place + each.size] = (bits % (1 << 8 * each.size)).to_bytes(each.size, "little")

    def symbols(self, function: Function) -> Mapping[str, tuple[str, int]]:
        """What names mean in a function: state space and address; once `place_dynamic` is called, all of them."""
        found = ChainMap[str, tuple[str, int]]({}, self._module)
        for variable in function.variables:
            if variable.space == "shared":
                found[variable.name] = ("shared", self._take_shared(variable))
            elif variable.space in ("local", "param"):
                found[variable.name] = ("local", self._take_local(variable))
            else:
                found[variable.name] = self._take_module(variable)
        if function.is_entry:
            places = offsets_of(function.parameters)
            found.update((each.name, ("param", at)) for each, at in zip(function.parameters, places, strict=True))
        else:
            for parameter in (*function.parameters, *function.results):
                if parameter.space == "param":
                    found[parameter.name] = ("local", self._take_local(parameter))
        self._tables.append(found)
        return found

    def place_dynamic(self) -> None:
        """Dynamic shared memory begins behind all that is static, of any function; every extern array is all of it."""
        align = max((variable.align for variable in self._dynamic), default=1)
        self.shared_bytes = -(-self.shared_bytes // align) * align
        for table in self._tables:
            table.update((variable.name, ("shared", self.shared_bytes)) for variable in self._dynamic)

    def take_grid_workspace(self) -> int:
        """The address of zeros that the runtime gives the blocks of a cooperative launch to meet by."""
        return self._take_module(Variable("the grid's workspace", "global", "b32", _WORKSPACE_WORDS, 16))[1]

    def take_heap(self) -> int:
        """Where in the module's memory the device's heap begins."""
        return self._take_module(Variable("the heap", "global", "b8", IMAGE_BYTES, 16))[1] & OFFSET_MASK

    def _take_shared(self, variable: Variable) -> int:
        address = -(-self.shared_bytes // variable.align) * variable.align
        self.shared_bytes = self._checked(variable, address + size_of(variable))
        return address

    def _take_local(self, variable: Variable) -> int:
        address = -(-self.local_bytes // variable.align) * variable.align
        self.local_bytes = self._checked(variable, address + size_of(variable))
        return address

    def _checked(self, variable: Variable, size: int) -> int:
        self._limits.check("memory", size, f"with '{variable.name}' the .{variable.space} variables take")
        return size

    def _take_module(self, variable: Variable) -> tuple[str, int]:
        address = -(-len(self.image) // variable.align) * variable.align
        size = size_of(variable)
        self._checked(variable, address + size)
        self.image += bytes(address - len(self.image)) + (variable.initial or b"").ljust(size, b"\0")
        # Both are in one image; an address of the constant space is an offset in it.
        return ("const", address) if variable.space == "const" else ("global", MODULE_APERTURE | address)


def function_address(number: int) -> int:
    """The address of a function of the module, by its number there."""
    return FUNCTION_APERTURE | (number + 1) * _FUNCTION_BYTES


def offsets_of(parameters: Sequence[Variable]) -> list[int]:
    """Where each of a kernel's parameters is, one behind the other."""
    found: list[int] = []
    end = 0
    for parameter in parameters:
        found.append(-(-end // parameter.align) * parameter.align)
        end = found[-1] + size_of(parameter)
    return found


def size_of(variable: Variable) -> int:
    """Bytes of a variable."""
    return TYPE_BYTES[variable.type] * (1 if variable.count is None else variable.count)
