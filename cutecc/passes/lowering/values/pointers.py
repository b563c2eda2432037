"""Pointer arithmetic: how far an offset in elements is in bytes, and what a swizzle does to an address."""

from __future__ import annotations

from cutecc.ir import llvm_types
from cutecc.ir.mlir import arith, ir, llvm, vector
from cutecc.ir.types import Scalar, SmemDescriptor, Vector
from cutecc.ir.types.values import Element
from cutecc.layout.integers import Integer, divide, divisibility, multiply
from cutecc.layout.swizzle import Swizzle
from cutecc.passes.lowering.values.integers import Arithmetic, computed, constant
from cutecc.passes.lowering.values.leaves import definition

_DYNAMIC = -(2**31)
"""Stands among the constant indices of a `getelementptr` for an operand."""
_CELL = 32
"""Bits of a cell of tensor memory, and of its address."""
_MULTIPLE = "multiple_of"
"""Of a step by a number that only the running kernel knows: bytes that it is a multiple of."""


def advance(pointer: ir.Value, element: Element | SmemDescriptor, arithmetic: Arithmetic, offset: Integer) -> ir.Value:
    """`pointer` moved by `offset` elements."""
    if offset == 0:
        return pointer
    if isinstance(element, SmemDescriptor):
        return _descriptor_moved(pointer, arithmetic.value(offset, 32))
    if isinstance(pointer.type, ir.IntegerType):
        return arith.addi(pointer, _cells(offset, element.bits, arithmetic))
    type, per = step(element)
    if per != 1:
        # Several elements to a byte: a pointer only ever moves by whole bytes.
        offset = divide(offset, per)
    if isinstance(offset, int) and abs(offset) < -_DYNAMIC:
        return element_pointer(pointer, type, [], [offset])
    index = arithmetic.value(offset, width_of(offset))
    moved = element_pointer(pointer, type, [index], [_DYNAMIC])
    # What is known of the offset is lost with its type; a swizzle asks for it.
    known = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), divisibility(offset) * bytes_of(type))
    moved.owner.attributes[_MULTIPLE] = known
    return moved


