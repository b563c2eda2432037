"""Numbers that a module says: read, and written."""

from __future__ import annotations

from cutecc.ir.mlir import ir


def constant_of(value: ir.Value) -> int | None:
    """The integer that `value` is, 1 for a truth; `None` when it is no constant."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return int(ir.BoolAttr(attribute).value)
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


def number_as(type: ir.Type, number: float) -> ir.Attribute:
    """`number` as a constant of `type` holds it: an integer, index or float, or a vector each of whose elements is."""
    if isinstance(type, ir.ShapedType):
        return ir.DenseElementsAttr.get_splat(type, number_as(type.element_type, number))
    if isinstance(type, ir.FloatType):
        return ir.FloatAttr.get(type, number)
    return ir.IntegerAttr.get(type, int(number))


def constant_of_type(number: float, type: ir.Type) -> ir.Value:
    """`arith.constant`, of a number or a vector of equal ones."""
    # By its name, which takes a third of the time of its class: there are thousands.
    return ir.Operation.create("arith.constant", [type], attributes={"value": number_as(type, number)}).result
