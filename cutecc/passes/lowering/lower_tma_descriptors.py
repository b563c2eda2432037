"""What TMA copies is described: words that the host writes, and a kernel knows by their address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import Error
from cutecc.ir import editing, llvm_types
from cutecc.ir.building import at_start, before, located
from cutecc.ir.mlir import ir, nvvm
from cutecc.ir.types import CopyAtom, view
from cutecc.ir.walking import walk
from cutecc.layout import ComposedLayout, Layout
from cutecc.passes.base import ModulePass
from cutecc.passes.leaf_conversion import Converted, convert_leaves, converts_leaves, leaf_patterns
from cutecc.passes.lowering.lower_cute_types import stored
from cutecc.passes.lowering.values.descriptor_assertions import assert_copyable
from cutecc.passes.lowering.values.descriptors import WORDS, descriptor, replace_tensor
from cutecc.passes.lowering.values.handed_on import sources_of
from cutecc.passes.lowering.values.host import kernels
from cutecc.passes.lowering.values.im2col import Columns
from cutecc.passes.lowering.values.integers import Arithmetic, constant, poison
from cutecc.passes.lowering.values.leaves import DESCRIPTOR, Leaves, carried_by, dynamic, pack
from cutecc.passes.lowering.values.loops import one_thread
from cutecc.passes.lowering.values.pointers import element_pointer
from cutecc.passes.lowering.values.tensors import tensor_of
from cutecc.passes.lowering.values.tma_modes import modes, pixel_modes, shares_of, steps
from cutecc.passes.lowering.values.vector_accesses import load, store
from cutecc.passes.registry import register
from cutecc.passes.rewriting import Patterns

_MADE = (
    *(f"cute_nvgpu.atom.make_non_exec_tiled_tma_{what}" for what in ("load", "store", "reduce")),
    "cute_nvgpu.atom.make_non_exec_2d_gather4_tma_load",
    "cute_nvgpu.atom.make_non_exec_2d_scatter4_tma_store",
)
_IM2COL = tuple(f"cute_nvgpu.atom.make_non_exec_im2col_tma_{what}" for what in ("load", "store"))
_ALIGNMENT = 64
"""Bytes, of a descriptor."""


class _Descriptors:
    """What becomes of descriptors, those that are parameters of kernels at their `addresses`."""

    def __init__(self, addresses: dict[ir.Value, ir.Value]) -> None:
        self._addresses = addresses

    @converts_leaves(*_MADE)
    def make(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """The descriptor, and the numbers of the tensor of coordinates that goes with it: sizes, and steps."""
        atom, tensor = _atom(operation), tensor_of(operation.operands[0], leaves)
        described = modes(atom, tensor, _blocks(operation))
        words = descriptor(atom, tensor, described, _shared(operation))
        assert_copyable(tensor, described)
        coordinates: Any = view(operation.results[1].type)
        return [words, [*_sizes(operation, leaves), *steps(atom, tensor, coordinates.layout)]]

    @converts_leaves(*_IM2COL)
    def make_im2col(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """The same of images that are copied as a convolution's matrix."""
        atom, tensor = _atom(operation), tensor_of(operation.operands[0], leaves)
        columns = Columns.of(operation, leaves)
        channels, pixels = shares_of([*atom.parameters["tma_gbasis"].shape], _blocks(operation))
        described = pixel_modes(atom, tensor, channels)
        words = columns.descriptor(atom, tensor, described, pixels, _shared(operation))
        assert_copyable(tensor, described)
        columns.assert_walkable()
        return [words, columns.coordinates(operation)]

    @converts_leaves("cute_nvgpu.atom.make_exec_tma")
    def make_executable(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """What a thread copies with: the address, and nothing else set yet."""
        carried = carried_by(operation.results[0].type)
        if carried is None:
            raise Error(f"the open lowering does not know the atom {operation.results[0].type} yet")
        unset = [constant(0, ir.IntegerType(type).width) for type in carried.types[1:]]
        return [[self._address(operation.operands[0]), *unset]]

    @converts_leaves("cute_nvgpu.prefetch_tma_desc")
    def prefetch(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        nvvm.prefetch(self._address(operation.operands[0]), tensormap=True)
        return []

    @converts_leaves("cute_nvgpu.copy_tma_desc")
    def copy(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """Copy the words of a descriptor into memory that the kernel may change."""
        atom, to = operation.operands
        source, (destination,) = self._address(atom), leaves.of(to)
        word = ir.IntegerType.get_signless(64)
        pair = ir.VectorType.get([2], word)
        for index in range(0, WORDS, 2):
            words = load(pair, element_pointer(source, word, [], [index]), 16)
            store(words, element_pointer(destination, word, [], [index]), 16)
        return []

    @converts_leaves("cute_nvgpu.update_tma_desc")
    def update(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        """Have a descriptor in memory describe another tensor of the same kind."""
        atom_value, tensor_value, to = operation.operands
        atom = view(atom_value.type)
        assert isinstance(atom, CopyAtom)
        tensor = tensor_of(tensor_value, leaves)
        found = modes(atom, tensor, 1)
        with one_thread():
            replace_tensor(leaves.of(to)[0], tensor, found)
            assert_copyable(tensor, found)
        return []

    @converts_leaves("cute_nvgpu.get_tma_desc_addr")
    def address(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        """The address that an atom which a thread copies with has."""
        return leaves.of(operation.operands[0])[0]

    def _address(self, atom: ir.Value) -> ir.Value:
        found = sources_of(atom)
        if any(source not in self._addresses for source in found):
            raise Error("its descriptor is no parameter of the kernel, and so has no address")
        if len(found) > 1:
            raise Error(f"its descriptor is one of {len(found)} parameters of the kernel: which, only that knows")
        return self._addresses[found[0]]


def _atom(operation: ir.Operation) -> CopyAtom:
    atom = view(operation.results[0].type)
    assert isinstance(atom, CopyAtom)
    return atom


def _blocks(operation: ir.Operation) -> int:
    """Of a cluster, that load a share of each box."""
    return operation.attributes["num_multicast"].value if "num_multicast" in operation.attributes else 1


def _sizes(operation: ir.Operation, leaves: Leaves) -> list[ir.Value]:
    """Those of the tensor of coordinates: the tensor's, or those of the numbers of rows that stand in for its rows."""
    tensor, *row_numbers, _, _ = operation.operands
    described = row_numbers[0] if row_numbers else tensor
    layout: Any = view(described.type)
    carried = carried_by(described.type)
    assert carried is not None
    arithmetic = Arithmetic(dict(zip(carried.names, leaves.of(described), strict=True)))
    return [arithmetic.value(size, size.width) for size in dynamic(layout.layout.shape)]


def _shared(operation: ir.Operation) -> Layout | ComposedLayout:
    """How what is copied lies in shared memory."""
    row_numbers = "gather4" in operation.name or "scatter4" in operation.name
    layout: Any = view(operation.operands[2 if row_numbers else 1].type)
    return layout.layout


@register
@dataclass(frozen=True)
class LowerTmaDescriptors(ModulePass):
    """Write out the words of TMA's descriptors on the host, and pass them to kernels by address.

    A kernel's parameter that is an atom with a descriptor becomes the address of a constant copy of it. The atom that a
    thread copies with has that address, and what else the kernel gives it: the barrier, the blocks that receive it, and
    how caches treat it.
    """

    name: ClassVar[str] = "lower-tma-descriptors"
    lowers: ClassVar[tuple[str, ...]] = Patterns(leaf_patterns(_Descriptors)).names

    def run(self, module: ir.Module) -> None:
        addresses = _by_address(module)
        convert_leaves(module, leaf_patterns(_Descriptors(addresses)))
        for seen in addresses:
            _forget(seen)
        leaves = Leaves()
        for launch in walk(module, "cuda.launch_ex"):
            _pass_words(launch, leaves)


def _by_address(module: ir.Module) -> dict[ir.Value, ir.Value]:
    """Have kernels take descriptors by address; for each such parameter, as its users still see it, that address."""
    found: dict[ir.Value, ir.Value] = {}
    for _, kernel in kernels(module):
        found |= _parameters_by_address(kernel)
    return found


def _parameters_by_address(kernel: ir.Operation) -> dict[ir.Value, ir.Value]:
    block = kernel.regions[0].blocks[0]
    attributes = [_named(each) for each in kernel.attributes["arg_attrs"]] if "arg_attrs" in kernel.attributes else []
    found: dict[ir.Value, ir.Value] = {}
    for index, argument in enumerate(block.arguments):
        carried = carried_by(argument.type)
        if carried is None or [str(type) for type in carried.types] != [DESCRIPTOR]:
            continue
        old = argument.type
        argument.set_type(llvm_types.pointer())
        with at_start(block), located(argument):
            # What its users see until all of them know the address.
            seen = pack(old, [poison(type) for type in carried.types])
        argument.replace_all_uses_except(seen, seen.owner.operation)
        found[seen] = argument
        attributes = attributes or [{} for _ in block.arguments]
        attributes[index] |= {
            "llvm.byval": ir.TypeAttr.get(carried.storage),
            "llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ALIGNMENT),
        }
    if found:
        type = ir.FunctionType(kernel.attributes["function_type"].value)
        inputs = [argument.type for argument in block.arguments]
        kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, type.results))
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in attributes])
    return found


def _pass_words(launch: ir.Operation, leaves: Leaves) -> None:
    """Launch with the words of descriptors, as LLVM sees them."""
    for index, operand in enumerate(launch.operands):
        carried = carried_by(operand.type)
        if carried is not None and [str(type) for type in carried.types] == [DESCRIPTOR]:
            with before(launch):
                launch.operands[index] = stored(carried, leaves.of(operand))


def _named(attributes: Any) -> dict[str, Any]:
    return {each.name: each.attr for each in attributes}


def _forget(seen: ir.Value) -> None:
    """Take away what stood for a descriptor in a kernel, when nobody needs more than its address."""
    cast = seen.owner.operation
    if not any(True for _ in seen.uses):
        words = cast.operands[0].owner.operation
        editing.erase(cast)
        editing.erase(words)