def _cells(offset: Integer, bits: int, arithmetic: Arithmetic) -> ir.Value:
    """Elements of `bits` as what is added to an address of tensor memory, which counts cells of 32 bits.

    Which of a cell's elements it is stands in the highest bits of the address, where CuTe's layouts expect it: the
    offset is rotated, but for its sign, as cells before are found by subtracting.
    """
    if bits > _CELL:
        return arithmetic.value(multiply(offset, bits // _CELL), _CELL)
    shift = (_CELL // bits).bit_length() - 1
    if isinstance(offset, int):
        cells, element = divmod(_signed(offset), 1 << shift)
        return constant(_signed(cells + (element << _CELL - shift)), _CELL)
    if divisibility(offset) % (1 << shift) == 0:
        return arithmetic.value(divide(offset, 1 << shift), _CELL)
    given = arithmetic.value(offset, _CELL)
    return arith.addi(arith.shrsi(given, constant(shift, _CELL)), arith.shli(given, constant(_CELL - shift, _CELL)))


def _signed(number: int) -> int:
    """The same of 32 bits."""
    number %= 1 << _CELL
    return number - (1 << _CELL) if number >> _CELL - 1 else number


def _descriptor_moved(descriptor: ir.Value, offset: ir.Value) -> ir.Value:
    """The descriptor of a matrix `offset` units of 16 bytes further: its address is in the lowest bits."""
    pair = ir.VectorType.get([2], offset.type)
    halves = llvm.bitcast(pair, descriptor)
    moved = arith.addi(vector.extract(halves, [], [0]), offset)
    return llvm.bitcast(descriptor.type, vector.insert(moved, halves, [], [0]))


def integer_address(pointer: ir.Value, width: int) -> ir.Value:
    """The address that a pointer is, an integer of `width` bits."""
    return llvm.ptrtoint(ir.IntegerType.get_signless(width), pointer)


def in_shared(address: ir.Value) -> ir.Value:
    """A pointer to shared memory from its address, an `i32`."""
    return llvm.inttoptr(llvm_types.pointer(3), address)


def in_cluster(pointer: ir.Value) -> ir.Value:
    """A pointer to the block's own shared memory as one to that of its cluster."""
    return llvm.addrspacecast(llvm_types.pointer(7), pointer)


def width_of(offset: Integer) -> int:
    """Bits of the number that an offset is computed as."""
    return 64 if isinstance(offset, int) else offset.width


def element_pointer(pointer: ir.Value, type: ir.Type, operands: list[ir.Value], indices: list[int]) -> ir.Value:
    """`llvm.getelementptr` with one index."""
    return llvm.getelementptr(pointer.type, pointer, operands, indices, type, 0)


def bytes_of(type: ir.Type) -> int:
    """Bytes that a pointer moves by when it steps over one value of `type`."""
    if isinstance(type, ir.VectorType):
        return type.shape[0] * bytes_of(type.element_type)
    return max(1, Scalar(str(type)).bits // 8)  # LLVM's i1 takes a byte


def step(element: Element) -> tuple[ir.Type, int]:
    """The type that a pointer to `element` steps by, and how many elements that holds."""
    match element:
        case Scalar(name):
            bits = element.bits
            if name == "i1":
                return ir.IntegerType.get_signless(8), 1
            if bits < 8:
                return ir.IntegerType.get_signless(8), 8 // bits
            if name == "tf32":
                return ir.F32Type.get(), 1
            return ir.Type.parse(name if "E" not in name else f"i{bits}"), 1
        case Vector():
            return ir.Type.parse(str(element)), 1
        case _:
            return ir.IntegerType.get_signless(element.bits), 1


def array_of(element: Element, count: int) -> tuple[ir.Type, int]:
    """The array that holds `count` elements: of what, and how many of these."""
    type, per = step(element)
    return type, -(-count // per)


def swizzled(pointer: ir.Value, swizzle: Swizzle | None) -> ir.Value:
    """The address that a swizzled pointer, its offset added, stands for: some bits of it flip others.

    A swizzle looks at the lowest bits only, so steps that are multiples of its period are taken after it: then one
    swizzled address serves them all.
    """
    if swizzle is None:
        return pointer
    steps: list[ir.Operation] = []
    root = pointer
    while (step := _step_of(root)) is not None:
        steps.append(step)
        root = step.operands[0]
    before = [step for step in steps if _multiple_of(step) % swizzle.period]
    after = [step for step in steps if not _multiple_of(step) % swizzle.period]
    if steps[len(after) :] == before:
        # The steps behind the swizzle are the last ones already.
        root = after[-1].operands[0] if after else pointer
        before = []
    for step in reversed(before):
        root = _taken_again(step, root)
    found = _flipped(root, swizzle)
    for step in reversed(after):
        found = _taken_again(step, found)
    return found


def _step_of(pointer: ir.Value) -> ir.Operation | None:
    """The `llvm.getelementptr` that a pointer comes from."""
    found = definition(pointer)
    return found if found is not None and found.name == "llvm.getelementptr" else None


def _multiple_of(step: ir.Operation) -> int:
    """Bytes that a step is known to be a multiple of."""
    if _MULTIPLE in step.attributes:
        return step.attributes[_MULTIPLE].value
    known = constant_step(step)
    return 1 if known is None else abs(known)


def constant_step(step: ir.Operation) -> int | None:
    """Bytes that a `llvm.getelementptr` of one index moves by; `None` where only the running kernel, or LLVM, knows."""
    indices = list(step.attributes["rawConstantIndices"])
    type = step.attributes["elem_type"].value
    if len(indices) != 1 or indices[0] == _DYNAMIC or not _is_of_numbers(type):
        return None
    return indices[0] * bytes_of(type)


def _is_of_numbers(type: ir.Type) -> bool:
    """Whether `type` is one that cutecc steps over itself: a kernel's own steps may be over structs and pointers."""
    element = type.element_type if isinstance(type, ir.VectorType) else type
    return isinstance(element, ir.IntegerType | ir.FloatType)


def _taken_again(step: ir.Operation, pointer: ir.Value) -> ir.Value:
    """The same step from another pointer."""
    operands = [pointer, *list(step.operands)[1:]]
    attributes = {name: step.attributes[name] for name in step.attributes}
    return ir.Operation.create(step.name, [pointer.type], operands, attributes=attributes).result


def _flipped(pointer: ir.Value, swizzle: Swizzle) -> ir.Value:
    """`pointer` with the bits flipped that a swizzle flips."""
    bits = 32 if str(pointer.type) == "!llvm.ptr<3>" else 64
    mask = ((1 << swizzle.bits) - 1) << (swizzle.base + max(swizzle.shift, 0))
    address = integer_address(pointer, bits)
    picked = arith.andi(address, constant(mask, bits))
    direction = "arith.shrui" if swizzle.shift >= 0 else "arith.shli"
    flipped = arith.xori(address, computed(direction, picked, constant(abs(swizzle.shift), bits)))
    return llvm.inttoptr(pointer.type, flipped)
