"""Erasing and replacing operations without leaving anything behind that crashes.

The bindings make a new Python object each time an operation is looked up, and only the one that `erase` was called on
knows that its operation is gone; any other, and every value, then points into freed memory. So inside `keeping_erased`,
which surrounds every pass, erased operations are moved out of the module and freed when the pass has ended.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Generator, Iterable, Sequence

from cutecc.errors import PassError
from cutecc.ir.building import at_start
from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import builtin, ir
from cutecc.ir.pass_context import PassState


def replace(operation: ir.Operation | ir.OpView, values: ir.Value | Sequence[ir.Value]) -> None:
    """Have `values` used wherever the results of `operation` are, and erase it.

    Raises `PassError` when there are not as many values as results, one has another type, or is one of those results.
    """
    operation = operation.operation
    new = [values] if isinstance(values, ir.Value) else list(values)
    check_replacements(operation, [result.type for result in operation.results], new)
    for result, value in zip(operation.results, new, strict=True):
        result.replace_all_uses_with(value)
    erase(operation)


def check_replacements(operation: ir.Operation, types: Sequence[ir.Type], values: Sequence[ir.Value]) -> None:
    """Raise `PassError` unless `values` have the `types` that are to stand for the results of `operation`.

    A result cannot stand for itself, nor for another one of the same operation, which goes.
    """
    if any(value == result for value in values for result in operation.results):
        raise PassError(f"{operation.name} is replaced by its own result", nearest_location(operation.location))
    if [value.type for value in values] != list(types):
        raise PassError(
            f"{operation.name} has results ({_listed(types)}), replaced by ({_listed(value.type for value in values)})",
            nearest_location(operation.location),
        )


def erase(operation: ir.Operation | ir.OpView) -> None:
    """Take `operation` out of the module, with everything inside it.

    Raises `PassError` that names a user when one of its results is still used, and for a module. Looking at `operation`
    afterwards raises `RuntimeError`; other Python objects of it and of its values show what it was until the pass ends.
    """
    operation = operation.operation
    if operation.parent is None:
        raise PassError(f"{operation.name} cannot be erased: nothing holds it", nearest_location(operation.location))
    for result in operation.results:
        for use in result.uses:
            user: ir.Operation = use.owner.operation
            raise PassError(
                f"{operation.name} cannot be erased: {user.name} uses its result",
                nearest_location(operation.location),
                notes=[f"the user is at {place}"] if (place := nearest_location(user.location)) else [],
            )
    erase_unused(operation)


def erase_unused(operation: ir.Operation) -> None:
    """The same of what is known to stand in a block, and to be used by nobody."""
    graveyard = _graveyard.get()
    if graveyard is None:
        operation.erase()
    else:
        graveyard.bury(operation)


def is_erased(operation: ir.Operation) -> bool:
    """Whether `operation` is gone, as far as can be known: by `erase`, or by this Python object's own `erase`."""
    graveyard = _graveyard.get()
    try:
        # Looking at the name is ten times faster.
        return address_of(operation) in graveyard.erased if graveyard and graveyard.erased else not operation.name
    except RuntimeError:
        return True


def address_of(operation: ir.Operation) -> int:
    """Which operation this is, whatever Python object shows it. (Its `hash` follows its operands and attributes.)

    Raises `RuntimeError` when it is erased.
    """
    return _pointer(operation._CAPIPtr, _CAPSULE)  # pyright: ignore[reportPrivateUsage]


def is_inside(operation: ir.Operation, addresses: set[int]) -> bool:
    """Whether one of the operations at `addresses` holds `operation`, directly or not."""
    parent = operation.parent if addresses else None
    while parent is not None:
        if address_of(parent) in addresses:
            return True
        parent = parent.parent
    return False


_CAPSULE = b"cutlass._mlir.ir.Operation._CAPIPtr"
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@contextlib.contextmanager
def keeping_erased() -> Generator[None]:
    """Inside, the memory of erased operations stays; needs a current context. Nested, it lasts as long as the outer.

    Raises `PassError` at the end when the module uses a value of an erased operation.
    """
    if _graveyard.get() is not None:
        yield
        return
    graveyard = _Graveyard()
    try:
        with _graveyard.having(graveyard):
            yield
    finally:
        haunting = graveyard.close()
    if haunting:
        raise haunting


class _Graveyard:
    """Where erased operations lie until the end of a pass."""

    def __init__(self) -> None:
        self.erased: set[int] = set()
        """Addresses: none is used again while the operation lies here."""
        self._module = ir.Module.create(ir.Location.unknown())
        self._placeholder_module = ir.Module.create(ir.Location.unknown())
        self._placeholders: dict[int, ir.Value] = {}
        self._stand_ins: dict[ir.Value, ir.Value] = {}
        """The placeholder of a value: the bindings take long to say its type."""

    def bury(self, operation: ir.Operation) -> None:
        """Take `operation` out of its module."""
        if len(operation.regions):
            operation.walk(self._let_go)
        else:
            self._let_go(operation)
        for index in range(len(operation.successors)):
            operation.successors[index] = self._module.body
        self._module.body.append(operation)
        operation._set_invalid()  # pyright: ignore[reportPrivateUsage]

    def close(self) -> PassError | None:
        """Free what lies here; when something outside still uses it, keep it, and return the error that says so."""
        error: PassError | None = None

        def check(operation: ir.Operation) -> ir.WalkResult:
            nonlocal error
            made = list(operation.results)
            if len(operation.regions):
                made += [each for region in operation.regions for block in region.blocks for each in block.arguments]
            for value in made:
                for use in value.uses:
                    user: ir.Operation = use.owner.operation
                    if address_of(user) not in self.erased:
                        place = nearest_location(user.location) or nearest_location(operation.location)
                        error = PassError(f"{user.name} uses a value of {operation.name}, which was erased", place)
                        return ir.WalkResult.INTERRUPT
            return ir.WalkResult.ADVANCE

        self._module.operation.walk(check)
        if error:
            # Freeing it now would crash when the user goes.
            _haunted.append(self)
        return error

    def _let_go(self, operation: ir.Operation) -> ir.WalkResult:
        self.erased.add(address_of(operation))
        operands = operation.operands
        for index, operand in enumerate(list(operands)):
            if operand not in self._stand_ins:
                self._stand_ins[operand] = self._placeholder(operand.type)
            operands[index] = self._stand_ins[operand]
        return ir.WalkResult.ADVANCE

    def _placeholder(self, type: ir.Type) -> ir.Value:
        """A value for what is erased to use, in the place of one of the module's."""
        # The hash of a type is its address: to compare two takes longer.
        key = hash(type)
        if key not in self._placeholders:
            with at_start(self._placeholder_module.body), ir.Location.unknown():
                self._placeholders[key] = builtin.unrealized_conversion_cast([type], [])
        return self._placeholders[key]


_graveyard = PassState[_Graveyard]()
_haunted: list[_Graveyard] = []


def _listed(types: Iterable[ir.Type]) -> str:
    return ", ".join(map(str, types))
