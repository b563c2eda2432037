"""Views of CuTe's types: what a type says, as a value to match on, with layouts from `cutecc.layout`.

    match view(value.type):
        case MemRef(element=Scalar("f16"), space=AddressSpace.SMEM, layout=layout):
            print(layout.size)
        case CopyAtom(kind="ldsm", parameters={"num_matrices": 4}, source_tv=layout):
            print(layout(0))

Views are frozen dataclasses that compare and hash by value. `to_type` leads back, so that a pass can change a part:
`to_type(dataclasses.replace(memref, layout=coalesce(memref.layout)))`.
"""

from cutecc.ir.types.atoms import CopyAtom, MmaAtom, Parameters, TiledCopy, TiledMma
from cutecc.ir.types.elements import (
    AddressSpace,
    OpaqueType,
    Scalar,
    SparseElement,
    Vector,
    natural_alignment,
)
from cutecc.ir.types.of_values import element_bits, is_static, layout_of
from cutecc.ir.types.reading import TypeView, view
from cutecc.ir.types.values import (
    CircularPipelineState,
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordTensor,
    CoordValue,
    Element,
    FastDivisor,
    IntTupleValue,
    LayoutValue,
    MemRef,
    Pipeline,
    PipelineState,
    Pointer,
    ShapeValue,
    SmemDescriptor,
    SmemDescriptorView,
    StageToken,
    StrideValue,
    SwizzleValue,
    TileValue,
    TmaDescriptor,
    WorkIdResponse,
)
from cutecc.ir.types.writing import to_type, type_text

__all__ = [
    "AddressSpace",
    "CircularPipelineState",
    "ComposedLayoutValue",
    "ConstrainedInteger",
    "CoordIterator",
    "CoordTensor",
    "CoordValue",
    "CopyAtom",
    "Element",
    "FastDivisor",
    "IntTupleValue",
    "LayoutValue",
    "MemRef",
    "MmaAtom",
    "OpaqueType",
    "Parameters",
    "Pipeline",
    "PipelineState",
    "Pointer",
    "Scalar",
    "ShapeValue",
    "SmemDescriptor",
    "SmemDescriptorView",
    "SparseElement",
    "StageToken",
    "StrideValue",
    "SwizzleValue",
    "TileValue",
    "TiledCopy",
    "TiledMma",
    "TmaDescriptor",
    "TypeView",
    "Vector",
    "WorkIdResponse",
    "element_bits",
    "is_static",
    "layout_of",
    "natural_alignment",
    "to_type",
    "type_text",
    "view",
]
