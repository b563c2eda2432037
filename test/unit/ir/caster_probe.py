"""Run in a process of its own, which imports the DSL: prints what value casters do outside and inside passes."""

import json
import os
import sys
from dataclasses import dataclass
from typing import ClassVar

import cutlass.cute
import cutlass.cute.experimental  # noqa: F401 - registers casters

from cutecc.errors import PassError
from cutecc.ir import bindings, casters
from cutecc.ir.modules import body_of, fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.base import ModulePass
from cutecc.passes.pipeline import Pipeline

ir = bindings.load_submodule("ir")
DIALECTS = ("cute", "cute_nvgpu", "cuda", "gpu", "lir", "llvm", "nvgpu", "pyir")

# One type of each class that has a caster.
SAMPLES = {
    "IntegerType": "i32",
    **{f"F{bits}Type": f"f{bits}" for bits in (64, 32, 16)},
    "FloatTF32Type": "tf32",
    "BF16Type": "bf16",
    "Float8E5M2Type": "f8E5M2",
    "Float8E4M3Type": "f8E4M3",
    "Float8E4M3FNType": "f8E4M3FN",
    "Float8E4M3B11FNUZType": "f8E4M3B11FNUZ",
    "Float8E8M0FNUType": "f8E8M0FNU",
    "FloatNV8E5M3FNUType": "fnv8E5M3FNU",
    "Float6E2M3FNType": "f6E2M3FN",
    "Float6E3M2FNType": "f6E3M2FN",
    "Float4E2M1FNType": "f4E2M1FN",
    "RankedTensorType": "tensor<4xf32>",
    "VectorType": "vector<4xf32>",
    "LayoutType": '!cute.layout<"(4,?):(?,1)">',
    "ComposedLayoutType": '!cute.composed_layout<"S<1,2,3> o 0 o (4,8):(8,1)">',
    "SwizzleType": '!cute.swizzle<"S<1,2,3>">',
    "PtrType": "!cute.ptr<f32, gmem>",
    "SparseElemType": "!cute.sparse_elem<2, f16>",
    "MemRefType": '!cute.memref<f32, gmem, "(4,8):(8,1)">',
    "CoordTensorType": '!cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">',
    "SmemDescViewType": '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(4,8):(8,1)">',
    "PipelineStateType": "!lir.pipeline_state<2>",
    "CircularBufferPipelineStateType": "!lir.circular_buffer_pipeline_state<2, 2, 2>",
}


def registered() -> list[str]:
    """The types that have a caster. Registering a second one without `replace` is refused, which tells."""
    found: list[str] = []
    upstream = set(map(id, vars(ir).values()))
    for place in ("ir", *(f"dialects.{name}" for name in DIALECTS)):
        for name, kind in vars(bindings.load_submodule(place)).items():
            if not isinstance(kind, type) or not issubclass(kind, ir.Type) or (place != "ir" and id(kind) in upstream):
                continue
            if not hasattr(kind, "static_typeid") and not hasattr(kind, "get_static_typeid"):
                continue  # an abstract class, of which there are no values
            try:
                ir.register_value_caster(casters._type_id(kind))(lambda value: value)
            except RuntimeError:
                found.append(f"{place}.{name}")
    return found


def class_of_argument(type_text: str) -> str:
    with fresh_context():
        module = parse(f"func.func @f(%a: {type_text}) {{\n  return\n}}".encode())
        (function,) = body_of(module.operation)
        value = function.regions[0].blocks[0].arguments[0]
        kind = type(value)
        return f"{kind.__module__}.{kind.__qualname__}"


def classes() -> dict[str, str]:
    return {name: class_of_argument(text) for name, text in SAMPLES.items()}


@dataclass(frozen=True)
class Look(ModulePass):
    """Notes the classes of values, then fails if asked to."""

    name: ClassVar[str] = "test-look"
    fail: bool = False

    def run(self, module):
        SEEN.append(classes())
        if self.fail:
            raise ZeroDivisionError


SEEN: list[dict[str, str]] = []


def main() -> None:
    table = [
        f"{place}.{name}" for types in casters._CASTERS.values() for place, names in types.items() for name in names
    ]
    result = {"table": sorted(table), "before": classes()}
    with fresh_context():
        module = parse(b"")
        manager.run(Pipeline((Look(),)), module)
        result["after"] = classes()
        try:
            manager.run(Pipeline((Look(fail=True),)), module)
        except PassError:
            result["after_exception"] = classes()
    result["inside"], result["inside_failing"] = SEEN
    result["registered"] = sorted(registered())
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
    # Without taking the DSL and its contexts down, which has been seen to crash once in a few hundred runs.
    sys.stdout.flush()
    os._exit(0)
